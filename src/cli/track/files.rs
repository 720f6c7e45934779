//! The file of streamlines that a command writes, with the values beside it.

use crate::cli::runner::{Failure, Runner};
use crate::data::Tractogram;
use crate::io::{Content, Format};
use crate::jobs::ValueNames;
use crate::state::files::jobs::SaveTractogram;
use std::path::{Path, PathBuf};

/// Refuses file names that do not denote a streamline format.
pub fn must_be_streamlines(out: &Path) -> Result<(), Failure> {
    match Format::named(out) {
        Some(format) if format.content() == Content::Streamlines && format.saves() => Ok(()),
        _ => Err(Failure::usage(format!(
            "Streamlines cannot be written under this name, expected one that ends in {}: {}",
            Format::streamline_endings(),
            out.display()
        ))),
    }
}

/// Refuses files that cannot be written, before the work. `rays`: includes their measures.
pub fn check_out(out: &Path, rays: bool, runner: &Runner) -> Result<(), Failure> {
    must_be_streamlines(out)?;
    runner.may_make(out)?;
    let adjacent = ValueNames::expected_columns(rays).companion_files(out);
    adjacent.iter().try_for_each(|b| runner.may_write(&b.path))
}

/// Writes the curves and, next to a TCK, all their values, unless there is no curve. Returns the files.
pub fn save(
    kept: &Tractogram,
    out: &Path,
    command: String,
    runner: &mut Runner,
) -> Result<Vec<PathBuf>, Failure> {
    let values = match kept.is_empty() {
        true => ValueNames::default(),
        false => ValueNames::from_tractogram(kept),
    };
    for refusal in values.refusals(kept, out) {
        warning!("{refusal}");
    }
    let adjacent = values.companion_files(out).into_iter();
    let adjacent = adjacent.filter(|b| b.holds(kept)).map(|b| b.path);
    let files = std::iter::once(out.to_owned()).chain(adjacent).collect();
    runner.run(SaveTractogram {
        tractogram: kept.clone(),
        path: out.to_owned(),
        command,
        values,
    })?;
    Ok(files)
}

/// The meaning of the numbers in a file whose format cannot store it.
pub fn key(kept: &Tractogram, out: &Path) -> String {
    match Format::named(out) {
        Some(Format::Trk | Format::Vtk) => {
            let lines = kept.key();
            lines.iter().map(|line| format!("{line}\n")).collect()
        }
        _ => String::new(),
    }
}
