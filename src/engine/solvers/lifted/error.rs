//! Errors of the inputs of a lifted pathway.

use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// Distributions, costs or regions that a lifted pathway cannot have: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The mask has another grid than the distributions.
    MaskGrid,
    /// No voxel of the mask has a distribution.
    Empty,
    /// A cost is not a positive number.
    Cost(f32),
    /// The source of this name belongs to another mask.
    OtherMask(String),
    /// The cost fields of these regions come from different costs.
    OtherCosts([String; 2]),
    /// The lifted grid has more states than a `u32` can number.
    TooMany { voxels: usize, directions: usize },
    /// The scan is not on the grid of the distributions.
    ScanGrid,
    /// The distributions are not those of the scan.
    OtherScan {
        /// Relative difference between the two.
        difference: f64,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaskGrid => f.write_str(
                "The mask has another grid than the distributions, expected the same; choose another mask",
            ),
            Self::Empty => f.write_str(
                "The mask holds no voxel with a distribution, expected at least one; choose another mask or image",
            ),
            Self::Cost(cost) => write!(
                f,
                "Found a cost of {cost} per mm, expected a positive number; check the distributions and the factor of costly \
                 regions"
            ),
            Self::OtherMask(name) => write!(
                f,
                "Region “{name}” was placed in another mask; place it again"
            ),
            Self::OtherCosts([a, b]) => write!(
                f,
                "The cost fields of “{a}” and “{b}” come from different costs; solve both again"
            ),
            Self::TooMany { voxels, directions } => write!(
                f,
                "Found {voxels} voxels with {directions} directions each, expected at most 4 billion pairs of both; \
                 choose fewer directions or a smaller mask"
            ),
            Self::ScanGrid => f.write_str(
                "Found a scan on another grid than the distributions of the pathway, expected the scan from which they \
                 were estimated; name that scan",
            ),
            Self::OtherScan { difference } => write!(
                f,
                "The distributions of the pathway differ by {:.0} % from those that the scan gives for repetitions, \
                 expected less than 5 %; name the scan, the response functions and the order of their deconvolution",
                100.0 * difference
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
