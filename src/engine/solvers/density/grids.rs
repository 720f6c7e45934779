//! The grids of density maps.

use super::error::InputError;
use super::{Error, Voxels};
use crate::data::{AffineSource, Grid};
use glam::{DAffine3, DMat3, DVec3};
use std::sync::Arc;

/// The choice of a map's grid.
#[derive(Clone, PartialEq, Debug)]
pub enum DensityGrid {
    /// These voxels.
    Grid(Arc<Grid>),
    /// Cubes with this edge, mm, in the box of these voxels and along their axes.
    Within(Arc<Grid>, f64),
    /// Cubes with this edge, mm, around the streamlines, along the world axes.
    Around(f64),
}

/// Programs that count voxels with 32 bits could not read a larger map.
pub(super) const MAX_VOXELS: f64 = i32::MAX as f64;

impl DensityGrid {
    /// `bounds`: bounds of the streamlines, mm.
    pub fn grid(&self, bounds: Option<(DVec3, DVec3)>) -> Result<Arc<Grid>, Error> {
        match self {
            Self::Grid(grid) => Ok(grid.clone()),
            Self::Within(grid, edge_mm) => {
                let axes = grid.world_from_voxel.matrix3;
                let corner = grid.world(DVec3::splat(-0.5));
                let spacing = grid.spacing();
                let directions = DMat3::from_cols(
                    axes.x_axis / spacing.x,
                    axes.y_axis / spacing.y,
                    axes.z_axis / spacing.z,
                );
                let extent = spacing * DVec3::from_array(grid.shape.map(|n| n as f64));
                let grid_of_cubes = cubes(corner, directions, extent, *edge_mm)?;
                Ok(Arc::new(grid_of_cubes.with_space_code(grid.space_code)))
            }
            Self::Around(edge_mm) => {
                let (low, high) = bounds.ok_or(InputError::NoBounds)?;
                Voxels::check_edge(*edge_mm)?;
                // One more voxel on each side, and corners at multiples of the edge: two maps with the same edge
                // match.
                let low = (low / *edge_mm).floor() * *edge_mm - *edge_mm;
                let high = (high / *edge_mm).ceil() * *edge_mm + *edge_mm;
                Ok(Arc::new(cubes(low, DMat3::IDENTITY, high - low, *edge_mm)?))
            }
        }
    }
}

/// Cubes from an outer corner along unit directions that cover an extent, mm.
fn cubes(corner: DVec3, directions: DMat3, extent: DVec3, edge_mm: f64) -> Result<Grid, Error> {
    Voxels::check_edge(edge_mm)?;
    // A small margin keeps 10 mm at 20 voxels of 0.5 mm despite rounding.
    let counts = (extent / edge_mm - 1e-6).ceil().max(DVec3::ONE);
    if !(counts.element_product() <= MAX_VOXELS) {
        let voxels = counts.element_product();
        return Err(InputError::TooManyVoxels { edge_mm, voxels }.into());
    }
    let axes = directions * edge_mm;
    let affine = DAffine3::from_mat3_translation(axes, corner + axes * DVec3::splat(0.5));
    let shape = counts.to_array().map(|n| n as usize);
    let grid = Grid::new(shape, affine, AffineSource::Computed);
    Ok(grid.ok_or(InputError::NoVolume)?)
}
