//! Axes of the gradients: comparing all permutations and flips, and applying one.

use crate::data::axis_change::AxisChange;
use crate::data::{DataId, Volume};
use crate::solvers::gradient_check;
use crate::state::core::layer::Content;
use crate::state::core::notices::Severity;
use crate::state::edit::edit;
use crate::state::tensors::jobs::CheckGradients;
use crate::state::{Effect, State, tensors};
use std::sync::Arc;

pub fn check(state: &mut State, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let scan = document.scan().and_then(|l| l.content.volume());
    let tensors = document.tensors.as_ref();
    match (scan, tensors) {
        (Some(dwi), Some(tensors)) if tensors.key.scan == dwi.id() => {
            effects.push(Effect::submit(CheckGradients {
                scan: dwi.id(),
                field: tensors.field.clone(),
                params: gradient_check::Params::defaults(),
            }));
        }
        _ => state.runtime.notify(
            Severity::Information,
            "The gradients are compared once the tensors of their scan are fitted",
        ),
    }
}

/// Receives a comparison, if its scan is still the current one.
pub fn checked(state: &mut State, scan: DataId, output: Arc<gradient_check::Output>) {
    let now = state.document.scan().and_then(|l| l.content.volume());
    if now.map(Volume::id) != Some(scan) {
        return;
    }
    state.runtime.notices.status = output.sentence().into();
    state.runtime.tensors.axes = Some((scan, output));
}

/// Changes the gradient axes of the scan; the fit follows.
pub fn turn(state: &mut State, turn: AxisChange, effects: &mut Vec<Effect>) {
    let Some(layer) = state.document.scan().cloned() else {
        return;
    };
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &layer.content
    else {
        return;
    };
    if turn == AxisChange::NONE {
        return;
    }
    let before = state.document.origins.turn(layer.origin);
    let whole = turn.after(before.unwrap_or(AxisChange::NONE));
    let whole = Some(whole).filter(|t| *t != AxisChange::NONE);
    // The image counts as another scan: results of the old one do not belong to it.
    let image = Volume::new(dwi.grid.clone(), dwi.frames, dwi.kind, dwi.values.clone());
    let content = Content::Scan {
        gradients: Some(Arc::new(gradients.rotated(turn.in_world(&image.grid)))),
        dwi: image,
    };
    edit(state, "Gradient axes", false, |document| {
        let origin = document.origins.reoriented(layer.origin, whole);
        document.edit_layer(layer.id, |l| {
            l.content = content;
            l.origin = origin;
        });
    });
    state.runtime.tensors.axes = None;
    tensors::update::fit(state, effects);
    state.runtime.notices.status =
        format!("Gradients with {}; Ctrl+Z undoes this", turn.description()).into();
}
