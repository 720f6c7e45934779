//! Flood fill.

use super::error::InputError;
use super::{Error, Fill};
use crate::compute::Control;
use crate::data::{Mask, Volume};
use crate::parameters::shortest_f64;
use glam::DVec3;
use std::collections::VecDeque;

/// Result of a flood fill.
pub struct FilledMask {
    /// Filled voxels on the grid of the image.
    pub mask: Mask,
    /// Whether the limit stopped the fill.
    pub limited: bool,
    /// Value of the first voxel.
    pub value: f32,
}

/// The voxels connected through faces to the one that contains a world point, with values that differ from its value
/// by at most `tolerance`; at most this many millilitres, voxels fewer steps away first.
pub fn fill(
    volume: &Volume,
    frame: usize,
    from: DVec3,
    tolerance: f32,
    max_ml: f64,
    control: &Control,
) -> Result<FilledMask, Error> {
    let grid = &volume.grid;
    let first = grid.nearest(from).ok_or(InputError::FillOutside)?;
    let limits = Fill {
        tolerance: shortest_f64(tolerance),
        // Without a limit `max_ml` is infinite.
        max_ml: max_ml.min(f64::MAX),
    };
    limits.check()?;
    let values = volume.frame(frame);
    let value = values[grid.index(first)];
    if !value.is_finite() {
        return Err(InputError::FillWithoutValue.into());
    }
    let voxel_ml = grid.world_from_voxel.matrix3.determinant().abs() / 1000.0;
    let max_count = ((max_ml / voxel_ml) as usize).max(1);
    control.begin("Filling", 0);
    let mut inside = vec![0u8; grid.voxel_count()];
    let mut queue = VecDeque::from([grid.index(first) as u32]);
    inside[grid.index(first)] = 1;
    let (mut count, mut limited) = (1, false);
    let strides = [1, grid.shape[0], grid.shape[0] * grid.shape[1]];
    let mut steps = 0usize;
    'all: while let Some(i) = queue.pop_front() {
        steps += 1;
        if steps.is_multiple_of(16_384) {
            control.check()?;
            control.advance(16_384);
        }
        let i = i as usize;
        let voxel = grid.voxel(i);
        for a in 0..3 {
            let before = (voxel[a] > 0).then(|| i - strides[a]);
            let after = (voxel[a] + 1 < grid.shape[a]).then(|| i + strides[a]);
            for next in before.into_iter().chain(after) {
                if inside[next] == 0 && (values[next] - value).abs() <= tolerance {
                    if count == max_count {
                        limited = true;
                        break 'all;
                    }
                    inside[next] = 1;
                    count += 1;
                    queue.push_back(next as u32);
                }
            }
        }
    }
    Ok(FilledMask {
        mask: Mask::new(grid.clone(), inside),
        limited,
        value,
    })
}
