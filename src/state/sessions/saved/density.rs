//! Density maps in a session: their inputs, not their values.

use crate::data::{AffineSource, Grid};
use crate::io::AffineReading;
use crate::solvers::density::{DensityGrid, Params};
use crate::state::LayerId;
use crate::state::density::recipe::DensityRecipe;
use crate::state::sessions::PartError;
use crate::state::sessions::saved::{SavedDensity, SavedGrid, SavedInput};
use glam::DAffine3;
use std::sync::Arc;

/// The inputs of a density map.
pub struct DensityInputs {
    pub layer: LayerId,
    pub transform: DAffine3,
    pub grid: DensityGrid,
    pub params: Params,
}

/// Far above any image, so that a damaged session does not request much memory.
const MAXIMUM_VOXELS: usize = i32::MAX as usize;

pub fn saved(map: &DensityRecipe, input: SavedInput, template: Option<usize>) -> SavedDensity {
    let (grid, voxel_mm) = match &map.grid {
        DensityGrid::Grid(on) => (Some(saved_grid(on)), None),
        DensityGrid::Within(on, mm) => (Some(saved_grid(on)), Some(*mm)),
        DensityGrid::Around(mm) => (None, Some(*mm)),
    };
    SavedDensity {
        input,
        transform: rows(map.transform),
        grid,
        voxel_mm,
        template,
        params: map.params.clone(),
    }
}

pub fn saved_grid(grid: &Grid) -> SavedGrid {
    SavedGrid {
        shape: grid.shape,
        affine: grid.world_from_voxel.to_cols_array(),
        source: grid.source.key().to_owned(),
        space_code: grid.space_code,
    }
}

pub fn grid_of(saved: &SavedGrid) -> Result<Arc<Grid>, PartError> {
    let sides = saved.shape.iter();
    let voxels = sides.copied().try_fold(1usize, usize::checked_mul);
    let affine = DAffine3::from_cols_array(&saved.affine);
    let source = AffineSource::from_key(&saved.source).ok_or(PartError::MapGrid)?;
    let grid = Grid::new(saved.shape, affine, source);
    let grid = grid.filter(|_| voxels.is_some_and(|n| n <= MAXIMUM_VOXELS));
    grid.map(|grid| Arc::new(grid.with_space_code(saved.space_code)))
        .ok_or(PartError::MapGrid)
}

/// The rows of a transform; `None` for the identity.
pub fn rows(by: DAffine3) -> Option<[f64; 12]> {
    match AffineReading::matrix(by) {
        AffineReading::Matrix(rows) if by != DAffine3::IDENTITY => Some(rows),
        _ => None,
    }
}

/// Reads the inputs of a density map from a session.
pub fn read(saved: &SavedDensity) -> Result<DensityInputs, PartError> {
    let grid = saved.grid.as_ref().map(grid_of);
    let on = match (grid.transpose()?, saved.voxel_mm) {
        (Some(grid), None) => DensityGrid::Grid(grid),
        (Some(grid), Some(mm)) => DensityGrid::Within(grid, mm),
        (None, Some(mm)) => DensityGrid::Around(mm),
        (None, None) => return Err(PartError::NoMapGrid),
    };
    Ok(DensityInputs {
        layer: LayerId(saved.input.layer),
        transform: saved
            .transform
            .as_ref()
            .map_or(DAffine3::IDENTITY, AffineReading::of_rows),
        grid: on,
        params: saved.params.clone(),
    })
}
