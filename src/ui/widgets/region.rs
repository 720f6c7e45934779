//! Glyphs and chips of regions. A role has a shape besides its colour.

use super::super::theme::{self, radius, size};
use super::paint;
use crate::data::{Region, Role};
use crate::state::Tool;
use egui::{
    Color32, Painter, Pos2, Rect, Response, Sense, Shape, Stroke, StrokeKind, Ui, WidgetInfo, pos2,
    vec2,
};

/// The glyph of a role, about 11 points across.
pub fn glyph(painter: &Painter, centre: Pos2, role: Role, colour: Color32) {
    let ring = Stroke::new(2.0, colour);
    match role {
        Role::Seed => {
            painter.circle_filled(centre, 5.5, colour);
        }
        Role::Target => {
            painter.circle_stroke(centre, 4.5, ring);
        }
        Role::Include => {
            painter.circle_stroke(centre, 4.5, ring);
            painter.circle_filled(centre, 1.75, colour);
        }
        Role::Exclude => {
            let points: Vec<Pos2> = (0..=32)
                .map(|i| {
                    let angle = i as f32 / 32.0 * std::f32::consts::TAU;
                    centre + 4.5 * vec2(angle.cos(), angle.sin())
                })
                .collect();
            painter.extend(Shape::dashed_line(&points, ring, 2.6, 1.9));
            let slash = [centre + vec2(-3.0, 3.0), centre + vec2(3.0, -3.0)];
            painter.line_segment(slash, Stroke::new(1.5, colour));
        }
        Role::Terminate => {
            painter.rect_filled(Rect::from_center_size(centre, vec2(4.0, 11.0)), 1.0, colour);
        }
        Role::Costly => {
            painter.circle_stroke(centre, 4.5, ring);
            for off in [-1.8, 1.8] {
                let middle = centre + vec2(off, off) * 0.6;
                let line = [middle + vec2(-2.6, 2.6), middle + vec2(2.6, -2.6)];
                painter.line_segment(line, Stroke::new(1.0, colour));
            }
        }
        Role::Mask => {
            painter.rect_filled(Rect::from_center_size(centre, vec2(9.0, 9.0)), 2.0, colour);
        }
        Role::Region => {
            let square = Rect::from_center_size(centre, vec2(9.0, 9.0));
            painter.rect_stroke(square, 2.0, Stroke::new(1.5, colour), StrokeKind::Inside);
        }
    }
}

/// The glyph of a drawing tool, about 12 points across; none for other tools.
pub fn tool(painter: &Painter, centre: Pos2, tool: Tool, colour: Color32) {
    let stroke = Stroke::new(1.25, colour);
    let at = |x: f32, y: f32| centre + vec2(x, y);
    match tool {
        Tool::Brush => {
            painter.line_segment([at(5.5, -5.5), at(-0.5, 0.5)], stroke);
            painter.circle_filled(at(-2.5, 2.5), 3.0, colour);
        }
        Tool::Rectangle => {
            let sides = Rect::from_center_size(centre, vec2(12.0, 9.0));
            painter.rect_stroke(sides, 1.0, stroke, StrokeKind::Inside);
        }
        Tool::Polygon => {
            let corners = [
                (-5.5, -1.0),
                (0.5, -5.0),
                (5.5, -1.5),
                (3.0, 5.0),
                (-3.5, 4.0),
            ];
            let corners: Vec<Pos2> = corners.iter().map(|(x, y)| at(*x, *y)).collect();
            for corner in &corners {
                painter.circle_filled(*corner, 1.6, colour);
            }
            painter.add(Shape::closed_line(corners, stroke));
        }
        Tool::Fill => {
            // A drop.
            painter.circle_filled(at(0.0, 1.75), 3.75, colour);
            let tip = vec![at(0.0, -6.0), at(3.3, 0.0), at(-3.3, 0.0)];
            painter.add(Shape::convex_polygon(tip, colour, Stroke::NONE));
        }
        _ => {}
    }
}

/// A region as an input of a task; click selects it.
pub fn chip(ui: &mut Ui, rect: Rect, region: &Region, selected: bool) -> Response {
    let p = theme::palette(ui.style());
    let id = ui.make_persistent_id(("chip", region.id));
    let response = ui.interact(rect, id, Sense::click());
    let painter = ui.painter();
    let line = if selected { p.accent } else { p.field_line };
    let fill = if response.hovered() && !selected {
        p.b3
    } else {
        p.b2
    };
    painter.rect(
        rect,
        radius::CONTROL,
        fill,
        Stroke::new(1.0, line),
        StrokeKind::Inside,
    );
    let colour = theme::region_colour(region);
    glyph(
        painter,
        pos2(rect.left() + 14.0, rect.center().y),
        region.role,
        colour,
    );
    let role = region.role.name();
    // A region named after its role shows the word only once.
    let repeats = region.name.starts_with(role);
    let prefix = if repeats {
        String::new()
    } else {
        format!("{role}  ")
    };
    let text = paint::inset(rect, 25.0, 8.0);
    let (regular, medium) = (theme::regular(size::LABEL), theme::medium(size::LABEL));
    let room = text.width() - paint::width(ui, &prefix, regular.clone());
    let name = paint::elided(painter, &region.name, medium.clone(), room);
    let spans = [(&*prefix, regular, p.t3), (&*name, medium, p.t1)];
    paint::spans(painter, text, egui::Align2::LEFT_CENTER, &spans);
    paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
    response.widget_info(|| {
        let name = format!("Input {}, {}", region.name, role.to_lowercase());
        WidgetInfo::selected(egui::Role::Button, true, selected, name)
    });
    response
}
