//! Streamlines and rays as files: those of a layer, and the live ones.

use crate::data::Tractogram;
use crate::io::Format;
use crate::jobs::ValueNames;
use crate::state::core::layer::{Content, LayerId};
use crate::state::core::notices::Severity;
use crate::state::document::Method;
use crate::state::files::jobs::{SaveTractogram, SaveWithValues};
use crate::state::runtime::TourStep;
use crate::state::streamlines::update::{in_place, selection_command};
use crate::state::track::jobs::LIVE;
use crate::state::track::kept_layers::NOT_FINAL;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};

/// Saves a layer's streamlines, or the live ones; of a layer with rules only those that they keep.
pub fn save(state: &mut State, layer: Option<LayerId>, path: PathBuf, effects: &mut Vec<Effect>) {
    if layer.is_some_and(|id| in_place::save(state, id, &path, effects)) {
        return;
    }
    if let Some(id) = layer.filter(|id| state.has_rules(*id)) {
        return save_selection(state, id, path, effects);
    }
    let source = match layer {
        Some(id) => state.document.layer(id).and_then(|l| match &l.content {
            Content::Tractogram(t) => Some((t.clone(), state.document.command_line(l).text())),
            _ => None,
        }),
        None => {
            let live = state.final_live();
            live.map(|l| {
                let line = state.document.live_command_line(l);
                (l.output.kept.clone(), line.text())
            })
        }
    };
    let Some((tractogram, command)) = source else {
        let sentence = match (
            state.runtime.track.live.value().is_some(),
            state.document.track.method,
        ) {
            (true, _) => NOT_FINAL,
            (false, Method::Streamlines) => {
                "There are no streamlines to save yet: place a seed first"
            }
            (false, Method::Rays) => "There are no rays to save yet: place a seed first",
        };
        state.runtime.notify_failure(LIVE, sentence.to_owned());
        return;
    };
    let tractogram = with_grid(state, tractogram);
    write(tractogram, path, command, effects);
    state.runtime.tour_step_done(TourStep::Save);
}

fn save_selection(state: &mut State, id: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    let layer = state.document.layer(id).cloned();
    let marks = state.selection_result(id).map(|s| s.marks.0.clone());
    let command = layer.as_deref().and_then(|l| selection_command(state, l));
    let (Some(layer), Some(marks), Some(command)) = (layer, marks, command) else {
        return state.runtime.notify(
            Severity::Information,
            "The result of the filter is not ready: wait for it or change the filter, then export again",
        );
    };
    let Content::Tractogram(tractogram) = &layer.content else {
        return;
    };
    effects.push(Effect::submit(SaveWithValues {
        tractogram: with_grid(state, tractogram.clone()),
        only: Some(marks),
        path,
        command: command.text(),
        replace: true,
    }));
    state.runtime.tour_step_done(TourStep::Save);
}

/// Adds the grid of the document's scan, else of its first image, if a file has none: some formats require one. No
/// point is moved.
pub fn with_grid(state: &State, tractogram: Tractogram) -> Tractogram {
    if tractogram.grid.is_some() {
        return tractogram;
    }
    let mut layers = state
        .document
        .scan()
        .into_iter()
        .chain(&state.document.layers);
    match layers.find_map(|l| l.content.volume()) {
        Some(volume) => tractogram.with_grid(volume.grid.clone()),
        None => tractogram,
    }
}

/// The data of a layer's streamlines, or of the live ones, that a file of this name would not hold; values written to
/// files next to a TCK are not lost.
pub fn unsupported_contents(state: &State, layer: Option<LayerId>, path: &Path) -> Vec<String> {
    let tractogram = match layer {
        Some(id) => state.document.layer(id).and_then(|l| match &l.content {
            Content::Tractogram(tractogram) => Some(tractogram),
            Content::InPlace(lines) => Some(&lines.names),
            _ => None,
        }),
        None => state.final_live().map(|live| &live.output.kept),
    };
    let (Some(tractogram), Some(format)) = (tractogram, Format::named(path)) else {
        return Vec::new();
    };
    let values = ValueNames::from_tractogram(tractogram);
    let mut unsupported = values.losses(tractogram, path);
    unsupported.extend(values.refusals_seen(tractogram, path));
    unsupported.extend(format.unsupported_grid(tractogram));
    unsupported
}

/// Writes a streamline file and, next to a TCK, the values that it does not hold.
pub fn write(tractogram: Tractogram, path: PathBuf, command: String, effects: &mut Vec<Effect>) {
    let values = ValueNames::from_tractogram(&tractogram);
    effects.push(Effect::submit(SaveTractogram {
        tractogram,
        path,
        command,
        values,
    }));
}
