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
    /// A box on a turned slice: the corners in their order, and the mean of them.
    Polygon {
        corners: Vec<Pos2>,
        middle: Pos2,
    },
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
            Shape::Box { centre, half_mm } if !is_straight(plane) => {
                let corners = box_on_plane(*centre, *half_mm, plane);
                let corners: Vec<Pos2> = corners.map(|p| to_screen(plane, rect, p)).collect();
                (corners.len() >= 3).then(|| {
                    let sum = corners.iter().map(|p| p.to_vec2());
                    let sum = sum.fold(egui::Vec2::ZERO, |a, b| a + b);
                    let middle = (sum / corners.len() as f32).to_pos2();
                    Self::Polygon { corners, middle }
                })
            }
            Shape::Box { centre, half_mm } => {
                // These planes are parallel to the world's axes, as boxes are.
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
            Self::Polygon { corners, .. } => distance_to_polygon(corners, at),
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

    /// `None` for a mask and for a box on a turned slice, which cannot be reshaped by dragging there.
    pub fn bounds(&self) -> Option<Rect> {
        match self {
            Self::Circle { centre, radius } => Some(Rect::from_center_size(
                *centre,
                egui::Vec2::splat(2.0 * radius),
            )),
            Self::Box(rect) => Some(*rect),
            Self::Polygon { .. } | Self::Mask { .. } => None,
        }
    }
}

/// Whether a plane and its screen axes run along the world's axes.
fn is_straight(plane: &Plane) -> bool {
    let is_along = |v: DVec3| v.abs().to_array().contains(&1.0);
    is_along(plane.right) && is_along(plane.down)
}

/// The corners of the polygon in which a plane cuts a box, around its middle.
fn box_on_plane(centre: DVec3, half_mm: DVec3, plane: &Plane) -> impl Iterator<Item = DVec3> {
    let corner = |i: usize| {
        let side = |bit: usize| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
        centre + half_mm * DVec3::new(side(0), side(1), side(2))
    };
    let edges = (0..8).flat_map(|i| (0..3).map(move |bit| (i, i | 1 << bit)));
    let edges = edges.filter(|(a, b)| a != b);
    let mut crossings: Vec<DVec3> = Vec::new();
    for (a, b) in edges {
        let (a, b) = (corner(a), corner(b));
        let (off_a, off_b) = (plane.distance(a), plane.distance(b));
        // Half open: a corner on the plane counts for one side.
        if (off_a > 0.0) != (off_b > 0.0) {
            crossings.push(a.lerp(b, off_a / (off_a - off_b)));
        }
    }
    let sum: DVec3 = crossings.iter().sum();
    let middle = sum / crossings.len().max(1) as f64;
    let angle = |p: &DVec3| {
        let off = *p - middle;
        off.dot(plane.down).atan2(off.dot(plane.right))
    };
    crossings.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
    crossings.into_iter()
}

/// Signed distance to a convex polygon: negative inside.
fn distance_to_polygon(corners: &[Pos2], at: Pos2) -> f32 {
    let mut nearest = f32::INFINITY;
    let (mut left, mut right) = (false, false);
    for (i, from) in corners.iter().enumerate() {
        let to = corners[(i + 1) % corners.len()];
        let (edge, off) = (to - *from, at - *from);
        let share = (off.dot(edge) / edge.length_sq().max(1e-12)).clamp(0.0, 1.0);
        nearest = nearest.min((off - edge * share).length());
        let side = edge.x * off.y - edge.y * off.x;
        (left, right) = (left || side > 0.0, right || side < 0.0);
    }
    match left && right {
        true => nearest,
        false => -nearest,
    }
}
