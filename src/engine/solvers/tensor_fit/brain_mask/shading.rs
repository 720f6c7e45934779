//! The smooth variation of brightness that the receive coil causes in a scan: a quadratic in the logarithm of the
//! signal, fitted to the core of the brain.

use crate::data::statistics::upper_median;
use glam::DVec3;

/// Terms of a quadratic in three variables.
const TERMS: usize = 10;
/// Number of solves, each without the outliers of the one before: fluid, vessels, iron.
const SOLVES: usize = 4;
/// A coil changes brightness by less than this factor over a brain.
const STRONGEST: f64 = 2.0;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shading {
    shape: [usize; 3],
    terms: [f64; TERMS],
    /// Bounds of the logarithm: outside the core the quadratic is meaningless.
    limits: (f64, f64),
}

impl Shading {
    pub fn none(shape: [usize; 3]) -> Self {
        Self {
            shape,
            terms: [0.0; TERMS],
            limits: (0.0, 0.0),
        }
    }

    /// Fits signals at positions in voxels of a grid of this shape (0 is its edge); no shading if they do not
    /// determine it.
    pub fn fit(shape: [usize; 3], samples: &[(DVec3, f32)]) -> Self {
        let none = Self::none(shape);
        let rows: Vec<([f64; TERMS], f64)> = samples
            .iter()
            .filter(|(_, signal)| *signal > 0.0)
            .map(|(place, signal)| (basis(*place, shape), f64::from(*signal).ln()))
            .collect();
        let mut near = f64::INFINITY;
        let mut terms = [0.0; TERMS];
        for _ in 0..SOLVES {
            let deviation = |(row, log): &([f64; TERMS], f64)| (log - dot(row, &terms)).abs();
            let used: Vec<_> = rows.iter().filter(|row| deviation(row) <= near).collect();
            let Some(solved) = solve(&used) else {
                return none;
            };
            terms = solved;
            let mut left: Vec<f64> = rows
                .iter()
                .map(|(row, log)| (log - dot(row, &terms)).abs())
                .collect();
            // Twice the standard deviation estimated from the median.
            near = 2.0 * 1.4826 * upper_median(&mut left).unwrap_or(0.0);
        }
        let mut values: Vec<f64> = rows.iter().map(|(row, _)| dot(row, &terms)).collect();
        values.sort_by(f64::total_cmp);
        let share = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        // Brightness is relative: the median of the core is unchanged.
        let middle = share(0.5);
        terms[0] -= middle;
        let max_log = STRONGEST.ln();
        Self {
            shape,
            terms,
            limits: (
                (share(0.01) - middle).max(-max_log),
                (share(0.99) - middle).min(max_log),
            ),
        }
    }

    /// Brightness at a position in voxels, relative to the middle of the brain.
    pub fn at(&self, place: DVec3) -> f64 {
        let log = dot(&basis(place, self.shape), &self.terms);
        log.clamp(self.limits.0, self.limits.1).exp()
    }
}

/// Products up to second degree of the position scaled to −1 to 1.
fn basis(place: DVec3, shape: [usize; 3]) -> [f64; TERMS] {
    let DVec3 { x, y, z } = 2.0 * place / DVec3::from_array(shape.map(|n| n as f64)) - 1.0;
    [1.0, x, y, z, x * x, x * y, x * z, y * y, y * z, z * z]
}

fn dot(a: &[f64; TERMS], b: &[f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Least squares by the normal equations; `None` if they are singular.
fn solve(rows: &[&([f64; TERMS], f64)]) -> Option<[f64; TERMS]> {
    let mut matrix = [[0.0; TERMS + 1]; TERMS];
    for (row, value) in rows {
        for (i, line) in matrix.iter_mut().enumerate() {
            for (j, entry) in line.iter_mut().take(TERMS).enumerate() {
                *entry += row[i] * row[j];
            }
            line[TERMS] += row[i] * value;
        }
    }
    // Gauss-Jordan elimination with the largest pivot of each column.
    for column in 0..TERMS {
        let size = |i: &usize| matrix[*i][column].abs();
        let pivot = (column..TERMS).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if !(size(&pivot) > 1e-9 * rows.len() as f64) {
            return None;
        }
        matrix.swap(column, pivot);
        let line = matrix[column].map(|v| v / matrix[column][column]);
        matrix[column] = line;
        for (i, other) in matrix.iter_mut().enumerate() {
            if i != column {
                let factor = other[column];
                for (v, p) in other.iter_mut().zip(line) {
                    *v -= factor * p;
                }
            }
        }
    }
    Some(std::array::from_fn(|i| matrix[i][TERMS]))
}
