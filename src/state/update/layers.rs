//! Layers: order, visibility, saving.

use super::{edit, fitting, kept};
use crate::jobs::Request;
use crate::state::document::{Content, LayerId};
use crate::state::{Effect, State};
use std::path::PathBuf;

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
    fitting::fit(state, effects);
}

pub fn delete(state: &mut State, id: LayerId, effects: &mut Vec<Effect>) {
    edit(state, "Delete layer", false, |document| {
        document.layers.retain(|l| l.id != id)
    });
    if state.session.selected_layer == Some(id) {
        state.session.selected_layer = None;
    }
    fitting::fit(state, effects);
}

pub fn save(state: &State, id: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    let Some(layer) = state.document.layer(id) else {
        return;
    };
    let command = layer.recipe.command();
    effects.push(Effect::Submit(match layer.content.clone() {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Request::SaveVolume {
            volume,
            path,
            command,
        },
        Content::Mask(mask) => Request::SaveMask {
            mask,
            path,
            command,
        },
        Content::Tractogram(tractogram) => {
            let revision = state.session.revision;
            return kept::write(tractogram, path, command, revision, effects);
        }
    }));
}
