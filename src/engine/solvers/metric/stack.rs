//! Several metrics of the same voxels as one, so that a solver computes them together.

use super::{Metric, Places};
use crate::compute::DataId;
use crate::data::{AffineSource, Grid};
use glam::{DAffine3, DVec3};
use std::sync::Arc;

/// Copies start at multiples of this number of voxels, as bricks do: a solver visits each copy as if it were alone.
const ALIGNED: usize = 4;

/// The voxels of a mask, copied along the third axis. At least one voxel outside the mask lies between two copies, and
/// no step of a path passes such a voxel, so that no path connects them.
#[derive(Clone, Debug)]
pub struct Stack {
    places: Places,
    copies: usize,
    /// Displacement from one copy to the next, mm.
    shift: DVec3,
}

impl Stack {
    /// The voxels of the mask, this many times; `None` for no voxel or no copy.
    pub fn new(mask: &Places, copies: usize) -> Option<Self> {
        let grid = &mask.grid;
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for voxel in mask.voxels.iter().map(|v| grid.voxel(*v as usize)) {
            for axis in 0..3 {
                low[axis] = low[axis].min(voxel[axis]);
                high[axis] = high[axis].max(voxel[axis]);
            }
        }
        if mask.is_empty() || copies == 0 {
            return None;
        }
        // The origin is a multiple of a brick, so the copies and the mask share the bricks.
        let origin = low.map(|first| first / ALIGNED * ALIGNED);
        let mut shape = [0, 1, 2].map(|axis| high[axis] + 1 - origin[axis]);
        let step = (shape[2] + 1).next_multiple_of(ALIGNED);
        shape[2] = step * copies;
        let moved = DAffine3::from_translation(DVec3::from_array(origin.map(|c| c as f64)));
        let affine = grid.world_from_voxel * moved;
        let stacked = Arc::new(Grid::new(shape, affine, AffineSource::Computed)?);
        let voxels = (0..copies).flat_map(|copy| {
            let stacked = &stacked;
            mask.voxels.iter().map(move |voxel| {
                let [x, y, z] = grid.voxel(*voxel as usize);
                let [dx, dy, dz] = origin;
                stacked.index([x - dx, y - dy, z - dz + copy * step]) as u32
            })
        });
        Some(Self {
            places: Places::new(&stacked, voxels.collect()),
            copies,
            shift: grid.world_from_voxel.matrix3.z_axis * step as f64,
        })
    }

    /// The metrics of the copies, each of the voxels of the mask, as one with the unit of cost of the first. Panics unless
    /// there is one for each copy (a broken invariant, not data).
    pub fn metric(&self, metrics: &[Metric]) -> Metric {
        let speeds = metrics.iter().flat_map(|m| m.speed.iter().copied());
        let costs = metrics.iter().flat_map(|m| m.cost.iter().copied());
        let (speed, cost): (Arc<[_]>, Arc<[_]>) = (speeds.collect(), costs.collect());
        assert_eq!(speed.len(), self.places.len(), "a metric for each copy");
        Metric {
            id: DataId::fresh(),
            places: self.places.clone(),
            speed,
            cost,
            repaired: metrics.iter().map(|m| m.repaired).sum(),
            limited: metrics.iter().map(|m| m.limited).sum(),
            scale: metrics.first().map_or(1.0, |m| m.scale),
            factors: None,
        }
    }

    /// The voxels of all copies.
    pub fn all(&self) -> &Places {
        &self.places
    }

    /// Number of copies.
    pub fn copies(&self) -> usize {
        self.copies
    }

    /// A place of the mask in each copy, copy by copy.
    pub fn places(&self, of_mask: &[u32]) -> Vec<u32> {
        let each = self.places.len() / self.copies;
        let copies = 0..self.copies;
        let all = copies.flat_map(|copy| of_mask.iter().map(move |p| p + (copy * each) as u32));
        all.collect()
    }

    /// The first place of a copy.
    pub fn first(&self, copy: usize) -> usize {
        copy * (self.places.len() / self.copies)
    }

    /// Maps a point of a copy to the mask.
    pub fn in_mask(&self, copy: usize, point: DVec3) -> DVec3 {
        point - self.shift * copy as f64
    }
}
