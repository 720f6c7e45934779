//! Response functions: the signal of one tissue, shell by shell.
//!
//! For fibres along an axis the signal depends on b and on the angle to it: S_b(u) = Σ R_l(b) C_l0 with C_l0 the zonal
//! harmonic of even degree l ([`super::spherical_harmonics::zonal`]). A tissue without fibres has R_0 only.
//!
//! # Example
//!
//! The response of fluid, which is the same in every direction:
//!
//! ```
//! use arcuate_engine::data::Response;
//!
//! let fluid = Response::isotropic(&[0.0, 1000.0], &[300.0, 15.0]);
//! assert_eq!((fluid.shell_count(), fluid.order()), (2, 0));
//! assert!((fluid.signal(1, 0.3) - 15.0).abs() < 1e-12);
//! ```

use super::spherical_harmonics::{at_pole, zonal};

/// One tissue's response.
#[derive(Clone, PartialEq, Debug)]
pub struct Response {
    /// Mean b-value of each shell, s/mm², ascending; `None` if the file does not state them.
    pub b_s_per_mm2: Option<Vec<f64>>,
    /// R_0, R_2, … of each shell by ascending b; rows have equal lengths.
    pub rows: Vec<Vec<f64>>,
}

impl Response {
    /// Rows are extended by zeros to the length of the longest.
    pub fn new(b_s_per_mm2: Option<Vec<f64>>, mut rows: Vec<Vec<f64>>) -> Self {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for row in &mut rows {
            row.resize(longest, 0.0);
        }
        Self { b_s_per_mm2, rows }
    }

    /// A tissue without fibres with this mean signal in each shell.
    pub fn isotropic(b_s_per_mm2: &[f64], signals: &[f64]) -> Self {
        let rows = signals.iter().map(|signal| vec![signal / at_pole(0)]);
        Self::new(Some(b_s_per_mm2.to_vec()), rows.collect())
    }

    /// The highest degree l.
    pub fn order(&self) -> usize {
        self.rows.first().map_or(0, |row| 2 * (row.len() - 1))
    }

    /// Number of shells, b = 0 included.
    pub fn shell_count(&self) -> usize {
        self.rows.len()
    }

    /// Whether the signal is independent of the direction.
    pub fn is_isotropic(&self) -> bool {
        let anisotropic = |row: &Vec<f64>| row[1..].iter().any(|r| *r != 0.0);
        !self.rows.iter().any(anisotropic)
    }

    /// The signal of a shell at the cosine of an angle to the fibres.
    pub fn signal(&self, shell: usize, cosine: f64) -> f64 {
        let functions = zonal(self.order(), cosine);
        self.rows[shell]
            .iter()
            .zip(functions)
            .map(|(r, y)| r * y)
            .sum()
    }

    /// The mean signal of a shell over all directions.
    pub fn mean_signal(&self, shell: usize) -> f64 {
        self.rows[shell][0] * at_pole(0)
    }

    /// r_l = R_l / C_l0(pole): convolution multiplies coefficients of degree l by it.
    pub fn factor(&self, shell: usize, l: usize) -> f64 {
        self.rows[shell].get(l / 2).map_or(0.0, |r| r / at_pole(l))
    }

    /// The response of the shell with the highest b alone.
    pub fn outer_shell(&self) -> Self {
        let last = self.rows.last().cloned().unwrap_or_default();
        let b = self.b_s_per_mm2.as_ref().and_then(|b| b.last());
        Self::new(b.map(|b| vec![*b]), vec![last])
    }

    /// The response without degrees above this order.
    pub fn truncated(&self, order: usize) -> Self {
        let mut response = self.clone();
        for row in &mut response.rows {
            row.truncate(order / 2 + 1);
        }
        response
    }
}
