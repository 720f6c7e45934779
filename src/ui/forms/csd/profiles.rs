//! Small pictures of response functions: the signal by the angle to the fibres, one line for each shell.

use crate::data::Response;
use crate::data::odf_field::Tissue;
use crate::state::core::colours::tissue_rgb;
use crate::ui::theme::{self, size};
use crate::ui::widgets::paint;
use egui::{Color32, Pos2, Rect, Stroke, Ui, pos2, vec2};
use std::f64::consts::TAU;

/// Points of a line.
const POINTS: usize = 72;
/// Opacity of the lines from the lowest b to the highest: the brightest is the lowest.
const FAINTEST: f32 = 0.45;
const NAME: f32 = 18.0;

/// The response functions beside each other, with their names.
pub fn show(ui: &mut Ui, rect: Rect, responses: &[(Tissue, Response)]) {
    let p = theme::palette(ui.style());
    let width = rect.width() / responses.len().max(1) as f32;
    for (i, (tissue, response)) in responses.iter().enumerate() {
        let left = rect.left() + width * i as f32;
        let place = Rect::from_min_size(pos2(left, rect.top()), vec2(width, rect.height()));
        let (picture, name) = place.split_top_bottom_at_y(place.bottom() - NAME);
        profile(
            ui,
            picture.shrink2(vec2(2.0, 1.0)),
            response,
            colour(*tissue),
        );
        let font = theme::regular(size::CAPTION);
        paint::centre(ui.painter(), name, tissue.label(), font, p.t2);
    }
}

fn colour(tissue: Tissue) -> Color32 {
    let [r, g, b] = tissue_rgb(tissue);
    Color32::from_rgb(r, g, b)
}

/// The fibres run upwards: their signal is large across them.
fn profile(ui: &Ui, rect: Rect, response: &Response, ink: Color32) {
    let shells = response.shell_count();
    let angles = || (0..POINTS).map(|i| TAU * i as f64 / POINTS as f64);
    let lines: Vec<Vec<(f64, f64)>> = (0..shells)
        .map(|shell| {
            let signal = |angle: f64| response.signal(shell, angle.cos()).max(0.0);
            angles().map(|angle| (angle, signal(angle))).collect()
        })
        .collect();
    let largest = lines.iter().flatten().map(|(_, signal)| *signal);
    let largest = largest.fold(0.0, f64::max);
    if largest <= 0.0 {
        return;
    }
    let radius = 0.5 * f64::from(rect.width().min(rect.height()));
    for (shell, line) in lines.iter().enumerate() {
        let place = |(angle, signal): &(f64, f64)| -> Pos2 {
            let r = radius * signal / largest;
            rect.center() + vec2((r * angle.sin()) as f32, (-r * angle.cos()) as f32)
        };
        let share = shell as f32 / (shells.max(2) - 1) as f32;
        let opacity = 1.0 - (1.0 - FAINTEST) * share;
        let stroke = Stroke::new(1.0, ink.gamma_multiply(opacity));
        let points: Vec<Pos2> = line.iter().map(place).collect();
        ui.painter().add(egui::Shape::closed_line(points, stroke));
    }
}
