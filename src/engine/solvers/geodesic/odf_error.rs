//! Errors of rays in distributions.

use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// Distributions or parameters with which no rays can be traced: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum OdfError {
    /// No voxel has a distribution.
    Empty,
    /// Every distribution is isotropic, so that no amplitude is typical of a fibre.
    NoPeaks,
    /// The papers' form, which only tensors have.
    PapersForm,
    /// Cubic B-splines, which rays in distributions do not support.
    Splines,
}

impl fmt::Display for OdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "Found no voxel with a distribution, expected at least one; choose another image",
            ),
            Self::NoPeaks => f.write_str(
                "Found distributions without any peak, expected fibres; choose another image, or state the reference \
                 amplitude of the speed",
            ),
            Self::PapersForm => f.write_str(
                "The papers' form follows tensors only, found distributions; choose the Hamiltonian form",
            ),
            Self::Splines => f.write_str(
                "Rays in distributions support only linear interpolation, found cubic B-splines; choose linear \
                 interpolation",
            ),
        }
    }
}

impl std::error::Error for OdfError {}

impl From<OdfError> for Error {
    fn from(error: OdfError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
