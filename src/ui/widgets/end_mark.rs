//! The shapes that mark ends of streamlines, as in the views.

use crate::scene::draw_list::MarkShape;
use egui::{Color32, Painter, Pos2, Shape, Stroke, vec2};

/// A shape with the area of a disc of this radius.
pub fn end_mark(painter: &Painter, centre: Pos2, radius: f32, shape: MarkShape, colour: Color32) {
    let corners: &[(f32, f32)] = match shape {
        MarkShape::Disc => {
            painter.circle_filled(centre, radius, colour);
            return;
        }
        MarkShape::Diamond => &[(0.0, -1.2533), (1.2533, 0.0), (0.0, 1.2533), (-1.2533, 0.0)],
        MarkShape::Square => &[
            (-0.8862, -0.8862),
            (0.8862, -0.8862),
            (0.8862, 0.8862),
            (-0.8862, 0.8862),
        ],
        MarkShape::Triangle => &[(0.0, -1.5551), (1.3468, 0.7776), (-1.3468, 0.7776)],
    };
    let points = corners.iter().map(|(x, y)| centre + vec2(*x, *y) * radius);
    let polygon = Shape::convex_polygon(points.collect(), colour, Stroke::NONE);
    painter.add(polygon);
}
