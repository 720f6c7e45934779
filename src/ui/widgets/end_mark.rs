//! The shapes that mark ends of streamlines, as in the views.

use crate::scene::draw_list::MarkShape;
use egui::{Color32, Painter, Pos2, Shape, Stroke, vec2};

/// A shape with the area of a disc of this radius.
pub fn end_mark(painter: &Painter, centre: Pos2, radius: f32, shape: MarkShape, colour: Color32) {
    if shape == MarkShape::Disc {
        painter.circle_filled(centre, radius, colour);
        return;
    }
    let corners = shape.corners().into_iter();
    let points = corners.map(|[x, y]| centre + vec2(x, -y) * radius);
    let polygon = Shape::convex_polygon(points.collect(), colour, Stroke::NONE);
    painter.add(polygon);
}
