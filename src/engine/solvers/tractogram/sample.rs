//! Values of an image along streamlines.

use crate::data::{Tractogram, Volume};
use glam::Vec3;
use rayon::prelude::*;

/// Trilinear values of a volume's first frame at every point of a tractogram.
pub fn sample(volume: &Volume, tractogram: &Tractogram) -> Vec<f32> {
    tractogram
        .points
        .par_iter()
        .with_min_len(4096)
        .map(sample_frame(volume, 0))
        .collect()
}

/// Trilinear values of one frame at points in the world. Points outside the voxel centres take the value of the
/// nearest edge; a point that is not finite gives NaN.
pub fn sample_frame(volume: &Volume, frame: usize) -> impl Fn(&[f32; 3]) -> f32 + Sync + Send + '_ {
    let voxel_from_world = volume.grid.voxel_from_world.as_affine3a();
    let shape = volume.grid.shape;
    let values = volume.frame(frame);
    let last = Vec3::from_array(shape.map(|n| (n - 1) as f32));
    // Steps to the next voxel along each axis. A grid one voxel thick has no upper neighbour; its weight is 0.
    let strides = [1, shape[0], shape[0] * shape[1]];
    let next = [0, 1, 2].map(|a| if shape[a] > 1 { strides[a] } else { 0 });
    move |point: &[f32; 3]| {
        let v = voxel_from_world.transform_point3(Vec3::from(*point));
        if !v.is_finite() {
            return f32::NAN;
        }
        let v = v.clamp(Vec3::ZERO, last);
        let low = v.floor().min((last - 1.0).max(Vec3::ZERO));
        let t = v - low;
        let [i, j, k] = low.to_array().map(|c| c as usize);
        let first = volume.grid.index([i, j, k]);
        let value = |di: usize, dj: usize, dk: usize| {
            values[first + di * next[0] + dj * next[1] + dk * next[2]]
        };
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        let row = |dj, dk| mix(value(0, dj, dk), value(1, dj, dk), t.x);
        let plane = |dk| mix(row(0, dk), row(1, dk), t.y);
        mix(plane(0), plane(1), t.z)
    }
}
