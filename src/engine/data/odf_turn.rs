//! Distributions of an image that is moved: their fibres turn with it.
//!
//! A rigid transform rotates the harmonics. Any other linear transform F is applied to 300 point spread functions whose
//! sum is the distribution (Raffelt et al. 2012, Magn Reson Med 67:844): the one along u goes to F u / |F u|, with
//! weight |F u| / |det F| if densities are to change with the width of bundles. Both are linear in the coefficients, so
//! that one matrix serves all voxels.

use super::cholesky;
use super::odf_field::{is_rigid, moved_fibre};
use super::rotation::rotation;
use super::spherical_harmonics::{Rotation, count, evaluate};
use glam::{DMat3, DVec3};
use std::f64::consts::PI;

/// Number of point spread functions.
const DIRECTIONS: usize = 300;

/// Turns coefficients of MRtrix's basis in world axes.
#[derive(Clone, Debug)]
pub enum OdfTurn {
    /// Rotation of the coefficients, degree by degree.
    Rigid(Rotation),
    /// Row by row, one row for each turned coefficient.
    Linear {
        /// Number of coefficients: rows, and columns, of the matrix.
        size: usize,
        /// Matrix of `size` × `size` numbers.
        matrix: Vec<f64>,
    },
}

impl OdfTurn {
    /// For harmonics up to an order and the linear part of a transform. `modulated`: densities change with the width of
    /// bundles; a rigid transform keeps them anyway.
    pub fn new(order: usize, linear: DMat3, modulated: bool) -> Self {
        if is_rigid(linear) {
            return Self::Rigid(Rotation::new(order, rotation(linear)));
        }
        let size = count(order);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for direction in half_sphere(DIRECTIONS) {
            let (moved, factor) = moved_fibre(linear, direction);
            let factor = if modulated { factor } else { 1.0 };
            before.push(spread(order, direction));
            let spread = spread(order, moved);
            after.push(spread.into_iter().map(|c| factor * c).collect::<Vec<f64>>());
        }
        // T = A' Aᵀ (A Aᵀ)⁻¹: the coefficients are the sum of least norm.
        let product = |a: &[Vec<f64>], row: usize, column: usize| -> f64 {
            let pairs = a.iter().zip(&before);
            pairs.map(|(a, b)| a[row] * b[column]).sum()
        };
        let gram: Vec<f64> = (0..size * size)
            .map(|i| product(&before, i / size, i % size))
            .collect();
        let factor = cholesky::factor(gram, size);
        let mut matrix = Vec::with_capacity(size * size);
        for row in 0..size {
            let mut right: Vec<f64> = (0..size).map(|c| product(&after, row, c)).collect();
            cholesky::solve(&factor, size, &mut right);
            matrix.extend(right);
        }
        Self::Linear { size, matrix }
    }

    /// The coefficients of one voxel after the transform.
    pub fn apply(&self, coefficients: &[f64]) -> Vec<f64> {
        match self {
            Self::Rigid(rotation) => rotation.apply(coefficients),
            Self::Linear { size, matrix } => {
                let rows = matrix.chunks_exact(*size);
                rows.map(|row| row.iter().zip(coefficients).map(|(t, c)| t * c).sum())
                    .collect()
            }
        }
    }
}

/// Evenly spread directions of a half sphere, along a spiral.
pub fn half_sphere(count: usize) -> impl Iterator<Item = DVec3> {
    let golden = PI * (3.0 - 5f64.sqrt());
    (0..count).map(move |i| {
        let z = 1.0 - (i as f64 + 0.5) / count as f64;
        let (sine, cosine) = (golden * i as f64).sin_cos();
        let radius = (1.0 - z * z).sqrt();
        DVec3::new(radius * cosine, radius * sine, z)
    })
}

/// Coefficients of the point spread function along a direction: a delta function damped by degree, so that it has
/// no notable side lobes.
fn spread(order: usize, direction: DVec3) -> Vec<f64> {
    let mut functions = evaluate(order, direction);
    let (mut first, mut size, mut degree) = (0, 1, 0usize);
    while first < functions.len() {
        let damped = damping(order, degree);
        functions[first..first + size]
            .iter_mut()
            .for_each(|c| *c *= damped);
        (first, size, degree) = (first + size, size + 4, degree + 2);
    }
    functions
}

/// Lanczos' factor sin x / x, squared, of a degree: the damped delta function is not below −2.5 % of its peak at any
/// order.
fn damping(order: usize, degree: usize) -> f64 {
    match degree {
        0 => 1.0,
        degree => {
            let x = PI * degree as f64 / (order as f64 + 2.0);
            (x.sin() / x).powi(2)
        }
    }
}
