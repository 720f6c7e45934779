//! Sums over long vectors, in double precision, on all threads.

use rayon::prelude::*;

pub const LANES: usize = 8;

/// A sum of squares of some thousand numbers, in eight parts.
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

const PIECE: usize = 1 << 14;

fn sum2(a: &[f32], b: &[f32], each: impl Fn(f32, f32) -> f64 + Sync) -> f64 {
    let pieces = a.par_chunks(PIECE).zip(b.par_chunks(PIECE));
    let one = |(a, b): (&[f32], &[f32])| a.iter().zip(b).map(|(a, b)| each(*a, *b)).sum::<f64>();
    // In their order, whoever was first.
    pieces.map(one).collect::<Vec<f64>>().into_iter().sum()
}

fn sum3(a: &[f32], b: &[f32], c: &[f32], each: impl Fn(f32, f32, f32) -> f64 + Sync) -> f64 {
    let pieces = a
        .par_chunks(PIECE)
        .zip(b.par_chunks(PIECE))
        .zip(c.par_chunks(PIECE));
    let one = |((a, b), c): ((&[f32], &[f32]), &[f32])| {
        let all = a.iter().zip(b).zip(c);
        all.map(|((a, b), c)| each(*a, *b, *c)).sum::<f64>()
    };
    pieces.map(one).collect::<Vec<f64>>().into_iter().sum()
}

/// Σ h a b.
pub fn dot(h: &[f32], a: &[f32], b: &[f32]) -> f64 {
    sum3(h, a, b, |h, a, b| {
        f64::from(h) * f64::from(a) * f64::from(b)
    })
}

/// Σ a b.
pub fn product(a: &[f32], b: &[f32]) -> f64 {
    sum2(a, b, |a, b| f64::from(a) * f64::from(b))
}

/// Σ h (a − b)².
pub fn square_against(h: &[f32], a: &[f32], b: &[f32]) -> f64 {
    sum3(h, a, b, |h, a, b| {
        let d = f64::from(a - b);
        f64::from(h) * d * d
    })
}

/// Σ h (z − x) (x − before): above 0 where the step goes against the momentum.
pub fn turns(h: &[f32], z: &[f32], x: &[f32], before: &[f32]) -> f64 {
    let one = |piece: usize| {
        let range = piece * PIECE..x.len().min((piece + 1) * PIECE);
        let each =
            range.map(|i| f64::from(h[i]) * f64::from(z[i] - x[i]) * f64::from(x[i] - before[i]));
        each.sum::<f64>()
    };
    let pieces = (0..x.len().div_ceil(PIECE)).into_par_iter();
    pieces.map(one).collect::<Vec<f64>>().into_iter().sum()
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

/// out += a u.
pub fn add(out: &mut [f32], a: f32, u: &[f32]) {
    let pieces = out.par_chunks_mut(PIECE).zip(u.par_chunks(PIECE));
    pieces.for_each(|(out, u)| {
        for (out, u) in out.iter_mut().zip(u) {
            *out += a * u;
        }
    });
}
