//! Errors of the inputs of a metric.

use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// Tensors or a mask without a voxel for a metric: one sentence each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputError {
    EmptyMask,
    /// There is no mask.
    NoTensors,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self {
            Self::EmptyMask => "The mask holds no voxel with a tensor",
            Self::NoTensors => "There is no voxel with a tensor",
        };
        write!(
            f,
            "{problem}, expected at least one; choose another mask or fit again"
        )
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
