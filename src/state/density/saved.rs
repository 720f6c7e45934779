//! Density maps in a session: not the values, but what they are of.

use crate::data::{AffineSource, Grid};
use crate::io::AffineReading;
use crate::solvers::density::{On, Params};
use crate::state::LayerId;
use crate::state::document::DensityMap;
use crate::state::sessions::saved::{SavedDensity, SavedGrid, SavedInput};
use glam::DAffine3;
use std::sync::Arc;

/// The inputs of a density map.
pub struct Mapping {
    pub of: LayerId,
    pub by: DAffine3,
    pub on: On,
    pub params: Params,
}

/// Far above any image: a damaged session asks for no memory.
const MOST_VOXELS: usize = i32::MAX as usize;

pub fn saved(map: &DensityMap, of: SavedInput, template: Option<usize>) -> SavedDensity {
    let (grid, voxel_mm) = match &map.on {
        On::Grid(on) => (Some(saved_grid(on)), None),
        On::Within(on, mm) => (Some(saved_grid(on)), Some(*mm)),
        On::Around(mm) => (None, Some(*mm)),
    };
    SavedDensity {
        of,
        moved: rows(map.by),
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
        source: grid.source.name().to_owned(),
        space_code: grid.space_code,
    }
}

/// An error is a sentence.
pub fn grid_of(saved: &SavedGrid) -> Result<Arc<Grid>, String> {
    let sides = saved.shape.iter();
    let voxels = sides.copied().try_fold(1usize, usize::checked_mul);
    let affine = DAffine3::from_cols_array(&saved.affine);
    let source = AffineSource::named(&saved.source).unwrap_or(AffineSource::Computed);
    let grid = Grid::new(saved.shape, affine, source);
    let grid = grid.filter(|_| voxels.is_some_and(|n| n <= MOST_VOXELS));
    grid.map(|grid| Arc::new(grid.with_space_code(saved.space_code)))
        .ok_or_else(|| "The voxels of the map make no sense".to_owned())
}

/// The rows of a move; `None` for one that moves nothing.
pub fn rows(by: DAffine3) -> Option<[f64; 12]> {
    match AffineReading::matrix(by) {
        AffineReading::Matrix(rows) if by != DAffine3::IDENTITY => Some(rows),
        _ => None,
    }
}

/// Reads the inputs of a density map from a session; an error is a sentence.
pub fn read(saved: &SavedDensity) -> Result<Mapping, String> {
    let grid = saved.grid.as_ref().map(grid_of);
    let on = match (grid.transpose()?, saved.voxel_mm) {
        (Some(grid), None) => On::Grid(grid),
        (Some(grid), Some(mm)) => On::Within(grid, mm),
        (None, Some(mm)) => On::Around(mm),
        (None, None) => {
            return Err("The session does not say on which voxels the map is".to_owned());
        }
    };
    Ok(Mapping {
        of: LayerId(saved.of.layer),
        by: saved
            .moved
            .as_ref()
            .map_or(DAffine3::IDENTITY, AffineReading::of_rows),
        on,
        params: saved.params.clone(),
    })
}
