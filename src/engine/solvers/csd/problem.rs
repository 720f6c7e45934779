//! The least-squares problem of one acquisition, in double precision.

use super::directions::Directions;
use super::error::InputError;
use crate::data::spherical_harmonics::{at_pole, count, degrees, evaluate};
use crate::data::{Gradients, Response, ShellVolumes, Shells};
use glam::DVec3;

/// Penalty on |x|² relative to the largest diagonal element of CᵀC, as in MRtrix's `msmt_csd`: determines coefficients
/// that the signal does not.
pub const MIN_NORM: f64 = 1e-10;

/// min ½ |C x − y|² + ½ ν |x|² subject to a non-negative distribution in the constraint directions and non-negative
/// amounts of the other tissues.
///
/// Unknowns are the coefficients of the distribution, by index, then one amount for each tissue without fibres in
/// units of Y_00, so that all have the same meaning.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Highest degree of the harmonics, even.
    pub order: usize,
    /// Number of tissues without fibres.
    pub tissues: usize,
    /// The volumes of the scan whose samples make up y.
    pub volumes: Vec<usize>,
    /// The directions of the volumes of each shell, in the same order; zero vectors without weighting.
    pub shells: Vec<Vec<DVec3>>,
    /// C, row by row: one row for each volume.
    pub forward: Vec<f64>,
    /// Where the distribution is not negative.
    pub directions: Directions,
    /// ν relative to the largest diagonal element of CᵀC.
    pub min_norm: f64,
}

impl Problem {
    /// The first response is that of fibres, the others are isotropic. They have one row for each shell of `shells`,
    /// or a single row for the shell with the highest b.
    pub fn new(
        gradients: &Gradients,
        shells: &Shells,
        responses: &[Response],
        order: usize,
        directions: Directions,
    ) -> Result<Self, InputError> {
        let used = matching_shells(shells, responses)?;
        let n = count(order) + responses.len() - 1;
        let (mut volumes, mut forward) = (Vec::new(), Vec::new());
        let mut shell_directions = Vec::new();
        for (row, shell) in used.iter().enumerate() {
            let directions = shell
                .volumes
                .iter()
                .map(|volume| match shell.is_weighted() {
                    true => gradients.directions[*volume],
                    false => DVec3::ZERO,
                });
            shell_directions.push(directions.collect());
            for &volume in &shell.volumes {
                let functions = evaluate(order, gradients.directions[volume]);
                let fibres = degrees(order).zip(functions).map(|((l, _), y)| {
                    // Without weighting there is no direction, and only the mean counts.
                    let y = match (shell.b_s_per_mm2 == 0.0, l) {
                        (true, 0) => at_pole(0),
                        (true, _) => 0.0,
                        (false, _) => y,
                    };
                    responses[0].factor(row, l) * y
                });
                forward.extend(fibres);
                // r_0 Y_00.
                forward.extend(responses[1..].iter().map(|r| r.rows[row][0]));
                volumes.push(volume);
            }
        }
        debug_assert_eq!(forward.len(), n * volumes.len());
        Ok(Self {
            order,
            tissues: responses.len() - 1,
            volumes,
            shells: shell_directions,
            forward,
            directions,
            min_norm: MIN_NORM,
        })
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        count(self.order) + self.tissues
    }

    /// CᵀC + ν I, row by row.
    pub fn normal_matrix(&self) -> Vec<f64> {
        let n = self.unknowns();
        let mut h = vec![0.0; n * n];
        for row in self.forward.chunks_exact(n) {
            for (a, products) in row.iter().zip(h.chunks_exact_mut(n)) {
                for (b, product) in row.iter().zip(products) {
                    *product += a * b;
                }
            }
        }
        let largest = (0..n).map(|i| h[i * n + i]).fold(0.0, f64::max);
        for i in 0..n {
            h[i * n + i] += self.min_norm * largest;
        }
        h
    }

    /// The signal that unknowns predict, one value for each volume.
    pub fn predicted(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.forward.chunks_exact(self.unknowns());
        let signal = rows.map(|row| row.iter().zip(x).map(|(c, x)| c * x).sum());
        signal.collect()
    }
}

/// The shells that the rows of the responses belong to.
pub fn matching_shells<'a>(
    shells: &'a Shells,
    responses: &[Response],
) -> Result<&'a [ShellVolumes], InputError> {
    let fibres = responses.first().ok_or(InputError::NoResponse)?;
    let (rows, all) = (fibres.shell_count(), &shells.shells);
    if let Some(at) = responses.iter().position(|r| r.shell_count() != rows) {
        return Err(InputError::ResponseShells {
            first: rows,
            other: responses[at].shell_count(),
            number: at + 1,
        });
    }
    if fibres.is_isotropic() {
        return Err(InputError::FirstIsotropic);
    }
    if let Some(at) = responses[1..].iter().position(|r| !r.is_isotropic()) {
        return Err(InputError::Directional(at + 2));
    }
    let used = match rows {
        1 if !all.is_empty() => &all[all.len() - 1..],
        rows if rows == all.len() => &all[..],
        _ => {
            return Err(InputError::ResponseRows {
                rows,
                shells: all.len(),
                summary: shells.summary(),
            });
        }
    };
    if responses.len() > rows {
        return Err(InputError::Tissues {
            shells: rows,
            tissues: responses.len(),
        });
    }
    for (at, response) in responses.iter().enumerate() {
        for (shell, b) in used.iter().zip(response.b_s_per_mm2.iter().flatten()) {
            // Responses of a protocol serve all its scans, whose b-values scatter.
            if (shell.b_s_per_mm2 - b).abs() > 80.0f64.max(0.1 * b) {
                return Err(InputError::ResponseB {
                    response: *b,
                    scan: shell.b_s_per_mm2,
                    number: at + 1,
                });
            }
        }
    }
    Ok(used)
}
