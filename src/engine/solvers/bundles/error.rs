//! Errors of the inputs of clusters and figures.

use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// Streamlines that have no clusters: one sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// No streamline has a length.
    NoLength,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLength => f.write_str(
                "Found no streamline with a length, expected at least one; choose other streamlines",
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
