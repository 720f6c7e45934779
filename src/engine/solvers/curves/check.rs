//! Checks before curves are followed in a field.

use super::Params;
use super::error::{InputError, MAX_VOXELS};
use crate::data::{Grid, Region, Role, Shape};

/// Returns an error about the first invalid input.
pub fn check(grid: &Grid, regions: &[Region], params: &Params) -> Result<(), InputError> {
    params.check()?;
    let (low, high) = grid.bounds();
    let across_mm = low.distance(high);
    if params.step_mm > across_mm {
        return Err(InputError::Step {
            step_mm: params.step_mm,
            across_mm,
        });
    }
    if grid.voxel_count() > MAX_VOXELS {
        return Err(InputError::TooManyVoxels(grid.voxel_count()));
    }
    check_regions(regions)
}

/// Returns an error about the first region without a volume.
pub fn check_regions(regions: &[Region]) -> Result<(), InputError> {
    for region in regions {
        let valid = match &*region.shape {
            Shape::Sphere { centre, radius_mm } => {
                centre.is_finite() && *radius_mm > 0.0 && radius_mm.is_finite()
            }
            Shape::Box { centre, half_mm } => {
                centre.is_finite() && half_mm.is_finite() && half_mm.min_element() >= 0.0
            }
            Shape::Mask(mask) => region.role != Role::Seed || mask.inside.iter().any(|v| *v != 0),
        };
        if !valid {
            return Err(InputError::EmptyRegion(region.name.clone()));
        }
    }
    Ok(())
}
