//! Axes of the gradients: fibres for each of the 24 axis permutations and flips, best first.

use crate::data::axis_change::AxisChange;
use crate::data::{DataId, Tractogram};
use crate::solvers::gradient_check::{Candidate, Output, Verdict};
use crate::state::tensors::jobs::CHECK;
use crate::state::{Action, State, TensorAction};
use crate::ui::theme::{self, radius, size, space};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{paint, rows};
use crate::ui::{Memory, format};
use egui::{
    Color32, ColorImage, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions, Ui,
    WidgetInfo, pos2, vec2,
};
use glam::{DVec3, Vec3};
use std::sync::Arc;

/// Pictures per row.
const COLUMNS: usize = 4;
const GAP: f32 = 6.0;
const CAPTION: f32 = 17.0;
/// Pixels of a picture: twice its size on an ordinary screen.
const PIXELS: usize = 160;
/// Number of streamlines in a picture: the longest.
const DRAWN: usize = 250;

/// The pictures of the last comparison.
#[derive(Default)]
pub struct Pictures {
    image: Option<DataId>,
    textures: Vec<TextureHandle>,
}

/// Below the check of the gradients: the button, and its results.
pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let scan = state.document.scan().and_then(|l| l.content.volume());
    let Some(scan) = scan else { return };
    let running = state.runtime.jobs.is_running(&[CHECK]);
    let known = state.runtime.tensors.axes.as_ref();
    let output = known
        .filter(|(compared, _)| *compared == scan.id())
        .map(|(_, o)| o);
    let fitted = state.document.tensors.as_ref();
    let ready = fitted.is_some_and(|t| t.key.scan == scan.id());
    let why = match (running, ready) {
        (true, _) => Some("Being compared"),
        (_, false) => Some("The tensors are fitted first"),
        _ => None,
    };
    let label = if output.is_some() {
        "Compare again"
    } else {
        "Compare axes"
    };
    let button = Button::plain(label)
        .disabled(why)
        .hint("Tracks the whole brain with all 24 ways to swap and flip the axes of the table");
    let left = space::INSET + 24.0;
    let at = ui.cursor().min + vec2(left, 6.0);
    let place = Rect::from_min_size(at, vec2(button.width(ui), space::BUTTON));
    ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 10.0),
        Sense::hover(),
    );
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Tensors(TensorAction::CheckGradients));
    }
    let Some(output) = output.cloned() else {
        return;
    };
    ui.add_space(4.0);
    rows::hint(ui, &hint(&output));
    ui.add_space(6.0);
    memory.forms.axes.update(ui, &output);
    pictures(ui, &memory.forms.axes, &output, actions);
}

fn hint(output: &Output) -> String {
    match output.verdict() {
        Verdict::AsTheyAre => {
            "Correct: no change gives longer and more coherent streamlines".to_owned()
        }
        Verdict::Better(turn, _) => {
            format!(
                "Better with {}: click its picture to use it",
                turn.description()
            )
        }
        Verdict::Undecided => "Undecided: the best candidates are equally good".to_owned(),
    }
}

/// All 24, best first; a click chooses one.
fn pictures(ui: &mut Ui, pictures: &Pictures, output: &Arc<Output>, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let width = ui.available_width() - 2.0 * space::INSET;
    let side = ((width - GAP * (COLUMNS - 1) as f32) / COLUMNS as f32).floor();
    let rows = output.ranked.len().div_ceil(COLUMNS);
    let height = rows as f32 * (side + CAPTION + GAP);
    let (all, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let each = output.ranked.iter().zip(&pictures.textures).enumerate();
    for (i, (candidate, texture)) in each {
        let (row, column) = (i / COLUMNS, i % COLUMNS);
        let corner = pos2(
            all.left() + space::INSET + column as f32 * (side + GAP),
            all.top() + row as f32 * (side + CAPTION + GAP),
        );
        let picture = Rect::from_min_size(corner, vec2(side, side));
        let place = Rect::from_min_size(corner, vec2(side, side + CAPTION));
        let response = ui.interact(place, ui.make_persistent_id(("axes", i)), Sense::click());
        let painter = ui.painter();
        paint::picture(painter, picture, texture.id(), radius::CONTROL);
        let now = candidate.turn == AxisChange::NONE;
        let (line, ink) = match (now, i == 0) {
            (true, _) => (Stroke::new(2.0, p.accent), p.t1),
            (_, true) => (Stroke::new(2.0, p.warning), p.t1),
            _ if response.hovered() => (Stroke::new(1.0, p.t2), p.t1),
            _ => (Stroke::new(1.0, p.line), p.t2),
        };
        painter.rect_stroke(picture, radius::CONTROL, line, StrokeKind::Inside);
        let caption = Rect::from_min_max(picture.left_bottom() + vec2(0.0, 2.0), place.max);
        let length = format::with_unit(&format::fixed(candidate.mean_length_mm, 0), "mm");
        let name = if now {
            "now".to_owned()
        } else {
            candidate.turn.to_string()
        };
        paint::left(painter, caption, &name, theme::regular(size::CAPTION), ink);
        paint::right(
            painter,
            caption,
            &length,
            theme::regular(size::CAPTION),
            p.t3,
        );
        paint::focus_ring(painter, p, &response, place, radius::CONTROL);
        let text = text(i, candidate);
        let role = if now { Role::Label } else { Role::Button };
        response.widget_info(|| WidgetInfo::labeled(role, true, &text));
        if response.clicked() && !now {
            actions.push(Action::Tensors(TensorAction::TurnGradients(candidate.turn)));
        }
        response.on_hover_text(text);
    }
}

fn text(rank: usize, candidate: &Candidate) -> String {
    let turn = candidate.turn.description();
    let take = if candidate.turn == AxisChange::NONE {
        ""
    } else {
        ". Click to use it; Ctrl+Z to undo"
    };
    format!(
        "{}. {turn}: {} mean length, coherence {}{take}",
        rank + 1,
        format::with_unit(&format::fixed(candidate.mean_length_mm, 1), "mm"),
        format::fixed(candidate.coherence, 3),
    )
}

impl Pictures {
    fn update(&mut self, ui: &Ui, output: &Output) {
        let image = output.ranked.first().map(|c| c.streamlines.id());
        if image == self.image {
            return;
        }
        let (low, high) = extent(output.ranked.iter().map(|c| &c.streamlines));
        self.textures = output
            .ranked
            .iter()
            .map(|c| {
                let image = picture(&c.streamlines, low, high);
                ui.ctx().load_texture("axes", image, TextureOptions::LINEAR)
            })
            .collect();
        self.image = image;
    }
}

/// Bounds of all of them, so that their pictures have one scale.
pub(super) fn extent<'a>(all: impl Iterator<Item = &'a Tractogram>) -> (DVec3, DVec3) {
    let bounds = all.filter_map(Tractogram::bounds);
    let bounds = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    bounds.unwrap_or((DVec3::ZERO, DVec3::ONE))
}

/// Streamlines seen from the patient's left, coloured by direction: front is on the left.
pub(super) fn picture(streamlines: &Tractogram, low: DVec3, high: DVec3) -> ColorImage {
    let mut image = ColorImage::filled([PIXELS, PIXELS], Color32::BLACK);
    let extent = (high - low).max(DVec3::splat(1.0));
    let scale = (PIXELS as f64 - 8.0) / extent.y.max(extent.z);
    let middle = (low + high) * 0.5;
    let half = PIXELS as f64 / 2.0;
    let place = |p: Vec3| {
        let p = p.as_dvec3();
        (
            half - (p.y - middle.y) * scale,
            half - (p.z - middle.z) * scale,
        )
    };
    let mut longest: Vec<usize> = (0..streamlines.len()).collect();
    longest.sort_by(|&a, &b| {
        streamlines
            .length_mm(b)
            .total_cmp(&streamlines.length_mm(a))
    });
    // The longest are drawn last, on top.
    for &line in longest.iter().take(DRAWN).rev() {
        let line = streamlines.streamline(line);
        for pair in line.windows(2) {
            let (a, b) = (Vec3::from(pair[0]), Vec3::from(pair[1]));
            let [r, g, blue] = (b - a).normalize_or_zero().abs().to_array();
            let colour = [r, g, blue].map(|v| (v * 255.0) as u8);
            let ((x0, y0), (x1, y1)) = (place(a), place(b));
            let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0) as usize;
            for k in 0..=steps {
                let t = k as f64 / steps as f64;
                let (x, y) = (x0 + (x1 - x0) * t, y0 + (y1 - y0) * t);
                let inside = |v: f64| v >= 0.0 && v < PIXELS as f64;
                if inside(x) && inside(y) {
                    let [r, g, b] = colour;
                    image.pixels[x as usize + PIXELS * y as usize] = Color32::from_rgb(r, g, b);
                }
            }
        }
    }
    image
}
