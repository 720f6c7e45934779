//! The matrices of a problem as kernels/csd.cuh reads them.

use super::super::problem::Problem;
use super::super::tables::{Tables, Tiled};
use super::tiles::{self, Degrees};
use crate::data::spherical_harmonics::{count, degrees, evaluate, gauss_legendre};
use glam::DVec3;
use std::f64::consts::PI;

/// Polar functions that the kernel reads at a node for each azimuthal frequency.
const POLAR: usize = 8;

/// Packed tables of one problem.
pub struct PackedTables {
    /// Values, rows in fours, moments in fours, H, polar functions.
    pub matrices: Vec<f32>,
    /// First moment with the number of moments, and first coefficient, of each azimuthal function.
    pub waves: Vec<[u32; 2]>,
    /// Moments to moments at the nodes.
    pub coefficients: Vec<f32>,
    pub tiles: Vec<[u32; 4]>,
    /// Place in the matrix, and the bits of H there, of each element of the tiles.
    pub elements: Vec<[u32; 2]>,
    /// Place, bits of H, and tissue or 3, of the elements without fibres.
    pub rest: Vec<[u32; 4]>,
    /// Samples to Cᵀy, then to the smooth linear fit: one row for each volume, both parts padded.
    pub projection: Vec<f32>,
}

impl PackedTables {
    pub fn new(problem: &Problem, tables: &Tables<f32>, padded: usize) -> Self {
        let (n, order) = (tables.unknowns, problem.order);
        let mut matrices = Vec::new();
        for class in &tables.classes {
            for j in 0..class.unknowns.len() {
                matrices.extend((0..tables.representatives).map(|i| class.to_values.at(j, i)));
            }
        }
        for class in &tables.classes {
            let rows: &Tiled<f32> = &class.to_coefficients;
            push_in_fours(&mut matrices, rows.inputs, rows.outputs, |i, o| {
                rows.at(i, o)
            });
        }
        let moments = Moments::new(order);
        for (k, class) in tables.classes.iter().enumerate() {
            let rows: &Tiled<f32> = &class.to_moments;
            // In the kernel's order of the moments; those beyond the class are 0.
            push_in_fours(&mut matrices, rows.inputs, rows.outputs, |i, o| {
                rows.at(i, moments.sorted[k].get(o).map_or(o, |(_, from)| *from))
            });
        }
        push_in_fours(&mut matrices, padded, padded, |i, o| {
            if i < n && o < n {
                tables.normal[i * n + o]
            } else {
                0.0
            }
        });
        let nodes = nodes(order);
        for (z, _) in &nodes {
            let values = polar(order, *z);
            for m in 0..=order {
                let mut row = Degrees::new(order, m).map(|l| values[index(l, m)] as f32);
                matrices.extend((0..POLAR).map(|_| row.next().unwrap_or(0.0)));
            }
        }
        let (waves, coefficients) = moments.waves(&nodes);
        let (tiles, elements) = tiles::of_fibres(order, tables, padded);
        let volumes = problem.volumes.len();
        let smooth = |volume: usize, unknown: usize| {
            let product = |i| {
                f64::from(tables.project.at(volume, i)) * f64::from(tables.start.at(i, unknown))
            };
            (0..n).map(product).sum::<f64>() as f32
        };
        let projection = (0..2 * volumes * padded).map(|e| {
            let (volume, sum) = (e / (2 * padded), e % (2 * padded));
            match (sum / padded, sum % padded) {
                (_, unknown) if unknown >= n => 0.0,
                (0, unknown) => tables.project.at(volume, unknown),
                (_, unknown) => smooth(volume, unknown),
            }
        });
        Self {
            waves,
            coefficients,
            tiles,
            elements,
            rest: tiles::without_fibres(tables, padded),
            projection: projection.collect(),
            matrices,
        }
    }
}

/// The index of cos mφ of degree l in a series.
fn index(l: usize, m: usize) -> usize {
    l * (l + 1) / 2 + m
}

/// The functions of degree l and azimuthal frequency m ≥ 0 at azimuth 0, by [`index`].
fn polar(order: usize, z: f64) -> Vec<f64> {
    evaluate(order, DVec3::new((1.0 - z * z).max(0.0).sqrt(), 0.0, z))
}

/// Nodes with z ≥ 0 and their weights in the mean over both signs of z, which integrate products of four functions of
/// this order: polynomials of degree 4 × order.
fn nodes(order: usize) -> Vec<(f64, f64)> {
    let all = gauss_legendre(2 * order + 1).into_iter();
    let half = all.filter(|(z, _)| *z > -1e-9);
    half.map(|(z, weight)| match z > 1e-9 {
        true => (z, 2.0 * weight),
        false => (0.0, weight),
    })
    .collect()
}

/// Outputs in fours: for each four, all inputs.
fn push_in_fours(
    to: &mut Vec<f32>,
    inputs: usize,
    outputs: usize,
    at: impl Fn(usize, usize) -> f32,
) {
    for first in (0..outputs).step_by(4) {
        for input in 0..inputs {
            to.extend((first..first + 4).map(|output| at(input, output)));
        }
    }
}

/// Even moments up to twice the order, in an order where the degrees of an azimuthal function follow each other.
struct Moments {
    order: usize,
    /// For each class: degree and azimuthal frequency, with the position in [`Tables`].
    sorted: Vec<Vec<((usize, isize), usize)>>,
}

impl Moments {
    fn new(order: usize) -> Self {
        let mut sorted = vec![Vec::new(); 4];
        for (l, m) in degrees(2 * order) {
            // The classes of `Tables`.
            let odd = m.unsigned_abs() % 2;
            let class: &mut Vec<_> = &mut sorted[if m >= 0 { odd } else { 2 + odd }];
            class.push(((l, m), class.len()));
        }
        for class in &mut sorted {
            class.sort_by_key(|((l, m), _)| (m.unsigned_abs(), *l));
        }
        Self { order, sorted }
    }

    /// For a product F of two functions of the order with the azimuthal function w, Σ d F w at the directions is
    /// Σ F times the result at the nodes: F is the sum of its projections on the polar functions P of degree L, and
    /// those are integrals by the nodes. A half belongs to products of two azimuthal functions.
    fn waves(&self, nodes: &[(f64, f64)]) -> (Vec<[u32; 2]>, Vec<f32>) {
        let double = 2 * self.order;
        let values: Vec<Vec<f64>> = nodes.iter().map(|(z, _)| polar(double, *z)).collect();
        let (mut waves, mut coefficients) = (Vec::new(), Vec::new());
        let cosines = (0..=double as isize).chain((1..=double as isize).map(|m| -m));
        for m in cosines {
            let frequency = m.unsigned_abs();
            let lengths = Degrees::new(double, frequency);
            let first = self.position(m);
            waves.push([
                first as u32 | (lengths.clone().count() as u32) << 16,
                coefficients.len() as u32,
            ]);
            // ∫ cos² mφ dφ, times 2 π for m = 0.
            let norm = if m == 0 { 2.0 * PI } else { PI };
            for l in lengths {
                let at = nodes.iter().zip(&values);
                coefficients.extend(at.map(|((_, weight), values)| {
                    (0.5 * norm * weight * values[index(l, frequency)]) as f32
                }));
            }
        }
        (waves, coefficients)
    }

    /// The first moment of an azimuthal function.
    fn position(&self, m: isize) -> usize {
        let mut first = 0;
        for class in &self.sorted {
            if let Some(inside) = class.iter().position(|((_, own), _)| *own == m) {
                return first + inside;
            }
            first += class.len().next_multiple_of(4);
        }
        unreachable!("each function is in one class: {m} {}", count(self.order))
    }
}
