//! The matrices of a problem in the order and precision in which lanes read them.
//!
//! With mirrored directions (±x, ±y, z) the harmonics fall into four classes by their parity in x and y: a function of
//! one class at one direction gives its values at all four. Coefficients are ordered by class, and every sum over
//! directions becomes one sum over a quarter of them for each class, after sums and differences of the four images.

use super::problem::Problem;
use crate::compute::vector::{Scalar, Vector};
use crate::data::cholesky;
use crate::data::spherical_harmonics::{Product, count, degrees, evaluate, products};
use std::ops::Range;

/// Rows of the Cholesky factor come in blocks of four.
pub const BLOCK: usize = 4;

/// The linear fit at the start adds this to the diagonal of H, …
const DAMPING: f64 = 1e-3;
/// … and this times the square of l (l + 1): the penalty on the Laplacian on the sphere (Descoteaux et al. 2007, Magn
/// Reson Med 58:497).
const SMOOTHNESS: f64 = 1e-5;

/// A matrix that lanes multiply from the left by vectors of lanes: outputs in tiles of 12, 8 or 4, each of which stays
/// in registers.
#[derive(Clone, Debug)]
pub struct Tiled<S> {
    pub inputs: usize,
    /// A multiple of 4; those beyond the matrix are 0.
    pub outputs: usize,
    /// By tile, then by input, then by output of the tile.
    values: Vec<S>,
}

impl<S: Scalar> Tiled<S> {
    pub fn new(inputs: usize, outputs: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let padded = outputs.next_multiple_of(4);
        let mut values = Vec::with_capacity(inputs * padded);
        for (first, size) in tiles(padded) {
            for input in 0..inputs {
                values.extend((first..first + size).map(|output| {
                    let inside = output < outputs;
                    S::from_f64(if inside { entry(input, output) } else { 0.0 })
                }));
            }
        }
        Self {
            inputs,
            outputs: padded,
            values,
        }
    }

    /// The entry of an input and an output.
    pub fn at(&self, input: usize, output: usize) -> S {
        let first = output / 12 * 12;
        let size = (self.outputs - first).min(12);
        self.values[first * self.inputs + input * size + output - first]
    }

    /// `out[o] = Σ values[i] · entry(i, o)`, in the order of the inputs.
    #[inline(always)]
    pub fn apply<V: Vector<Scalar = S>>(&self, values: &[V], out: &mut [V]) {
        let (values, mut rest) = (&values[..self.inputs], &self.values[..]);
        for (first, size) in tiles(self.outputs) {
            let (matrix, after) = rest.split_at(size * self.inputs);
            let out = &mut out[first..first + size];
            match size {
                12 => tile::<V, 12>(matrix, values, out),
                8 => tile::<V, 8>(matrix, values, out),
                _ => tile::<V, 4>(matrix, values, out),
            }
            rest = after;
        }
    }
}

/// First output and size of each tile; `outputs` is a multiple of 4.
#[inline(always)]
fn tiles(outputs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..outputs.div_ceil(12)).map(move |i| (12 * i, (outputs - 12 * i).min(12)))
}

#[inline(always)]
fn tile<V: Vector, const K: usize>(matrix: &[V::Scalar], values: &[V], out: &mut [V]) {
    let mut sums = [V::zero(); K];
    let (rows, _) = matrix.as_chunks::<K>();
    for (row, value) in rows.iter().zip(values) {
        for k in 0..K {
            sums[k] = V::splat(row[k]).mul_add(*value, sums[k]);
        }
    }
    out[..K].copy_from_slice(&sums);
}

/// The functions of one class.
#[derive(Clone, Debug)]
pub struct Class<S> {
    /// Its coefficients among the unknowns.
    pub unknowns: Range<usize>,
    /// Coefficients to values at the representative directions.
    pub to_values: Tiled<S>,
    /// The transpose.
    pub to_coefficients: Tiled<S>,
    /// Values at the representatives to moments up to twice the order.
    pub to_moments: Tiled<S>,
    /// First moment of the class.
    pub first_moment: usize,
}

#[derive(Clone, Debug)]
pub struct Tables<S> {
    /// Number of coefficients of the distribution.
    pub fibre: usize,
    /// Number of unknowns.
    pub unknowns: usize,
    /// Unknowns rounded up to whole blocks.
    pub padded: usize,
    /// Representative directions.
    pub representatives: usize,
    /// One class, or four.
    pub classes: Vec<Class<S>>,
    /// H, divided by its first element.
    pub normal: Vec<S>,
    /// H as a product.
    pub apply_normal: Tiled<S>,
    /// Samples to Cᵀy, with the same scale as H.
    pub project: Tiled<S>,
    /// Cᵀy to the unknowns of a smooth linear fit.
    pub start: Tiled<S>,
    /// Terms of each element of AᵀDA by row and column up to the diagonal.
    pub terms: Terms<S>,
    /// For each unknown, its index in the problem and its scale there.
    pub source: Vec<(usize, f64)>,
}

/// Sparse sums of moments: those of element e are `starts[e]..starts[e + 1]`.
#[derive(Clone, Debug)]
pub struct Terms<S> {
    pub starts: Vec<u32>,
    pub moments: Vec<u16>,
    pub values: Vec<S>,
}

/// Moments are read with this mask, so that no read needs a check.
pub const MOMENT_MASK: usize = 511;

impl<S: Scalar> Tables<S> {
    pub fn new(problem: &Problem) -> Self {
        let fibre = count(problem.order);
        let h = problem.normal_matrix();
        let n = problem.unknowns();
        let mirrored = problem.directions.is_mirrored();
        let fibres = by_class(problem.order, mirrored);
        // Columns of tissues without fibres are scaled to the length of the first column: their units differ from
        // those of fibres by any factor.
        let scale = |i: usize| match i < fibre {
            true => 1.0,
            false => (h[0] / h[i * n + i]).sqrt(),
        };
        let fibre_source = fibres.iter().flatten().map(|&i| (i, 1.0));
        let other = (fibre..n).map(|i| (i, scale(i)));
        let source: Vec<(usize, f64)> = fibre_source.chain(other).collect();
        let normal_at = |a: usize, b: usize| {
            let ((i, x), (j, y)) = (source[a], source[b]);
            x * y * h[i * n + j] / h[0]
        };
        let (classes, moment_of) = classes(problem, &fibres);
        let moments = classes
            .last()
            .map_or(0, |c| c.first_moment + c.to_moments.outputs);
        assert!(moments <= MOMENT_MASK + 1, "order {}", problem.order);
        let normal = (0..n * n).map(|e| S::from_f64(normal_at(e / n, e % n)));
        let degrees: Vec<f64> = degrees(problem.order).map(|(l, _)| l as f64).collect();
        let start = smooth_inverse(n, normal_at, |a| {
            let l = degrees.get(source[a].0).copied().unwrap_or(0.0);
            DAMPING + SMOOTHNESS * (l * (l + 1.0)).powi(2)
        });
        Self {
            fibre,
            unknowns: n,
            padded: n.next_multiple_of(BLOCK),
            representatives: problem.directions.representatives().len(),
            normal: normal.collect(),
            apply_normal: Tiled::new(n, n, normal_at),
            project: Tiled::new(problem.volumes.len(), n, |volume, a| {
                let (i, x) = source[a];
                x * problem.forward[volume * n + i] / h[0]
            }),
            start: Tiled::new(n, n, |i, o| start[o * n + i]),
            terms: Terms::new(problem.order, &source[..fibre], &moment_of),
            classes,
            source,
        }
    }

    /// Images of each representative.
    pub fn images(&self) -> usize {
        self.classes.len()
    }

    /// Number of constraints.
    pub fn constraints(&self) -> usize {
        self.images() * self.representatives + self.unknowns - self.fibre
    }
}

/// The inverse of a symmetric matrix of `n` rows with `added` on its diagonal, row by row.
fn smooth_inverse(
    n: usize,
    entry: impl Fn(usize, usize) -> f64,
    added: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let is_diagonal = |e: usize| e / n == e % n;
    let all = (0..n * n).map(|e| match is_diagonal(e) {
        true => entry(e / n, e % n) + added(e / n),
        false => entry(e / n, e % n),
    });
    let factor = cholesky::factor(all.collect(), n);
    let mut inverse: Vec<f64> = (0..n * n)
        .map(|e| f64::from(u8::from(is_diagonal(e))))
        .collect();
    for row in inverse.chunks_exact_mut(n) {
        cholesky::solve(&factor, n, row);
    }
    inverse
}

/// The indices of a series by class: even and odd in x and y, in the order (+, +), (−, +), (−, −), (+, −).
fn by_class(order: usize, mirrored: bool) -> Vec<Vec<usize>> {
    if !mirrored {
        return vec![(0..count(order)).collect()];
    }
    let mut classes = vec![Vec::new(); 4];
    for (i, (_, m)) in degrees(order).enumerate() {
        // Under x → −x, cos mp becomes (−1)^m cos mp and sin mp the opposite; under y → −y only sin changes its sign.
        let odd = m.unsigned_abs() % 2;
        classes[if m >= 0 { odd } else { 2 + odd }].push(i);
    }
    classes
}

/// The classes, and the position of each moment by its index in a series of twice the order.
fn classes<S: Scalar>(problem: &Problem, fibres: &[Vec<usize>]) -> (Vec<Class<S>>, Vec<usize>) {
    let directions = problem.directions.representatives();
    let order = problem.order;
    let values: Vec<Vec<f64>> = directions.iter().map(|u| evaluate(2 * order, *u)).collect();
    let mut moment_of = vec![0; count(2 * order)];
    let (mut classes, mut unknown, mut first_moment) = (Vec::new(), 0, 0);
    let moments = by_class(2 * order, fibres.len() == 4);
    for (functions, moments) in fibres.iter().zip(&moments) {
        let (n, r) = (functions.len(), directions.len());
        let to_moments = Tiled::new(r, moments.len(), |u, j| values[u][moments[j]]);
        for (j, &moment) in moments.iter().enumerate() {
            moment_of[moment] = first_moment + j;
        }
        let outputs = to_moments.outputs;
        classes.push(Class {
            unknowns: unknown..unknown + n,
            to_values: Tiled::new(n, r, |j, u| values[u][functions[j]]),
            to_coefficients: Tiled::new(r, n, |u, j| values[u][functions[j]]),
            to_moments,
            first_moment,
        });
        unknown += n;
        first_moment += outputs;
    }
    (classes, moment_of)
}

impl<S: Scalar> Terms<S> {
    fn new(order: usize, source: &[(usize, f64)], moment_of: &[usize]) -> Self {
        let n = source.len();
        let mut position = vec![0; n];
        for (i, &(index, _)) in source.iter().enumerate() {
            position[index] = i;
        }
        let element = |product: &Product| {
            let (a, b) = (position[product.a], position[product.b]);
            let (row, column) = (a.max(b), a.min(b));
            row * (row + 1) / 2 + column
        };
        let mut all = products(order);
        all.sort_by_key(|product| (element(product), moment_of[product.c]));
        let mut starts = vec![0u32; n * (n + 1) / 2 + 1];
        for product in &all {
            starts[element(product) + 1] += 1;
        }
        for e in 1..starts.len() {
            starts[e] += starts[e - 1];
        }
        Self {
            starts,
            moments: all.iter().map(|p| moment_of[p.c] as u16).collect(),
            values: all.iter().map(|p| S::from_f64(p.value)).collect(),
        }
    }
}
