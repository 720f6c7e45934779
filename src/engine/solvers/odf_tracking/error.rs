//! Errors of the inputs of tracking in distributions and peaks.

use crate::data::Sentence;
use crate::data::text::number;
use crate::solvers::Error;
use std::fmt;

/// Distributions, tissues or parameters in which nothing can be tracked: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// No voxel has a distribution or a peak.
    Empty,
    /// Parameters for arcs with an image of peaks.
    ArcsInPeaks,
    /// The share of voxels with fibres that the tissue map covers.
    TissuesElsewhere {
        /// Fraction, 0..=1.
        share: f64,
    },
    /// Seeds at the interface without a tissue map.
    InterfaceWithoutTissues,
    /// No place where grey and white matter meet.
    NoInterface,
    /// Seed regions with seeds at the interface, none of which lies in them.
    NoInterfaceInSeeds,
    /// Every seed region lies outside the image.
    SeedsOutside,
    /// A bootstrap without the residuals of a deconvolution.
    BootstrapWithoutScan,
    /// Residuals on another grid than the distributions, or of another order.
    ResidualGrid,
    /// The residuals belong to other distributions.
    OtherResiduals {
        /// Relative difference between the two.
        difference: f64,
    },
    /// A step longer than two voxels.
    Step {
        /// Chosen step, mm.
        step_mm: f64,
        /// Largest permitted step, two voxels, mm.
        max_mm: f64,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "Found no voxel with fibres, expected a distribution or a peak in some; name another image",
            ),
            Self::ArcsInPeaks => f.write_str(
                "Found peaks with the probabilistic method, which expects distributions; choose the deterministic \
                 method or name the distributions",
            ),
            Self::TissuesElsewhere { share } => write!(
                f,
                "The tissue image covers {:.0} % of the voxels with fibres, expected at least 90 %; align it with the \
                 distributions, or name one that covers the brain",
                100.0 * share
            ),
            Self::InterfaceWithoutTissues => f.write_str(
                "Seeds at the grey-white interface need an image of tissues; name one",
            ),
            Self::NoInterface => f.write_str(
                "Found no place where grey and white matter meet, expected their interface; check the tissue image",
            ),
            Self::NoInterfaceInSeeds => f.write_str(
                "The seed regions contain none of the grey-white interface, expected a part; enlarge or move one",
            ),
            Self::SeedsOutside => f.write_str(
                "The seed regions lie outside the image of fibres, expected at least one inside; move one into the \
                 brain",
            ),
            Self::BootstrapWithoutScan => f.write_str(
                "Found a bootstrap without the scan of the distributions, expected both; name the scan and its \
                 response functions, or track without a bootstrap",
            ),
            Self::ResidualGrid => f.write_str(
                "Found residuals on another grid or of another order than the distributions, expected those of one \
                 deconvolution; deconvolve the scan again",
            ),
            Self::OtherResiduals { difference } => write!(
                f,
                "The distributions differ by {:.0} % from those that the scan gives for a bootstrap, expected less than \
                 5 %; name the scan, the response functions and the order of their deconvolution",
                100.0 * difference
            ),
            Self::Step { step_mm, max_mm } => write!(
                f,
                "The step is {} mm, expected at most two voxels, {} mm; choose half a voxel",
                number(*step_mm),
                number(*max_mm)
            ),
        }
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
