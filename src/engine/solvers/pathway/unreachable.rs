//! Why there is no pathway: ends outside the domain, and ends that no path joins.

use super::region_names;
use crate::data::{Mask, Region, Role, TensorField};
use crate::solvers::Error;
use crate::solvers::eikonal::CostField;

/// The reason why an end has no voxel in the domain, if it has none with data; `whose`: the name of the voxels with data;
/// `other_remedy`: what helps besides moving the region.
pub fn end_outside_domain(
    regions: &[Region],
    role: Role,
    with_data: &Mask,
    (whose, other_remedy): (&str, &str),
) -> Option<Error> {
    let mut ends = regions.iter().filter(|r| r.role == role);
    let region = ends.find(|r| !r.shape.touches(with_data))?;
    let (place, remedy) = match region.shape.intersects_grid(&with_data.grid) {
        true => (whose, other_remedy),
        false => ("the volume", ""),
    };
    Some(Error::from(format!(
        "Region “{}” lies outside {place}, expected at least one voxel inside; move it{remedy}",
        region.name
    )))
}

/// The reason why an end has no voxel in the domain of tensors, if it has none with a tensor.
pub fn outside_tensors(
    regions: &[Region],
    role: Role,
    field: &TensorField,
    whose: &str,
) -> Option<Error> {
    let whose = (whose, " or fit within another mask");
    end_outside_domain(regions, role, &field.mask(), whose)
}

/// Why no path joins two regions between others that confine or exclude paths; `None` if one does, and without such
/// regions.
pub fn not_joined([a, b]: [&CostField; 2], regions: &[Region]) -> Option<Error> {
    let reaches = |place: &u32| a.values[*place as usize].is_finite();
    if b.source.zero.iter().any(reaches) {
        return None;
    }
    separated([&a.source.name, &b.source.name], regions)
}

/// The sentence about two ends that no path joins; `None` without regions that confine or exclude paths.
pub fn separated([from, to]: [&str; 2], regions: &[Region]) -> Option<Error> {
    let names = |role| region_names(regions, role);
    let (masks, excluded) = (names(Role::Mask), names(Role::Exclude));
    let inside = masks.as_ref().map(|names| format!(" inside {names}"));
    let outside = excluded.as_ref().map(|names| format!(" outside {names}"));
    let place: Vec<String> = inside.into_iter().chain(outside).collect();
    (!place.is_empty()).then(|| {
        Error::from(format!(
            "No path: region “{to}” is not connected to “{from}”{}; move, change or remove a region",
            place.join(" and")
        ))
    })
}
