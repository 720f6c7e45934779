//! Errors of the inputs of a fit of weights.

use crate::compute::memory::size;
use crate::data::Sentence;
use crate::data::text::{counted, large_count};
use crate::solvers::Error;
use std::fmt;

/// An image that has the grid of the scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageKind {
    Mask,
    Peaks,
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mask => "mask",
            Self::Peaks => "image of peaks",
        })
    }
}

/// Streamlines or a scan that weights cannot be fitted to: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The scheme has the timing of another number of volumes.
    TimingCount {
        timed: usize,
        volumes: usize,
    },
    /// No volume has b = 0; the text lists the b-values.
    NoB0(String),
    Memory {
        streamlines: usize,
        segments: u64,
        bytes: u64,
        free_bytes: u64,
    },
    Grids {
        image: ImageKind,
        own: [usize; 3],
        scan: [usize; 3],
    },
    NoStreamlines,
    /// The share of points inside the scan's box.
    Elsewhere(f64),
    NoGroups,
    EmptyMask,
    /// An image of peaks with this many volumes.
    PeakVolumes(usize),
    /// An image of densities with this many volumes.
    DensityVolumes(usize),
    NoGradients,
    GradientCount {
        volumes: usize,
        gradients: usize,
    },
    NoPeaks,
    NoSegment,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimingCount { timed, volumes } => write!(
                f,
                "The scheme has the timing of {}, the scan has {volumes}; choose the scan's own",
                counted(*timed, "volume")
            ),
            Self::NoB0(b_values) => write!(
                f,
                "The scan has no volume with b = 0 ({b_values}), expected at least one; add it or choose another \
                 scan"
            ),
            Self::Memory {
                streamlines,
                segments,
                bytes,
                free_bytes,
            } => {
                let every = (*bytes as f64 / (*free_bytes).max(1) as f64).ceil();
                write!(
                    f,
                    "{} streamlines would have about {} segments and take {} of memory, but {} are free; take \
                     one of every {every:.0} streamlines, or a mask",
                    large_count(*streamlines as f64),
                    large_count(*segments as f64),
                    size(*bytes),
                    size(*free_bytes)
                )
            }
            Self::Grids { image, own, scan } => {
                let side = |shape: &[usize; 3]| shape.map(|n| n.to_string()).join(" × ");
                write!(
                    f,
                    "The {image} and the scan are on different grids ({} and {} voxels), expected one; resample the \
                     {image} to the scan",
                    side(own),
                    side(scan)
                )
            }
            Self::NoStreamlines => f.write_str(
                "The tractogram has no streamlines, expected at least one; choose a file or layer that has some",
            ),
            Self::Elsewhere(inside) => write!(
                f,
                "Only {:.0} % of the streamlines' points lie in the scan's box, expected nearly all: the \
                 two are in different spaces; align them first",
                100.0 * inside
            ),
            Self::NoGroups => f.write_str(
                "The bundle penalty needs groups of streamlines, and the file has none; give a TRX file with \
                 groups, or leave the penalty out",
            ),
            Self::EmptyMask => f.write_str(
                "The mask is empty, expected at least one voxel; choose another",
            ),
            Self::PeakVolumes(volumes) => write!(
                f,
                "The image of peaks has {}, expected three per peak (x, y, z in world axes)",
                counted(*volumes, "volume")
            ),
            Self::DensityVolumes(volumes) => write!(
                f,
                "The image of densities has {}, expected one; or give a scan's gradients",
                counted(*volumes, "volume")
            ),
            Self::NoGradients => f.write_str(
                "The scan has no gradients, expected a b-value and a direction for each volume; name \
                 their files",
            ),
            Self::GradientCount { volumes, gradients } => write!(
                f,
                "The scan has {} and the gradients are for {gradients}, expected the same number; choose \
                 the scan's own",
                counted(*volumes, "volume")
            ),
            Self::NoPeaks => f.write_str(
                "Zeppelin needs the directions of the peaks, and there are none: give an image of peaks, \
                 or leave Zeppelin out",
            ),
            Self::NoSegment => f.write_str(
                "No streamline runs through a voxel of the mask with a signal at b = 0, expected some; \
                 choose another mask or align the two",
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
