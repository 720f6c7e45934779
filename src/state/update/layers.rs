//! Layers: order, visibility, saving.

use crate::state::LayerAction;
use crate::state::core::display::LineColouring;
use crate::state::core::layer::{Content, LayerId, OriginId};
use crate::state::edit::{edit, reveal, show_only};
use crate::state::files::jobs::{SaveMask, SaveVolume};
use crate::state::origin::{Origin, Origins};
use crate::state::streamlines::streamlines_of;
use crate::state::streamlines::update::export;
use crate::state::update::layers;
use crate::state::{Display, Document, Effect, Phase, State, Task, files, tensors};
use std::path::{Path, PathBuf};

/// Applies one action.
pub fn act(state: &mut State, action: LayerAction, effects: &mut Vec<Effect>) {
    match action {
        LayerAction::Select(layer) => select_layer(state, layer),
        LayerAction::SetDisplay {
            layer,
            display,
            phase,
        } => {
            let window = window_of_colouring(&state.document, layer, &display);
            edit(state, "Display", phase == Phase::Live, |d| {
                d.edit_layer(layer, |l| {
                    l.display = display;
                    l.display.window = window.unwrap_or(l.display.window);
                });
            });
            if phase == Phase::Done {
                files::opening::remember_window(state, layer, effects);
            }
        }
        LayerAction::Show { layer, visible } => {
            let alone = state.image_alone();
            edit(state, "Display", false, |d| {
                // The other eyes then show what Segment has shown so far.
                if let Some(image) = alone {
                    reveal(d, image);
                    d.segment.image_alone = false;
                }
                d.edit_layer(layer, |l| l.display.visible = visible);
            });
        }
        LayerAction::ShowOnly(layer) => {
            show_only(state, layer);
            state.document.segment.image_alone &= state.view.task != Task::Segment;
        }
        LayerAction::Move { layer, index } => layers::move_to(state, layer, index, effects),
        LayerAction::Rename { layer, name } => {
            edit(state, "Rename layer", false, |d| {
                d.edit_layer(layer, |l| l.name = name)
            });
        }
        LayerAction::Delete(layer) => layers::delete(state, layer, effects),
    }
}

/// Weights and measures share one window: where a colouring takes over from another, the window is that of its values.
fn window_of_colouring(document: &Document, id: LayerId, to: &Display) -> Option<(f32, f32)> {
    let layer = document.layer(id)?;
    let (from, to) = (&layer.display.line_colouring, &to.line_colouring);
    if from == to {
        return None;
    }
    match (from, to) {
        (_, LineColouring::Weight) => {
            let (weights, _) = document.weights_of_layer(layer)?;
            Some(weights.window())
        }
        (LineColouring::Weight, LineColouring::Measure) => {
            range(streamlines_of(layer)?.per_streamline.get("measure")?)
        }
        (LineColouring::Weight, LineColouring::MeasureAlong) => {
            range(streamlines_of(layer)?.per_point.get("cm")?)
        }
        _ => None,
    }
}

/// The least and the largest of the finite values.
fn range(values: &[f32]) -> Option<(f32, f32)> {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    (low < high).then_some((low, high))
}

pub fn move_to(state: &mut State, id: LayerId, to: usize, effects: &mut Vec<Effect>) {
    edit(state, "Move layer", false, |document| {
        if let Some(from) = document.layers.iter().position(|l| l.id == id) {
            let layer = document.layers.remove(from);
            document.layers.insert(to.min(document.layers.len()), layer);
        }
    });
    // The topmost scan is the one that is fitted.
    tensors::update::fit(state, effects);
}

pub fn delete(state: &mut State, id: LayerId, effects: &mut Vec<Effect>) {
    let mut maps = 0;
    edit(state, "Delete layer", false, |document| {
        // A map of streamlines is deleted with them: it could not be recomputed.
        let with = |l: LayerId| {
            let density = document.density_map(l).is_some_and(|m| m.input.layer == id);
            density || document.weight_map_recipe(l).is_some_and(|m| m.layer == id)
        };
        let gone: Vec<LayerId> = document
            .layers
            .iter()
            .map(|l| l.id)
            .filter(|l| with(*l))
            .collect();
        maps = gone.len();
        document.streamlines.forget(id);
        document.filter.forget(id);
        remember_mask(document, id);
        document
            .layers
            .retain(|l| l.id != id && !gone.contains(&l.id));
    });
    if maps > 0 {
        state.runtime.notices.status = "Deleted with its maps".into();
    }
    if state.runtime.selected_layer == Some(id) {
        state.runtime.selected_layer = None;
    }
    tensors::update::fit(state, effects);
}

/// Records the origin of a mask whose layer is deleted: commands of results that depend on it still refer to it.
fn remember_mask(document: &mut Document, id: LayerId) {
    let Some(layer) = document.layer(id) else {
        return;
    };
    let origin = layer.origin;
    let has_file = document.origins.path_in_place(origin).is_some();
    if let (Content::Mask(mask), true) = (&layer.content, has_file) {
        let mask = mask.id();
        document.mask_origins.add(mask, origin);
    }
}

/// The file of an opened image, whether or not it was moved; `None` for one that was resampled.
fn image_file(origins: &Origins, origin: OriginId) -> Option<&Path> {
    match origins.get(origin) {
        Origin::File { file, reading, .. } => Some(&**file).filter(|_| reading.warp.is_none()),
        Origin::Moved { input, .. } => image_file(origins, *input),
        _ => None,
    }
}

pub fn save(state: &State, id: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    let Some(layer) = state.document.layer(id) else {
        return;
    };
    let command = state.document.command_line(layer).text();
    effects.push(match layer.content.clone() {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Effect::submit(SaveVolume {
            source: image_file(&state.document.origins, layer.origin).map(Path::to_owned),
            volume,
            path,
            command,
        }),
        Content::Mask(mask) => Effect::submit(SaveMask {
            mask,
            path,
            command,
        }),
        Content::Tractogram(tractogram) => {
            return export::write(tractogram, path, command, effects);
        }
        // They are saved as streamlines, not as a layer.
        Content::InPlace(_) => return,
    });
}

/// The panel shows a layer, and no region.
fn select_layer(state: &mut State, layer: Option<LayerId>) {
    let chosen = state.runtime.streamlines.manual_selection.as_ref();
    if chosen.is_some_and(|c| Some(c.layer) != layer) {
        state.runtime.streamlines.manual_selection = None;
    }
    state.runtime.selected_layer = layer;
    state.runtime.regions.selected = None;
}
