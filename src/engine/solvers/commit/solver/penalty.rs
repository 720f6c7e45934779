//! The penalty and its proximal step.

use crate::solvers::commit::operator::Shape;
use rayon::prelude::*;

/// Streamlines that are kept or removed together (COMMIT2).
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Indices of the streamlines.
    pub streamlines: Vec<u32>,
    /// λ_g, dimensionless.
    pub weight: f32,
}

/// Lasso and group penalties on the weights of streamlines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Penalty {
    /// λ of the sum of the streamlines' weights.
    pub lasso: f32,
    /// A streamline may be in at most one of them.
    pub groups: Vec<Group>,
}

impl Penalty {
    /// Value of the penalty at x, whose layout is `shape`.
    pub fn value(&self, x: &[f32], shape: Shape) -> f64 {
        let mut sum = 0.0;
        if self.lasso > 0.0 {
            sum += f64::from(self.lasso)
                * x[..shape.intra()]
                    .iter()
                    .map(|v| f64::from(*v))
                    .sum::<f64>();
        }
        for group in &self.groups {
            let squares = group.streamlines.iter().flat_map(|f| {
                let begin = *f as usize * shape.atoms;
                x[begin..begin + shape.atoms]
                    .iter()
                    .map(|v| f64::from(*v).powi(2))
            });
            sum += f64::from(group.weight) * squares.sum::<f64>().sqrt();
        }
        sum
    }

    /// out = the minimiser of Σ g·(out − z) + ½ Σ h (out − z)² + penalty over out ≥ 0; 0 where h is 0.
    pub fn step(&self, out: &mut [f32], z: &[f32], g: &[f32], h: &[f32], shape: Shape) {
        const PIECE: usize = 1 << 14;
        let intra = shape.intra();
        let pieces = out.par_chunks_mut(PIECE).zip(z.par_chunks(PIECE));
        let pieces = pieces
            .zip(g.par_chunks(PIECE))
            .zip(h.par_chunks(PIECE))
            .enumerate();
        pieces.for_each(|(i, (((out, z), g), h))| {
            let streamlines = intra.saturating_sub(i * PIECE).min(out.len());
            let mut shrink = |range: std::ops::Range<usize>, lasso: f32| {
                let all = out[range.clone()].iter_mut().zip(&z[range.clone()]);
                for ((out, z), (g, h)) in all.zip(g[range.clone()].iter().zip(&h[range])) {
                    let next = z - (g + lasso) / h;
                    // This also covers h = 0.
                    *out = if next > 0.0 && *h > 0.0 { next } else { 0.0 };
                }
            };
            let n = z.len();
            shrink(0..streamlines, self.lasso);
            shrink(streamlines..n, 0.0);
        });
        for group in &self.groups {
            shrink(group, out, h, shape.atoms);
        }
    }
}

/// min ½ Σ h (x − v)² + λ |x| over x ≥ 0, v ≥ 0: x = h v / (h + λ / t) with t = |x|, the root of
/// Σ (h v / (h t + λ))² = 1, which falls in t.
fn shrink(group: &Group, x: &mut [f32], h: &[f32], atoms: usize) {
    let lambda = f64::from(group.weight);
    if lambda <= 0.0 {
        return;
    }
    let columns: Vec<(usize, f64, f64)> = group
        .streamlines
        .iter()
        .flat_map(|f| {
            let begin = *f as usize * atoms;
            begin..begin + atoms
        })
        .filter(|c| x[*c] > 0.0)
        .map(|c| (c, f64::from(h[c]), f64::from(x[c])))
        .collect();
    let sum = |t: f64| -> f64 {
        let each = columns.iter();
        each.map(|(_, h, v)| (h * v / (h * t + lambda)).powi(2))
            .sum()
    };
    if sum(0.0) <= 1.0 {
        columns.iter().for_each(|(c, ..)| x[*c] = 0.0);
        return;
    }
    let size: f64 = columns.iter().map(|(_, _, v)| v * v).sum::<f64>().sqrt();
    let (mut low, mut high) = (0.0, size);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if sum(middle) > 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = 0.5 * (low + high);
    for (c, h, v) in columns {
        x[c] = (h * v / (h + lambda / t)) as f32;
    }
}
