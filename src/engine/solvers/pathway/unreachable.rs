//! Errors that state why there is no pathway: ends outside the domain, and ends that no path joins.

use super::region_names;
use crate::data::{Mask, Region, Role, TensorField};
use crate::solvers::Error;
use crate::solvers::eikonal::CostField;

/// The error for an end whose region touches no voxel with data; `None` if each end does. `data_name`: the name of these
/// voxels in the sentence; `other_remedy`: advice besides moving the region, which begins with “ or”.
pub fn end_outside_domain(
    regions: &[Region],
    role: Role,
    with_data: &Mask,
    (data_name, other_remedy): (&str, &str),
) -> Option<Error> {
    let mut ends = regions.iter().filter(|r| r.role == role);
    let region = ends.find(|r| !r.shape.touches(with_data))?;
    let (place, remedy) = match region.shape.intersects_grid(&with_data.grid) {
        true => (data_name, other_remedy),
        false => ("the volume", ""),
    };
    Some(Error::from(format!(
        "Region “{}” lies outside {place}, expected at least one voxel inside; move it{remedy}",
        region.name
    )))
}

/// [`end_outside_domain`] for tensors, whose voxels `data_name` names.
pub fn outside_tensors(
    regions: &[Region],
    role: Role,
    field: &TensorField,
    data_name: &str,
) -> Option<Error> {
    let names = (data_name, " or fit within another mask");
    end_outside_domain(regions, role, &field.mask(), names)
}

/// The error for two regions that no path joins because others confine or exclude paths; `None` if a path joins them, or
/// if there are no such others.
pub fn not_joined([a, b]: [&CostField; 2], regions: &[Region]) -> Option<Error> {
    let reaches = |place: &u32| a.values[*place as usize].is_finite();
    if b.source.zero.iter().any(reaches) {
        return None;
    }
    separated([&a.source.name, &b.source.name], regions)
}

/// The error that two ends are not connected; `None` without regions that confine or exclude paths.
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
