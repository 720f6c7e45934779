//! Images of tensors, which have as many volumes as distributions of order 2.

use crate::data::{TensorLayout, TensorOrder, Volume};

/// Number of voxels that are tested for tensors, and the share from which the image holds them: a fit without a mask
/// leaves noise around the head.
const TESTED_VOXELS: usize = 20_000;
const TENSORS: f64 = 0.9;

/// Whether six volumes are the components of tensors: in one of their orders, nearly all voxels have a positive diagonal
/// whose products exceed the squares of the other components. The second-degree coefficients of distributions, in whose
/// places two of the diagonals are, have both signs. Large images are sampled.
pub fn holds_tensors(volume: &Volume) -> bool {
    if volume.frames != TensorLayout::VOLUMES {
        return false;
    }
    let n = volume.grid.voxel_count();
    let voxels = (0..n).step_by((n / TESTED_VOXELS).max(1));
    let voxel = |at: usize| [0, 1, 2, 3, 4, 5].map(|frame: usize| volume.values[frame * n + at]);
    let used: Vec<[f32; 6]> = voxels
        .map(voxel)
        .filter(|v| v.iter().all(|c| c.is_finite()) && v.iter().any(|c| *c != 0.0))
        .collect();
    let is_tensor = |order: &TensorOrder, v: &[f32; 6]| {
        let [xx, xy, xz, yy, yz, zz] = order.volumes().map(|frame| v[frame]);
        let is_positive = xx > 0.0 && yy > 0.0 && zz > 0.0;
        is_positive && xy * xy < xx * yy && xz * xz < xx * zz && yz * yz < yy * zz
    };
    let share = |order: TensorOrder| {
        let tensors = used.iter().filter(|v| is_tensor(&order, v)).count();
        tensors as f64 / used.len().max(1) as f64
    };
    TensorOrder::ALL
        .map(share)
        .into_iter()
        .any(|share| share > TENSORS)
}
