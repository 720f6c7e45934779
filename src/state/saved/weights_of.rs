//! Weights of streamlines in a session: the weights, the maps, and all that they were fitted from.

use super::maps::{grid_of, saved_grid};
use super::write::Lists;
use super::{Origin, SavedDocument, SavedLayer, SavedWeightMap, SavedWeights};
use crate::data::Volume;
use crate::jobs::session::ReadSession;
use crate::state::Document;
use crate::state::bundle::lines_of;
use crate::state::document::{Content, Layer, LayerId};
use crate::state::filter::{MapOf, WEIGHT, Weighed, sorted};
use crate::state::update::weight_recipe;
use std::sync::Arc;

impl Lists<'_> {
    /// The weights that a layer's streamlines have.
    pub(super) fn weights(&mut self, document: &Document, layer: &Layer) -> Option<SavedWeights> {
        let (weighed, values) = document.weighed_of(layer)?;
        let lines = lines_of(layer)?;
        Some(SavedWeights {
            values: self.numbers(values),
            current: weighed.of == lines.id(),
            from: weighed.from.clone(),
            figures: weighed.figures.clone(),
            curve: weighed.curve.to_vec(),
            lesions: weighed.lesions.clone(),
        })
    }

    pub(super) fn weight_map(&mut self, made: &MapOf, volume: &Volume) -> SavedWeightMap {
        SavedWeightMap {
            of: made.of.0,
            map: made.map.clone(),
            grid: saved_grid(&volume.grid),
            values: self.numbers(&Arc::from(volume.frame(0))),
        }
    }
}

/// Gives a layer's streamlines the weights that a session has of them; an error is the end of a sentence.
pub(super) fn attach(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
) -> Result<(), String> {
    let Some(saved) = &layer.weights else {
        return Ok(());
    };
    let id = LayerId(layer.id);
    let values = read.numbers.get(saved.values);
    let values = values.ok_or("the session has none of this number")?;
    let values = values.clone()?;
    let lines = document.layer(id).and_then(|l| lines_of(l)).cloned();
    let lines = lines.ok_or("there are no streamlines")?;
    if lines.len() != values.len() {
        return Err(format!(
            "they are of {} streamlines, and there are {}",
            values.len(),
            lines.len()
        ));
    }
    let weighted = lines.renewed().with_per_streamline(WEIGHT, values.clone());
    let weighed = Weighed {
        // Of what was edited since they are not.
        of: match saved.current {
            true => weighted.id(),
            false => crate::data::DataId::fresh(),
        },
        from: saved.from.clone(),
        figures: saved.figures.clone(),
        curve: saved.curve.clone().into(),
        sorted: sorted(&values),
        lesions: saved.lesions.clone(),
    };
    document.weighed.insert(id, Arc::new(weighed));
    document.edit_layer(id, |l| l.content = Content::Tractogram(weighted));
    Ok(())
}

/// Puts weights and maps into a document whose other layers are there.
pub(super) fn put(
    document: &mut Document,
    read: &ReadSession,
    saved: &SavedDocument,
    notes: &mut Vec<String>,
) {
    document.filter = saved.filter.clone().sound();
    for layer in &saved.layers {
        if document.layer(LayerId(layer.id)).is_none() {
            continue;
        }
        if let Err(why) = attach(document, read, layer) {
            notes.push(format!(
                "The weights of \"{}\" are left out: {why}",
                layer.name
            ));
        }
    }
    for (place, layer) in saved.layers.iter().enumerate() {
        let Origin::Weights(from) = &layer.from else {
            continue;
        };
        match map(document, read, layer, from) {
            Ok(made) => {
                // Others of the session may not be there.
                let before = |l: &SavedLayer| document.layer(LayerId(l.id)).is_some();
                let at = saved.layers[..place].iter().filter(|l| before(l)).count();
                let at = at.min(document.layers.len());
                let (id, of) = (made.id, LayerId(from.of));
                document.layers.insert(at, Arc::new(made));
                let map = from.map.clone();
                document.weight_maps.insert(id, MapOf { of, map });
            }
            Err(why) => notes.push(format!("The map \"{}\" is left out: {why}", layer.name)),
        }
    }
}

fn map(
    document: &Document,
    read: &ReadSession,
    layer: &SavedLayer,
    saved: &SavedWeightMap,
) -> Result<Layer, String> {
    let of = LayerId(saved.of);
    let grid = grid_of(&saved.grid)?;
    let values = read.numbers.get(saved.values);
    let values = values.ok_or("the session has no values of it")?.clone()?;
    if values.len() != grid.voxel_count() {
        return Err("it has another number of voxels than its grid".to_owned());
    }
    let from = document.weighed.get(&of).map(|w| w.from.clone());
    let from = from.ok_or("its streamlines are not there")?;
    let recipe = weight_recipe(document, of, &from, 0.0).ok_or("its scan is not there")?;
    let content = Content::Image(Volume::scalar(grid, values.to_vec()));
    let (name, display) = (layer.name.clone(), layer.display.clone());
    let id = LayerId(layer.id);
    Ok(Layer::new(id, name, content, display, recipe))
}
