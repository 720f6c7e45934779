//! Errors of the inputs of a fit of tensors.

use crate::compute::memory::size;
use crate::data::gradients::volume_numbers;
use crate::data::sentence::{Sentence, option};
use crate::data::text::{counted, scientific};
use crate::solvers::Error;
use glam::DVec3;
use std::fmt;

/// A scan, gradients or a mask that tensors cannot be fitted to: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The numbers of volumes, b-values and directions differ.
    Counts {
        volumes: usize,
        b_values: usize,
        directions: usize,
    },
    /// The b-value or the direction of a volume is not a number.
    NotNumbers {
        volume: usize,
        b_s_per_mm2: f64,
        direction: DVec3,
    },
    MaskShape {
        mask: [usize; 3],
        scan: [usize; 3],
    },
    /// The mask lies this far from the scan, mm.
    MaskAway(f64),
    EmptyMask,
    /// The residuals of the fit would take more memory than is free.
    ResidualMemory {
        bytes: u64,
        free_bytes: u64,
    },
    /// None of this many weighted volumes has a direction.
    NoDirections(usize),
    /// No volume in the b range is weighted; the largest b-value of the scan, s/mm².
    NotWeighted(f64),
    /// Fewer independent directions than a tensor has components.
    FewDirections {
        independent: usize,
        weighted: usize,
    },
    /// The directions of this many weighted volumes do not determine a tensor.
    AlikeDirections(usize),
    /// All of this many volumes have nearly the same b-value, s/mm².
    OneWeighting {
        volumes: usize,
        b_s_per_mm2: f64,
    },
    NoSignal,
    /// No brain was found in the scan.
    NoContrast,
    /// An image of tensors with this many volumes.
    TensorVolumes(usize),
    /// The layout of an image of tensors is unknown.
    NoLayout,
    /// The image contains no tensor.
    NoTensor,
    /// The median mean diffusivity of imported tensors, mm²/s.
    Diffusivity(f64),
    /// None of this many voxels of the mask has enough signal.
    NoVoxelWithSignal(usize),
    /// None of the fitted voxels has a positive definite tensor.
    NotPositiveDefinite {
        voxels: usize,
        is_tensor_image: bool,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weighted = |volumes: usize| counted(volumes, "diffusion-weighted volume");
        match self {
            Self::Counts {
                volumes,
                b_values,
                directions,
            } => write!(
                f,
                "The scan has {} but there are {} and {}; \
                 open the gradient table that belongs to this scan",
                counted(*volumes, "volume"),
                counted(*b_values, "b-value"),
                counted(*directions, "direction")
            ),
            Self::NotNumbers {
                volume,
                b_s_per_mm2,
                direction,
            } => write!(
                f,
                "Volume {} has b-value {b_s_per_mm2} and direction {direction}, which are not all numbers; correct the \
                 gradient table",
                volume_numbers(&[*volume])
            ),
            Self::MaskShape { mask, scan } => {
                let shape = |[x, y, z]: &[usize; 3]| format!("{x} × {y} × {z}");
                write!(
                    f,
                    "The mask has {} voxels but the scan has {}; make the mask on the scan's grid",
                    shape(mask),
                    shape(scan)
                )
            }
            Self::MaskAway(mm) => write!(
                f,
                "The mask has the scan's shape but lies up to {mm:.1} mm away from it; make the \
                 mask on the scan's grid"
            ),
            Self::EmptyMask => f.write_str(
                "The mask holds no voxel, so there is nothing to fit; choose another mask",
            ),
            Self::ResidualMemory { bytes, free_bytes } => write!(
                f,
                "The residuals of the fit would take {} of memory, but {} are free; fit within a \
                 smaller mask or a narrower range of b",
                size(*bytes),
                size(*free_bytes)
            ),
            Self::NoDirections(volumes) => write!(
                f,
                "Found no direction for any of {}, expected one for each; name the table that belongs to this scan",
                weighted(*volumes)
            ),
            Self::NotWeighted(max_b) => write!(
                f,
                "No volume in the b range is diffusion-weighted; the scan's largest b-value is {max_b} s/mm²; \
                 give b-values in s/mm², or widen the b range"
            ),
            Self::FewDirections {
                independent,
                weighted: volumes,
            } => write!(
                f,
                "Found {} in the {} of the b range, expected at least 6, which a tensor \
                 needs; widen the b range or open a scan with more",
                counted(*independent, "independent direction"),
                weighted(*volumes)
            ),
            Self::AlikeDirections(volumes) => write!(
                f,
                "The directions of the {} in the b range are too similar to \
                 determine all components of the tensor; widen the b range or open a scan with \
                 directions spread over the sphere",
                weighted(*volumes)
            ),
            Self::OneWeighting {
                volumes,
                b_s_per_mm2,
            } => write!(
                f,
                "All {volumes} volumes in the b range are weighted with b {b_s_per_mm2:.0}, so the signal \
                 without weighting is unknown; add a b = 0 volume or a second b-value"
            ),
            Self::NoSignal => f.write_str(
                "Found no number above 0 in the scan, expected a signal in the brain; check that the file is whole, and \
                 write it again from the scanner's images",
            ),
            Self::NoContrast => write!(
                f,
                "No brain stands out from the background in the scan's mean signal; give a mask{}",
                option(f, "mask")
            ),
            Self::TensorVolumes(volumes) => write!(
                f,
                "Found {}, expected the six of a tensor image; open the image that holds tensors",
                counted(*volumes, "volume")
            ),
            Self::NoLayout => f.write_str(
                "The order and the frame of the image's tensors are unknown; name them",
            ),
            Self::NoTensor => f.write_str(
                "The image holds no tensor: all its values are 0 or not finite; open another",
            ),
            Self::NoVoxelWithSignal(voxels) => write!(
                f,
                "None of the mask's {} has enough signal for a tensor, expected values above 0; check that the scan \
                 is whole and that the mask belongs to it",
                counted(*voxels, "voxel")
            ),
            Self::NotPositiveDefinite {
                voxels,
                is_tensor_image,
            } => not_positive_definite(f, *voxels, *is_tensor_image),
            Self::Diffusivity(median) => unlikely_diffusivity(f, *median),
        }
    }
}

fn unlikely_diffusivity(f: &mut fmt::Formatter<'_>, median: f64) -> fmt::Result {
    write!(
        f,
        "The tensors have a median mean diffusivity of {}, expected about 10⁻³ mm²/s: choose another order of the \
         components, or open tensors in mm²/s",
        scientific(median)
    )
}

fn not_positive_definite(
    f: &mut fmt::Formatter<'_>,
    voxels: usize,
    is_tensor_image: bool,
) -> fmt::Result {
    let check = match is_tensor_image {
        true => "the order and the axes of the image's tensors",
        false => "that the gradients belong to this scan, with b-values in s/mm²",
    };
    write!(
        f,
        "None of {} has a positive definite tensor, which is impossible in tissue; check {check}",
        counted(voxels, "voxel")
    )
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
