//! Deconvolution with a penalty on negative values (Tournier, Calamante and Connelly 2007, NeuroImage 35:1459).
//!
//! min |C x − y|² + λ² Σ_N f(u)² + ν |x|² over one shell and one tissue, where N are the directions with f(u) < 0, found
//! again after each solve until they repeat. λ = 50 R_0 / directions and ν = 2e-4 (CᵀC)_00 as in MRtrix's `csd`; the
//! first x is the series of order 4 that deconvolution without a constraint gives. Some negative values remain. For
//! comparison only.

use super::lanes::{assemble, class_stride, factorise, solve, values};
use super::problem::Problem;
use super::solve::{MAX_LANES, Solved, load_lanes};
use super::tables::{MOMENT_MASK, Tables, Tiled};
use crate::compute::vector::{Kernel, Scalar, Vector};
use crate::data::spherical_harmonics::count;

/// ν / (CᵀC)_00.
pub const MIN_NORM: f64 = 2e-4;
/// λ directions / R_0.
const PENALTY: f64 = 50.0;
/// Degrees of the first estimate.
const FIRST_ORDER: usize = 4;
/// MRtrix ends after as many.
const ITERATIONS: usize = 50;

pub struct Paper {
    tables: Tables<f64>,
    /// Samples to the first estimate.
    first: Tiled<f64>,
    /// λ² in units of the tables.
    weight: f64,
}

impl Paper {
    /// A problem with one tissue whose response has the mean coefficient `r_0` = R_0.
    pub fn new(problem: &Problem, r_0: f64) -> Self {
        let tables = Tables::new(problem);
        let lambda = PENALTY * r_0 / problem.directions.all().len() as f64;
        let h = problem.normal_matrix();
        let first = first_estimate(problem);
        let volumes = problem.volumes.len();
        Self {
            first: Tiled::new(volumes, tables.unknowns, |volume, i| {
                let index = tables.source[i].0;
                first.get(index * volumes + volume).copied().unwrap_or(0.0)
            }),
            weight: lambda * lambda / h[0],
            tables,
        }
    }

    pub fn solve(&self, samples: &[f32], stride: usize, voxels: usize) -> Solved {
        f64::dispatch(SolvePaper {
            paper: self,
            samples,
            stride,
            voxels,
        })
    }
}

/// (C₄ᵀC₄)⁻¹ C₄ᵀ, row by row, with C₄ the columns of C up to the first order.
fn first_estimate(problem: &Problem) -> Vec<f64> {
    let order = FIRST_ORDER.min(problem.order);
    let (n, all, volumes) = (count(order), problem.unknowns(), problem.volumes.len());
    let column = |v: usize, i: usize| problem.forward[v * all + i];
    let mut matrix: Vec<f64> = (0..n * n)
        .map(|e| {
            (0..volumes)
                .map(|v| column(v, e / n) * column(v, e % n))
                .sum()
        })
        .collect();
    let mut out: Vec<f64> = (0..n * volumes)
        .map(|e| column(e % volumes, e / volumes))
        .collect();
    // A little of the trace keeps a shell with few directions solvable.
    let trace: f64 = (0..n).map(|i| matrix[i * n + i]).sum();
    for i in 0..n {
        matrix[i * n + i] += 1e-9 * trace;
    }
    // Gauss and Jordan: the matrix is positive definite and small.
    for pivot in 0..n {
        let inverse = 1.0 / matrix[pivot * n + pivot];
        for row in (0..n).filter(|row| *row != pivot) {
            let factor = matrix[row * n + pivot] * inverse;
            for k in pivot..n {
                matrix[row * n + k] -= factor * matrix[pivot * n + k];
            }
            for v in 0..volumes {
                out[row * volumes + v] -= factor * out[pivot * volumes + v];
            }
        }
    }
    for (i, row) in out.chunks_exact_mut(volumes).enumerate() {
        let inverse = 1.0 / matrix[i * n + i];
        row.iter_mut().for_each(|value| *value *= inverse);
    }
    out
}

struct SolvePaper<'a> {
    paper: &'a Paper,
    samples: &'a [f32],
    stride: usize,
    voxels: usize,
}

impl Kernel<f64> for SolvePaper<'_> {
    type Output = Solved;

    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> Solved {
        let (paper, tables) = (self.paper, &self.paper.tables);
        let (n, padded, m) = (tables.unknowns, tables.padded, tables.constraints());
        let zeros = |count: usize| vec![V::zero(); count];
        let mut samples = zeros(tables.project.inputs);
        let (mut g, mut x, mut step) = (zeros(padded), zeros(padded), zeros(padded));
        let (mut at, mut set) = (zeros(m + 4), zeros(m + 4));
        let mut parts = zeros(tables.images() * class_stride(tables.representatives));
        let mut moments = Box::new([V::zero(); MOMENT_MASK + 1]);
        let mut matrix = zeros(padded * (padded + 1) / 2);
        let (zero, one, weight) = (V::zero(), V::splat_f64(1.0), V::splat_f64(paper.weight));
        let mut unknowns = vec![0.0; n * self.voxels];
        let mut failed = Vec::new();
        let mut lanes = [0.0; MAX_LANES];
        for first in (0..self.voxels).step_by(V::LANES) {
            load_lanes(&mut samples, self.samples, self.stride, first..self.voxels);
            tables.project.apply(&samples, &mut g);
            paper.first.apply(&samples, &mut x);
            set.fill(zero - one);
            let mut changed = one;
            for _ in 0..=ITERATIONS {
                values(tables, &x, &mut parts, &mut at);
                let mut difference = zero;
                for (value, before) in at[..m].iter_mut().zip(&mut set) {
                    let negative = zero.select_above(*value, weight, zero);
                    let by = negative - *before;
                    difference = by.mul_add(by, difference);
                    *before = changed.select_above(zero, negative, *before);
                    *value = negative;
                }
                changed = difference.select_above(zero, changed, zero);
                if !super::interior_point::any_above_zero(changed) {
                    break;
                }
                assemble(tables, &at, &mut parts, &mut moments, &mut matrix);
                factorise(padded, &mut matrix);
                step.copy_from_slice(&g);
                step[n..].fill(zero);
                solve(padded, &matrix, &mut step);
                for (x, step) in x[..n].iter_mut().zip(&step) {
                    *x = changed.select_above(zero, *step, *x);
                }
            }
            let used = V::LANES.min(self.voxels - first);
            for (x, &(index, scale)) in x.iter().zip(&tables.source) {
                x.store(&mut lanes);
                for (lane, value) in lanes[..used].iter().enumerate() {
                    unknowns[(first + lane) * n + index] = scale * value;
                }
            }
            changed.store(&mut lanes);
            let still = lanes[..used].iter().enumerate().filter(|(_, c)| **c > 0.0);
            failed.extend(still.map(|(lane, _)| first + lane));
        }
        Solved { unknowns, failed }
    }
}
