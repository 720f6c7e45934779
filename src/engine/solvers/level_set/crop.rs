//! The field around the surface, for drawing.

use super::bricks::{Field, OUTSIDE, origin};
use crate::data::{AffineSource, Grid, Volume};
use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

impl Field {
    /// First and last voxel of the bricks that are not all outside.
    pub fn extent(&self) -> Option<([usize; 3], [usize; 3])> {
        let (b, shape) = (self.brick, self.counts());
        let bricks = self
            .table
            .iter()
            .enumerate()
            .filter(|(_, s)| **s != OUTSIDE);
        bricks.fold(None, |extent: Option<([usize; 3], [usize; 3])>, (i, _)| {
            let first = origin(i, shape, b);
            let last = [0, 1, 2].map(|a| (first[a] + b).min(self.grid.shape[a]) - 1);
            Some(match extent {
                None => (first, last),
                Some((low, high)) => (
                    [0, 1, 2].map(|a| low[a].min(first[a])),
                    [0, 1, 2].map(|a| high[a].max(last[a])),
                ),
            })
        })
    }

    /// φ of all bricks that are not entirely outside, with a margin of one voxel, which closes a surface that reaches
    /// the image's border as [`super::surface`] does. Needs the backend's threads installed.
    pub fn cropped(&self) -> Option<Volume> {
        let (low, high) = self.extent()?;
        let shape = [0, 1, 2].map(|a| high[a] - low[a] + 3);
        let corner = DVec3::from_array(low.map(|v| v as f64)) - 1.0;
        let affine = self.grid.world_from_voxel * DAffine3::from_translation(corner);
        let grid = Grid::new(shape, affine, AffineSource::Computed)?;
        let [nx, ny, _] = shape;
        let mut values = vec![0.0f32; grid.voxel_count()];
        values
            .par_chunks_mut(nx)
            .enumerate()
            .for_each(|(row, out)| {
                let (y, z) = (row % ny, row / ny);
                for (x, out) in out.iter_mut().enumerate() {
                    let at = [low[0] + x, low[1] + y, low[2] + z];
                    // One voxel beyond the grid.
                    let voxel = [0, 1, 2].map(|a| at[a].clamp(1, self.grid.shape[a]) - 1);
                    let value = self.value(voxel);
                    let inside = (0..3).all(|a| voxel[a] + 1 == at[a]);
                    *out = if inside { value } else { -value.abs() };
                }
            });
        Some(Volume::scalar(Arc::new(grid), values))
    }
}
