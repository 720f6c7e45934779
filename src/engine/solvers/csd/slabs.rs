//! Samples and results of a slab of voxels, in the order in which a graphics card reads and writes them.

use super::cpu::{Counts, PIECE, Samples};
use rayon::prelude::*;

/// Fills `samples[volume * voxels.len() + voxel]` with usable samples.
pub fn gather(source: &dyn Samples, voxels: &[usize], samples: &mut [f32]) -> Counts {
    let volumes = samples.len() / voxels.len();
    let pieces = voxels.par_chunks(PIECE).map(|piece| {
        let mut own = vec![0.0; PIECE * volumes];
        let counts = source.load(piece, &mut own);
        (own, counts)
    });
    let pieces: Vec<(Vec<f32>, Counts)> = pieces.collect();
    samples
        .par_chunks_exact_mut(voxels.len())
        .enumerate()
        .for_each(|(volume, row)| {
            for ((own, _), to) in pieces.iter().zip(row.chunks_mut(PIECE)) {
                to.copy_from_slice(&own[volume * PIECE..volume * PIECE + to.len()]);
            }
        });
    let each = pieces.iter().map(|(_, counts)| *counts);
    each.fold(Counts::default(), |a, b| a + b)
}

/// Writes the unknowns of used voxels, `values[unknown * voxels + voxel]`, into the rows of the voxels. `source` gives
/// the place and the scale of each unknown: the first ones are coefficients, the others amounts of tissues. Both outputs
/// come with the length of a row.
pub fn scatter(
    values: &[f32],
    source: &[(usize, f64)],
    is_used: &(impl Fn(usize) -> bool + Sync),
    (n, coefficients): (usize, &mut [f32]),
    (width, amounts): (usize, &mut [f32]),
) {
    let voxels = coefficients.len() / n;
    let rows = coefficients.par_chunks_exact_mut(n);
    let rows = rows.zip(amounts.par_chunks_exact_mut(width)).enumerate();
    let used = rows.filter(|(voxel, _)| is_used(*voxel));
    used.for_each(|(voxel, (coefficients, amounts))| {
        for (k, &(index, scale)) in source.iter().enumerate() {
            let value = (f64::from(values[k * voxels + voxel]) * scale) as f32;
            match index < n {
                true => coefficients[index] = value,
                // Rounding on the card may leave an amount below 0.
                false => amounts[index - n] = value.max(0.0),
            }
        }
    });
}
