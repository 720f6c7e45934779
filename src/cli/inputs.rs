//! Files that several commands read, opened like in the window.

use super::options::ReadingOptions;
use super::output::remark;
use super::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::data::{Tractogram, Volume, VolumeKind};
use crate::io::Format;
use crate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile};
use std::path::{Path, PathBuf};

fn open(path: &Path, reported: &ReadingOptions, runner: &mut Runner) -> Result<Loaded, Failure> {
    let open = OpenFile::with_reading(path.to_owned(), reported.reading());
    match runner.run(open)?.0 {
        Opened::File(file) => {
            let OpenedFile { loaded, notes, .. } = *file;
            for note in &notes {
                remark(note, path.display());
            }
            Ok(loaded)
        }
        Opened::Folder(_) => Err(Failure::new(format!(
            "Found a folder, expected a file; name one in it: {}",
            path.display()
        ))),
    }
}

/// A file's streamlines; remarks about it go to standard error.
pub fn streamlines(
    path: &Path,
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<Tractogram, Failure> {
    match open(path, reported, runner)? {
        Loaded::Tractogram(tractogram) => Ok(tractogram),
        _ => Err(Failure::new(format!(
            "Found no streamlines, expected a file that ends in {}; name one: {}",
            Format::streamline_endings(),
            path.display()
        ))),
    }
}

/// An image of one or several volumes.
pub fn image(
    path: &Path,
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<Volume, Failure> {
    match open(path, reported, runner)? {
        Loaded::Scan { dwi, .. } => Ok(dwi),
        Loaded::Image(volume) => Ok(volume),
        Loaded::Mask(mask) => Ok(mask.image().clone()),
        Loaded::Tractogram(_) => Err(Failure::new(format!(
            "Found streamlines, expected an image; name one: {}",
            path.display()
        ))),
    }
}

/// Opens an image with one number per voxel; uses the first of several volumes, with a warning.
pub fn scalar_image(
    path: &Path,
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<Volume, Failure> {
    let volume = image(path, reported, runner)?;
    if volume.kind == VolumeKind::Rgb {
        return Err(Failure::new(format!(
            "Found a colour image, expected one number per voxel; name another image: {}",
            path.display()
        )));
    }
    if volume.frames > 1 {
        warning!(
            "Only the first of {} is used; to use another, save it as an image of its own: {}",
            counted(volume.frames, "volume"),
            path.display()
        );
    }
    Ok(volume)
}

/// Images with the names of their files, for column heads.
pub fn images(
    paths: &[PathBuf],
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<Vec<(String, Volume)>, Failure> {
    let one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        Ok((name.to_owned(), scalar_image(path, reported, runner)?))
    };
    paths.iter().map(one).collect()
}

/// Refuses other names, before anything is read.
pub fn must_be_csv(path: &Path) -> Result<(), Failure> {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    if ending.eq_ignore_ascii_case("csv") {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "Tables are written as CSV, expected a name that ends in .csv: {}",
        path.display()
    )))
}
