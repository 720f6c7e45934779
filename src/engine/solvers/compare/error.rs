//! Errors of data that cannot be compared.

use crate::data::Sentence;
use crate::data::text::counted;
use crate::solvers::Error;
use std::fmt;

/// Largest number of masks: the patterns of their decisions are counted in a table of 2ⁿ entries.
pub const MAX_MASKS: usize = 20;

/// Data that cannot be compared: one sentence each. Masks are numbered from 1.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The number of masks, if it is too small or too large.
    Count(usize),
    /// A mask on another grid than the first.
    Grid(usize),
    /// A mask without a voxel inside.
    Empty(usize),
    /// The mask of a consensus on another grid than the masks.
    WithinGrid,
    /// The mask of a consensus contains no voxel of any mask.
    NothingWithin,
    /// A pathway without a voxel.
    EmptyPathway,
    /// A tractogram without streamlines.
    NoStreamlines,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) if *count < 2 => write!(
                f,
                "Found {}, expected at least two; add another segmentation of the same structure",
                counted(*count, "mask")
            ),
            Self::Count(count) => write!(
                f,
                "Found {}, expected at most {MAX_MASKS}; compare fewer at once",
                counted(*count, "mask")
            ),
            Self::Grid(number) => write!(
                f,
                "Found another grid in mask {number} than in the first, expected the same voxels; resample it"
            ),
            Self::Empty(number) => write!(
                f,
                "Found no voxel inside mask {number}, expected at least one; leave it out"
            ),
            Self::WithinGrid => f.write_str(
                "Found another grid in the mask of the consensus than in the masks, expected the same voxels; resample it",
            ),
            Self::NothingWithin => f.write_str(
                "Found no voxel of any mask within the mask of the consensus, expected some; name another mask",
            ),
            Self::EmptyPathway => f.write_str(
                "Found no voxel in the pathway, expected at least one; name another mask",
            ),
            Self::NoStreamlines => f.write_str(
                "Found no streamlines to compare with, expected at least one; track some first",
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
