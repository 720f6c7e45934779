//! Bases of other programs.
//!
//! No header names the basis of a file. All but Camino's differ from MRtrix's by the order of the coefficients within
//! a degree, by signs and by factors √2; Camino's are the complex coefficients of functions with the Condon-Shortley
//! phase.

use super::{count, degrees, index};
use crate::data::keyed;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// A basis in which a file may store a series.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Basis {
    /// MRtrix 3, DIPY's `tournier07`.
    MRtrix,
    /// MRtrix 0.2, DIPY's `tournier07` with `legacy=True`.
    MRtrixLegacy,
    /// DIPY's `descoteaux07` with `legacy=False`.
    Dipy,
    /// DIPY's `descoteaux07` with `legacy=True`, its default.
    DipyLegacy,
    /// Camino's `shfit` and `qballmx`, without the exit code and ln S0: c_l0, Re c_l1, Im c_l1, … by degree.
    Camino,
}

keyed!(Basis, serde {
    MRtrix = "mrtrix",
    MRtrixLegacy = "mrtrix-0.2",
    Dipy = "descoteaux07",
    DipyLegacy = "descoteaux07-legacy",
    Camino = "camino",
});

impl Basis {
    /// All bases in the order of their declaration.
    pub const ALL: [Self; 5] = [
        Self::MRtrix,
        Self::MRtrixLegacy,
        Self::Dipy,
        Self::DipyLegacy,
        Self::Camino,
    ];

    /// Name of the program, as in sentences and choices.
    pub fn label(self) -> &'static str {
        match self {
            Self::MRtrix => "MRtrix 3",
            Self::MRtrixLegacy => "MRtrix 0.2",
            Self::Dipy => "DIPY descoteaux07",
            Self::DipyLegacy => "DIPY descoteaux07, legacy",
            Self::Camino => "Camino",
        }
    }

    /// The program that also uses the basis, or the one whose default it is; may be empty.
    pub fn note(self) -> &'static str {
        match self {
            Self::MRtrix => "also DIPY's tournier07",
            Self::DipyLegacy => "DIPY's default",
            Self::MRtrixLegacy | Self::Dipy | Self::Camino => "",
        }
    }

    /// For each coefficient of MRtrix's basis, the index of the source's coefficient and its factor.
    pub fn table(self, order: usize) -> Vec<(usize, f64)> {
        let entry = |(l, m): (usize, isize)| {
            let odd = m.unsigned_abs() % 2 == 1;
            match self {
                Self::MRtrix => (index(l, m), 1.0),
                Self::MRtrixLegacy if m == 0 => (index(l, m), 1.0),
                Self::MRtrixLegacy => (index(l, m), FRAC_1_SQRT_2),
                Self::Dipy if m > 0 && odd => (index(l, -m), -1.0),
                Self::Dipy | Self::DipyLegacy => (index(l, -m), 1.0),
                Self::Camino => {
                    // Pairs of real and imaginary parts follow the first coefficient of a degree.
                    let first = index(l, -(l as isize));
                    match m {
                        0 => (first, 1.0),
                        m if m > 0 => (first + 2 * m.unsigned_abs() - 1, SQRT_2),
                        m => (first + 2 * m.unsigned_abs(), -SQRT_2),
                    }
                }
            }
        };
        degrees(order).map(entry).collect()
    }

    /// Coefficients of MRtrix's basis. Panics if their number is not that of the order (a broken invariant, not
    /// data).
    pub fn to_mrtrix(self, order: usize, coefficients: &[f64]) -> Vec<f64> {
        assert_eq!(
            coefficients.len(),
            count(order),
            "coefficients of the order"
        );
        let table = self.table(order);
        let converted = table
            .iter()
            .map(|&(from, factor)| factor * coefficients[from]);
        converted.collect()
    }

    /// Coefficients of this basis from those of MRtrix's. Panics if their number is not that of the order (a broken
    /// invariant, not data).
    pub fn from_mrtrix(self, order: usize, coefficients: &[f64]) -> Vec<f64> {
        assert_eq!(
            coefficients.len(),
            count(order),
            "coefficients of the order"
        );
        let mut out = vec![0.0; coefficients.len()];
        for (&(to, factor), c) in self.table(order).iter().zip(coefficients) {
            out[to] = c / factor;
        }
        out
    }
}
