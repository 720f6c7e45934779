//! Regions as rings on slices: each role has a shape and a line style besides its colour.

use super::annotations;
use super::cut::Cut;
use crate::data::Role;
use egui::{Color32, Mesh, Painter, Pos2, Shape, Stroke, StrokeKind, vec2};

const FILL: f32 = 0.16;
const RING: f32 = 2.0;
/// Lies below a ring: streamlines behind it may have its colour.
const SHADE: Stroke = Stroke {
    width: 4.0,
    color: Color32::from_black_alpha(150),
};

/// Paints a region's trace.
pub fn ring(painter: &Painter, cut: &Cut, role: Role, colour: Color32, selected: bool) {
    let stroke = Stroke::new(RING, colour);
    let fill = colour.gamma_multiply(FILL);
    match cut {
        Cut::Circle { centre, radius } => {
            painter.circle_filled(*centre, *radius, fill);
            painter.circle_stroke(*centre, *radius, SHADE);
            if role == Role::Exclude {
                dashed(
                    painter,
                    &annotations::circle_points(*centre, *radius),
                    stroke,
                );
            } else {
                painter.circle_stroke(*centre, *radius, stroke);
            }
            glyph(painter, role, *centre, vec2(*radius, *radius), colour);
        }
        Cut::Box(rect) => {
            painter.rect_filled(*rect, 0.0, fill);
            painter.rect_stroke(*rect, 0.0, SHADE, StrokeKind::Middle);
            if role == Role::Exclude {
                let corners = [
                    rect.left_top(),
                    rect.right_top(),
                    rect.right_bottom(),
                    rect.left_bottom(),
                    rect.left_top(),
                ];
                dashed(painter, &corners, stroke);
            } else {
                painter.rect_stroke(*rect, 0.0, stroke, StrokeKind::Middle);
            }
            glyph(painter, role, rect.center(), rect.size() * 0.5, colour);
        }
        Cut::Polygon { corners, middle } => {
            painter.add(Shape::convex_polygon(corners.clone(), fill, Stroke::NONE));
            painter.add(Shape::closed_line(corners.clone(), SHADE));
            if role == Role::Exclude {
                let mut closed = corners.clone();
                closed.extend(corners.first());
                dashed(painter, &closed, stroke);
            } else {
                painter.add(Shape::closed_line(corners.clone(), stroke));
            }
            // The sign fits into the polygon.
            let radius = corners.iter().map(|c| c.distance(*middle));
            let radius = 0.6 * radius.fold(f32::INFINITY, f32::min);
            glyph(painter, role, *middle, vec2(radius, radius), colour);
        }
        Cut::Mask { border, inside } => {
            let mut mesh = Mesh::default();
            for run in inside {
                mesh.add_colored_rect(*run, fill);
            }
            painter.add(Shape::mesh(mesh));
            for line in border {
                if role == Role::Exclude {
                    let mut closed = line.clone();
                    closed.extend(line.first());
                    dashed(painter, &closed, stroke);
                } else {
                    painter.add(Shape::closed_line(line.clone(), stroke));
                }
            }
        }
    }
    if let Some(handles) = cut.handles().filter(|_| selected) {
        annotations::handles(painter, handles);
    }
}

/// The silhouette of a solid in the 3-D view: a thin ring, by which it is resized.
pub fn rim(painter: &Painter, cut: &Cut, role: Role, colour: Color32, selected: bool) {
    let Cut::Circle { centre, radius } = cut else {
        return;
    };
    let stroke = Stroke::new(1.5, colour);
    painter.circle_stroke(*centre, *radius, SHADE);
    if role == Role::Exclude {
        let circle = annotations::circle_points(*centre, *radius);
        dashed(painter, &circle, stroke);
    } else {
        painter.circle_stroke(*centre, *radius, stroke);
    }
    if let Some(handles) = cut.handles().filter(|_| selected) {
        annotations::handles(painter, handles);
    }
}

/// A ring around where a region is about to be placed.
pub fn preview(painter: &Painter, centre: Pos2, radius: f32, colour: Color32) {
    painter.circle_filled(centre, radius, colour.gamma_multiply(FILL * 0.5));
    painter.circle_stroke(centre, radius, Stroke::new(1.0, colour.gamma_multiply(0.8)));
}

/// The brush: voxels in the ring are painted, or erased if the ring is dashed.
pub fn brush(painter: &Painter, centre: Pos2, radius: f32, colour: Color32, erase: bool) {
    let rim = Stroke::new(2.5, Color32::from_black_alpha(120));
    let line = Stroke::new(1.25, colour);
    painter.circle_stroke(centre, radius, rim);
    if erase {
        dashed(painter, &annotations::circle_points(centre, radius), line);
    } else {
        painter.circle_stroke(centre, radius, line);
    }
    // A dot marks the centre of a large brush, and makes a small one visible.
    if !(3.0..=14.0).contains(&radius) {
        painter.circle_filled(centre, 1.25, colour);
    }
}

fn dashed(painter: &Painter, path: &[Pos2], stroke: Stroke) {
    painter.extend(Shape::dashed_line(path, stroke, 5.0, 3.5));
}

/// The role's own sign in the centre of the ring.
fn glyph(painter: &Painter, role: Role, centre: Pos2, half: egui::Vec2, colour: Color32) {
    match role {
        Role::Include => {
            painter.circle_filled(centre, 2.5, colour);
        }
        Role::Exclude => {
            // From edge to edge of the inscribed ellipse, at 45 degrees.
            let along = vec2(half.x, -half.y) * std::f32::consts::FRAC_1_SQRT_2;
            painter.line_segment([centre - along, centre + along], Stroke::new(1.5, colour));
        }
        Role::Terminate => {
            let across = vec2(half.x, 0.0);
            painter.line_segment([centre - across, centre + across], Stroke::new(3.0, colour));
        }
        Role::Costly => {
            // Hatched: it can be passed, unlike an excluded region.
            let along = vec2(half.x, -half.y) * std::f32::consts::FRAC_1_SQRT_2;
            let offset = vec2(half.x, half.y) * 0.45;
            for side in [-1.0, 1.0] {
                let (middle, half) = (centre + offset * side, along * 0.8);
                painter.line_segment([middle - half, middle + half], Stroke::new(1.0, colour));
            }
        }
        Role::Seed | Role::Target | Role::Mask | Role::Region => {}
    }
}
