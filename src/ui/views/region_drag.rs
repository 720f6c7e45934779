//! The part of a region that is dragged, and the shape that the drag makes of it.

use crate::data::Shape;
use glam::DVec3;

/// Smallest size of a region, mm.
const SMALLEST_MM: f64 = 0.5;
/// Largest size of a region, mm.
const LARGEST_MM: f64 = 200.0;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RegionPart {
    Body,
    /// The outline; for a box, its faces along the marked axes.
    Rim([bool; 3]),
}

/// A region being dragged, as it was at the start.
#[derive(Clone, Debug)]
pub struct Grip {
    pub part: RegionPart,
    pub shape: Shape,
    /// Where it was grabbed, world mm.
    pub point: DVec3,
}

impl Grip {
    /// The shape with the pointer at `now`; `None` if it cannot be changed by dragging.
    pub fn dragged(&self, now: DVec3) -> Option<Shape> {
        let moved = now - self.point;
        match (&self.shape, self.part) {
            (Shape::Sphere { centre, radius_mm }, RegionPart::Body) => Some(Shape::Sphere {
                centre: *centre + moved,
                radius_mm: *radius_mm,
            }),
            (Shape::Box { centre, half_mm }, RegionPart::Body) => Some(Shape::Box {
                centre: *centre + moved,
                half_mm: *half_mm,
            }),
            (Shape::Sphere { centre, radius_mm }, RegionPart::Rim(_)) => {
                // The rim keeps its distance from the pointer, so that it does not jump when grabbed.
                let grown = now.distance(*centre) - self.point.distance(*centre);
                Some(Shape::Sphere {
                    centre: *centre,
                    radius_mm: (radius_mm + grown).clamp(SMALLEST_MM, LARGEST_MM),
                })
            }
            (Shape::Box { centre, half_mm }, RegionPart::Rim(axes)) => {
                let mut half = *half_mm;
                for a in (0..3).filter(|&a| axes[a]) {
                    let grown = (now[a] - centre[a]).abs() - (self.point[a] - centre[a]).abs();
                    half[a] = (half[a] + grown).clamp(SMALLEST_MM, LARGEST_MM);
                }
                Some(Shape::Box {
                    centre: *centre,
                    half_mm: half,
                })
            }
            (Shape::Mask(_), _) => None,
        }
    }
}

/// Whether two shapes are bitwise equal.
pub fn same(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (
            Shape::Sphere { centre, radius_mm },
            Shape::Sphere {
                centre: c,
                radius_mm: r,
            },
        ) => centre == c && radius_mm == r,
        (
            Shape::Box { centre, half_mm },
            Shape::Box {
                centre: c,
                half_mm: h,
            },
        ) => centre == c && half_mm == h,
        (Shape::Mask(a), Shape::Mask(b)) => a.id() == b.id(),
        _ => false,
    }
}

/// `6 mm`, `8 × 8 × 12 mm`, in millimetres across the radius or the half edges.
pub fn size_text(shape: &Shape) -> String {
    use crate::ui::format::{fixed, ml, with_unit};
    let mm = |v: f64| {
        let text = fixed(v, 1);
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    match shape {
        Shape::Sphere { radius_mm, .. } => with_unit(&mm(*radius_mm), "mm"),
        Shape::Box { half_mm, .. } => {
            let edge = |a: usize| mm(half_mm[a] * 2.0);
            with_unit(&format!("{} × {} × {}", edge(0), edge(1), edge(2)), "mm")
        }
        Shape::Mask(mask) => {
            let volume = mask.volume_ml();
            ml(volume, if volume < 9.95 { 2 } else { 1 })
        }
    }
}
