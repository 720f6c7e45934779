//! Errors of the inputs of an estimate of response functions.

use crate::data::odf_field::Tissue;
use crate::data::sentence::Sentence;
use crate::data::text::counted;
use crate::solvers::Error;
use std::fmt;

/// A scan, gradients or a mask that no response function can be estimated from: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The numbers of volumes and of rows of the gradient table differ.
    Counts {
        /// Volumes of the scan.
        volumes: usize,
        /// Rows of the gradient table.
        rows: usize,
    },
    /// The mask has another grid than the scan.
    MaskGrid,
    /// The brain mask, or the mask of this tissue.
    EmptyMask(Option<Tissue>),
    /// No shell has diffusion weighting.
    NotWeighted,
    /// No volume has b = 0; the shells as text.
    NoB0(String),
    /// No voxel has signal after this many layers were removed from the mask.
    NoSafeVoxel(usize),
    /// The mean signal of no voxel falls with b, although this many have signal.
    NoDecay {
        /// Voxels with signal in all shells.
        voxels: usize,
    },
    /// No voxel of a tissue.
    NoTissue(Tissue),
    /// Too few directions in the outer shell, whose b-value is this, s/mm².
    FewDirections {
        /// Number of its directions.
        directions: usize,
        /// b-value of the shell, s/mm².
        b_s_per_mm2: f64,
    },
    /// No voxel has a peak.
    NoFibre,
    /// The voxels of a response function have no signal in the shell with this b-value, s/mm².
    NoSignal {
        /// b-value of the shell without signal, s/mm².
        b_s_per_mm2: f64,
        /// Voxels of the response function.
        voxels: usize,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts { volumes, rows } => write!(
                f,
                "The scan has {} but the gradient table has {}; open the table that belongs to this scan",
                counted(*volumes, "volume"),
                counted(*rows, "row")
            ),
            Self::MaskGrid => {
                f.write_str(
                "Found a mask on another grid, expected the scan's; resample the mask to it",
            )
            }
            Self::EmptyMask(None) => f.write_str(
                "Found an empty brain mask, expected voxels of the brain; choose another mask",
            ),
            Self::EmptyMask(Some(tissue)) => write!(
                f,
                "Found an empty mask of {0}, expected voxels of {0}; choose another mask",
                tissue.name()
            ),
            Self::NotWeighted => f.write_str(
                "Found no shell with diffusion weighting, expected at least one; open a scan with its gradient table",
            ),
            Self::NoB0(shells) => write!(
                f,
                "Found no volume without diffusion weighting ({shells}), expected at least one; open a scan with b = 0"
            ),
            Self::NoSafeVoxel(layers) => write!(
                f,
                "Found no voxel with signal in all shells more than {} within the mask, expected a brain; choose a \
                 mask of the brain, or remove fewer layers",
                counted(*layers, "voxel")
            ),
            Self::NoDecay { voxels } => write!(
                f,
                "Found no attenuation between the shells in {} with signal, expected less signal at higher b; open the \
                 gradient table of this scan",
                counted(*voxels, "voxel")
            ),
            Self::NoTissue(tissue) => write!(
                f,
                "Found no voxel of {} in the mask, expected a brain; choose a mask of the brain",
                tissue.name()
            ),
            Self::FewDirections {
                directions,
                b_s_per_mm2,
            } => write!(
                f,
                "Found {} at b = {b_s_per_mm2:.0} s/mm², expected at least 6; open a scan with more",
                counted(*directions, "direction")
            ),
            Self::NoFibre => f.write_str(
                "Found no fibre direction in the mask, expected white matter; choose a mask of the brain",
            ),
            Self::NoSignal {
                b_s_per_mm2,
                voxels,
            } => write!(
                f,
                "Found no signal at b = {b_s_per_mm2:.0} s/mm² in the {} of a response function, expected some; choose \
                 other voxels",
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
