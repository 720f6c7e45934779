//! Errors of the inputs of clusters and bundles.

use crate::data::Sentence;
use crate::data::text::counted;
use crate::solvers::Error;
use std::fmt;

/// Streamlines or recipes without bundles: one sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// No streamline has a length.
    NoLength,
    /// A recipe names this many labels.
    Labels(usize),
    /// The map lacks labels of every bundle of the recipe.
    NoLabel,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLength => f.write_str(
                "Found no streamline with a length, expected at least one; choose other streamlines",
            ),
            Self::Labels(labels) => write!(
                f,
                "Found a recipe with {}, expected fewer than 65535; divide it into several",
                counted(*labels, "label")
            ),
            Self::NoLabel => f.write_str(
                "The label map lacks labels of every bundle of the recipe; choose the map that the recipe is written for, such as \
                 FreeSurfer's aparc+aseg for the built-in one",
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
