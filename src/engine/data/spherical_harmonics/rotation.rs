//! Coefficients of a rotated or mirrored function.

use super::{count, evaluate_into, quadrature};
use glam::DMat3;

/// T(R) of an orthogonal matrix: a function f becomes u ↦ f(R⁻¹u), so that a maximum along u moves to Ru. Reflections
/// are allowed. T(R) T(S) = T(RS).
#[derive(Clone, Debug)]
pub struct Rotation {
    order: usize,
    /// One matrix (2l + 1)², row by row, for each even l.
    blocks: Vec<Vec<f64>>,
}

impl Rotation {
    /// T_ab = ∫ Y_a(u) Y_b(R⁻¹u) du, by a quadrature that is exact for these products.
    pub fn new(order: usize, matrix: DMat3) -> Self {
        let mut blocks: Vec<Vec<f64>> = (0..=order)
            .step_by(2)
            .map(|l| vec![0.0; (2 * l + 1) * (2 * l + 1)])
            .collect();
        let (mut at, mut rotated) = (vec![0.0; count(order)], vec![0.0; count(order)]);
        for (u, weight) in quadrature(2 * order) {
            evaluate_into(order, u, &mut at);
            // The inverse of an orthogonal matrix is its transpose.
            evaluate_into(order, matrix.transpose() * u, &mut rotated);
            let (mut first, mut size) = (0, 1);
            for block in &mut blocks {
                let columns = &rotated[first..first + size];
                for (row, y) in block.chunks_exact_mut(size).zip(&at[first..]) {
                    for (entry, column) in row.iter_mut().zip(columns) {
                        *entry += weight * y * column;
                    }
                }
                first += size;
                size += 4;
            }
        }
        Self { order, blocks }
    }

    /// Highest degree that is rotated, even.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The coefficients of the rotated function; a series of a lower order is rotated, too. Panics if there are more
    /// coefficients than the order has, or only a part of a degree (a broken invariant, not data).
    pub fn apply(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(coefficients.len());
        let (mut first, mut size) = (0, 1);
        for block in &self.blocks {
            if first == coefficients.len() {
                break;
            }
            let source = &coefficients[first..first + size];
            let rows = block.chunks_exact(size);
            out.extend(rows.map(|row| row.iter().zip(source).map(|(t, c)| t * c).sum::<f64>()));
            first += size;
            size += 4;
        }
        assert_eq!(out.len(), coefficients.len(), "coefficients of the order");
        out
    }
}
