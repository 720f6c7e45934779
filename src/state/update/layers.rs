//! Layers: order, visibility, saving.

use crate::state::core::layer::Content;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::edit::edit;
use crate::state::files::jobs::{SaveMask, SaveVolume};
use crate::state::origin::{Origin, Origins};
use crate::state::track::kept;
use crate::state::{Document, Effect, State, tensors};
use std::path::{Path, PathBuf};

pub fn show_only(state: &mut State, id: LayerId) {
    edit(state, "Show layer", false, |document| {
        let images = document
            .layers
            .iter()
            .filter(|l| l.content.volume().is_some());
        for other in images.map(|l| l.id).collect::<Vec<_>>() {
            document.edit_layer(other, |l| l.display.visible = l.id == id);
        }
    });
    state.session.selected_layer = Some(id);
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
        // A map of streamlines goes with them: nothing could make it again.
        let with = |l: LayerId| {
            let density = document.density_map(l).is_some_and(|m| m.of.layer == id);
            density || document.map_of(l).is_some_and(|m| m.of == id)
        };
        let gone: Vec<LayerId> = document
            .layers
            .iter()
            .map(|l| l.id)
            .filter(|l| with(*l))
            .collect();
        maps = gone.len();
        remember_mask(document, id);
        document
            .layers
            .retain(|l| l.id != id && !gone.contains(&l.id));
    });
    if maps > 0 {
        "Deleted with the maps of it".clone_into(&mut state.session.status);
    }
    if state.session.selected_layer == Some(id) {
        state.session.selected_layer = None;
    }
    tensors::update::fit(state, effects);
}

/// Notes the file of a mask whose layer goes: commands of what was made with it name that still.
fn remember_mask(document: &mut Document, id: LayerId) {
    let Some(layer) = document.layer(id) else {
        return;
    };
    let file = document.origins.path_in_place(layer.origin);
    if let (Content::Mask(mask), Some(file)) = (&layer.content, file) {
        let known = (mask.id(), file.to_owned());
        if !document.mask_files.contains(&known) {
            document.mask_files.push(known);
        }
    }
}

/// The file of an image that was opened, moved or not.
fn image_file(origins: &Origins, origin: OriginId) -> Option<&Path> {
    match origins.get(origin) {
        Origin::File { file, .. } => Some(file),
        Origin::Moved { from, .. } => image_file(origins, *from),
        _ => None,
    }
}

pub fn save(state: &State, id: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    let Some(layer) = state.document.layer(id) else {
        return;
    };
    let command = state.document.recipe(layer).command();
    effects.push(match layer.content.clone() {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Effect::submit(SaveVolume {
            from: image_file(&state.document.origins, layer.origin).map(Path::to_owned),
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
            return kept::write(tractogram, path, command, effects);
        }
    });
}
