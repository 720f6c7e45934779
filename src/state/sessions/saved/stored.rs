//! Layers whose data are stored in a session: segmented masks, maps of weights.

use crate::state::Document;
use crate::state::core::layer::{Layer, LayerId};
use crate::state::sessions::saved::{MissingLayer, SavedDocument, SavedLayer};
use crate::state::sessions::{NotRestored, PartError, ReadSession};
use std::sync::Arc;

/// Makes a layer from data stored in a session; `None`: it is of another kind.
pub(in crate::state) type LayerBuilder =
    fn(&mut Document, &ReadSession, &SavedLayer) -> Option<Result<Layer, PartError>>;

/// Adds such layers to a document whose other layers and regions are loaded; returns those that fail, with a sentence
/// each, in which they are called `what`.
pub(in crate::state) fn add_layers(
    document: &mut Document,
    read: &ReadSession,
    saved: &SavedDocument,
    (what, make): (&str, LayerBuilder),
) -> Vec<(String, (u64, NotRestored))> {
    let mut missing = Vec::new();
    for layer in &saved.layers {
        match make(document, read, layer) {
            None => {}
            Some(Ok(result)) => insert(document, saved, result),
            Some(Err(why)) => {
                let name = &layer.name;
                let sentence =
                    format!("The {what} “{name}” is left out and stays in the session: {why}");
                missing.push((sentence, (layer.id, why.into())));
            }
        }
    }
    missing
}

/// Restores layers that lacked one that has been loaded since.
pub(in crate::state) fn find_again(document: &mut Document, make: LayerBuilder) {
    let missing: Vec<Arc<MissingLayer>> = document.missing_layers().cloned().collect();
    for missing in missing {
        if let Some(Ok(layer)) = make(document, &missing.session, &missing.layer) {
            document.remove_missing_layer(LayerId(missing.layer.id));
            document.layers.push(Arc::new(layer));
        }
    }
}

/// Inserts a layer where the session had it among the loaded ones.
fn insert(document: &mut Document, saved: &SavedDocument, layer: Layer) {
    let before = saved.layers.iter().take_while(|l| l.id != layer.id.0);
    let here = before.filter(|l| document.layer(LayerId(l.id)).is_some());
    let at = here.count().min(document.layers.len());
    document.layers.insert(at, Arc::new(layer));
}
