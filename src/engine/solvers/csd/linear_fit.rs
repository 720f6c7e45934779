//! An unconstrained fit of the signal, whose residuals are noise.

use super::parameters::MAX_ORDER;
use super::problem::Problem;
use crate::data::spherical_harmonics::{count, evaluate};
use std::ops::Range;

/// Largest number of coefficients per sample: each residual keeps a third of the variance of the noise on average.
const MAX_COEFFICIENT_SHARE: f64 = 2.0 / 3.0;
/// Samples of a shell for each of its own coefficients.
const PER_COEFFICIENT: usize = 2;
/// A column depends on the others if the part of it outside them is below this fraction of its length.
const INDEPENDENT: f64 = 1e-5;
/// A sample that alone determines a coefficient has no residual: there 1 − h is rounding error.
const MIN_FREE: f64 = 1e-4;

/// Linear least squares with the columns of C for white matter and with harmonics of each shell, so that neither lobes with
/// negative values nor wrong response functions count as noise. The constants of the shells stand for the tissues without
/// directions. Columns are added degree by degree, first those of C, while at least a third of the samples remains free;
/// those of a shell, while it has two samples for each.
pub struct LinearFit {
    volumes: usize,
    /// Orthonormal columns.
    basis: Vec<f64>,
    /// The squared length of each row of the basis.
    pub leverages: Vec<f64>,
}

impl LinearFit {
    pub fn new(problem: &Problem) -> Self {
        let volumes = problem.volumes.len();
        let mut fit = Self {
            volumes,
            basis: Vec::new(),
            leverages: vec![0.0; volumes],
        };
        fit.add_model(problem);
        fit.add_shells(problem);
        for column in fit.basis.chunks_exact(volumes) {
            for (sum, value) in fit.leverages.iter_mut().zip(column) {
                *sum += value * value;
            }
        }
        fit
    }

    /// Number of coefficients: the sum of the leverages.
    pub fn rank(&self) -> usize {
        self.basis.len() / self.volumes
    }

    fn add_model(&mut self, problem: &Problem) {
        let n = problem.unknowns();
        for degree in (0..=problem.order).step_by(2) {
            let columns = of_degree(degree).map(|k| {
                let column = problem.forward.iter().skip(k).step_by(n);
                column.copied().collect()
            });
            if !self.add(columns) {
                break;
            }
        }
    }

    fn add_shells(&mut self, problem: &Problem) {
        for degree in (0..=MAX_ORDER).step_by(2) {
            let mut first = 0;
            for shell in &problem.shells {
                let start = first;
                first += shell.len();
                let is_weighted = shell.iter().any(|u| u.length_squared() > 0.0);
                let is_determined = is_weighted && PER_COEFFICIENT * count(degree) <= shell.len();
                if degree > 0 && !is_determined {
                    continue;
                }
                let degrees = of_degree(degree);
                let mut columns = vec![vec![0.0; self.volumes]; degrees.len()];
                for (i, u) in shell.iter().enumerate() {
                    let values = match degree {
                        0 => vec![1.0],
                        _ => evaluate(degree, *u)[degrees.clone()].to_vec(),
                    };
                    for (column, value) in columns.iter_mut().zip(values) {
                        column[start + i] = value;
                    }
                }
                if !self.add(columns.into_iter()) {
                    return;
                }
            }
        }
    }

    /// Adds the independent parts of these columns; adds nothing and returns false if there would be too many.
    fn add(&mut self, columns: impl Iterator<Item = Vec<f64>>) -> bool {
        let before = self.basis.len();
        for mut column in columns {
            let size = length(&column);
            // The second time removes what rounding left.
            for _ in 0..2 {
                for unit in self.basis.chunks_exact(self.volumes) {
                    let along = dot(unit, &column);
                    for (value, unit) in column.iter_mut().zip(unit) {
                        *value -= along * unit;
                    }
                }
            }
            let left = length(&column);
            if left > INDEPENDENT * size {
                self.basis.extend(column.iter().map(|value| value / left));
            }
        }
        let fits = self.rank() as f64 <= MAX_COEFFICIENT_SHARE * self.volumes as f64;
        if !fits {
            self.basis.truncate(before);
        }
        fits
    }

    /// Fills e / √(1 − h), for a sample without a residual the root mean square of the others. Samples become residuals.
    pub fn errors(&self, samples: &mut [f64], errors: &mut [f32]) {
        // Columns are orthonormal: removing one leaves the others' parts.
        for unit in self.basis.chunks_exact(self.volumes) {
            let along = dot(unit, samples);
            for (sample, unit) in samples.iter_mut().zip(unit) {
                *sample -= along * unit;
            }
        }
        let (mut square, mut free) = (0.0, 0);
        for ((residual, leverage), error) in samples.iter().zip(&self.leverages).zip(&mut *errors) {
            if 1.0 - leverage > MIN_FREE {
                let value = residual / (1.0 - leverage).sqrt();
                square += value * value;
                free += 1;
                *error = value as f32;
            }
        }
        let typical = (square / f64::from(free.max(1))).sqrt() as f32;
        for (leverage, error) in self.leverages.iter().zip(errors) {
            if 1.0 - leverage <= MIN_FREE {
                *error = typical;
            }
        }
    }
}

/// The indices of the harmonics of one degree.
fn of_degree(degree: usize) -> Range<usize> {
    match degree {
        0 => 0..1,
        _ => count(degree - 2)..count(degree),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
