//! Errors of the inputs of a cost field.

use super::Schedule;
use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// Parameters or sources that a cost field cannot have: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    Tolerance(f32),
    Schedule(Schedule),
    /// The source of this name was made for another mask.
    OtherMask(String),
    /// The region of this name contains no voxel of the mask.
    OutsideMask(String),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tolerance(tolerance) => write!(
                f,
                "Found a tolerance of {tolerance}, expected 0 or more and less than 0.1; choose for example 1e-6"
            ),
            Self::Schedule(schedule) => write!(
                f,
                "Found the schedule {schedule:?}, expected bricks of 1 to 8 voxels and counts from 1; \
                 leave it out"
            ),
            Self::OtherMask(name) => write!(
                f,
                "Region “{name}” was made for another mask; place it again"
            ),
            Self::OutsideMask(name) => write!(
                f,
                "Region “{name}” lies outside the mask, expected at least one voxel inside; move it or choose \
                 another mask"
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
