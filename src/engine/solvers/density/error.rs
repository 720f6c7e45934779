//! Errors of the inputs of a density map.

use super::grids::MAX_VOXELS;
use crate::compute::memory::size;
use crate::data::Sentence;
use crate::data::text::large_count;
use crate::solvers::Error;
use std::fmt;

/// A grid or streamlines for which there is no density map: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The map has no template, and no streamlines to place voxels around.
    NoBounds,
    TooManyVoxels {
        edge_mm: f64,
        voxels: f64,
    },
    NoVolume,
    /// Fewer streamlines were sent than the file has.
    Sent {
        sent: u64,
        streamlines: usize,
    },
    Memory {
        shape: [usize; 3],
        bytes: u64,
        free_bytes: u64,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBounds => f.write_str(
                "There are no streamlines to place voxels around; name an image as template",
            ),
            Self::TooManyVoxels { edge_mm, voxels } => write!(
                f,
                "Voxels of {edge_mm} mm would number {}, expected at most {}; choose larger ones",
                large_count(*voxels),
                large_count(MAX_VOXELS)
            ),
            Self::NoVolume => f.write_str("The template has no volume; choose another image"),
            Self::Sent { sent, streamlines } => write!(
                f,
                "The number of streamlines sent is {sent}, fewer than the {streamlines} in the file; give the number sent \
                 from the seeds, or leave it out for counts"
            ),
            Self::Memory {
                shape: [x, y, z],
                bytes,
                free_bytes,
            } => write!(
                f,
                "A map of {x} × {y} × {z} voxels would take {} of memory, but {} are free; choose \
                 larger voxels",
                size(*bytes),
                size(*free_bytes)
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
