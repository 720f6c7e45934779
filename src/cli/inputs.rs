//! Files that several commands read, opened like in the window.

use super::options::ReadingOptions;
use super::output::remark;
use super::runner::{Failure, Runner};
use crate::data::text::{count, counted, file_stem};
use crate::data::{Grid, Tractogram, Volume, VolumeKind};
use crate::io::{Format, Remark};
use crate::solvers::tractogram::{points_outside, points_without_value};
use crate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile};
use std::path::{Path, PathBuf};

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
    let open = |path: &PathBuf| Ok((file_stem(path), scalar_image(path, reported, runner)?));
    paths.iter().map(open).collect()
}

/// Refuses streamlines that lie wholly outside an image; returns the number of points outside.
pub fn must_overlap(
    tractogram: &Tractogram,
    grid: &Grid,
    path: &Path,
    runner: &Runner,
) -> Result<usize, Failure> {
    let points = tractogram.points.len();
    let outside = runner.backend.install(|| points_outside(grid, tractogram));
    if outside > 0 && outside == points {
        return Err(Failure::new(format!(
            "No point of the streamlines lies in the image, expected data that overlap in world coordinates; check \
             that both belong to the same head and space: {}",
            path.display()
        )));
    }
    Ok(outside)
}

/// Does the same as [`must_overlap`], and warns of the share outside, with its consequence.
pub fn check_overlap(
    tractogram: &Tractogram,
    grid: &Grid,
    (path, consequence): (&Path, &str),
    runner: &Runner,
) -> Result<(), Failure> {
    let outside = must_overlap(tractogram, grid, path, runner)?;
    warn_of_points_outside(outside, tractogram, (path, consequence));
    Ok(())
}

/// Warns of the share of the points outside an image, unless it is none.
pub fn warn_of_points_outside(
    outside: usize,
    tractogram: &Tractogram,
    (path, consequence): (&Path, &str),
) {
    let points = tractogram.points.len();
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
pub fn warn_of_own_grid(tractogram: &Tractogram, path: &Path, runner: &Runner) {
    let Some(grid) = &tractogram.grid else {
        return;
    };
    let outside = runner.backend.install(|| points_outside(grid, tractogram));
    let points = tractogram.points.len();
    if 2 * outside > points {
        warning!(
            "{} of {} lie outside the grid that the file names; check that its header belongs to these \
             streamlines: {}",
            count(outside as u64),
            counted(points, "point"),
            path.display()
        );
    }
}

/// The consequence for an image that is sampled along streamlines.
const NO_VALUE: &str = "have no value there";

/// Does the same as [`check_overlap`] for an image that is sampled along streamlines, and warns of points where it
/// holds no number.
pub fn check_values(
    tractogram: &Tractogram,
    volume: &Volume,
    path: &Path,
    runner: &Runner,
) -> Result<(), Failure> {
    check_overlap(tractogram, &volume.grid, (path, NO_VALUE), runner)?;
    let lacks = || points_without_value(volume, tractogram);
    let (missing, points) = (runner.backend.install(lacks), tractogram.points.len());
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
