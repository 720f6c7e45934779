//! Masks out of images.

use super::{Error, image};
use crate::compute::Control;
use crate::data::{Grid, Mask, Volume, VolumeKind};
use std::path::Path;
use std::sync::Arc;

/// Voxels above this are inside: whole numbers from 1, and the larger half of an interpolated mask.
const THRESHOLD: f32 = 0.5;

/// Reads a mask for the voxels of `grid`, in whatever order of its axes they are stored, and refuses one
/// of several volumes, on another grid, or without a voxel. With it come warnings, one sentence each, without the path.
pub fn mask(path: &Path, grid: &Arc<Grid>) -> Result<(Mask, Vec<String>), Error> {
    let (own, warnings) = mask_on_own_grid(path)?;
    let mask = own.in_the_order_of(grid).ok_or_else(|| Error::MaskGrid {
        path: path.to_owned(),
        found: own.grid.shape,
        expected: grid.shape,
        off_mm: grid.apart_mm(&own.grid),
    })?;
    Ok((mask, warnings))
}

/// Reads a mask that may lie on any grid (a region); with warnings as [`mask`].
pub fn mask_on_own_grid(path: &Path) -> Result<(Mask, Vec<String>), Error> {
    let (volume, info) = image::read(path, &Control::new())?;
    if volume.kind == VolumeKind::Rgb {
        return Err(Error::malformed(path, "a colour image", "a mask"));
    }
    if volume.frames != 1 {
        return Err(Error::MaskFrames {
            path: path.to_owned(),
            frames: volume.frames,
        });
    }
    let inside: Vec<u8> = volume
        .values
        .iter()
        .map(|&v| u8::from(v > THRESHOLD))
        .collect();
    if !inside.contains(&1) {
        return Err(Error::MaskEmpty {
            path: path.to_owned(),
        });
    }
    let mut warnings = info.warnings;
    let neither = volume.values.iter().filter(|v| **v != 0.0 && **v != 1.0);
    let neither = neither.count();
    if neither > 0 {
        warnings.push(format!(
            "{neither} of the mask's {} values are neither 0 nor 1; those above {THRESHOLD} count \
             as inside",
            volume.values.len()
        ));
    }
    Ok((Mask::new(volume.grid, inside), warnings))
}

/// An image that is a mask by its values: one volume of zeros and ones, with both.
pub fn as_mask(volume: &Volume) -> Option<Mask> {
    let one = volume.frames == 1 && volume.kind == VolumeKind::Scalar;
    let (mut zeros, mut ones) = (false, false);
    let binary = one
        && volume.values.iter().all(|&v| {
            zeros |= v == 0.0;
            ones |= v == 1.0;
            v == 0.0 || v == 1.0
        });
    (binary && zeros && ones).then(|| {
        let inside: Vec<u8> = volume.values.iter().map(|&v| v as u8).collect();
        Mask::new(volume.grid.clone(), inside)
    })
}
