//! Non-linear alignments.

use super::ValueError;
use crate::data::warp::WarpInterpolation;
use crate::io::{TransformFile, WarpReading};
use std::path::PathBuf;

/// A non-linear alignment of the input.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct WarpOptions {
    /// Non-linear alignment that takes the input to the fixed image (where a command reads streamlines and images, only
    /// the streamlines): a displacement field of ANTs, ITK or FNIRT, or an affine; repeat it in the order of
    /// antsApplyTransforms -t. inverse:FILE applies the inverse; ants:FILE, fsl-relative:FILE and fsl-absolute:FILE
    /// state whose field it is
    #[arg(long, value_name = "TRANSFORM", value_parser = transform, conflicts_with = "affine")]
    pub warp: Vec<TransformFile>,
    /// Image that FNIRT or FLIRT registered (its --in), if it is not the input
    #[arg(long, value_name = "IMAGE", requires = "warp")]
    pub moving: Option<PathBuf>,
}

impl WarpOptions {
    /// `None` without a transform.
    pub fn reading(&self, fixed: Option<&PathBuf>) -> Option<WarpReading> {
        (!self.warp.is_empty()).then(|| WarpReading {
            transforms: self.warp.clone(),
            fixed: fixed.cloned(),
            moving: self.moving.clone(),
            interpolation: None,
        })
    }
}

fn transform(text: &str) -> Result<TransformFile, ValueError> {
    let transform = TransformFile::parse(text);
    match transform.path.as_os_str().is_empty() {
        false => Ok(transform),
        true => Err(ValueError::new("the name of a file", text)),
    }
}

/// Parses how values between voxels are found.
pub fn interpolation(text: &str) -> Result<WarpInterpolation, ValueError> {
    WarpInterpolation::from_key(text)
        .ok_or_else(|| ValueError::new("linear, nearest or labels", text))
}
