//! The command that makes weights and maps.

use super::of;
use crate::state::document::{Content, Document, Layer, LayerId};
use crate::state::filter::FitOf;
use crate::state::recipe::commit::CommitRecipe;
use crate::state::{Recipe, State};
use std::path::PathBuf;

/// The file of a layer, or its name where there is none.
fn file(document: &Document, layer: &Layer) -> Result<PathBuf, String> {
    let here = !document.moved.contains_key(&layer.id);
    let path = layer.path.clone().filter(|_| here);
    path.ok_or_else(|| layer.name.clone())
}

/// `least`: of the weights of those that are to be written as well; 0: none are.
pub fn recipe(document: &Document, layer: LayerId, from: &FitOf, least: f32) -> Option<Recipe> {
    let tracks = document.layer(layer)?;
    let scan = document.layer(from.scan)?;
    let mut unfiled = None;
    let mut path = |id: Option<LayerId>| -> Option<PathBuf> {
        let layer = document.layer(id?)?;
        // The built-in head brings its own.
        let own = matches!(layer.recipe, Recipe::Phantom { .. });
        let masks = matches!(layer.content, Content::Mask(_));
        if own && masks && layer.recipe == scan.recipe {
            return None;
        }
        file(document, layer)
            .map_err(|name| unfiled.get_or_insert(name).clone())
            .ok()
    };
    let (mask, peaks) = (path(from.mask), path(from.peaks));
    let gradients = match &scan.content {
        Content::Scan { gradients, .. } => gradients.is_some(),
        _ => false,
    };
    if !gradients && scan.path.is_none() {
        unfiled.get_or_insert(scan.name.clone());
    }
    Some(Recipe::Commit(Box::new(CommitRecipe {
        of: Box::new(tracks.recipe.clone()),
        scan: scan.source(),
        mask,
        peaks,
        times: from.times.clone(),
        params: from.params.clone(),
        shells: document.filter_shells(),
        least,
        unfiled,
    })))
}

/// The recipe of the weights that are shown, else of those that would be fitted now.
pub fn told(state: &State) -> Option<Recipe> {
    let (layer, _) = state.document.filtered()?;
    let least = state.document.filter.least();
    if let Some((weighed, _)) = state.document.weighed_of(layer) {
        return recipe(&state.document, layer.id, &weighed.from, least);
    }
    let from = of(state, &super::key(state)?)?;
    recipe(&state.document, layer.id, &from, 0.0)
}
