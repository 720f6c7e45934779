//! Layers of a document by their origins.

use arcuate::state::{Document, LayerId};

fn those(document: &Document, is: impl Fn(LayerId) -> bool) -> Vec<LayerId> {
    let layers = document.layers.iter().map(|l| l.id);
    layers.filter(|id| is(*id)).collect()
}

/// Kept streamlines and rays.
pub fn kept_curve_layers(document: &Document) -> Vec<LayerId> {
    those(document, |id| document.curve_recipe(id).is_some())
}

pub fn edited(document: &Document) -> Vec<LayerId> {
    those(document, |id| document.is_edited(id))
}

pub fn moved(document: &Document) -> Vec<LayerId> {
    those(document, |id| document.moved(id).is_some())
}

pub fn density_maps(document: &Document) -> Vec<LayerId> {
    those(document, |id| document.density_map(id).is_some())
}

pub fn weight_maps(document: &Document) -> Vec<LayerId> {
    those(document, |id| document.weight_map_recipe(id).is_some())
}

/// Masks from level sets.
pub fn segments(document: &Document) -> Vec<LayerId> {
    those(document, |id| document.segmentation_recipe(id).is_some())
}
