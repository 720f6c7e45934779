//! The part shared by all image formats: choosing the reader by format, and the writer by the name.
//!
//! # Example
//!
//! The grid of an image, without its voxels:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::{Grid, Mask};
//! use arcuate_engine::io::image;
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let control = Control::new();
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("mask.nii");
//! let grid = Grid::axis_aligned([3, 2, 1], DVec3::splat(2.0), DVec3::ZERO).ok_or("a valid grid")?;
//! let mask = Mask::new(Arc::new(grid.clone()), vec![1; 6]);
//! image::save_mask(&path, &mask, "an example", &control)?;
//! assert!(image::read_grid(&path, &control)?.matches(&grid));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::atomic::PreparedFile;
use super::format::Format;
use super::stored::Stored;
use super::{Error, Remark, SpaceInfo, detect, mgh, mif, misnamed, nifti, nrrd};
use crate::compute::{Control, memory};
use crate::data::{Grid, Mask, Volume};
use std::path::Path;

/// Reads an image in any format.
pub fn read(path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    let named = detect(path)?;
    read_as(named, path, control).map_err(|error| misnamed(path, named, error))
}

fn read_as(format: Format, path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    let (volume, mut info) = match format {
        Format::Nifti => nifti::read(path, control),
        Format::Mgh => mgh::read(path, control),
        Format::Nrrd => nrrd::read(path, control),
        Format::Mif => mif::read(path, control),
        other => Err(Error::unsupported(
            path,
            format!("not an image but {}", other.name()),
            "name an image",
        )),
    }?;
    if volume.values.is_view() {
        info.notes.push(format!(
            "The values do not fit in memory: they lie in a temporary file of {}, and work on them takes longer",
            memory::size(size_of_val(&*volume.values) as u64)
        ));
    }
    Ok((volume, info))
}

/// A series of volumes of which only the first is kept.
pub struct Overview {
    /// First volume of the series.
    pub first: Volume,
    /// Volumes of the series.
    pub frames: usize,
    /// Number of NaN values in all volumes.
    pub not_a_number: usize,
    /// Number of infinite values in all volumes.
    pub infinite: usize,
    /// Irregularities found while reading.
    pub remarks: Vec<Remark>,
}

/// Reads a series in a NIfTI file with the memory of one volume; `None` for any other file.
pub fn overview(path: &Path, control: &Control) -> Result<Option<Overview>, Error> {
    match detect(path)? {
        Format::Nifti => nifti::overview(path, control),
        _ => Ok(None),
    }
}

/// Reads an image in any format in its stored type.
pub(super) fn stored(path: &Path, control: &Control) -> Result<(Stored, SpaceInfo), Error> {
    match detect(path)? {
        Format::Mgh => mgh::stored(path, control),
        Format::Nrrd => nrrd::stored(path, control),
        Format::Mif => mif::stored(path, control),
        _ => nifti::stored(path, control),
    }
}

/// The grid of an image, without its voxels.
pub fn read_grid(path: &Path, control: &Control) -> Result<Grid, Error> {
    match detect(path)? {
        Format::Nifti => nifti::read_grid(path, control),
        Format::Mgh => mgh::read_grid(path, control),
        Format::Nrrd => nrrd::read_grid(path, control),
        Format::Mif => mif::read_grid(path, control),
        _ => Err(Error::unsupported(
            path,
            "not an image",
            "give the image whose grid is to be used",
        )),
    }
}

/// Writes a volume: as an MRtrix image if the name says so, otherwise as NIfTI.
pub fn save_volume(
    path: &Path,
    volume: &Volume,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    match mif::is_named(path) {
        true => mif::save_volume(path, volume, description, control),
        false => nifti::save_volume(path, volume, description, control),
    }
}

/// Does everything of [`save_volume`] except the last step, for images that are renamed together.
pub fn prepare_volume(
    path: &Path,
    volume: &Volume,
    description: &str,
    control: &Control,
) -> Result<Vec<PreparedFile>, Error> {
    match mif::is_named(path) {
        true => mif::prepare_volume(path, volume, description, control),
        false => Ok(vec![nifti::prepare_volume(
            path,
            volume,
            description,
            control,
        )?]),
    }
}

/// Writes a mask, 1 inside and 0 outside, in the format of the name.
pub fn save_mask(
    path: &Path,
    mask: &Mask,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    match mif::is_named(path) {
        true => mif::save_mask(path, mask, description, control),
        false => nifti::save_mask(path, mask, description, control),
    }
}

/// Writes a label map in the format of the name: 0 marks voxels without a region.
pub fn save_labels(
    path: &Path,
    grid: &Grid,
    labels: &[u16],
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    match mif::is_named(path) {
        true => mif::save_labels(path, grid, labels, description, control),
        false => nifti::save_labels(path, grid, labels, description, control),
    }
}
