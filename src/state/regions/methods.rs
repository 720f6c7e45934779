//! Places and regions in the methods paragraph.

use crate::data::{Region, Role, Shape};
use crate::state::core::text::{counted, fixed};

/// A place, in the world.
pub(in crate::state) fn position_text(place: glam::DVec3) -> String {
    let [x, y, z] = place.to_array().map(|v| fixed(v, 1));
    format!("({x}, {y}, {z}) mm")
}

/// The regions of a role: names and positions. Hidden ones take part, too.
pub(in crate::state) fn names_with_positions(regions: &[Region], role: Role) -> Option<String> {
    let described = |region: &Region| {
        let shape = match &*region.shape {
            Shape::Sphere { centre, radius_mm } => {
                format!(
                    "sphere of {radius_mm:.1} mm radius at {}",
                    position_text(*centre)
                )
            }
            Shape::Box { centre, half_mm } => format!(
                "box of {:.1} × {:.1} × {:.1} mm at {}",
                2.0 * half_mm.x,
                2.0 * half_mm.y,
                2.0 * half_mm.z,
                position_text(*centre)
            ),
            Shape::Mask(mask) => format!("mask of {}", counted(mask.count(), "voxel")),
        };
        format!("“{}” ({shape})", region.name)
    };
    let all: Vec<String> = regions
        .iter()
        .filter(|r| r.role == role)
        .map(described)
        .collect();
    match all.as_slice() {
        [] => None,
        [region] => Some(region.clone()),
        [rest @ .., last] => Some(format!("{} and {last}", rest.join(", "))),
    }
}
