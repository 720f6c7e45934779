//! Errors of a level set's inputs.

use super::run_history::MAX_STEPS;
use crate::solvers::Error;
use glam::DVec3;
use std::fmt;

/// An image, a sphere or a script that a level set cannot use: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// No voxel of the image has a value.
    NoValue,
    /// All voxels have this value.
    NoContrast(f32),
    /// No probed voxel has a value.
    NothingProbed,
    /// The probed voxels do not differ from any others; all have this value.
    ProbedLikeAll(f64),
    /// The axes of the grid lean too far for the scheme.
    LeaningAxes,
    /// A sphere of this radius, mm.
    Radius(f64),
    /// A sphere at this centre, mm, contains no voxel of the image.
    SphereOutside(DVec3),
    TooManySteps(u64),
    /// The script changes to speed inputs with this number, which exceeds the number available.
    SpeedInputs {
        number: usize,
        known: usize,
    },
    /// The reference has another grid.
    ReferenceGrid,
    EmptyReference,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue => {
                f.write_str("Found no voxel with a value, expected an image; choose another")
            }
            Self::NoContrast(value) => write!(
                f,
                "Found {value} in every voxel, expected an image with contrast; choose another"
            ),
            Self::NothingProbed => {
                f.write_str("Found no probed voxel with a value, expected some; probe more")
            }
            Self::ProbedLikeAll(mean) => write!(
                f,
                "Found the value {mean} in every probed voxel and in nearly all others, expected a tissue that \
                 differs from the rest; choose another image"
            ),
            Self::LeaningAxes => f.write_str(
                "Found voxel axes sheared by more than a voxel, expected nearly orthogonal ones; resample \
                 the image onto an orthogonal grid",
            ),
            Self::Radius(mm) => write!(
                f,
                "Found a sphere with a radius of {mm} mm, expected more than 0; draw it larger"
            ),
            Self::SphereOutside(centre) => {
                let [x, y, z] = centre.to_array();
                write!(
                    f,
                    "Found a sphere at {x:.1}, {y:.1}, {z:.1} mm that holds no voxel of the image, expected \
                     one within it; move it"
                )
            }
            Self::TooManySteps(steps) => write!(
                f,
                "Found a run of {steps} steps, expected at most {MAX_STEPS}; lower the number of steps"
            ),
            Self::SpeedInputs { number, known } => write!(
                f,
                "Found a change to speed inputs with number {number}, expected a number below {known}; add \
                 those that are missing, or remove the change"
            ),
            Self::ReferenceGrid => f.write_str(
                "Found a reference on other voxels than the image's, expected the same grid; resample it",
            ),
            Self::EmptyReference => {
                f.write_str("Found an empty reference, expected voxels in it; choose another")
            }
        }
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(error.to_string())
    }
}
