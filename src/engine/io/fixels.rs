//! Fixels, MRtrix's lists of the fibre directions in each voxel (MRtrix3 manual, "Fixel image (directory) format"): a
//! folder with the images `index`, `directions`, and one for each value of the fixels.
//!
//! Each voxel of `index` has the number of its fixels and the place of the first in the lists. A list has a row for each
//! fixel along its first axis; directions are unit vectors in world axes. The lists have no place in the world, but
//! a file may store their axes in another order and direction, as the affine says.

use super::orientations::OpenedPeaks;
use super::source::READING;
use super::text::counted;
use super::{Error, disk, image};
use crate::compute::{Control, memory};
use crate::data::statistics::quantile;
use crate::data::text::file_name;
use crate::data::{Fixels, Grid, PeakField, Volume, VolumeKind};
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Endings of the images, the default first.
const ENDINGS: [&str; 4] = ["mif", "nii", "mif.gz", "nii.gz"];
/// Names of the two images that every folder of fixels has.
const INDEX: &str = "index";
const DIRECTIONS: &str = "directions";

/// The files that a path stands for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Files {
    index: PathBuf,
    directions: PathBuf,
    /// The list that gives each fixel its length; without it all have length 1.
    values: Option<PathBuf>,
}

impl Files {
    /// The files of a folder of fixels, or of the folder in which one of its lists lies; `None` for any other path.
    pub(super) fn named_by(path: &Path) -> Option<Self> {
        let is_folder = path.is_dir();
        let folder = match is_folder {
            true => path,
            false => path.parent()?,
        };
        let (index, directions) = (find(folder, INDEX)?, find(folder, DIRECTIONS)?);
        let files = |values| Self {
            index: index.clone(),
            directions: directions.clone(),
            values,
        };
        if is_folder || path == index || path == directions {
            return Some(files(None));
        }
        is_list(path).then(|| files(Some(path.to_owned())))
    }
}

/// Whether a file is a list of values, and not one of the other images that may lie beside the lists.
fn is_list(path: &Path) -> bool {
    let grid = image::read_grid(path, &Control::new());
    grid.is_ok_and(|grid| grid.shape.iter().filter(|size| **size > 1).count() <= 1)
}

/// The lists of values in a folder of fixels, in the order of their names.
fn lists(folder: &Path) -> Vec<PathBuf> {
    let all = super::names_in(or_current(folder)).unwrap_or_default();
    let names = all.iter().filter_map(|path| path.file_name());
    let mut paths: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    paths.retain(|path| {
        let name = file_name(path);
        let stem = ENDINGS
            .iter()
            .find_map(|e| name.strip_suffix(&format!(".{e}")));
        stem.is_some_and(|stem| ![INDEX, DIRECTIONS].contains(&stem)) && is_list(path)
    });
    paths
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut paths = ENDINGS
        .map(|ending| folder.join(format!("{name}.{ending}")))
        .into_iter();
    paths.find(|path| path.is_file())
}

/// Whether a folder is one of fixels.
pub(super) fn is_folder(path: &Path) -> bool {
    find(path, INDEX).is_some() && find(path, DIRECTIONS).is_some()
}

/// The error for a folder that has only one of the two images of fixels, or for a list in such a folder; `None` for other
/// paths.
pub(super) fn incomplete(path: &Path) -> Option<Error> {
    let is_folder = path.is_dir();
    let folder = if is_folder { path } else { path.parent()? };
    let (found, missing) = match (find(folder, INDEX), find(folder, DIRECTIONS)) {
        (Some(found), None) => (found, DIRECTIONS),
        (None, Some(found)) => (found, INDEX),
        _ => return None,
    };
    // A file that is named index need not belong to fixels: lists of values must lie beside it.
    let is_meant = match is_folder {
        true => missing == INDEX || !lists(folder).is_empty(),
        false => path != found && is_list(path),
    };
    is_meant.then(|| {
        Error::malformed(
            folder,
            format!("a folder with {} and without {missing}", file_name(&found)),
            (
                format!("both {INDEX} and {DIRECTIONS}, as a folder of fixels has them"),
                "copy the whole folder",
            ),
        )
    })
}

/// An error for a folder that is none of fixels.
pub(super) fn no_fixels(folder: &Path) -> Error {
    Error::malformed(
        folder,
        format!("a folder without {INDEX}.mif and {DIRECTIONS}.mif"),
        (
            "a file, or a folder of fixels, as MRtrix's fod2fixel writes it",
            "choose a file in the folder",
        ),
    )
}

/// Reads fixels as peaks: the lengths are those of the list of values, or 1.
pub(super) fn read_peaks(files: Files, control: &Control) -> Result<OpenedPeaks, Error> {
    let (index, info) = image::stored(&files.index, control)?;
    let n = index.grid.voxel_count();
    if index.frames != 2 {
        return Err(Error::malformed(
            &files.index,
            counted(index.frames, "volume"),
            (
                "the two of an index of fixels: how many, and the place of the first",
                "write the fixels again with the program that made them",
            ),
        ));
    }
    let mut numbers = Vec::with_capacity(2 * n);
    index.for_each_value(|value, _| numbers.push(value));
    let directions = List::read(&files.directions, 3, control)?;
    let lengths = match &files.values {
        Some(path) => Some(List::read(path, 1, control)?),
        None => None,
    };
    if let (Some(lengths), Some(path)) = (&lengths, &files.values)
        && lengths.rows != directions.rows
    {
        return Err(Error::malformed(
            path,
            format!("values of {}", counted(lengths.rows, "fixel")),
            (
                format!("those of the {} in {DIRECTIONS}", directions.rows),
                "name a list of the same folder",
            ),
        ));
    }
    let places = places(&files.index, &numbers, directions.rows)?;
    let indexed: usize = places.iter().map(|(count, _)| count).sum();
    if indexed != directions.rows {
        return Err(Error::malformed(
            &files.directions,
            format!("directions of {}", counted(directions.rows, "fixel")),
            (
                format!("those of the {indexed} in {INDEX}"),
                "copy the whole folder of fixels, or write new ones",
            ),
        ));
    }
    let count = places
        .iter()
        .map(|(count, _)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    let size = 3 * count * n;
    let memory_error = |e| Error::memory(&files.index, e);
    memory::claim_for::<f32>(READING, size, 1).map_err(memory_error)?;
    let mut values = vec![0f32; size];
    let all_values = lengths.as_ref().map(List::all).unwrap_or_default();
    let has_sign = all_values.iter().any(|v| *v < 0.0);
    let signed_size = if has_sign { count * n } else { 0 };
    memory::claim_for::<f32>(READING, signed_size, 1).map_err(memory_error)?;
    let mut signed = vec![0f32; signed_size];
    let mut not_unit = 0usize;
    for (voxel, &(fixels, first)) in places.iter().enumerate() {
        for peak in 0..fixels {
            let row = first + peak;
            let [x, y, z] = [0, 1, 2].map(|axis| directions.at(row, axis));
            let length = lengths.as_ref().map_or(1.0, |lengths| lengths.at(row, 0));
            let direction = DVec3::new(x, y, z);
            let is_unit = (direction.length() - 1.0).abs() <= MAX_OFF_UNIT;
            not_unit += usize::from(!is_unit);
            let vector = direction.normalize_or_zero() * length;
            if let Some(signed) = signed.get_mut(peak * n + voxel) {
                *signed = length as f32;
            }
            if vector.is_finite() {
                for axis in 0..3 {
                    values[(3 * peak + axis) * n + voxel] = vector[axis] as f32;
                }
            }
        }
    }
    let mut warnings = info.warnings;
    if not_unit > 0 {
        warnings.push(format!(
            "{} of {} directions are not unit vectors; expected directions in world axes, as MRtrix writes them: check \
             {DIRECTIONS}",
            not_unit, directions.rows
        ));
    }
    let mut notes = info.notes;
    notes.push(lengths_note(&files, directions.rows));
    let field = PeakField::new(index.grid, count, values);
    let (range, window) = match files.values {
        Some(_) => range_and_window(all_values),
        None => ((0.0, 1.0), (0.0, 1.0)),
    };
    let folder = files.index.parent().unwrap_or(Path::new("."));
    let fixels = Fixels {
        count: directions.rows,
        values_list: files.values.clone(),
        lists: lists(folder),
        folder: resolved(folder),
        signed: has_sign.then(|| signed.into()),
        range,
        window,
    };
    let all = [Some(files.index), Some(files.directions), files.values];
    Ok(OpenedPeaks {
        field,
        fixels: Some(Arc::new(fixels)),
        files: all.into_iter().flatten().collect(),
        warnings,
        notes,
    })
}

/// The folder of a file: a file that is named without its folder lies in the current one.
fn or_current(folder: &Path) -> &Path {
    match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    }
}

/// A folder as an absolute path without links; as it is named if the system cannot resolve it.
fn resolved(folder: &Path) -> PathBuf {
    let named = or_current(folder);
    disk::without_links(named).unwrap_or_else(|_| named.to_owned())
}

/// A sentence about the lengths of the fixels.
fn lengths_note(files: &Files, rows: usize) -> String {
    match &files.values {
        Some(path) => format!(
            "Read {}, with the lengths in {}",
            counted(rows, "fixel"),
            path.file_name().unwrap_or_default().to_string_lossy()
        ),
        None => format!(
            "Read {}, each with length 1; open a list of values of this folder to scale them",
            counted(rows, "fixel")
        ),
    }
}

/// How far the length of a direction may be from 1: float32 and text formats round.
const MAX_OFF_UNIT: f64 = 0.01;

/// The smallest and the largest value, extended to include 0, and a window that contains nearly all values: it begins at 0
/// if no value is negative, and is symmetric otherwise.
fn range_and_window(mut values: Vec<f64>) -> ((f32, f32), (f32, f32)) {
    values.retain(|v| v.is_finite());
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least > most {
        return ((0.0, 1.0), (0.0, 1.0));
    }
    let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).collect();
    let high = quantile(&mut sizes, 0.99).filter(|v| *v > 0.0);
    let high = high.unwrap_or(1.0) as f32;
    let low = if least < 0.0 { -high } else { 0.0 };
    ((least.min(0.0) as f32, most.max(0.0) as f32), (low, high))
}

/// Number of fixels and place of the first in each voxel.
fn places(path: &Path, numbers: &[f64], rows: usize) -> Result<Vec<(usize, usize)>, Error> {
    let (counts, firsts) = numbers.split_at(numbers.len() / 2);
    let whole = |n: f64| (n >= 0.0 && n.fract() == 0.0 && n <= rows as f64).then_some(n as usize);
    let place = |(&count, &first): (&f64, &f64)| match whole(count) {
        // The place has no meaning without fixels.
        Some(0) => Ok((0, 0)),
        count_read => {
            let place = count_read.zip(whole(first));
            place
                .filter(|(count, first)| first + count <= rows)
                .ok_or_else(|| {
                    Error::malformed(
                        path,
                        format!("a voxel with {count} fixels from number {first} on"),
                        (
                            format!("whole numbers in a list of {}", counted(rows, "fixel")),
                            "write the fixels again with the program that made them",
                        ),
                    )
                })
        }
    };
    counts.iter().zip(firsts).map(place).collect()
}

/// A list with a row of values for each fixel.
struct List {
    rows: usize,
    /// In the order of the file.
    values: Vec<f64>,
    /// Index of the first value; `steps`: from row to row and column to column.
    first: isize,
    steps: [isize; 2],
}

impl List {
    fn read(path: &Path, columns: usize, control: &Control) -> Result<Self, Error> {
        let (stored, _) = image::stored(path, control)?;
        let mut values = Vec::with_capacity(stored.grid.voxel_count());
        stored.for_each_value(|value, _| values.push(value));
        let axes = ListAxes::new(&stored.grid);
        let [rows, found_columns, depth] = axes.sizes;
        if stored.frames != 1 || [found_columns, depth] != [columns, 1] || values.is_empty() {
            let sizes = axes.sizes.map(|n| n.to_string()).join(" × ");
            return Err(Error::malformed(
                path,
                format!("an image of {sizes} voxels"),
                (
                    format!("a list of fixels: any number × {columns} × 1"),
                    "name a list of a folder of fixels",
                ),
            ));
        }
        Ok(Self {
            rows,
            values,
            first: axes.first,
            steps: [axes.steps[0], axes.steps[1]],
        })
    }

    /// The values of a list of one column, in any order.
    fn all(&self) -> Vec<f64> {
        self.values.clone()
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        let place = self.first + row as isize * self.steps[0] + column as isize * self.steps[1];
        self.values[place as usize]
    }
}

/// The axes of a list. MRtrix numbers the axes of an image by the axes of the world that they are nearest to, and
/// counts along these, whatever the order and the direction in the file.
struct ListAxes {
    sizes: [usize; 3],
    first: isize,
    steps: [isize; 3],
}

impl ListAxes {
    fn new(grid: &Grid) -> Self {
        let matrix = grid.world_from_voxel.matrix3;
        let nearest = |axis: usize| {
            let along = matrix.col(axis).abs();
            let mut largest = 0;
            for world in 1..3 {
                if along[world] > along[largest] {
                    largest = world;
                }
            }
            largest
        };
        let mut world_axes = [0, 1, 2].map(nearest);
        let is_each = (0..3).all(|axis| world_axes.contains(&axis));
        if !is_each {
            world_axes = [0, 1, 2];
        }
        let mut axes = Self {
            sizes: [1; 3],
            first: 0,
            steps: [0; 3],
        };
        let mut step = 1;
        for (axis, world) in world_axes.into_iter().enumerate() {
            let size = grid.shape[axis];
            axes.sizes[world] = size;
            axes.steps[world] = step;
            if matrix.col(axis)[world] < 0.0 {
                axes.steps[world] = -step;
                axes.first += (size as isize - 1) * step;
            }
            step *= size as isize;
        }
        axes
    }
}

/// The images of a folder of fixels, with their names without ending: the index, the directions, and a list for each
/// image of values, which has a volume for each peak. Voxels and peaks keep their order. Empty without peaks.
pub fn images(peaks: &PeakField, values: &[(&str, Volume)]) -> Vec<(String, Volume)> {
    let n = peaks.grid.voxel_count();
    let (mut index, mut fixels) = (vec![0u32; 2 * n], Vec::new());
    for voxel in 0..n {
        let first = fixels.len();
        let all = (0..peaks.count()).filter_map(|k| Some((voxel, k, peaks.peak(voxel, k)?)));
        fixels.extend(all);
        index[voxel] = (fixels.len() - first) as u32;
        index[n + voxel] = first as u32;
    }
    let size = |columns: usize| [fixels.len(), columns, 1];
    let list = |columns: usize, values: Vec<f32>| {
        // A list without rows is not an image.
        let grid = Grid::axis_aligned(size(columns), DVec3::ONE, DVec3::ZERO)?;
        Some(Volume::new(Arc::new(grid), 1, VolumeKind::Scalar, values))
    };
    let axis = |axis: usize| {
        fixels
            .iter()
            .map(move |(_, _, peak)| peak.normalize_or_zero()[axis] as f32)
    };
    let Some(directions) = list(3, (0..3).flat_map(axis).collect()) else {
        return Vec::new();
    };
    let mut images = vec![
        (
            INDEX.to_owned(),
            Volume::of_count_frames(peaks.grid.clone(), index),
        ),
        (DIRECTIONS.to_owned(), directions),
    ];
    for (name, volume) in values {
        let value = |&(voxel, k, _): &(usize, usize, DVec3)| volume.frame(k)[voxel];
        let values = list(1, fixels.iter().map(value).collect());
        images.extend(values.map(|values| ((*name).to_owned(), values)));
    }
    images
}

/// The length of each peak as an image with a volume for each.
pub fn lengths(peaks: &PeakField) -> Volume {
    let n = peaks.grid.voxel_count();
    let length = |k: usize| {
        (0..n).map(move |voxel| {
            peaks
                .peak(voxel, k)
                .map_or(0.0, |peak| peak.length() as f32)
        })
    };
    let values: Vec<f32> = (0..peaks.count()).flat_map(length).collect();
    Volume::new(
        peaks.grid.clone(),
        peaks.count(),
        VolumeKind::Scalar,
        values,
    )
}

/// The path of an image of fixels in a folder: MRtrix's own format, whatever the other images have.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{}", ENDINGS[0]))
}
