//! Errors of a level set's inputs.

use super::parameters::Layout;
use super::run_history::MAX_STEPS;
use crate::data::Sentence;
use crate::solvers::Error;
use glam::DVec3;
use std::fmt;

/// An image, a sphere, a script or a layout that a level set cannot use: one sentence each.
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
    /// A run of this many steps, more than the maximum.
    TooManySteps(u64),
    /// The script changes to speed inputs with this number, which exceeds the number available.
    SpeedInputs {
        /// Number that the script names, counted from 0.
        number: usize,
        /// Number of available inputs.
        known: usize,
    },
    /// The reference has another grid.
    ReferenceGrid,
    /// The reference contains no voxel.
    EmptyReference,
    /// Bricks of this many voxels.
    Brick(usize),
    /// A band of this many voxels.
    Band(f32),
    /// A layout that graphics cards do not support.
    LayoutOnCard(Layout),
    /// An image too long for a graphics card.
    LongAxis,
    /// The parameters use the speed of a layer, and there is none.
    NoLayer,
    /// A script without an image.
    NoImage,
    /// The initial surface contains no voxel.
    EmptySurface,
    /// The initial surface contains all voxels.
    FullSurface,
    /// A cut that leaves no voxel inside.
    EmptyAfterCut,
    /// A sphere that leaves no voxel outside.
    FullAfterSphere,
    /// The speed is 0 in every voxel.
    NoSpeed,
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
            Self::Brick(voxels) => write!(
                f,
                "Found bricks of {voxels} voxels, expected 8 or 16; choose 8"
            ),
            Self::Band(voxels) => write!(
                f,
                "Found a band of {voxels} voxels, expected 2 to 16; choose 3"
            ),
            Self::LayoutOnCard(layout) => write!(
                f,
                "Found the layout {layout:?}, expected bricks of 8 that follow the band on a graphics card; \
                 leave it out"
            ),
            Self::LongAxis => f.write_str(
                "Found an image with more than 8184 voxels along an axis, the limit on a graphics card; \
                 choose --backend cpu",
            ),
            Self::NoLayer => f.write_str(
                "Found a layer's speed without a layer, expected an image; choose one",
            ),
            Self::NoImage => f.write_str("Found no image to run on, expected one; name it"),
            Self::EmptySurface => f.write_str(
                "Found a surface without a voxel of the image inside, expected some; add a sphere or \
                 begin with another mask",
            ),
            Self::FullSurface => f.write_str(
                "Found a surface around the whole image, expected voxels outside; make it smaller",
            ),
            Self::EmptyAfterCut => f.write_str(
                "Found no voxel left after the cut, expected some; the surface is kept: cut away less",
            ),
            Self::FullAfterSphere => f.write_str(
                "Found no voxel outside any more, expected some; the surface is kept: add a smaller sphere",
            ),
            Self::NoSpeed => f.write_str(
                "Found a speed of 0 in every voxel, expected one that moves the surface; raise a weight or paint where \
                 it grows",
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
