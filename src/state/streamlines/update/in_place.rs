//! Requests what the views show of streamlines that stay in their file, and the work that reads all of them.

use crate::io::{InPlace, Sample};
use crate::state::core::layer::{LayerId, StreamlinesInPlace};
use crate::state::core::live::{Detail, Live, Order, Pace};
use crate::state::core::notices::Severity;
use crate::state::streamlines::in_place::{InPlaceRuntime, PictureKey, PictureOf, in_place};
use crate::state::streamlines::jobs::colours::ColourStreamlines;
use crate::state::streamlines::jobs::edit::EDIT;
use crate::state::streamlines::jobs::from_file::connectome::ConnectomeOfFile;
use crate::state::streamlines::jobs::from_file::describe::DescribeStreamlines;
use crate::state::streamlines::jobs::from_file::select::SelectInFile;
use crate::state::streamlines::jobs::from_file::table::ValuesOfFile;
use crate::state::streamlines::jobs::in_place::{
    ConnectedInPlace, DrawInPlace, InWindow, KeepInPlace, KeptInPlace, LengthsInPlace, SaveInPlace,
    StreamlineSubset, ValuesInPlace,
};
use crate::state::streamlines::jobs::table::Measure;
use crate::state::streamlines::update::edits;
use crate::state::streamlines::update::follow::{image_columns, matrix_value};
use crate::state::streamlines::update::{applied_rules, regions, selection_command};
use crate::state::streamlines::{
    BottomPanel, ColumnKey, ConnectKey, SameArc, SameShape, SelectionKey,
};
use crate::state::{Effect, State};
use std::path::Path;
use std::sync::Arc;

/// The runtime state of a layer whose streamlines stay in their file.
pub fn runtime_mut(state: &mut State, layer: LayerId) -> Option<&mut InPlaceRuntime> {
    state.runtime.streamlines.in_place.get_mut(&layer)
}

/// One of the pictures of a layer.
pub fn picture_mut(
    state: &mut State,
    layer: LayerId,
    picture: PictureOf,
) -> Option<&mut Live<PictureKey, Sample>> {
    let runtime = runtime_mut(state, layer)?;
    Some(match picture {
        PictureOf::Whole => &mut runtime.whole,
        PictureOf::View => &mut runtime.near,
    })
}

/// Receives streamlines to be drawn.
pub fn drawn(state: &mut State, job: &DrawInPlace, sample: Sample, detail: Detail) {
    let layer = state.document.layer(job.layer).cloned();
    let requested = layer.and_then(|layer| match job.picture {
        PictureOf::Whole => state.picture_key(&layer),
        PictureOf::View => state.near_key(&layer),
    });
    if let Some(live) = picture_mut(state, job.layer, job.picture) {
        live.done(job.key.clone(), detail, sample, requested.as_ref());
    }
}

pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let layers = state.document.layers.iter();
    let layers = layers.filter_map(|l| Some((l.id, in_place(l)?.clone())));
    let layers: Vec<(LayerId, Arc<StreamlinesInPlace>)> = layers.collect();
    let known = &mut state.runtime.streamlines.in_place;
    known.retain(|id, runtime| {
        let exists = layers.iter().any(|(layer, _)| layer == id);
        if !exists {
            stop(*id, runtime, effects);
        }
        exists
    });
    for (layer, lines) in layers {
        state.runtime.streamlines.in_place.entry(layer).or_default();
        filter(state, layer, &lines, effects);
        pictures(state, layer, &lines, effects);
    }
}

/// Stops the work on a layer that was deleted.
fn stop(layer: LayerId, runtime: &InPlaceRuntime, effects: &mut Vec<Effect>) {
    let slots = [
        (
            runtime.whole.running().is_some(),
            DrawInPlace::slot_of(layer, PictureOf::Whole),
        ),
        (
            runtime.near.running().is_some(),
            DrawInPlace::slot_of(layer, PictureOf::View),
        ),
        (
            runtime.kept.running().is_some(),
            KeptInPlace::slot_of(layer),
        ),
        (
            runtime.lengths.running().is_some(),
            LengthsInPlace::slot_of(layer),
        ),
        (
            runtime.near_colours.running().is_some(),
            ColourStreamlines::slot_of(layer, PictureOf::View),
        ),
    ];
    let running = slots.into_iter().filter(|(is_running, _)| *is_running);
    effects.extend(running.map(|(_, slot)| Effect::Cancel(slot)));
}

/// Requests the streamlines that the rules of a layer keep.
fn filter(
    state: &mut State,
    layer: LayerId,
    lines: &StreamlinesInPlace,
    effects: &mut Vec<Effect>,
) {
    let rules = state.document.streamlines.rules_of(layer).cloned();
    let Some(streamline_rules) = rules else {
        let kept = runtime_mut(state, layer).map(|runtime| &mut runtime.kept);
        let order = kept.map(|kept| kept.follow(None, false, Pace::Newest));
        if order == Some(Order::Cancel) {
            effects.push(Effect::Cancel(KeptInPlace::slot_of(layer)));
        }
        return;
    };
    // All of the file is read, so a drag is waited for.
    if state.history.is_open() {
        return;
    }
    let requested = SelectionKey {
        tractogram: lines.file.values_id(),
        rules: streamline_rules.clone(),
        regions: regions(state, &streamline_rules)
            .into_iter()
            .map(|(how, r)| (r.id, how, SameShape(r.shape.clone())))
            .collect(),
        images: image_columns(&streamline_rules)
            .filter_map(|column| state.origin(column))
            .map(|source| ColumnKey {
                tractogram: lines.file.values_id(),
                source,
            })
            .collect(),
    };
    let Some(rules) = applied_rules(state, &streamline_rules, &lines.names) else {
        return;
    };
    let Some(runtime) = runtime_mut(state, layer) else {
        return;
    };
    match runtime.kept.follow(Some(&requested), false, Pace::Newest) {
        Order::Start(key, _) => {
            let work = SelectInFile {
                pieces: lines.file.pieces().clone(),
                rules,
                coverages: Vec::new(),
                keeps_copies: false,
            };
            let receiver = KeptInPlace { layer, key };
            effects.push(Effect::submit(InWindow { work, receiver }));
        }
        Order::Nothing | Order::Cancel => {}
    }
}

/// Requests the streamlines to be drawn. While the camera moves, those of all views suffice.
fn pictures(
    state: &mut State,
    layer: LayerId,
    lines: &StreamlinesInPlace,
    effects: &mut Vec<Effect>,
) {
    let Some(shown) = state.document.layer(layer).cloned() else {
        return;
    };
    // A hidden layer keeps what it has.
    if !shown.display.visible {
        return;
    }
    let is_first_complete = lines.first.is_complete && !state.has_rules(layer);
    let whole = state.picture_key(&shown).filter(|_| !is_first_complete);
    let near = state.near_key(&shown);
    let mut requests = vec![(PictureOf::Whole, whole)];
    if !state.view.moving {
        requests.push((PictureOf::View, near));
    }
    for (picture, requested) in requests {
        let Some(live) = picture_mut(state, layer, picture) else {
            continue;
        };
        match live.follow(requested.as_ref(), false, Pace::Newest) {
            Order::Start(key, _) => effects.push(Effect::submit(DrawInPlace {
                layer,
                file: lines.file.clone(),
                picture,
                key,
            })),
            Order::Cancel => effects.push(Effect::Cancel(DrawInPlace::slot_of(layer, picture))),
            Order::Nothing => {}
        }
    }
}

/// Requests the matrix of the current streamlines if they stay in their file; returns whether they do.
pub(super) fn connect(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    let is_open = state.view.bottom_panel == Some(BottomPanel::Matrix);
    let Some((layer, lines)) = state.current_in_place().filter(|_| is_open) else {
        return false;
    };
    let labels = state.label_map().cloned();
    let Some((labels, volume)) = labels.and_then(|l| Some((l.id, l.content.volume()?.clone())))
    else {
        state.runtime.streamlines.connect.ask(None);
        return true;
    };
    let (id, file, names) = (layer.id, lines.file.clone(), lines.names.clone());
    let kept = state.counted_in_place(id);
    // The matrix counts the streamlines that the rules keep, once they are known.
    if state.has_rules(id) && kept.is_none() {
        return true;
    }
    let marks = kept.map(|kept| SameArc(kept.marks().clone()));
    let settings = &state.document.streamlines.connect;
    let (column, measure) = matrix_value(state, &names);
    let requested = ConnectKey {
        tractogram: file.values_id(),
        marks: marks.clone(),
        labels: (labels, volume.id(), 0),
        params: settings.params,
        value: column.and_then(|c| state.origin(&c)),
    };
    let job = ConnectomeOfFile {
        pieces: file.pieces().clone(),
        labels: volume,
        params: settings.params,
        value: measure,
        coverages: Vec::new(),
        marks: marks.map(|marks| marks.0),
    };
    if state
        .runtime
        .streamlines
        .connect
        .ask(Some(requested))
        .is_some()
    {
        effects.push(Effect::submit(InWindow {
            work: job,
            receiver: ConnectedInPlace,
        }));
    }
    true
}

/// Measures the lengths of all streamlines of a layer.
pub fn measure(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    let lines = state.document.layer(layer).and_then(|l| in_place(l));
    let Some(file) = lines.map(|lines| lines.file.clone()) else {
        return;
    };
    let Some(runtime) = runtime_mut(state, layer) else {
        return;
    };
    runtime.lengths.retry();
    if runtime.lengths.ask(Some(file.id())).is_some() {
        let work = DescribeStreamlines {
            pieces: file.pieces().clone(),
            compared: false,
        };
        let receiver = LengthsInPlace { layer };
        effects.push(Effect::submit(InWindow { work, receiver }));
    }
}

/// Saves the streamlines of a layer, with rules only those that they keep; returns whether they stay in their file.
pub(super) fn save(
    state: &mut State,
    layer: LayerId,
    path: &Path,
    effects: &mut Vec<Effect>,
) -> bool {
    let Some(own) = state.document.layer(layer).cloned() else {
        return false;
    };
    let Some(lines) = in_place(&own) else {
        return false;
    };
    let kept = state.counted_in_place(layer).cloned();
    let is_ready = !state.is_counting_in_place(layer) && kept.is_some();
    let command = selection_command(state, &own);
    let (true, Some(command)) = (is_ready || !state.has_rules(layer), command) else {
        let sentence = "The result of the filter is not ready: wait for it or change the filter, then export again";
        state.runtime.notify(Severity::Information, sentence);
        return true;
    };
    if refuse_own_file(state, &lines.file, path) {
        return true;
    }
    let all = || StreamlineSubset::All(lines.file.pieces().clone());
    effects.push(Effect::submit(SaveInPlace {
        subset: kept.map_or_else(all, |kept| StreamlineSubset::Kept(Box::new(kept))),
        path: path.to_owned(),
        command: command.text(),
    }));
    true
}

/// Refuses, with a message, to write streamlines into the file in which they stay; returns whether it did.
pub fn refuse_own_file(state: &mut State, file: &InPlace, path: &Path) -> bool {
    let is_own = file.path() == path;
    if is_own {
        let sentence = format!(
            "The streamlines stay in this file and cannot be written into it; choose another name: {}",
            path.display()
        );
        state.runtime.notify(Severity::Error, sentence);
    }
    is_own
}

/// Reads the streamlines that the rules keep into memory as a new layer; returns whether they stay in their file.
pub(super) fn keep(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    let Some((layer, lines)) = state.current_in_place() else {
        return false;
    };
    let (id, file, names) = (layer.id, lines.file.values_id(), lines.names.clone());
    let Some(streamline_rules) = state.document.streamlines.rules_of(id).cloned() else {
        return false;
    };
    let kept = state.counted_in_place(id).cloned();
    let kept = kept.filter(|_| !state.is_counting_in_place(id));
    let step = edits::selecting_step(state, &streamline_rules, &names);
    let (Some(kept), Some(step)) = (kept, step) else {
        let sentence =
            "The result of the filter is not ready: wait for it, then keep the streamlines";
        state.runtime.notify(Severity::Information, sentence);
        return true;
    };
    state.runtime.forget_failures(EDIT);
    effects.push(Effect::submit(KeepInPlace {
        layer: id,
        file,
        subset: StreamlineSubset::Kept(Box::new(kept)),
        steps: vec![step],
    }));
    true
}

/// Computes values of all streamlines of a file.
pub(super) fn values(file: &InPlace, measures: Vec<Measure>) -> Effect {
    let work = ValuesOfFile {
        pieces: file.pieces().clone(),
        measures,
        coverages: Vec::new(),
    };
    Effect::submit(InWindow {
        work,
        receiver: ValuesInPlace,
    })
}

/// Whether the streamlines of a layer stay in their file.
pub(super) fn stays(layer: &crate::state::Layer) -> bool {
    in_place(layer).is_some()
}

/// The identity and number of a layer's streamlines, whether or not they stay in their file.
pub(super) fn counted(layer: &crate::state::Layer) -> Option<(crate::data::DataId, usize)> {
    use crate::state::streamlines::streamlines_of;
    let own = streamlines_of(layer).map(|lines| (lines.id(), lines.len()));
    own.or_else(|| in_place(layer).map(|lines| (lines.file.values_id(), lines.file.len())))
}

/// A sentence for an action that needs all points in memory, if the current streamlines stay in their file.
pub(super) fn refuse(state: &mut State) -> bool {
    let Some((layer, _)) = state.current_in_place() else {
        return false;
    };
    let sentence = format!(
        "This needs all points of “{}” in memory, and they stay in their file: switch its filter on, then click Keep \
         matching",
        Arc::clone(layer).name
    );
    state.runtime.notify(Severity::Information, sentence);
    true
}
