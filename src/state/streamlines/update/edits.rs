//! Deleting streamlines, or keeping some as a layer of their own: each is a recorded step.

use crate::data::{DataId, Tractogram};
use crate::solvers::tractogram::selection::{Edit, Runs};
use crate::state::core::display::Display;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::streamlines;
use crate::state::edit::edit;
use crate::state::filter::WEIGHT;
use crate::state::origin::commands::selection_options;
use crate::state::streamlines::jobs::edit::{EDIT, EditStreamlines};
use crate::state::streamlines::streamlines_of;
use crate::state::streamlines::update::follow;
use crate::state::{Document, Effect, State, Task};
use std::sync::Arc;

/// Keeps the streamlines that the rules select as a new layer. The rules themselves are recorded; if they need images,
/// which another session may not have, or if the streamlines were moved, the selection is recorded instead.
pub fn keep(state: &mut State, effects: &mut Vec<Effect>) {
    // The present streamlines, else the only others that have rules.
    let settings = &state.document.streamlines;
    let own = state
        .current_streamlines()
        .and_then(|(layer, _)| settings.rules_of(layer.id));
    let Some(streamline_rules) = own.or_else(|| settings.rules().next()).cloned() else {
        return;
    };
    let layer = state.document.layer(streamline_rules.layer);
    let Some(lines) = layer.and_then(|l| streamlines_of(l)).cloned() else {
        return;
    };
    let Some(rules) = follow::applied_rules(state, &streamline_rules, &lines) else {
        return;
    };
    let moved = state.document.moved(streamline_rules.layer).is_some();
    // Weights fitted here are in no file that another session would read.
    let by_weight = state.document.weights.contains_key(&streamline_rules.layer);
    let by_weight = by_weight && rules.values.iter().any(|v| v.name == WEIGHT);
    let by_rules = rules.given.is_empty() && rules.images.is_empty() && !moved && !by_weight;
    let step = match (by_rules, state.selection(streamline_rules.layer)) {
        (true, _) => Edit::Select(Box::new(rules)),
        (false, Some(selection)) => Edit::Keep(Runs {
            selection_options: selection_options(&state.document, &streamline_rules, &rules)
                .filter(|_| !moved && !by_weight),
            ..Runs::new(&selection.marks.0)
        }),
        (false, None) => return,
    };
    request_edit(state, streamline_rules.layer, lines, step, true, effects);
}

fn chosen(state: &mut State) -> Option<(LayerId, Tractogram, Vec<bool>)> {
    let selection = state.manual_selection().and_then(|chosen| {
        let lines = streamlines_of(state.document.layer(chosen.layer)?)?;
        Some((chosen.layer, lines.clone(), chosen.marks.0.to_vec()))
    });
    if selection.is_none() {
        state.runtime.notices.status = "No streamlines are chosen".into();
    }
    selection
}

pub fn keep_chosen(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some((layer, lines, marks)) = chosen(state) {
        let step = Edit::Keep(Runs::new(&marks));
        request_edit(state, layer, lines, step, true, effects);
    }
}

pub fn delete_chosen(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some((layer, lines, marks)) = chosen(state) {
        let left: Vec<bool> = marks.iter().map(|m| !m).collect();
        request_edit(
            state,
            layer,
            lines,
            Edit::Keep(Runs::new(&left)),
            false,
            effects,
        );
    }
}

/// Keeps some of a layer's streamlines as a new layer.
pub fn keep_marked(state: &mut State, layer: LayerId, marks: &[bool], effects: &mut Vec<Effect>) {
    let lines = state.document.layer(layer).and_then(|l| streamlines_of(l));
    if let Some(lines) = lines.filter(|lines| lines.len() == marks.len()).cloned() {
        let step = Edit::Keep(Runs::new(marks));
        request_edit(state, layer, lines, step, true, effects);
    }
}

fn request_edit(
    state: &mut State,
    layer: LayerId,
    tractogram: Tractogram,
    step: Edit,
    fresh: bool,
    effects: &mut Vec<Effect>,
) {
    state.runtime.forget_failures(EDIT);
    if state.pending_transform(layer).is_some() {
        let sentence = "The streamlines are being moved: wait, then delete or keep them";
        return state.runtime.notify(Severity::Information, sentence);
    }
    effects.push(Effect::submit(EditStreamlines {
        layer: layer.0,
        tractogram,
        edit: step,
        fresh,
    }));
}

/// Receives the result of a step.
pub fn done(
    state: &mut State,
    layer: u64,
    edited: DataId,
    (step, tractogram): (Edit, Tractogram),
    fresh: bool,
) {
    let id = LayerId(layer);
    let Some(old) = state.document.layer(id).cloned() else {
        return;
    };
    let Some(before) = streamlines_of(&old).filter(|lines| lines.id() == edited) else {
        let sentence = "The streamlines have changed: nothing was deleted or kept";
        return state.runtime.notify(Severity::Information, sentence);
    };
    let (had, left) = (before.len(), tractogram.len());
    if fresh && left == 0 {
        let sentence = "No streamline is left to keep";
        return state.runtime.notify(Severity::Information, sentence);
    }
    let document = &state.document;
    let label = if fresh {
        "Keep streamlines"
    } else {
        "Delete streamlines"
    };
    let name = name(document, &old);
    let fitted = document.weights.get(&id).map(|fitted| {
        let weights = tractogram.per_streamline.get(WEIGHT);
        Arc::new(fitted.for_subset(weights.map_or(&[], |w| &**w)))
    });
    // In Filter weights, maps and the cut stay those of the shown layer, where the cut's result is already visible.
    let filtered = state.document.filtered().map(|(layer, _)| layer.id);
    let stays = state.view.task == Task::Filter && filtered == Some(id) && fitted.is_some();
    let mut shown = id;
    edit(state, label, false, |document| {
        let origin = document.origins.edited(old.origin, &[step]);
        if !fresh {
            if let Some(fitted) = fitted {
                document.weights.insert(id, fitted);
            }
            document.edit_layer(id, |layer| {
                layer.content = Content::Tractogram(tractogram);
                layer.origin = origin;
            });
            return;
        }
        shown = LayerId(document.fresh_id());
        if let Some(mut fitted) = fitted {
            // Virtual lesions were computed for all of them.
            Arc::make_mut(&mut fitted).lesions.clear();
            document.weights.insert(shown, fitted);
        }
        // Replaces its source, which becomes invisible.
        document.edit_layer(id, |layer| layer.display.visible = stays);
        if stays {
            document.filter.tractogram = Some(id);
        }
        let at = document.layers.iter().position(|l| l.id == id);
        let layer = Layer {
            id: shown,
            name,
            content: Content::Tractogram(tractogram),
            display: Display {
                visible: !stays,
                ..old.display.clone()
            },
            origin,
            ..(*old).clone()
        };
        let at = at.map_or(document.layers.len(), |at| at + 1);
        document.layers.insert(at, Arc::new(layer));
        if !stays {
            document.streamlines.remove_rules(id);
        }
    });
    state.runtime.streamlines.manual_selection = None;
    state.runtime.selected_layer = Some(shown);
    state.runtime.regions.selected = None;
    let message = match fresh {
        true if stays => format!(
            "Kept {} as a layer, hidden; Filter goes on with {}",
            streamlines(left as u64),
            old.name
        ),
        true => format!("Kept {} as a layer", streamlines(left as u64)),
        false => format!("Deleted {}", streamlines((had - left) as u64)),
    };
    state.runtime.notices.status = message.into();
}

/// `Streamlines, selected`, with a number if there are several. Streamlines selected from selected ones are named after
/// the layer of all of them.
fn name(document: &Document, layer: &Layer) -> String {
    let unedited = document.origins.unedited(layer.origin);
    let mut layers = std::iter::once(layer).chain(document.layers.iter().map(|l| &**l));
    let whole = layers.find(|l| l.origin == unedited).unwrap_or(layer);
    document.free_layer_name(&format!("{}, selected", whole.name))
}
