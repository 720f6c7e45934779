//! Files that several commands read, opened like in the window.

use super::options::ReadingOptions;
use super::output::remark;
use super::runner::{Failure, Runner};
use crate::data::text::{count, counted, file_stem};
use crate::data::{Grid, Tractogram, Volume, VolumeKind};
use crate::io::pieces::Pieces;
use crate::io::{Format, Remark};
use crate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile};
use crate::state::streamlines::jobs::from_file::{Coverage, FileSummary, OpenPieces};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn open(path: &Path, reported: &ReadingOptions, runner: &mut Runner) -> Result<Loaded, Failure> {
    let (loaded, notes) = read(path, reported, runner)?;
    for note in &notes {
        remark(note, path.display());
    }
    Ok(loaded)
}

fn read(
    path: &Path,
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<(Loaded, Vec<Remark>), Failure> {
    let open = OpenFile::with_reading(path.to_owned(), reported.reading());
    match runner.run(open)?.0 {
        Opened::File(file) => {
            let OpenedFile { loaded, notes, .. } = *file;
            Ok((loaded, notes))
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

/// A file's streamlines, to be read in pieces.
pub fn pieces(
    path: &Path,
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<Arc<Pieces>, Failure> {
    if !Pieces::can_open(path) {
        // Says what the path holds instead.
        streamlines(path, reported, runner)?;
    }
    let open = OpenPieces {
        path: path.to_owned(),
        reading: reported.reading(),
    };
    Ok(runner.run(open)?.0)
}

/// Writes the remarks about a streamline file to standard error.
pub fn report_remarks(summary: &FileSummary, path: &Path) {
    for note in &summary.remarks {
        remark(note, path.display());
    }
}

/// An image of one or several volumes, read beside streamlines.
pub fn image(
    path: &Path,
    reported: &ReadingOptions,
    runner: &mut Runner,
) -> Result<Volume, Failure> {
    volume(path, open(path, &reported.without_affine(), runner)?)
}

/// An image whose bases a command compares, which no remark about distributions has to ask for.
pub fn image_to_compare(path: &Path, runner: &mut Runner) -> Result<Volume, Failure> {
    let (loaded, notes) = read(path, &ReadingOptions::default(), runner)?;
    for note in notes.iter().filter(|note| !note.is_about_distributions()) {
        remark(note, path.display());
    }
    volume(path, loaded)
}

fn volume(path: &Path, loaded: Loaded) -> Result<Volume, Failure> {
    match loaded {
        Loaded::Scan { dwi, .. } => Ok(dwi),
        Loaded::Image(volume) => Ok(volume),
        Loaded::Mask(mask) => Ok(mask.image().clone()),
        Loaded::Tractogram(_) | Loaded::InPlace(_) => Err(Failure::new(format!(
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
    let open = |path: &PathBuf| Ok((file_stem(path), scalar_image(path, reported, runner)?));
    paths.iter().map(open).collect()
}

/// Refuses streamlines that lie wholly outside an image.
pub fn must_overlap(coverage: &Coverage, path: &Path) -> Result<(), Failure> {
    if coverage.outside > 0 && coverage.outside == coverage.points {
        return Err(Failure::new(format!(
            "No point of the streamlines lies in the image, expected data that overlap in world coordinates; check \
             that both belong to the same head and space: {}",
            path.display()
        )));
    }
    Ok(())
}

/// Does the same as [`must_overlap`], and warns of the share outside, with its consequence.
pub fn check_overlap(
    coverage: &Coverage,
    (path, consequence): (&Path, &str),
) -> Result<(), Failure> {
    must_overlap(coverage, path)?;
    warn_of_points_outside(coverage.outside, coverage.points, (path, consequence));
    Ok(())
}

/// Warns of the share of the points outside an image, unless it is none.
pub fn warn_of_points_outside(outside: usize, points: usize, (path, consequence): (&Path, &str)) {
    if outside > 0 {
        warning!(
            "{} of {} of the streamlines ({} %) lie outside the image and {consequence}: {}",
            count(outside as u64),
            counted(points, "point"),
            percent(outside, points),
            path.display()
        );
    }
}

/// Warns if most points lie outside the grid that their own file names.
pub fn warn_of_own_grid(coverage: &Coverage, path: &Path) {
    if 2 * coverage.outside > coverage.points {
        warning!(
            "{} of {} lie outside the grid that the file names; check that its header belongs to these \
             streamlines: {}",
            count(coverage.outside as u64),
            counted(coverage.points, "point"),
            path.display()
        );
    }
}

/// How the voxels of an image cover a whole tractogram.
pub fn grid_coverage(tractogram: &Tractogram, grid: &Arc<Grid>, runner: &Runner) -> Coverage {
    let mut coverage = Coverage::of_grid(grid);
    coverage.add(tractogram, &runner.backend);
    coverage
}

/// How the values of an image cover a whole tractogram.
pub fn value_coverage(tractogram: &Tractogram, volume: &Volume, runner: &Runner) -> Coverage {
    let mut coverage = Coverage::of_values(volume);
    coverage.add(tractogram, &runner.backend);
    coverage
}

/// The consequence for an image that is sampled along streamlines.
const NO_VALUE: &str = "have no value there";

/// Does the same as [`check_overlap`] for an image that is sampled along streamlines, and warns of points where it
/// holds no number.
pub fn check_values(coverage: &Coverage, path: &Path) -> Result<(), Failure> {
    check_overlap(coverage, (path, NO_VALUE))?;
    let (missing, points) = (coverage.without_value, coverage.points);
    if missing > 0 {
        let share = match missing < points {
            true => format!(" ({} %)", percent(missing, points)),
            false => String::new(),
        };
        warning!(
            "{} of {} of the streamlines{share} lie where the image is not a number and {NO_VALUE}: {}",
            count(missing as u64),
            counted(points, "point"),
            path.display()
        );
    }
    Ok(())
}

/// A share that is neither none nor all, in percent.
fn percent(some: usize, all: usize) -> String {
    match 100.0 * some as f64 / all as f64 {
        share if share < 0.1 => "less than 0.1".to_owned(),
        share if share > 99.9 => "more than 99.9".to_owned(),
        share => format!("{share:.1}"),
    }
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
