//! Values of an image along streamlines.

use crate::data::{Grid, Tractogram, Volume};
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

/// Whether a point, in voxels, lies in no voxel of a grid.
fn is_outside(voxel: Vec3, last: Vec3) -> bool {
    // Coordinates of millimetres in single precision put a point on the border on either side of it.
    const BORDER: f32 = 0.5 + 1e-3;
    !(voxel.cmpge(Vec3::splat(-BORDER)).all() && voxel.cmple(last + BORDER).all())
}

fn last_voxel(grid: &Grid) -> Vec3 {
    Vec3::from_array(grid.shape.map(|n| (n - 1) as f32))
}

/// The number of finite points that lie in no voxel of a grid.
pub fn points_outside(grid: &Grid, tractogram: &Tractogram) -> usize {
    let voxel_from_world = grid.voxel_from_world.as_affine3a();
    let last = last_voxel(grid);
    let outside = |point: &&[f32; 3]| {
        let voxel = voxel_from_world.transform_point3(Vec3::from(**point));
        voxel.is_finite() && is_outside(voxel, last)
    };
    let points = tractogram.points.par_iter().with_min_len(4096);
    points.filter(outside).count()
}

/// The number of finite points in a volume's voxels at which its first frame has no number.
pub fn points_without_value(volume: &Volume, tractogram: &Tractogram) -> usize {
    let inside = sample_inside(volume, 0);
    let lacks = |point: &&[f32; 3]| {
        point.iter().all(|c| c.is_finite()) && inside(point).is_some_and(f32::is_nan)
    };
    let points = tractogram.points.par_iter().with_min_len(4096);
    points.filter(lacks).count()
}

/// Trilinear values of one frame at points in the world; NaN for a point in no voxel, or not finite.
pub fn sample_frame(volume: &Volume, frame: usize) -> impl Fn(&[f32; 3]) -> f32 + Sync + Send + '_ {
    let inside = sample_inside(volume, frame);
    move |point: &[f32; 3]| inside(point).unwrap_or(f32::NAN)
}

/// Trilinear values of one frame at points in the world. Points beyond the outermost voxel centres take the value of
/// the nearest voxel; `None` for a point in no voxel, NaN for one that is not finite.
pub(super) fn sample_inside(
    volume: &Volume,
    frame: usize,
) -> impl Fn(&[f32; 3]) -> Option<f32> + Sync + Send + '_ {
    let voxel_from_world = volume.grid.voxel_from_world.as_affine3a();
    let shape = volume.grid.shape;
    let values = volume.frame(frame);
    let last = last_voxel(&volume.grid);
    // Steps to the next voxel along each axis. A grid one voxel thick has no upper neighbour; its weight is 0.
    let strides = [1, shape[0], shape[0] * shape[1]];
    let next = [0, 1, 2].map(|a| if shape[a] > 1 { strides[a] } else { 0 });
    move |point: &[f32; 3]| {
        let v = voxel_from_world.transform_point3(Vec3::from(*point));
        if !v.is_finite() {
            return Some(f32::NAN);
        }
        if is_outside(v, last) {
            return None;
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
        Some(mix(plane(0), plane(1), t.z))
    }
}
