//! The recipe of a density map.

use crate::solvers::density;
use crate::state::core::layer::Input;
use glam::DAffine3;
use std::path::PathBuf;

/// The recipe of a density map.
#[derive(Clone, PartialEq, Debug)]
pub struct DensityRecipe {
    pub input: Input,
    /// Transform of that layer at the time.
    pub transform: DAffine3,
    pub grid: density::DensityGrid,
    /// The image that defines the voxels, if the streamlines have no grid.
    pub template: Option<PathBuf>,
    pub params: density::Params,
}
