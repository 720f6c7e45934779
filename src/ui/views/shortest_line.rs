//! The length of the shortest line between the shown path and the object whose distance is measured, in the 3-D view.

use super::annotations::Label;
use super::scene_view::Scene;
use crate::scene::noise;
use crate::ui::format;
use egui::{Color32, Painter, Rect, Vec2};
use glam::Vec3;

/// Distance between the middle of the line and its label, points.
const GAP: f32 = 6.0;

/// Writes the length beside the middle of the line, clear of the rectangles taken so far; adds its own.
pub(super) fn in_scene(painter: &Painter, scene: &Scene, within: Rect, taken: &mut Vec<Rect>) {
    let Some((line, mm)) = noise::shortest(scene.state) else {
        return;
    };
    let [from, to] = [line.points.first(), line.points.last()];
    let middle = from.zip(to).map(|(from, to)| {
        let [from, to] = [*from, *to].map(|at| Vec3::from(at).as_dvec3());
        from.midpoint(to)
    });
    let at = middle.and_then(|middle| scene.screen(middle));
    let Some(at) = at.filter(|at| within.contains(*at)) else {
        return;
    };
    let [r, g, b] = noise::MEASURED_RGB;
    let label = Label::new(
        painter,
        &format::distance_text(mm),
        Color32::from_rgb(r, g, b),
    );
    let line = Rect::from_center_size(at, Vec2::splat(2.0 * GAP));
    if let Some(place) = label.place(line, within, (taken, &[]), |_| 0) {
        label.paint(painter, place);
        taken.push(place);
    }
}
