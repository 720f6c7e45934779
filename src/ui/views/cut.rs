//! Intersections of regions with the plane of a slice view.

use super::mask_outline::MaskOutlines;
use crate::data::Shape;
use crate::state::view::Plane;
use egui::{Pos2, Rect};
use glam::{DVec2, DVec3};

/// A region's trace on a slice, in points of the screen.
pub enum Cut {
    Circle {
        centre: Pos2,
        radius: f32,
    },
    Box(Rect),
    Mask {
        /// Closed lines around the region and its holes.
        border: Vec<Vec<Pos2>>,
        /// The inside of the region, row by row.
        inside: Vec<Rect>,
    },
}

/// Screen position of a world point in a pane at `rect`.
pub fn to_screen(plane: &Plane, rect: Rect, world: DVec3) -> Pos2 {
    let at = plane.position(world);
    rect.min + egui::vec2(at.x as f32, at.y as f32)
}

/// World point on the plane under a screen position.
pub fn to_world(plane: &Plane, rect: Rect, at: Pos2) -> DVec3 {
    let d = at - rect.min;
    plane.world(DVec2::new(f64::from(d.x), f64::from(d.y)))
}

impl Cut {
    /// `None` if the region does not reach the plane.
    pub fn new(
        shape: &Shape,
        plane: &Plane,
        rect: Rect,
        traces: &mut MaskOutlines,
    ) -> Option<Self> {
        match shape {
            Shape::Sphere { centre, radius_mm } => {
                let off = plane.distance(*centre);
                let radius_mm = (radius_mm * radius_mm - off * off).max(0.0).sqrt();
                (radius_mm > 0.0).then(|| Self::Circle {
                    centre: to_screen(plane, rect, *centre),
                    radius: (radius_mm / plane.mm_per_point) as f32,
                })
            }
            Shape::Box { centre, half_mm } => {
                // Slice planes are parallel to the world's axes, as boxes are.
                let reach = half_mm.dot(plane.normal().abs());
                (plane.distance(*centre).abs() < reach).then(|| {
                    let half = DVec2::new(
                        half_mm.dot(plane.right.abs()),
                        half_mm.dot(plane.down.abs()),
                    );
                    let half = (half / plane.mm_per_point).as_vec2();
                    let centre = to_screen(plane, rect, *centre);
                    Self::Box(Rect::from_center_size(
                        centre,
                        egui::vec2(half.x, half.y) * 2.0,
                    ))
                })
            }
            Shape::Mask(mask) => {
                let trace = traces.outline(mask, plane);
                let on_screen = |p: &DVec2| to_screen(plane, rect, trace.world(*p));
                let run = |r: &[DVec2; 2]| Rect::from_two_pos(on_screen(&r[0]), on_screen(&r[1]));
                (!trace.inside.is_empty()).then(|| Self::Mask {
                    border: trace
                        .border
                        .iter()
                        .map(|line| line.iter().map(on_screen).collect())
                        .collect(),
                    inside: trace.inside.iter().map(run).collect(),
                })
            }
        }
    }

    /// Signed distance to the outline in points: negative inside. For masks only the sign is meaningful.
    pub fn distance(&self, at: Pos2) -> f32 {
        match self {
            Self::Circle { centre, radius } => centre.distance(at) - radius,
            Self::Box(rect) => rect.signed_distance_to_pos(at),
            Self::Mask { inside, .. } => {
                if inside.iter().any(|r| r.contains(at)) {
                    -1e3
                } else {
                    f32::INFINITY
                }
            }
        }
    }

    /// The places of the handles: right, bottom, left and top of the outline.
    pub fn handles(&self) -> Option<[Pos2; 4]> {
        let rect = self.bounds()?;
        Some([
            rect.right_center(),
            rect.center_bottom(),
            rect.left_center(),
            rect.center_top(),
        ])
    }

    /// `None` for a mask, which cannot be reshaped by dragging.
    pub fn bounds(&self) -> Option<Rect> {
        match self {
            Self::Circle { centre, radius } => Some(Rect::from_center_size(
                *centre,
                egui::Vec2::splat(2.0 * radius),
            )),
            Self::Box(rect) => Some(*rect),
            Self::Mask { .. } => None,
        }
    }
}
