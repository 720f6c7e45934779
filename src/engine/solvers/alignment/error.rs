//! Errors of the images of an alignment.

use crate::data::Sentence;
use crate::solvers::Error;
use std::fmt;

/// One of the two images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageRole {
    Moving,
    Fixed,
}

impl fmt::Display for ImageRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Moving => "image to be moved",
            Self::Fixed => "fixed image",
        })
    }
}

/// Images that cannot be aligned: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    NotFinite(ImageRole),
    /// All voxels of the image have this value.
    OneValue(ImageRole, f32),
    /// Nearly all voxels of the image have one value.
    NearlyOneValue(ImageRole),
    /// The fixed image has too few voxels.
    Small,
    /// The distance of the images' centres, mm.
    NoOverlap(f64),
    /// One image predicts the other in no position.
    Unrelated,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(image) => write!(
                f,
                "The {image} has no finite value, which allows no alignment; choose another"
            ),
            Self::OneValue(image, value) => write!(
                f,
                "The {image} has the value {value} everywhere, which allows no alignment; choose another"
            ),
            Self::NearlyOneValue(image) => write!(
                f,
                "The {image} has one value nearly everywhere, which allows no alignment; choose another"
            ),
            Self::Small => f.write_str(
                "The fixed image is too small to align anything to; choose another",
            ),
            Self::NoOverlap(mm) => write!(
                f,
                "The images do not overlap: in world coordinates, their centres are {mm:.0} mm apart; check their \
                 headers, or begin from a transform that brings them together"
            ),
            Self::Unrelated => f.write_str(
                "Found no position in which one image predicts the other; choose images of one head that overlap by a \
                 quarter or more",
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
