//! Errors of the images of regions.

use super::values::MAX_NUMBERS;
use crate::data::Sentence;
use crate::data::labels::LARGEST_WHOLE;
use crate::data::text::counted;
use crate::solvers::Error;
use std::fmt;

/// An image from which a region or labels cannot be made: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The point to fill from lies outside the image.
    FillOutside,
    /// The image has no value at the point to fill from.
    FillWithoutValue,
    /// A label map has a value that is not a whole number.
    NotWhole(f32),
    /// A label map has more different numbers than there are structures.
    TooManyNumbers,
    /// A label that single precision may have rounded.
    LargeLabel(f32),
    /// Statistics of a colour image were requested.
    ColourImage,
    /// Slices of a grid whose axes are not at right angles cannot be interpolated.
    ShearedGrid,
    /// Statistics were requested within a region without a voxel.
    NoVoxel,
    /// An image without a finite value in a region of this many voxels.
    NoValues(usize),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const INSTEAD: &str = "expected whole numbers, one for each structure; choose a label map, \
                               or make a region from a range of these values";
        match self {
            Self::FillOutside => f.write_str(
                "The point to fill from lies outside the image, expected one inside; choose another",
            ),
            Self::FillWithoutValue => f.write_str(
                "The image has no value at the point to fill from, expected a number; choose another",
            ),
            Self::NotWhole(value) => write!(f, "The image has the value {value}, {INSTEAD}"),
            Self::TooManyNumbers => write!(
                f,
                "The image has more than {MAX_NUMBERS} different values, {INSTEAD}"
            ),
            Self::LargeLabel(value) => write!(
                f,
                "The image has a label near {:.0}, expected labels up to {LARGEST_WHOLE}; number its structures \
                 from 1",
                f64::from(*value)
            ),
            Self::ColourImage => f.write_str(
                "Found a colour image, expected one number per voxel; name another image",
            ),
            Self::ShearedGrid => f.write_str(
                "The axes of the region's grid are not at right angles, expected right angles to interpolate between \
                 slices; draw the region on another image",
            ),
            Self::NoVoxel => f.write_str(
                "The region contains no voxel, expected at least one; enlarge it, or move it into the image",
            ),
            Self::NoValues(voxels) => write!(
                f,
                "The image has no number in the region's {}, expected some; check that both belong to the same head \
                 and space",
                counted(*voxels, "voxel")
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
