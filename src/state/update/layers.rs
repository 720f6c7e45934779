//! Layers: order, visibility, saving.

use crate::state::document::{Content, LayerId};
use crate::state::files::jobs::{SaveMask, SaveVolume};
use crate::state::recipe::{Recipe, Source};
use crate::state::track::kept;
use crate::state::update::edit;
use crate::state::{Effect, State, tensors};
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
            let density = document.maps.get(&l).is_some_and(|m| m.of == id);
            density || document.weight_maps.get(&l).is_some_and(|m| m.of == id)
        };
        let gone: Vec<LayerId> = document
            .layers
            .iter()
            .map(|l| l.id)
            .filter(|l| with(*l))
            .collect();
        maps = gone.len();
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

/// The file of an image that was opened, moved or not.
fn image_file(recipe: &Recipe) -> Option<&Path> {
    match recipe {
        Recipe::File(file) | Recipe::FileAs { file, .. } => Some(file),
        Recipe::Scan(Source::File { dwi, .. }) => Some(dwi),
        Recipe::Moved { of, .. } => image_file(of),
        _ => None,
    }
}

pub fn save(state: &State, id: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    let Some(layer) = state.document.layer(id) else {
        return;
    };
    let command = layer.recipe.command();
    effects.push(match layer.content.clone() {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Effect::submit(SaveVolume {
            from: image_file(&layer.recipe).map(Path::to_owned),
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
