//! Layers of a session that are restored after opening it: their files are found, or they are recomputed.

use crate::state::core::layer::{Content as LayerContent, Layer, LayerId};
use crate::state::core::notices::{Severity, Topic};
use crate::state::core::text::counted;
use crate::state::edit::{changed, edit};
use crate::state::files::jobs::LOAD;
use crate::state::origin::{Origin, Recipe};
use crate::state::sessions::jobs::{
    LoadLayers, RECOMPUTE_CURVES, RecomputeCurves, RecomputedCurves, RestoredLayers,
};
use crate::state::sessions::saved;
use crate::state::sessions::update::submit;
use crate::state::sessions::{FileComparison, Match, ReadSession, SessionContents};
use crate::state::{Effect, State, tensors};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the file of a missing layer.
pub(in crate::state) fn restore(
    state: &mut State,
    layer: LayerId,
    path: PathBuf,
    effects: &mut Vec<Effect>,
) {
    state.runtime.forget_failures(LOAD);
    let Some(missing) = state.document.missing_layer(layer) else {
        return;
    };
    match saved::relocated(missing, path) {
        Ok(item) => {
            let items = vec![(layer.0, item)];
            let job = LoadLayers::new(items).staying(state.runtime.files.stay);
            submit(effects, job);
        }
        Err(why) => state.runtime.notify_failure(LOAD, why.to_string()),
    }
}

pub(in crate::state) fn was_restored(
    state: &mut State,
    restored: RestoredLayers,
    effects: &mut Vec<Effect>,
) {
    let mut here = Vec::new();
    for (id, outcome) in restored {
        let Some(missing) = state.document.missing_layer(LayerId(id)).cloned() else {
            continue;
        };
        let outcome = outcome.and_then(|layer| {
            // The layer belongs to the session, so this is not a step: undoing it would remove the layer again.
            saved::restore_missing(&mut state.document, &missing, layer)
        });
        match outcome {
            Ok((notes, read)) => {
                for note in notes {
                    state.runtime.notify(Severity::from(&note), note.sentence);
                }
                changed(state);
                here.push(LayerId(id));
                // A map follows its streamlines; their status says more.
                if !missing.is_map_of_streamlines() {
                    state.runtime.notices.status = format!("Found {}", missing.layer.name).into();
                }
                let path = state.document.layer(LayerId(id));
                let path = path.and_then(|l| state.document.path(l).map(Path::to_owned));
                if let (Some(before), Some(now)) = (missing.file(), &path) {
                    point_snapshots_to(state, (&missing.session, before), (&read, now));
                }
                mark_as_same(state, path);
            }
            Err(why) => state.runtime.notify_failure(LOAD, why.to_string()),
        }
    }
    if let Some(saved) = state.document.session.unrestored.awaited.clone() {
        state.document.arrange_as(saved.layers());
    }
    make_maps(state, &here, effects);
    tensors::update::fit(state, effects);
}

/// Results in snapshots of the session refer to the file where it was found, too.
fn point_snapshots_to(
    state: &mut State,
    before: (&Arc<ReadSession>, &Path),
    now: (&Arc<ReadSession>, &Path),
) {
    if before.1 == now.1 {
        return;
    }
    let snapshots = &mut state.runtime.snapshots;
    for snapshot in &mut snapshots.all {
        let old = snapshot.clone();
        let document = &mut Arc::make_mut(snapshot).document;
        document.replace_session(before.0, now.0);
        saved::point_to(document, before.1, now.1);
        let comparing = snapshots.comparing.as_mut();
        if let Some(comparing) = comparing.filter(|c| Arc::ptr_eq(&c.snapshot, &old)) {
            comparing.snapshot = snapshot.clone();
        }
    }
}

/// Computes the missing density maps of streamlines that were restored.
fn make_maps(state: &State, streamlines: &[LayerId], effects: &mut Vec<Effect>) {
    let items = saved::maps_of(&state.document, streamlines);
    if !items.is_empty() {
        submit(effects, LoadLayers::new(items));
    }
}

/// The file now at this path is the session's from here on.
fn mark_as_same(state: &mut State, path: Option<PathBuf>) {
    let (Some(path), Some(opened)) = (path, &mut state.runtime.sessions.opened) else {
        return;
    };
    for file in &mut Arc::make_mut(opened).files {
        if file.path == path {
            file.standing = FileComparison::Same;
        }
    }
}

pub(in crate::state) fn recompute(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(RECOMPUTE_CURVES);
    let document = &state.document;
    let Some(missing) = document.missing_layer(layer).cloned() else {
        return;
    };
    let name = missing.layer.name.clone();
    let request = match missing.curve_recipe(document) {
        None => return,
        Some(Err(why)) => Err(format!("{name} cannot be recomputed: {why}")),
        Some(Ok(recipe)) => {
            RecomputeCurves::new(document, layer.0, &name, &recipe).map_err(|e| e.to_string())
        }
    };
    match request {
        Ok(request) => {
            let result = saved::result_name(layer.0);
            let stored_sum = missing
                .session
                .results
                .iter()
                .find(|r| r.result == result)
                .cloned();
            let edits = match missing.edits() {
                Ok(edits) => edits,
                Err(why) => {
                    return state
                        .runtime
                        .notify_failure(RECOMPUTE_CURVES, why.to_string());
                }
            };
            let request = RecomputeCurves {
                stored_sum,
                edits,
                ..request
            };
            submit(effects, request);
        }
        Err(sentence) => state.runtime.notify_failure(RECOMPUTE_CURVES, sentence),
    }
}

pub(in crate::state) fn recomputed(
    state: &mut State,
    layer: u64,
    output: RecomputedCurves,
    wall_ms: f64,
    effects: &mut Vec<Effect>,
) {
    let RecomputedCurves {
        tractogram,
        outcome,
    } = output;
    let id = LayerId(layer);
    let Some(missing) = state.document.missing_layer(id).cloned() else {
        return;
    };
    let Some(Ok(recipe)) = missing.curve_recipe(&state.document) else {
        return;
    };
    let edits = missing.edits().unwrap_or_default();
    let name = missing.layer.name.clone();
    let streamlines = counted(tractogram.len(), "streamline");
    let mut lost = None;
    let before = state.history.revision();
    edit(state, "Recompute", false, |document| {
        document.remove_missing_layer(id);
        let origin = document
            .origins
            .add(Origin::Computed(Recipe::Curves(recipe)));
        let origin = document.origins.edited(origin, &edits);
        let content = LayerContent::Tractogram(tractogram);
        let display = missing.layer.display.clone();
        let layer = Layer::new(id, name.clone(), content, display, origin);
        document.layers.push(Arc::new(layer));
        let same = outcome == Some(Match::SameBytes);
        lost = saved::restore_weights(document, &missing, same);
    });
    if outcome == Some(Match::SameBytes) {
        let base = Arc::make_mut(&mut state.runtime.sessions.base);
        base.is_back(&state.document, id, (before, state.history.revision()));
    }
    make_maps(state, &[id], effects);
    if let Some(sentence) = lost {
        state.runtime.notify(Severity::Warning, sentence);
    }
    let text = outcome.map_or(String::new(), |o| format!(", {}", o.label()));
    let seconds = wall_ms / 1e3;
    state.runtime.notices.status =
        format!("Recomputed {name}: {streamlines} in {seconds:.1} s{text}").into();
    if outcome == Some(Match::Differs) {
        state.runtime.notify(
            Severity::Warning,
            format!(
                "{name} was recomputed and differs from the session: another version, or changed files"
            ),
        );
    }
}

/// Reports that unsaved work was recovered, until it is saved; returns the status line.
pub(in crate::state) fn notify_recovered(state: &mut State, contents: &SessionContents) -> String {
    // The status uses the name that the header and the offer show.
    let file = state.runtime.sessions.file.as_ref();
    let recovered = match file.and_then(|f| f.file_name()) {
        Some(file) => format!("Recovered {}", file.to_string_lossy()),
        None => format!("Recovered {}", state.document.name),
    };
    let sentence = format!(
        "{}. Save the session to keep it",
        match &*contents.parts() {
            [] => recovered.clone(),
            parts => format!("{recovered}: {}", parts.join(", ")),
        }
    );
    state
        .runtime
        .notify_about(Topic::Recovered, Severity::Information, sentence);
    recovered
}
