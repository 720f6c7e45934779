//! The streamlines of the command: in memory, or read from a large file in each pass.

use super::{OpenedInputs, Options};
use crate::cli::inputs::{streamlines, warn_of_points_outside};
use crate::cli::output::remark;
use crate::cli::runner::{Failure, Runner};
use crate::cli::typed::typed_command;
use crate::data::Tractogram;
use crate::io::Remark;
use crate::solvers::tractogram::points_outside;
use crate::state::files::jobs::SaveWithValues;
use crate::state::files::jobs::open::StayInFile;
use crate::state::filter::WEIGHT;
use crate::state::filter::jobs::{FileLines, SurveyFile};
use crate::state::streamlines::jobs::from_file::OpenLarge;
use crate::state::streamlines::jobs::from_file::select::{MarkedInFile, SaveSelected};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The streamlines, without their points if the file is large.
pub fn open(
    options: &Options,
    runner: &mut Runner,
) -> Result<(Tractogram, Option<FileLines>), Failure> {
    let path = &options.streamlines;
    let (large, _) = runner.run(OpenLarge {
        path: path.clone(),
        reading: options.reading.reading(),
        stay: StayInFile::IfLarge,
    })?;
    let Some(large) = large else {
        let lines = streamlines(path, &options.reading, runner)?;
        return Ok((lines, None));
    };
    let info = large.file.info();
    for note in Remark::all(&info.warnings, &info.notes) {
        remark(&note, path.display());
    }
    let lines = large.file.without_points().clone();
    Ok((lines, Some(FileLines::new(&large.file))))
}

/// Warns of the share of the streamlines outside the scan. The fit itself refuses a file without a point inside.
pub fn warn_of_outside(
    (tractogram, from_file): (&Tractogram, Option<&FileLines>),
    options: &Options,
    opened: &OpenedInputs,
    runner: &mut Runner,
) -> Result<(), Failure> {
    let grid = &opened.scan.grid;
    let (outside, points) = match from_file {
        Some(lines) => {
            let (survey, _) = runner.run(SurveyFile {
                lines: lines.clone(),
                grid: grid.clone(),
            })?;
            let outside = survey.finite.saturating_sub(survey.inside);
            (outside as usize, survey.finite as usize)
        }
        None => {
            let outside = runner.backend.install(|| points_outside(grid, tractogram));
            (outside, tractogram.points.len())
        }
    };
    if outside < points {
        let place = (Path::new(&options.scan.scan), "have no signal to explain");
        warn_of_points_outside(outside, points, place);
    }
    Ok(())
}

/// Writes the streamlines of at least the smallest weight that is kept; returns the written files.
pub fn save_filtered(
    path: &Path,
    (weighted, from_file): (Tractogram, Option<FileLines>),
    options: &Options,
    runner: &mut Runner,
) -> Result<Vec<PathBuf>, Failure> {
    let weights = weighted.per_streamline[WEIGHT].clone();
    let min_weight = options.min_weight();
    let only: Arc<[bool]> = weights.iter().map(|w| *w >= min_weight).collect();
    let (path, command, replace) = (path.to_owned(), typed_command(), runner.force());
    let Some(lines) = from_file else {
        let request = SaveWithValues {
            tractogram: weighted,
            only: Some(only),
            path,
            command,
            replace,
        };
        return Ok(runner.run(request)?.0.converted.written);
    };
    let (kept, _) = runner.run(MarkedInFile {
        pieces: lines.pieces().clone(),
        marks: only,
        added: Some((WEIGHT, weights)),
    })?;
    let save = SaveSelected {
        kept,
        path,
        command,
        replace,
    };
    Ok(runner.run(save)?.0.converted.written)
}
