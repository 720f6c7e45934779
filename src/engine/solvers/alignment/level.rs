//! An image at a coarser resolution.

use crate::data::Volume;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;

/// Averaged over blocks of voxels and smoothed, so that samples some mm apart miss no structure.
pub struct Level {
    pub shape: [usize; 3],
    pub values: Vec<f32>,
    pub world_from_voxel: DAffine3,
    pub voxel_from_world: DAffine3,
    /// Lower end of the histogram's first bin, and bins per unit of value.
    pub low: f32,
    pub per_value: f32,
}

/// Bins of the histogram along each axis.
pub const BINS: usize = 32;

impl Level {
    /// An image for samples this far apart.
    pub fn new(volume: &Volume, spacing_mm: f64) -> Self {
        let grid = &volume.grid;
        // Averages over half the spacing; the smoothing afterwards provides the rest.
        let factor = (0.5 * spacing_mm / grid.spacing() + 0.25)
            .floor()
            .max(DVec3::ONE);
        let factor = factor.to_array().map(|f| f as usize);
        let shape = [0, 1, 2].map(|a| (grid.shape[a] / factor[a]).max(1));
        let block = [0, 1, 2].map(|a| factor[a].min(grid.shape[a]));
        let values = averaged(volume, shape, block);
        let values = (0..3).fold(values, |values, axis| smoothed(&values, shape, axis));
        let size = DVec3::from_array(block.map(|n| n as f64));
        // The centre of a block of n voxels from 0 on is at (n - 1) / 2.
        let fine_from_coarse =
            DAffine3::from_translation(0.5 * (size - 1.0)) * DAffine3::from_scale(size);
        let world_from_voxel = grid.world_from_voxel * fine_from_coarse;
        let (low, high) = percentiles(&values);
        Self {
            shape,
            values,
            world_from_voxel,
            voxel_from_world: world_from_voxel.inverse(),
            low,
            per_value: (BINS - 1) as f32 / (high - low).max(f32::MIN_POSITIVE),
        }
    }

    /// Whether the histogram has no width.
    pub fn is_flat(&self) -> bool {
        !self.per_value.is_finite()
    }

    /// World point at the middle of the voxels.
    pub fn middle(&self) -> DVec3 {
        let last = DVec3::from_array(self.shape.map(|n| (n - 1) as f64));
        self.world_from_voxel.transform_point3(0.5 * last)
    }

    /// The value in bins, 0..=BINS - 1.
    pub fn bin(&self, value: f32) -> f32 {
        ((value - self.low) * self.per_value).clamp(0.0, (BINS - 1) as f32)
    }

    /// Centre of mass, world mm, of the values above the lowest fifth of their range: the head, in any contrast.
    pub fn centre(&self) -> DVec3 {
        let [nx, ny, _] = self.shape;
        let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
        for (i, value) in self.values.iter().enumerate() {
            let share = self.bin(*value) / (BINS - 1) as f32;
            if share > 0.2 {
                let voxel = [i % nx, i / nx % ny, i / (nx * ny)];
                sum += DVec3::from_array(voxel.map(|v| v as f64));
                weight += 1.0;
            }
        }
        if weight > 0.0 {
            self.world_from_voxel.transform_point3(sum / weight)
        } else {
            self.middle()
        }
    }

    /// Interpolates linearly between voxel centres; `None` outside them.
    pub fn at(&self, voxel: DVec3) -> Option<f32> {
        let last = self.shape.map(|n| (n - 1) as f64);
        let mut low = [0usize; 3];
        let mut t = [0f32; 3];
        let mut next = [0usize; 3];
        let strides = [1, self.shape[0], self.shape[0] * self.shape[1]];
        for a in 0..3 {
            let v = voxel[a];
            // An image one voxel thick is sampled within that voxel.
            let slack = if self.shape[a] == 1 { 0.5 } else { 1e-9 };
            if !(v >= -slack && v <= last[a] + slack) {
                return None;
            }
            let floor = v.floor().clamp(0.0, (last[a] - 1.0).max(0.0));
            low[a] = floor as usize;
            t[a] = (v - floor).clamp(0.0, 1.0) as f32;
            next[a] = if self.shape[a] > 1 { strides[a] } else { 0 };
        }
        let base = low[0] + low[1] * strides[1] + low[2] * strides[2];
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        let row = |at: usize| mix(self.values[at], self.values[at + next[0]], t[0]);
        let plane = |at: usize| mix(row(at), row(at + next[1]), t[1]);
        Some(mix(plane(base), plane(base + next[2]), t[2]))
    }
}

fn averaged(volume: &Volume, shape: [usize; 3], block: [usize; 3]) -> Vec<f32> {
    let [nx, ny, nz] = shape;
    let frame = volume.frame(0);
    let [fx, fy, _] = volume.grid.shape;
    let [bx, by, bz] = block;
    let mut values = vec![0f32; nx * ny * nz];
    let per_voxel = 1.0 / (bx * by * bz) as f64;
    values
        .par_chunks_mut(nx)
        .enumerate()
        .for_each(|(row, out)| {
            let (y, z) = (row % ny, row / ny);
            for (x, out) in out.iter_mut().enumerate() {
                let mut sum = 0.0;
                for k in z * bz..(z + 1) * bz {
                    for j in y * by..(y + 1) * by {
                        let from = x * bx + fx * (j + fy * k);
                        let values = frame[from..from + bx].iter();
                        // NaN counts as background.
                        sum += values
                            .map(|v| if v.is_finite() { f64::from(*v) } else { 0.0 })
                            .sum::<f64>();
                    }
                }
                *out = (sum * per_voxel) as f32;
            }
        });
    values
}

/// Smooths with the weights 1 2 1 along an axis; edges are repeated.
fn smoothed(values: &[f32], shape: [usize; 3], axis: usize) -> Vec<f32> {
    let stride: usize = shape[..axis].iter().product();
    let n = shape[axis];
    let smooth = |i: usize| {
        let at = i / stride % n;
        let below = if at > 0 {
            values[i - stride]
        } else {
            values[i]
        };
        let above = if at + 1 < n {
            values[i + stride]
        } else {
            values[i]
        };
        0.25 * (below + above) + 0.5 * values[i]
    };
    (0..values.len()).into_par_iter().map(smooth).collect()
}

/// The 0.5th and 99.5th percentiles, from some hundred thousand of the values.
fn percentiles(values: &[f32]) -> (f32, f32) {
    const MAX_SAMPLED: usize = 200_000;
    // Odd, so that rows of an even length are not sampled at one position only.
    let every = (values.len() / MAX_SAMPLED) | 1;
    let mut sorted: Vec<f32> = values.iter().copied().step_by(every).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (at(0.005), at(0.995))
}
