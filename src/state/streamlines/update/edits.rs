//! Deleting streamlines, or keeping some as a layer of their own: each is a recorded step.

use crate::data::{DataId, Tractogram};
use crate::solvers::tractogram::selection::{Division, Edit, Groups, Runs};
use crate::state::core::display::{Display, LineColouring};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{counted, streamlines};
use crate::state::edit::edit;
use crate::state::filter::WEIGHT;
use crate::state::origin::commands::selection_options;
use crate::state::streamlines::in_place::in_place as in_file;
use crate::state::streamlines::jobs::edit::{
    EDIT, EditKind, EditStreamlines, EditedStreamlines, Recognition,
};
use crate::state::streamlines::jobs::in_place::{KeepInPlace, StreamlineSubset};
use crate::state::streamlines::recipe::ImageOption;
use crate::state::streamlines::update::{follow, in_place};
use crate::state::streamlines::{StreamlineRules, streamlines_of};
use crate::state::{Document, Effect, State, Task};
use std::sync::Arc;

/// Keeps the streamlines that the rules select as a new layer. The rules themselves are recorded; if they need images,
/// which another session may not have, or if the streamlines were moved, the selection is recorded instead.
pub fn keep(state: &mut State, effects: &mut Vec<Effect>) {
    if in_place::keep(state, effects) {
        return;
    }
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
    if let Some(step) = selecting_step(state, &streamline_rules, &lines) {
        let (layer, steps) = (streamline_rules.layer, vec![step]);
        request_edit(state, layer, lines, steps, EditKind::Keep, effects);
    }
}

/// The step that keeps what rules select; `None` while their result, or a value that they need, is being computed.
pub(super) fn selecting_step(
    state: &State,
    streamline_rules: &StreamlineRules,
    lines: &Tractogram,
) -> Option<Edit> {
    let rules = follow::applied_rules(state, streamline_rules, lines)?;
    let moved = state.document.moved(streamline_rules.layer).is_some();
    // Weights fitted here are in no file that another session would read.
    let by_weight = state.document.weights.contains_key(&streamline_rules.layer);
    let by_weight = by_weight && rules.values.iter().any(|v| v.name == WEIGHT);
    let by_rules = rules.given.is_empty() && rules.images.is_empty() && !moved && !by_weight;
    if by_rules {
        return Some(Edit::Select(Box::new(rules)));
    }
    let marks = state.counted_marks(streamline_rules.layer)?;
    Some(Edit::Keep(Runs {
        selection_options: selection_options(
            &state.document,
            streamline_rules,
            &rules,
            ImageOption::Select,
        )
        .filter(|_| !moved && !by_weight),
        ..Runs::new(&marks.0)
    }))
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
        let steps = vec![Edit::Keep(Runs::new(&marks))];
        request_edit(state, layer, lines, steps, EditKind::Keep, effects);
    }
}

pub fn delete_chosen(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some((layer, lines, marks)) = chosen(state) {
        let left: Vec<bool> = marks.iter().map(|m| !m).collect();
        let steps = vec![Edit::Keep(Runs::new(&left))];
        request_edit(state, layer, lines, steps, EditKind::Delete, effects);
    }
}

/// Keeps some of a layer's streamlines as a new layer.
pub fn keep_marked(state: &mut State, layer: LayerId, marks: &[bool], effects: &mut Vec<Effect>) {
    let lines = state.document.layer(layer).and_then(|l| streamlines_of(l));
    let steps = vec![Edit::Keep(Runs::new(marks))];
    if let Some(lines) = lines.filter(|lines| lines.len() == marks.len()).cloned() {
        return request_edit(state, layer, lines, steps, EditKind::Keep, effects);
    }
    let lines = state.document.layer(layer).and_then(|l| in_file(l));
    let file = lines.map(|lines| lines.file.clone());
    if let Some(file) = file.filter(|file| file.len() == marks.len()) {
        state.runtime.forget_failures(EDIT);
        effects.push(Effect::submit(KeepInPlace {
            layer,
            file: file.values_id(),
            subset: StreamlineSubset::Marked(file.pieces().clone(), marks.into()),
            steps,
        }));
    }
}

pub(super) fn request_edit(
    state: &mut State,
    layer: LayerId,
    tractogram: Tractogram,
    steps: Vec<Edit>,
    kind: EditKind,
    effects: &mut Vec<Effect>,
) {
    request(state, layer, (tractogram, steps, None), kind, effects);
}

/// Steps on streamlines, and the recognition of bundles after them.
pub(super) type Steps = (Tractogram, Vec<Edit>, Option<Box<Recognition>>);

pub(super) fn request(
    state: &mut State,
    layer: LayerId,
    (tractogram, steps, recognition): Steps,
    kind: EditKind,
    effects: &mut Vec<Effect>,
) {
    state.runtime.forget_failures(EDIT);
    if state.pending_transform(layer).is_some() {
        let sentence = match kind {
            EditKind::Group => {
                "The streamlines are being moved: wait, then divide them into bundles"
            }
            _ => "The streamlines are being moved: wait, then delete or keep them",
        };
        return state.runtime.notify(Severity::Information, sentence);
    }
    effects.push(Effect::submit(EditStreamlines {
        layer: layer.0,
        tractogram,
        steps,
        recognition,
        kind,
    }));
}

/// The steps as they are recorded: a session applies steps before it moves streamlines, so clusters of moved ones are
/// recorded by their members.
fn recorded(document: &Document, layer: LayerId, steps: Vec<Edit>, left: &Tractogram) -> Vec<Edit> {
    if document.moved(layer).is_none() {
        return steps;
    }
    let record = |step| match step {
        Edit::Cluster(params) => Edit::Group(Groups::new(left, Division::Clusters(params))),
        step => step,
    };
    steps.into_iter().map(record).collect()
}

/// Receives the result of steps.
pub fn done(
    state: &mut State,
    layer: u64,
    before: DataId,
    edited: EditedStreamlines,
    kind: EditKind,
) {
    let (steps, tractogram) = (edited.steps, edited.left);
    let id = LayerId(layer);
    let Some(old) = state.document.layer(id).cloned() else {
        return;
    };
    let counted_before = in_place::counted(&old).filter(|(id, _)| *id == before);
    let Some((_, had)) = counted_before else {
        let sentence = match kind {
            EditKind::Group => "The streamlines have changed: they were not divided into bundles",
            _ => "The streamlines have changed: nothing was deleted or kept",
        };
        return state.runtime.notify(Severity::Information, sentence);
    };
    let (left, groups) = (tractogram.len(), tractogram.groups.len());
    let is_recognised = matches!(steps.last(), Some(Edit::Group(_)));
    let nothing = match kind {
        EditKind::Keep if left == 0 => Some("No streamline is left to keep"),
        EditKind::Group if groups == 0 && is_recognised => {
            Some("No streamline belongs to a bundle of the recipe")
        }
        EditKind::Group if groups == 0 => {
            Some("No cluster is as large as Smallest cluster: lower that value")
        }
        _ => None,
    };
    if let Some(sentence) = nothing {
        return state.runtime.notify(Severity::Information, sentence);
    }
    let document = &state.document;
    let label = match kind {
        EditKind::Delete => "Delete streamlines",
        EditKind::Keep => "Keep streamlines",
        EditKind::Group if is_recognised => "Recognise bundles",
        EditKind::Group => "Cluster streamlines",
    };
    let name = name(document, &old, suffix(kind, is_recognised));
    let steps = recorded(document, id, steps, &tractogram);
    let fitted = document.weights.get(&id).map(|fitted| {
        let weights = tractogram.per_streamline.get(WEIGHT);
        Arc::new(fitted.for_subset(weights.map_or(&[], |w| &**w)))
    });
    // In Filter weights, maps and the cut stay those of the shown layer, where the cut's result is already visible.
    let filtered = state.document.filtered().map(|(layer, _)| layer.id);
    let stays = state.view.task == Task::Filter && filtered == Some(id) && fitted.is_some();
    let mut shown = id;
    edit(state, label, false, |document| {
        let origin = document.origins.edited(old.origin, &steps);
        if kind == EditKind::Delete {
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
        let mut display = Display {
            visible: !stays,
            ..old.display.clone()
        };
        if kind == EditKind::Group {
            display.line_colouring = LineColouring::Group;
            display.line_scale = display.line_scale.for_other_values();
        }
        let at = document.layers.iter().position(|l| l.id == id);
        let layer = Layer {
            id: shown,
            name,
            content: Content::Tractogram(tractogram),
            display,
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
    let count = streamlines(left as u64);
    let message = match kind {
        EditKind::Keep if stays => {
            let name = &old.name;
            format!("Kept {count} as a layer, hidden; Filter goes on with {name}")
        }
        EditKind::Keep => format!("Kept {count} as a layer"),
        EditKind::Group => {
            let noun = if is_recognised { "bundle" } else { "cluster" };
            format!("Divided {count} into {} as a layer", counted(groups, noun))
        }
        EditKind::Delete => format!("Deleted {}", streamlines((had - left) as u64)),
    };
    state.runtime.notices.status = message.into();
    notify_of_unmapped(state, &edited.unmapped);
}

/// Names the bundles for which the label map lacks labels.
fn notify_of_unmapped(state: &mut State, unmapped: &[String]) {
    if !unmapped.is_empty() {
        let bundles = counted(unmapped.len(), "bundle");
        let names = unmapped.join("; ");
        let sentence = format!("The label map lacks labels of {bundles}: {names}");
        state.runtime.notify(Severity::Information, sentence);
    }
}

/// The end of the name of a new layer.
fn suffix(kind: EditKind, is_recognised: bool) -> &'static str {
    match kind {
        EditKind::Group if is_recognised => "bundles",
        EditKind::Group => "clusters",
        _ => "selected",
    }
}

/// `Streamlines, selected`, with a number if there are several. Streamlines selected from selected ones are named after
/// the layer of all of them.
fn name(document: &Document, layer: &Layer, suffix: &str) -> String {
    let unedited = document.origins.unedited(layer.origin);
    let mut layers = std::iter::once(layer).chain(document.layers.iter().map(|l| &**l));
    let whole = layers.find(|l| l.origin == unedited).unwrap_or(layer);
    document.free_layer_name(&format!("{}, {suffix}", whole.name))
}
