//! Sums over long vectors, in double precision on all threads.

use crate::compute::Lanes;
use crate::compute::simd::{Kernel, dispatch};
use rayon::prelude::*;

pub const LANES: usize = 8;

/// A sum of squares of a few thousand numbers, in eight parts.
#[derive(Default)]
pub struct Lanes8([f32; LANES]);

impl Lanes8 {
    #[inline]
    pub fn add(&mut self, values: &[f32]) {
        let (eights, rest) = values.as_chunks::<LANES>();
        for eight in eights {
            for (sum, v) in self.0.iter_mut().zip(eight) {
                *sum += v * v;
            }
        }
        for (sum, v) in self.0.iter_mut().zip(rest) {
            *sum += v * v;
        }
    }

    pub fn total(&self) -> f64 {
        self.0.iter().copied().map(f64::from).sum()
    }
}

/// r becomes A x − y; sums |r|², and |r − z|² with z = (1 + β) last − β r for the r before. Rows come in eights.
pub struct Residual<'a> {
    pub ax: &'a [f32],
    pub y: &'a [f32],
    pub last: &'a [f32],
    pub beta: f32,
    pub r: &'a mut [f32],
}

impl Kernel for Residual<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; 2] {
        let [ax, y, last] = [self.ax, self.y, self.last].map(|v| v.as_chunks::<LANES>().0);
        let beta = Lanes::<LANES, FMA>::splat(self.beta);
        let [mut square, mut moved] = [Lanes::<LANES, FMA>::ZERO; 2];
        let rows = self.r.as_chunks_mut::<LANES>().0.iter_mut();
        for ((r, ax), (y, last)) in rows.zip(ax).zip(y.iter().zip(last)) {
            let (last, next) = (Lanes(*last), Lanes(*ax) - Lanes(*y));
            let z = beta.mul_add::<FMA>(last - Lanes(*r), last);
            let away: Lanes<LANES, FMA> = next - z;
            square = next.mul_add::<FMA>(next, square);
            moved = away.mul_add::<FMA>(away, moved);
            *r = next.0;
        }
        [square, moved].map(|lanes| lanes.0.iter().copied().map(f64::from).sum())
    }
}

const PIECE: usize = 1 << 14;

/// Sums, over all indices, of what a function makes of the numbers there.
pub fn sums<const K: usize, const N: usize>(
    vectors: [&[f32]; K],
    each: impl Fn([f64; K]) -> [f64; N] + Sync,
) -> [f64; N] {
    let length = vectors.iter().map(|v| v.len()).min().unwrap_or(0);
    let pieces = (0..length.div_ceil(PIECE)).into_par_iter();
    let of_piece = |piece: usize| {
        let range = piece * PIECE..length.min((piece + 1) * PIECE);
        dispatch(Piece {
            vectors: vectors.map(|v| &v[range.clone()]),
            each: &each,
        })
    };
    // Added in their order, whichever finished first.
    let parts: Vec<[f64; N]> = pieces.map(of_piece).collect();
    std::array::from_fn(|n| parts.iter().map(|part| part[n]).sum())
}

struct Piece<'a, F, const K: usize> {
    vectors: [&'a [f32]; K],
    each: &'a F,
}

impl<F: Fn([f64; K]) -> [f64; N], const K: usize, const N: usize> Kernel for Piece<'_, F, K> {
    type Output = [f64; N];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; N] {
        let split = self.vectors.map(|v| v.as_chunks::<LANES>());
        let eights = split.map(|(eights, _)| eights);
        let count = eights.iter().map(|v| v.len()).min().unwrap_or(0);
        let mut sums = [[0.0; LANES]; N];
        for at in 0..count {
            let values: [[f32; LANES]; K] = std::array::from_fn(|k| eights[k][at]);
            for lane in 0..LANES {
                let terms = (self.each)(values.map(|v| f64::from(v[lane])));
                for n in 0..N {
                    sums[n][lane] += terms[n];
                }
            }
        }
        let rest = split.map(|(_, rest)| rest);
        for at in 0..rest.iter().map(|v| v.len()).min().unwrap_or(0) {
            let terms = (self.each)(rest.map(|v| f64::from(v[at])));
            for n in 0..N {
                sums[n][0] += terms[n];
            }
        }
        sums.map(|lanes| lanes.iter().sum())
    }
}

/// |a|.
pub fn norm(a: &[f32]) -> f64 {
    let [square] = sums([a], |[a]| [a * a]);
    square.sqrt()
}

/// out = a u + b v.
pub fn combine(out: &mut [f32], a: f32, u: &[f32], b: f32, v: &[f32]) {
    let pieces = out
        .par_chunks_mut(PIECE)
        .zip(u.par_chunks(PIECE))
        .zip(v.par_chunks(PIECE));
    pieces.for_each(|((out, u), v)| {
        for ((out, u), v) in out.iter_mut().zip(u).zip(v) {
            *out = a * u + b * v;
        }
    });
}
