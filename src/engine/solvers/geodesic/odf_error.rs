//! Errors of rays in distributions.

use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// Distributions or parameters with which no rays can be traced: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum OdfError {
    /// Distributions of order 0, which have no directions.
    NoDirections,
    /// No voxel has a distribution.
    Empty,
    /// Every distribution is isotropic, so that no amplitude is typical of a fibre.
    NoPeaks,
    /// Too many voxels have coefficients that no distribution can have.
    NoDistributions {
        /// Share of the voxels, 0 to 1.
        share: f64,
    },
    /// The papers' form, which only tensors have.
    PapersForm,
    /// Cubic B-splines, which rays in distributions do not support.
    Splines,
}

impl fmt::Display for OdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirections => f.write_str(
                "Found distributions of order 0, expected order 2 or more; choose the image of white matter",
            ),
            Self::Empty => f.write_str(
                "Found no voxel with a distribution, expected at least one; choose another image",
            ),
            Self::NoPeaks => f.write_str(
                "Found distributions without any peak, expected fibres; choose another image, or state the reference \
                 amplitude of the speed",
            ),
            Self::NoDistributions { share } => write!(
                f,
                "{:.0} % of the voxels have coefficients that no fibre orientation distribution has, expected less \
                 than 25 %; choose another image, or state its basis",
                100.0 * share
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
