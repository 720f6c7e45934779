//! Checks before curves are followed in a field.

use super::Params;
use crate::data::text::large_count;
use crate::data::{Region, Role, Shape, TensorField};

/// Returns one sentence about the first invalid input.
pub fn check(field: &TensorField, regions: &[Region], params: &Params) -> Result<(), String> {
    // Beyond this the eight-lane indices would overflow; such a field has 64 GB.
    const MAX_VOXELS: usize = i32::MAX as usize;
    params.check().map_err(|e| e.to_string())?;
    let (low, high) = field.grid.bounds();
    let across = low.distance(high);
    if params.step_mm > across {
        return Err(format!(
            "The step is {} mm, longer than the whole volume of {across:.0} mm; choose for example \
             0.5 mm",
            large_count(params.step_mm)
        ));
    }
    if field.tensors.len() > MAX_VOXELS {
        return Err(format!(
            "The tensors have {} voxels, expected at most {MAX_VOXELS}; crop or resample the scan",
            field.tensors.len()
        ));
    }
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
            return Err(format!(
                "The region \"{}\" is empty, expected a volume; enlarge or remove it",
                region.name
            ));
        }
    }
    Ok(())
}
