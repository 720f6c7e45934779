//! Errors of a truth that contradicts itself.

use crate::data::Sentence;
use crate::data::text::{counted, number};
use crate::solvers::Error;
use std::fmt;

/// A truth against which nothing can be scored: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The truth has no bundle.
    NoBundles,
    /// An image of end regions with this many volumes.
    Volumes(usize),
    /// A value in it.
    NoLabel(f32),
    /// A bundle, and the label at both of its ends.
    SameEnds(String, u32),
    /// A bundle, and the label of an end that no voxel has.
    NoRegion(String, u32),
    /// A bundle whose corridor is on another grid.
    CorridorGrid(String),
    /// A bundle without fibres in the image of end regions.
    NoFibres(String),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBundles => f.write_str(
                "Found a truth without bundles, expected at least one; name another truth",
            ),
            Self::Volumes(volumes) => write!(
                f,
                "Found an image of end regions with {}, expected one volume of labels",
                counted(*volumes, "volume")
            ),
            Self::NoLabel(value) => write!(
                f,
                "Found the value {} in the image of end regions, expected whole numbers from 0; name a label map",
                number(f64::from(*value))
            ),
            Self::SameEnds(bundle, label) => write!(
                f,
                "Found the label {label} at both ends of the bundle “{bundle}”, expected two; give each end its own"
            ),
            Self::NoRegion(bundle, label) => write!(
                f,
                "Found no voxel with the label {label} of the bundle “{bundle}”, expected an end region; check the \
                 image of end regions"
            ),
            Self::CorridorGrid(bundle) => write!(
                f,
                "Found the corridor of the bundle “{bundle}” on another grid than the end regions, expected the same \
                 grid; resample it"
            ),
            Self::NoFibres(bundle) => write!(
                f,
                "Found no fibre of the bundle “{bundle}” in the image of end regions, expected true fibres; check that \
                 both belong to the same head and space"
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
