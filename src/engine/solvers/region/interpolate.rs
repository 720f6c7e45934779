//! Shape-based interpolation between drawn slices.
//!
//! In each drawn slice, every voxel has a signed distance from the border of the region, negative inside. In the
//! slices between two drawn ones, the distances of the two are interpolated linearly, and the region is where they are
//! not positive (Raya and Udupa 1990, "Shape-based interpolation of multidimensional objects", IEEE Transactions on
//! Medical Imaging 9:32). Distances are exact, in world millimetres, from the faces of the voxels. Where the shapes of
//! two slices lie beside each other without overlap, the region between them becomes empty.

use super::distance::{Extent, distances_along_axis};
use super::error::InputError;
use super::{Error, PaddedBlock, has_right_angles};
use crate::compute::{Control, memory};
use crate::data::{Grid, Mask, keyed};
use glam::DVec3;

/// The orientation of the slices in which a region was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceAxis {
    /// Left to right.
    Sagittal,
    /// Back to front.
    Coronal,
    /// Bottom to top.
    Axial,
}

keyed!(SliceAxis, serde {
    Sagittal = "sagittal",
    Coronal = "coronal",
    Axial = "axial",
});

impl SliceAxis {
    /// All orientations, in the order of the world axes that they are perpendicular to.
    pub const ALL: [Self; 3] = [Self::Sagittal, Self::Coronal, Self::Axial];

    /// The world axis perpendicular to the slices.
    pub fn world_axis(self) -> usize {
        Self::ALL.iter().position(|a| *a == self).unwrap_or(0)
    }

    /// The orientation perpendicular to a world axis: 0 sagittal, 1 coronal, 2 axial.
    pub fn from_world_axis(axis: usize) -> Option<Self> {
        Self::ALL.get(axis).copied()
    }

    /// The axis of a grid that is nearest to the perpendicular of the slices.
    pub fn voxel_axis(self, grid: &Grid) -> usize {
        let matrix = grid.world_from_voxel.matrix3;
        let along = |axis: usize| matrix.col(axis).normalize_or_zero()[self.world_axis()].abs();
        let mut axes = [0, 1, 2];
        axes.sort_by(|a, b| along(*b).total_cmp(&along(*a)));
        axes[0]
    }
}

/// Interpolated distances of at most this are inside, mm: a border midway between two voxels' centres rounds up or down
/// at random otherwise.
const TIE_MM: f64 = 1e-9;

/// Fills the empty slices between drawn ones. Slices with voxels of their own stay as they are. Needs the backend's
/// threads installed. An error on grids without right angles.
pub fn interpolate(mask: &Mask, slices: SliceAxis, control: &Control) -> Result<Mask, Error> {
    let mask = &mask.on_whole_grid();
    let Some(part) = PaddedBlock::around(mask, DVec3::ZERO) else {
        return Ok(mask.clone());
    };
    if !has_right_angles(&mask.grid) {
        return Err(InputError::ShearedGrid.into());
    }
    let axis = slices.voxel_axis(&mask.grid);
    let mut inside = part.inside(mask, |inside| inside);
    let place = |at: usize| {
        let [nx, ny, _] = part.shape;
        [at % nx, at / nx % ny, at / (nx * ny)][axis]
    };
    let mut drawn = vec![false; part.shape[axis]];
    for (at, _) in inside.iter().enumerate().filter(|(_, inside)| **inside) {
        drawn[place(at)] = true;
    }
    let drawn: Vec<usize> = (0..drawn.len()).filter(|slice| drawn[*slice]).collect();
    if drawn.windows(2).all(|pair| pair[1] - pair[0] == 1) {
        return Ok(mask.clone());
    }
    memory::claim_for::<f64>("The distances within the slices", part.count(), 3)?;
    control.begin("Measuring distances", part.count() as u64 * 4);
    let signed = signed_distances(mask, &part, &inside, axis, control)?;
    let stride: usize = part.shape[..axis].iter().product();
    // For each empty slice, the drawn ones before and after it.
    let mut around = vec![None; part.shape[axis]];
    for pair in drawn.windows(2) {
        around[pair[0] + 1..pair[1]].fill(Some((pair[0], pair[1])));
    }
    for (at, is_inside) in inside.iter_mut().enumerate() {
        let slice = place(at);
        let Some((from, to)) = around[slice] else {
            continue;
        };
        let share = (slice - from) as f64 / (to - from) as f64;
        let before = signed[at - (slice - from) * stride];
        let after = signed[at + (to - slice) * stride];
        *is_inside = (1.0 - share) * before + share * after <= TIE_MM;
    }
    Ok(part.mask(&mask.grid, &inside, |inside| *inside))
}

/// Distances of the voxels' centres from the border of the region in their own slices, negative inside.
fn signed_distances(
    mask: &Mask,
    part: &PaddedBlock,
    inside: &[bool],
    axis: usize,
    control: &Control,
) -> Result<Vec<f64>, Error> {
    let spacing = mask.grid.spacing();
    let to = |is_inside: bool| -> Result<Vec<f64>, Error> {
        let start = |inside: bool| match inside == is_inside {
            true => 0.0,
            false => f64::INFINITY,
        };
        let mut squared = part.inside(mask, start);
        for other in (0..3).filter(|other| *other != axis) {
            let along = (other, spacing[other]);
            distances_along_axis(&mut squared, part.shape, along, Extent::Voxels, control)?;
        }
        Ok(squared)
    };
    let (mut signed, outside) = (to(true)?, to(false)?);
    for ((distance, outside), inside) in signed.iter_mut().zip(&outside).zip(inside) {
        *distance = match inside {
            true => -outside.sqrt(),
            false => distance.sqrt(),
        };
    }
    Ok(signed)
}
