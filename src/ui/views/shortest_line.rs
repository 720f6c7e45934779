//! The length of the shortest line between the shown path and the object whose distance is measured, in the 3-D view.

use super::annotations::Label;
use super::scene_view::Scene;
use crate::scene::noise;
use crate::ui::format;
use egui::{Color32, Painter, Rect, Stroke};
use glam::Vec3;

/// Distance of the label from the line, points: around its ends, path and object stay visible.
const CLEARANCE: f32 = 26.0;

/// Writes the length beside the line, clear of its ends and of the rectangles taken so far, with a thin line to its middle;
/// adds its own rectangle.
pub(super) fn in_scene(painter: &Painter, scene: &Scene, within: Rect, taken: &mut Vec<Rect>) {
    let Some((line, mm)) = noise::shortest(scene.state) else {
        return;
    };
    let on_screen = |at: Option<&[f32; 3]>| scene.screen(Vec3::from(*at?).as_dvec3());
    let ends = on_screen(line.points.first()).zip(on_screen(line.points.last()));
    let Some((from, to)) = ends else {
        return;
    };
    let middle = from + 0.5 * (to - from);
    if !within.contains(middle) {
        return;
    }
    let [r, g, b] = noise::MEASURED_RGB;
    let colour = Color32::from_rgb(r, g, b);
    let label = Label::new(painter, &format::distance_text(mm), colour);
    let line = Rect::from_two_pos(from, to).expand(CLEARANCE);
    if let Some(place) = label.place(line, within, (taken, &[]), |_| 0) {
        let leader = [place.clamp(middle), middle];
        painter.line_segment(leader, Stroke::new(1.0, colour.gamma_multiply(0.7)));
        label.paint(painter, place);
        taken.push(place);
    }
}
