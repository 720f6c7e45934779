//! Errors of the inputs of a connectome.

use super::MAX_NODES;
use crate::data::Sentence;
use crate::data::text::counted;
use crate::solvers::Error;
use std::fmt;

/// Labels that a connectome cannot have: one sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// A label map with this many labels.
    Labels(usize),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels(labels) => write!(
                f,
                "Found {}, expected 1 to {MAX_NODES}; choose a label map",
                counted(*labels, "label")
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
