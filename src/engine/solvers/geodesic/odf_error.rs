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
    /// The share of voxels whose coefficients no distribution can have.
    NoDistributions {
        /// Fraction, 0..=1.
        share: f64,
    },
    /// The papers' form, which only tensors have.
    PapersForm,
    /// Cubic B-splines, of which distributions are not prepared.
    Splines,
}

impl fmt::Display for OdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirections => f.write_str(
                "Found distributions of order 0, expected order 2 or more; name the image of white matter",
            ),
            Self::Empty => f.write_str(
                "Found no voxel with fibres, expected a distribution in some; name another image",
            ),
            Self::NoPeaks => f.write_str(
                "Found distributions without any peak, expected fibres; name another image, or state the reference \
                 amplitude of the speed",
            ),
            Self::NoDistributions { share } => write!(
                f,
                "In {:.0} % of the voxels the coefficients are those of no distribution of fibres, expected less than \
                 25 %; name an image of fibre orientation distributions, or state its basis",
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
