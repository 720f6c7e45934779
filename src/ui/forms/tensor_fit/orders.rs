//! Images of six volumes: pictures of the possible orders and axes of their tensors, to choose from.

use super::candidates;
use super::checks::{Check, CheckSubject};
use crate::data::TensorLayout;
use crate::solvers::tensor_check::{Candidate, Output};
use crate::state::tensors::jobs::CHECK;
use crate::state::{Action, Content, Layer, State, TensorAction};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::rows::{self, Verdict};
use crate::ui::widgets::section;
use crate::ui::{Memory, format};
use egui::{Rect, Sense, Ui, vec2};
use std::sync::Arc;

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
    known
        .filter(|(compared, _)| *compared == layer.id)
        .map(|(_, o)| o)
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
    let pictures = output.ranked.iter().map(|c| (&c.slice, &c.streamlines));
    memory.forms.orders.update(ui, "orders", pictures);
    let candidates = output.ranked.iter().map(|c| shown(c, layout));
    let candidates: Vec<candidates::Candidate> = candidates.collect();
    if let Some(i) = candidates::show(ui, "orders", &memory.forms.orders, &candidates) {
        actions.push(Action::Tensors(TensorAction::ReadAs {
            layer: layer.id,
            layout: Some(output.ranked[i].layout),
        }));
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

fn shown(candidate: &Candidate, now: Option<TensorLayout>) -> candidates::Candidate {
    let layout = candidate.layout;
    let length = |decimals: usize| {
        format::with_unit(&format::fixed(candidate.mean_length_mm, decimals), "mm")
    };
    candidates::Candidate {
        name: layout.order.components().to_owned(),
        axes: format!("{} axes", layout.frame.name()),
        length: length(0),
        text: format!(
            "{}: {} of the voxels are positive definite, {} mean length, coherence {}",
            layout.description(),
            format::with_unit(&format::fixed(100.0 * candidate.definite, 1), "%"),
            length(1),
            format::fixed(candidate.coherence, 3),
        ),
        is_now: now == Some(layout),
    }
}
