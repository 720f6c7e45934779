//! The order of layers of a session that was read.

use crate::solvers::tensor_fit::FitMap;
use crate::state::Document;
use crate::state::core::layer::Layer;
use crate::state::core::layer::LayerId;
use crate::state::origin::Origin;
use crate::state::sessions::saved::AwaitedLayers;
use crate::state::sessions::saved::SavedLayer;
use std::sync::Arc;

/// Puts the layers in the order of the session.
pub fn arrange_read(document: &mut Document, saved: &[SavedLayer]) {
    let place = |layer: &Arc<Layer>| saved.iter().position(|s| s.id == layer.id.0);
    document
        .layers
        .sort_by_key(|layer| place(layer).unwrap_or(usize::MAX));
}

/// Puts the layers produced by the fit in the order of the session, with the display that it stored.
pub fn arrange(document: &mut Document, saved: &AwaitedLayers) {
    let map_of = |origin: &Origin| match origin.is_found_mask() {
        true => Some(FitMap::Mask),
        false => origin.fit_map(),
    };
    let was = |map: FitMap| {
        let mut layers = saved.layers().iter();
        layers.find(|l| saved.map_of(l) == Some(map))
    };
    let here: Vec<(LayerId, FitMap)> = document
        .layers
        .iter()
        .filter_map(|l| Some((l.id, map_of(document.origin(l))?)))
        .collect();
    for (id, map) in here {
        match was(map) {
            Some(saved) => document.edit_layer(id, |layer| {
                layer.id = LayerId(saved.id);
                layer.name.clone_from(&saved.name);
                layer.display = saved.display.clone();
            }),
            // The user had deleted the layer.
            None => document.layers.retain(|l| l.id != id),
        }
    }
    arrange_read(document, saved.layers());
}
