//! Errors of the inputs of curves.

use super::seeding::{MAX_CANDIDATES, MAX_SEEDS};
use crate::compute::memory::size;
use crate::data::Sentence;
use crate::data::text::{large_count, number};
use crate::parameters::ParamError;
use crate::solvers::Error;
use std::fmt;

/// Largest number of voxels of a field: beyond it the eight-lane indices would overflow; such a field has 64 GB.
pub(super) const MAX_VOXELS: usize = i32::MAX as usize;

/// Tensors, regions or parameters in which no curves can be followed: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    Parameters(ParamError),
    /// A step longer than the volume.
    Step {
        step_mm: f64,
        across_mm: f64,
    },
    /// Tensors with this many voxels.
    TooManyVoxels(usize),
    /// The region of this name has no volume.
    EmptyRegion(String),
    SeedsOutside,
    TooManySeeds(usize),
    /// The mask of the tensors is empty.
    NothingToSeed,
    /// No point of a grid with this spacing, mm, lies in the seed regions.
    NoGridPoint(f64),
    NoVoxelCentre,
    NoVolume,
    /// A grid with this many points over the seed area.
    TooManyPoints {
        spacing_mm: f64,
        points: f64,
    },
    /// Mask regions that a graphics card cannot address.
    LargeMasks,
    /// The curves ("streamlines" or "rays") would take more memory than is free.
    Memory {
        curves: &'static str,
        seeds: usize,
        bytes: u64,
        free_bytes: u64,
    },
    /// The curves of the first seeds have filled the memory.
    FullMemory {
        curves: &'static str,
        done: u64,
        seeds: usize,
        free_bytes: u64,
    },
    /// Streamlines of a bootstrap without the scan.
    BootstrapWithoutScan,
    ResidualGrid,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters(error) => error.fmt(f),
            Self::Step { step_mm, across_mm } => write!(
                f,
                "The step is {} mm, longer than the whole volume of {across_mm:.0} mm; choose for example \
                 0.5 mm",
                large_count(*step_mm)
            ),
            Self::TooManyVoxels(voxels) => write!(
                f,
                "The tensors have {voxels} voxels, expected at most {MAX_VOXELS}; crop or resample the scan"
            ),
            Self::EmptyRegion(name) => write!(
                f,
                "The region “{name}” is empty, expected a volume; enlarge or remove it"
            ),
            Self::SeedsOutside => f.write_str(
                "The seed regions lie outside the volume, expected at least one inside; \
                 move one into the brain",
            ),
            Self::TooManySeeds(seeds) => write!(
                f,
                "Found {} seeds, expected at most {}; ask for fewer",
                large_count(*seeds as f64),
                large_count(MAX_SEEDS as f64)
            ),
            Self::NothingToSeed => f.write_str(
                "The tensors' mask has no voxel to seed from; fit the scan with a mask that covers \
                 the brain",
            ),
            Self::NoGridPoint(spacing_mm) => write!(
                f,
                "No point of a {spacing_mm} mm grid lies in the seed regions; choose a smaller \
                 spacing"
            ),
            Self::NoVoxelCentre => f.write_str(
                "No voxel's centre lies in the seed regions; enlarge one or choose random seeds",
            ),
            Self::NoVolume => f.write_str(
                "The seed regions have no volume to draw random seeds from; enlarge one or choose another mask",
            ),
            Self::TooManyPoints { spacing_mm, points } => write!(
                f,
                "A {} mm grid over the seed area has {} points, expected at most {}; choose a \
                 larger spacing",
                number(*spacing_mm),
                large_count(*points),
                large_count(MAX_CANDIDATES)
            ),
            Self::LargeMasks => f.write_str(
                "The mask regions have more than 4 billion voxels, expected fewer; remove one",
            ),
            Self::Memory {
                curves,
                seeds,
                bytes,
                free_bytes,
            } => write!(
                f,
                "The {curves} of {} seeds would take about {} of memory, but {} are free; ask for fewer or choose \
                 a longer step",
                large_count(*seeds as f64),
                size(*bytes),
                size(*free_bytes)
            ),
            Self::FullMemory {
                curves,
                done,
                seeds,
                free_bytes,
            } => write!(
                f,
                "The {curves} of {} of {} seeds fill the {} of memory that are free; ask for fewer or choose a \
                 longer step",
                large_count(*done as f64),
                large_count(*seeds as f64),
                size(*free_bytes)
            ),
            Self::BootstrapWithoutScan => f.write_str(
                "A bootstrap needs the scan that the tensors were fitted from; open the scan",
            ),
            Self::ResidualGrid => f.write_str(
                "The residuals are on another grid than the tensors; fit the scan again",
            ),
        }
    }
}

impl std::error::Error for InputError {}

impl From<ParamError> for InputError {
    fn from(error: ParamError) -> Self {
        Self::Parameters(error)
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
