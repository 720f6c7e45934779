//! Y_lm(g) of one shell: harmonic sums to samples and back, eight voxels at a time.

use super::{LANES, V};
use crate::solvers::commit::harmonics::{self, COUNT};
use crate::solvers::commit::samples::Shell;

/// Samples processed together, one register each.
const SAMPLES: usize = 6;
/// Harmonics processed together; a divisor of their number.
const TERMS: usize = 7;
const BLOCKS: usize = COUNT / TERMS;

#[derive(Debug)]
pub struct ToSamples {
    pub count: usize,
    /// By blocks of samples, then by harmonic; the last block is padded with 0.
    forward: Vec<[[f32; SAMPLES]; COUNT]>,
    /// By blocks of harmonics, then by sample.
    adjoint: Vec<Vec<[f32; TERMS]>>,
}

impl ToSamples {
    pub fn new(shell: &Shell) -> Self {
        let count = shell.directions.len();
        let values: Vec<[f64; COUNT]> = shell
            .directions
            .iter()
            .map(|g| harmonics::all(*g))
            .collect();
        let block = |b: usize| {
            let mut block = [[0.0; SAMPLES]; COUNT];
            for i in 0..SAMPLES.min(count - b * SAMPLES) {
                for (term, value) in block.iter_mut().zip(values[b * SAMPLES + i]) {
                    term[i] = value as f32;
                }
            }
            block
        };
        let terms = |b: usize| {
            let terms_of = |all: &[f64; COUNT]| std::array::from_fn(|i| all[b * TERMS + i] as f32);
            values.iter().map(terms_of).collect()
        };
        Self {
            count,
            forward: (0..count.div_ceil(SAMPLES)).map(block).collect(),
            adjoint: (0..BLOCKS).map(terms).collect(),
        }
    }

    /// The samples of a shell from its sums.
    #[inline(always)]
    pub fn samples<const FMA: bool>(&self, sums: &[V<FMA>; COUNT], y: &mut [f32]) {
        for (block, y) in self.forward.iter().zip(y.chunks_mut(SAMPLES * LANES)) {
            let mut out = [V::<FMA>::ZERO; SAMPLES];
            for (terms, sum) in block.iter().zip(sums) {
                for i in 0..SAMPLES {
                    out[i] = sum.mul_add::<FMA>(V::splat(terms[i]), out[i]);
                }
            }
            for (y, out) in y.chunks_exact_mut(LANES).zip(out) {
                y.copy_from_slice(&out.0);
            }
        }
    }

    /// The sums of a shell from its samples.
    #[inline(always)]
    pub fn sums<const FMA: bool>(&self, y: &[f32], sums: &mut [V<FMA>; COUNT]) {
        let (y, _) = y.as_chunks::<LANES>();
        for (block, sums) in self.adjoint.iter().zip(sums.chunks_exact_mut(TERMS)) {
            let mut out = [V::<FMA>::ZERO; TERMS];
            for (terms, y) in block.iter().zip(y) {
                let y = crate::compute::Lanes::<LANES, FMA>(*y);
                for i in 0..TERMS {
                    out[i] = y.mul_add::<FMA>(V::splat(terms[i]), out[i]);
                }
            }
            sums.copy_from_slice(&out);
        }
    }
}
