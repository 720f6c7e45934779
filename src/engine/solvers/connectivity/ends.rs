//! The label at the end of a streamline.

use crate::data::Volume;
use glam::{DVec3, Vec3};

/// Finds labels around points.
pub struct Ends<'a> {
    pub volume: &'a Volume,
    pub values: &'a [f32],
    pub radius_mm: f64,
    /// Half the edges of the block of voxels touched by a ball of the search radius.
    pub reach: DVec3,
}

impl<'a> Ends<'a> {
    pub fn new(volume: &'a Volume, frame: usize, radius_mm: f64) -> Self {
        let m = volume.grid.voxel_from_world.matrix3;
        let reach = |axis: usize| m.row(axis).length() * radius_mm;
        Self {
            volume,
            values: volume.frame(frame),
            radius_mm,
            reach: DVec3::new(reach(0), reach(1), reach(2)),
        }
    }

    /// The label of the voxel that contains the point; for background, that of the labelled voxel with the nearest
    /// centre within the radius (the first in file order if several are equally near). 0: none.
    pub fn label(&self, point: [f32; 3]) -> i64 {
        let grid = &self.volume.grid;
        let world = Vec3::from(point).as_dvec3();
        if !world.is_finite() {
            return 0;
        }
        let number = |index: usize| {
            let value = self.values[index];
            if value.is_finite() { value as i64 } else { 0 }
        };
        if let Some(voxel) = grid.nearest(world) {
            let here = number(grid.index(voxel));
            if here != 0 || self.radius_mm <= 0.0 {
                return here;
            }
        }
        if self.radius_mm <= 0.0 {
            return 0;
        }
        let at = grid.voxel_at(world);
        let range = |axis: usize| {
            let last = grid.shape[axis] as f64 - 1.0;
            let low = (at[axis] - self.reach[axis]).ceil().max(0.0);
            let high = (at[axis] + self.reach[axis]).floor().min(last);
            // Empty if the point lies too far outside.
            (low as usize)..(high + 1.0).max(0.0) as usize
        };
        let mut best = (self.radius_mm * self.radius_mm, 0);
        for k in range(2) {
            for j in range(1) {
                for i in range(0) {
                    let label = number(grid.index([i, j, k]));
                    if label == 0 {
                        continue;
                    }
                    let centre = grid.world(DVec3::new(i as f64, j as f64, k as f64));
                    let off = centre.distance_squared(world);
                    if off < best.0 || (off == best.0 && best.1 == 0) {
                        best = (off, label);
                    }
                }
            }
        }
        best.1
    }
}
