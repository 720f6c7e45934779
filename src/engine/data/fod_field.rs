//! Fibre orientation distributions on a grid.

use super::spherical_harmonics::count;
use super::{Grid, Mask, Volume, VolumeKind};
use crate::compute::{DataId, zeroed};
use glam::DVec3;
use std::sync::Arc;

/// One distribution for each voxel of a mask: a series of spherical harmonics in MRtrix's basis and world axes.
///
/// With response functions in the units of the scan, a voxel equal to that of white matter has the integral 1.
#[derive(Clone, Debug)]
pub struct FodField {
    id: DataId,
    pub grid: Arc<Grid>,
    order: usize,
    /// The row of each voxel of the grid, [`FodField::OUTSIDE`] outside the mask.
    rows: Arc<[u32]>,
    /// `coefficients[row * count + index]`.
    coefficients: Arc<[f32]>,
}

impl FodField {
    /// The row of voxels outside the mask.
    pub const OUTSIDE: u32 = u32::MAX;

    /// Panics if the voxels are not ascending voxels of the grid, or the number of coefficients is not theirs (a
    /// broken invariant, not data).
    pub fn new(
        grid: Arc<Grid>,
        order: usize,
        voxels: &[usize],
        coefficients: impl Into<Arc<[f32]>>,
    ) -> Self {
        let coefficients = coefficients.into();
        assert!(voxels.is_sorted(), "voxels in ascending order");
        assert_eq!(
            coefficients.len(),
            voxels.len() * count(order),
            "coefficients against their voxels"
        );
        let mut rows = vec![Self::OUTSIDE; grid.voxel_count()];
        for (row, &voxel) in voxels.iter().enumerate() {
            rows[voxel] = row as u32;
        }
        Self {
            id: DataId::fresh(),
            grid,
            order,
            rows: rows.into(),
            coefficients,
        }
    }

    pub fn id(&self) -> DataId {
        self.id
    }

    /// The highest degree of the series.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.coefficients.len() / count(self.order)
    }

    pub fn is_empty(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// The coefficients of all voxels, row by row.
    pub fn coefficients(&self) -> &[f32] {
        &self.coefficients
    }

    /// The voxels of the mask, ascending: one for each row.
    pub fn voxels(&self) -> Vec<usize> {
        let inside = self.rows.iter().enumerate();
        let inside = inside.filter(|(_, row)| **row != Self::OUTSIDE);
        inside.map(|(voxel, _)| voxel).collect()
    }

    /// The coefficients of a voxel of the grid; `None` outside the mask.
    pub fn at(&self, voxel: usize) -> Option<&[f32]> {
        let row = *self.rows.get(voxel)?;
        let n = count(self.order);
        let first = row as usize * n;
        (row != Self::OUTSIDE).then(|| &self.coefficients[first..first + n])
    }

    /// The coefficients of the voxel that contains a world point; `None` outside.
    pub fn nearest(&self, world: DVec3) -> Option<&[f32]> {
        self.at(self.grid.index(self.grid.nearest(world)?))
    }

    pub fn mask(&self) -> Mask {
        let inside = self.rows.iter().map(|row| u8::from(*row != Self::OUTSIDE));
        Mask::new(self.grid.clone(), inside.collect::<Vec<u8>>())
    }

    /// A volume for each coefficient, as MRtrix stores them; 0 outside the mask.
    pub fn volume(&self) -> Volume {
        let (n, frames) = (self.grid.voxel_count(), count(self.order));
        let mut values = zeroed(n * frames);
        let slots = Arc::get_mut(&mut values).expect("made here and not shared yet");
        for (voxel, &row) in self.rows.iter().enumerate() {
            if row != Self::OUTSIDE {
                let first = row as usize * frames;
                for (frame, c) in self.coefficients[first..first + frames].iter().enumerate() {
                    slots[frame * n + voxel] = *c;
                }
            }
        }
        Volume::new(self.grid.clone(), frames, VolumeKind::Scalar, values)
    }
}
