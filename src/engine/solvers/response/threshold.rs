//! Thresholds of values, and sets of voxels.

use crate::data::Mask;

/// The threshold whose mask (values above it) correlates best with the values (Ridgway 2009, NeuroImage 44:99);
/// `None` if there are not two different values. Sorts the values.
pub fn optimal_threshold(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    // Sum of the deviations below the threshold.
    let (mut below, mut best) = (0.0, None);
    for (i, pair) in values.windows(2).enumerate() {
        below += pair[0] - mean;
        if pair[1] > pair[0] {
            let share = (i + 1) as f64 / n;
            // Proportional to the correlation: covariance by the standard deviation of the mask.
            let correlation = -below / (share * (1.0 - share)).sqrt();
            if best.is_none_or(|(known, _)| correlation > known) {
                best = Some((correlation, 0.5 * (pair[0] + pair[1])));
            }
        }
    }
    best.map(|(_, threshold)| threshold)
}

/// Voxels of a mask whose six neighbours are in it, `passes` times. Beyond the grid nothing is in the mask.
pub fn eroded(mask: &Mask, passes: usize) -> Vec<u8> {
    repeated(mask, passes, |own, around| {
        own != 0 && around.iter().all(|n| *n == Some(1))
    })
}

/// Voxels of a mask and their six neighbours.
pub fn dilated(mask: &Mask) -> Vec<u8> {
    repeated(mask, 1, |own, around| own != 0 || around.contains(&Some(1)))
}

fn repeated(mask: &Mask, passes: usize, keep: impl Fn(u8, &[Option<u8>; 6]) -> bool) -> Vec<u8> {
    let shape = mask.grid.shape;
    let strides = [1, shape[0], shape[0] * shape[1]];
    let mut marks: Vec<u8> = mask.inside.iter().map(|m| u8::from(*m != 0)).collect();
    for _ in 0..passes {
        let around = |i: usize, voxel: [usize; 3]| -> [Option<u8>; 6] {
            std::array::from_fn(|k| {
                let axis = k / 2;
                match k % 2 {
                    0 => (voxel[axis] > 0).then(|| marks[i - strides[axis]]),
                    _ => (voxel[axis] + 1 < shape[axis]).then(|| marks[i + strides[axis]]),
                }
            })
        };
        let next =
            (0..marks.len()).map(|i| u8::from(keep(marks[i], &around(i, mask.grid.voxel(i)))));
        marks = next.collect();
    }
    marks
}
