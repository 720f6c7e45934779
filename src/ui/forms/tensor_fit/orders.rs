//! Images of six volumes: pictures of the possible orders and axes of their tensors, to choose from.

use super::axes;
use super::checks::{Check, CheckSubject};
use crate::data::{DataId, TensorLayout};
use crate::solvers::tensor_check::{Candidate, Output, Slice};
use crate::state::tensors::jobs::CHECK;
use crate::state::{Action, Content, Layer, State, TensorAction};
use crate::ui::theme::{self, radius, size, space};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::rows::{self, Verdict};
use crate::ui::widgets::{paint, section};
use crate::ui::{Memory, format};
use egui::{
    ColorImage, CornerRadius, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions,
    Ui, WidgetInfo, pos2, vec2,
};
use std::sync::Arc;

const COLUMNS: usize = 2;
const GAP: f32 = 8.0;
const CAPTION: f32 = 17.0;

/// The pictures of the last comparison: a slice and streamlines for each.
#[derive(Default)]
pub struct Pictures {
    image: Option<DataId>,
    textures: Vec<[TextureHandle; 2]>,
}

/// The topmost image of six volumes without gradients.
fn layer(state: &State) -> Option<(&Arc<Layer>, Option<TensorLayout>)> {
    let mut layers = state.document.layers.iter().rev();
    layers.find_map(|l| match &l.content {
        Content::Scan {
            dwi,
            gradients: None,
        } if dwi.frames == TensorLayout::VOLUMES => Some((l, dwi.tensors)),
        _ => None,
    })
}

fn compared<'a>(state: &'a State, layer: &Layer) -> Option<&'a Arc<Output>> {
    let known = state.runtime.tensors.orders.as_ref();
    known.filter(|(of, _)| *of == layer.id).map(|(_, o)| o)
}

/// Whether the storage of the tensors is known.
pub fn check(state: &State) -> Option<Check> {
    let (layer, layout) = layer(state)?;
    let better = compared(state, layer).and_then(|o| o.clear_layout());
    let better = better.filter(|better| layout.is_some_and(|now| now != *better));
    let (verdict, fact) = match (layout, better) {
        (None, _) => (Verdict::Warning, "order and axes unknown".to_owned()),
        (Some(_), Some(_)) => (Verdict::Warning, "another seems right".to_owned()),
        (Some(layout), None) => {
            let fact = format!("{}, {} axes", layout.order.name(), layout.frame.name());
            (Verdict::Passed, fact)
        }
    };
    let report = match layout {
        None => "Six volumes without gradients: they are tensors if you choose the order and the axes of their \
                 components"
            .to_owned(),
        Some(layout) => format!("{}: {}", layer.name, layout.description()),
    };
    Some(Check {
        verdict,
        subject: CheckSubject::TensorOrder,
        fact,
        report: vec![report],
    })
}

/// Whether the check opens by itself: a question waits for its answer.
pub fn asks(state: &State) -> bool {
    layer(state).is_some_and(|(l, layout)| layout.is_none() || compared(state, l).is_some())
}

/// Below the check: the button, and its results.
pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some((layer, layout)) = layer(state) else {
        return;
    };
    let running = state.runtime.jobs.is_running(&[CHECK]);
    let output = compared(state, layer).cloned();
    let label = if output.is_some() {
        "Compare again"
    } else {
        "Compare orders"
    };
    let compare = Button::plain(label)
        .disabled(running.then_some("Being compared"))
        .hint("Tracks the whole brain with all six readings of the volumes");
    let not = Button::plain("Not tensors").hint("Shows the volumes as six images, without tensors");
    let left = space::INSET + 24.0;
    let at = ui.cursor().min + vec2(left, 6.0);
    let place = Rect::from_min_size(at, vec2(compare.width(ui), space::BUTTON));
    ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 10.0),
        Sense::hover(),
    );
    if layout.is_some() {
        let corner = place.right_top() + vec2(8.0, 0.0);
        let adjacent = Rect::from_min_size(corner, vec2(not.width(ui), space::BUTTON));
        if not.show_at(ui, adjacent).clicked() {
            actions.push(Action::Tensors(TensorAction::ReadAs {
                layer: layer.id,
                layout: None,
            }));
        }
    }
    if compare.show_at(ui, place).clicked() {
        actions.push(Action::Tensors(TensorAction::CompareOrders(layer.id)));
    }
    let Some(output) = output else { return };
    ui.add_space(4.0);
    rows::hint(ui, &hint(&output, layout));
    ui.add_space(6.0);
    memory.forms.orders.update(ui, &output);
    for (i, candidate) in output.ranked.iter().enumerate().step_by(COLUMNS) {
        let pair = [Some(candidate), output.ranked.get(i + 1)];
        row(ui, &memory.forms.orders, i, pair, layout, |layout| {
            actions.push(Action::Tensors(TensorAction::ReadAs {
                layer: layer.id,
                layout: Some(layout),
            }));
        });
    }
    section::end(ui);
}

fn hint(output: &Output, now: Option<TensorLayout>) -> String {
    match (output.clear_layout(), now) {
        (Some(best), Some(now)) if best == now => {
            "Correct: no other order gives longer and more coherent streamlines".to_owned()
        }
        (Some(best), _) => format!(
            "Most likely {}: click its picture to use it",
            best.description()
        ),
        (None, _) if output.ranked.is_empty() => {
            "These volumes are not tensors in any known order".to_owned()
        }
        (None, _) => "Undecided: click the picture that looks like fibres of a brain".to_owned(),
    }
}

/// Two candidates side by side.
fn row(
    ui: &mut Ui,
    pictures: &Pictures,
    first: usize,
    candidates: [Option<&Candidate>; COLUMNS],
    now: Option<TensorLayout>,
    mut take: impl FnMut(TensorLayout),
) {
    let p = theme::palette(ui.style());
    let width = ui.available_width() - 2.0 * space::INSET;
    let wide = ((width - GAP * (COLUMNS - 1) as f32) / COLUMNS as f32).floor();
    let side = (wide / 2.0).floor();
    let desired_size = vec2(ui.available_width(), side + 2.0 * CAPTION + GAP);
    let (all, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    for (column, candidate) in candidates.into_iter().enumerate() {
        let (Some(candidate), Some(textures)) = (candidate, pictures.textures.get(first + column))
        else {
            continue;
        };
        let corner = all.left_top() + vec2(space::INSET + column as f32 * (wide + GAP), 0.0);
        let both = Rect::from_min_size(corner, vec2(2.0 * side, side));
        let place = Rect::from_min_size(corner, vec2(2.0 * side, side + 2.0 * CAPTION));
        let id = ui.make_persistent_id(("orders", first + column));
        let response = ui.interact(place, id, Sense::click());
        let painter = ui.painter();
        // Side by side in one frame: only its outer corners are round.
        let (left, right) = (radius::CONTROL, radius::CONTROL);
        let rounds = [[left, 0, left, 0], [0, right, 0, right]];
        for (i, (texture, [nw, ne, sw, se])) in textures.iter().zip(rounds).enumerate() {
            let at = corner + vec2(i as f32 * side, 0.0);
            let square = Rect::from_min_size(at, vec2(side, side));
            let round = CornerRadius { nw, ne, sw, se };
            paint::picture(painter, square, texture.id(), round);
        }
        let is_now = now == Some(candidate.layout);
        let best = first + column == 0;
        let (line, ink) = match (is_now, best) {
            (true, _) => (Stroke::new(2.0, p.accent), p.t1),
            (_, true) => (Stroke::new(2.0, p.warning), p.t1),
            _ if response.hovered() => (Stroke::new(1.0, p.t2), p.t1),
            _ => (Stroke::new(1.0, p.line), p.t2),
        };
        painter.rect_stroke(both, radius::CONTROL, line, StrokeKind::Inside);
        let caption = |n: f32| {
            let top = both.bottom() + 2.0 + n * CAPTION;
            Rect::from_min_max(pos2(both.left(), top), pos2(both.right(), top + CAPTION))
        };
        let small = || theme::regular(size::CAPTION);
        let order = candidate.layout.order.components();
        paint::left(painter, caption(0.0), order, small(), ink);
        let axes = match is_now {
            true => format!("{} axes, current", candidate.layout.frame.name()),
            false => format!("{} axes", candidate.layout.frame.name()),
        };
        paint::left(painter, caption(1.0), &axes, small(), ink);
        let length = format::with_unit(&format::fixed(candidate.mean_length_mm, 0), "mm");
        paint::right(painter, caption(1.0), &length, small(), p.t3);
        paint::focus_ring(painter, p, &response, place, radius::CONTROL);
        let text = text(first + column, candidate, is_now);
        let role = if is_now { Role::Label } else { Role::Button };
        response.widget_info(|| WidgetInfo::labeled(role, true, &text));
        if response.clicked() && !is_now {
            take(candidate.layout);
        }
        response.on_hover_text(text);
    }
}

fn text(rank: usize, candidate: &Candidate, is_now: bool) -> String {
    let take = match is_now {
        true => "",
        false => ". Click to use it; Ctrl+Z to undo",
    };
    format!(
        "{}. {}: {} of the voxels are positive definite, {} mean length, coherence {}{take}",
        rank + 1,
        candidate.layout.description(),
        format::with_unit(&format::fixed(100.0 * candidate.definite, 1), "%"),
        format::with_unit(&format::fixed(candidate.mean_length_mm, 1), "mm"),
        format::fixed(candidate.coherence, 3),
    )
}

impl Pictures {
    fn update(&mut self, ui: &Ui, output: &Output) {
        let of = output.ranked.first().map(|c| c.streamlines.id());
        if of == self.image {
            return;
        }
        let (low, high) = axes::extent(output.ranked.iter().map(|c| &c.streamlines));
        let load = |image| {
            ui.ctx()
                .load_texture("orders", image, TextureOptions::LINEAR)
        };
        let both = |c: &Candidate| {
            [
                load(picture(&c.slice)),
                load(axes::picture(&c.streamlines, low, high)),
            ]
        };
        self.textures = output.ranked.iter().map(both).collect();
        self.image = of;
    }
}

fn picture(slice: &Slice) -> ColorImage {
    ColorImage::from_rgb([slice.side, slice.side], &slice.rgb)
}
