//! Weights of streamlines in a session: the weights, the maps, and the inputs of their fit.

use crate::data::{Tractogram, Volume};
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::filter::{FittedWeights, WEIGHT, sorted};
use crate::state::pathways::recipe::{SensitivityRecipe, ShareRecipe};
use crate::state::sessions::saved::density::{grid_of, saved_grid};
use crate::state::sessions::saved::pathways;
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::saved::{
    MissingWeights, SavedContent, SavedDocument, SavedLayer, SavedOrigin, SavedWeights,
    SessionPart, Table, add_missing,
};
use crate::state::sessions::{PartError, ReadSession};
use crate::state::streamlines::in_place::{all_streamlines_of, with_values};
use std::sync::Arc;

impl ReferencedItems<'_> {
    /// The weights of a layer's streamlines.
    pub(in crate::state) fn weights(
        &mut self,
        document: &Document,
        layer: &Layer,
    ) -> Option<SavedWeights> {
        let (fitted, values) = document.weights_of_layer(layer)?;
        let lines = all_streamlines_of(layer)?;
        Some(SavedWeights {
            values: self.numbers(values),
            current: fitted.weighted == lines.id(),
            fit: self.origin(document, fitted.fit),
            figures: fitted.figures.clone(),
            curve: fitted.curve.to_vec(),
            lesions: fitted.lesions.clone(),
        })
    }

    /// Weights of the opened session that cannot be read, stored as they were.
    pub(in crate::state) fn missing_weights(
        &mut self,
        document: &Document,
        layer: &Layer,
    ) -> Option<SavedWeights> {
        let lines = all_streamlines_of(layer)?.id();
        let mut parts = document.missing_parts();
        let (missing, read) = parts.find_map(|part| match &part.part {
            SessionPart::Weights(w) if w.layer == layer.id && w.tractogram == Some(lines) => {
                Some((w, &part.session))
            }
            _ => None,
        })?;
        let mut saved = missing.saved.clone();
        saved.values = self.known_numbers(read, saved.values)?;
        saved.fit = self.renumbered_origin(read, saved.fit)?;
        Some(saved)
    }

    /// The values of a map.
    pub(in crate::state) fn image(&mut self, volume: &Volume) -> SavedContent {
        SavedContent::Image {
            grid: saved_grid(&volume.grid),
            values: self.numbers(&volume.frame(0).into()),
        }
    }
}

pub(in crate::state) fn omitted_weights(layer: &SavedLayer, why: &PartError) -> String {
    format!("The weights of “{}” are left out: {why}", layer.name)
}

/// Adds the weights from a session to a layer's streamlines, if it has any. Parts that fail are left out; returns the
/// sentence about them.
pub(in crate::state) fn attach(
    document: &mut Document,
    read: &Arc<ReadSession>,
    layer: &SavedLayer,
) -> Option<String> {
    let saved = layer.weights.as_ref()?;
    let why = put_on(document, read, layer, saved).err()?;
    let id = LayerId(layer.id);
    let lines = document.layer(id).and_then(|l| all_streamlines_of(l));
    let missing = MissingWeights {
        layer: id,
        layer_name: layer.name.clone(),
        tractogram: lines.map(|lines| lines.id()),
        saved: (**saved).clone(),
    };
    add_missing(document, read, SessionPart::Weights(Box::new(missing)), why);
    document.missing_parts().last().map(|part| part.sentence())
}

fn put_on(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
    saved: &SavedWeights,
) -> Result<(), PartError> {
    let id = LayerId(layer.id);
    let values = read.numbers.get(saved.values);
    let values = values.ok_or(PartError::NoWeights)?;
    let values = values.clone().map_err(|unread| unread.reason)?;
    let layer = document.layer(id).cloned();
    let layer = layer.ok_or(PartError::StreamlinesOfWeights)?;
    let lines = all_streamlines_of(&layer).map(Tractogram::len);
    let streamlines = lines.ok_or(PartError::StreamlinesOfWeights)?;
    if streamlines != values.len() {
        return Err(PartError::WeightCount {
            weights: values.len(),
            streamlines,
        });
    }
    let fit = Table::new(read)
        .resolve(document, read, [saved.fit])
        .get(saved.fit)?;
    let known = document.origins.weight_fit(fit);
    known.ok_or(PartError::NoWeightFit)?;
    let known_sorted = read.sorted_weights.get(&saved.values).cloned();
    let weighted = with_values(&layer, WEIGHT, &values.clone().into());
    let (content, [before, after]) = weighted.ok_or(PartError::StreamlinesOfWeights)?;
    let fitted = FittedWeights {
        // Streamlines edited since no longer match the weights.
        weighted: match saved.current {
            true => after,
            false => crate::data::DataId::fresh(),
        },
        unweighted: before,
        fit,
        figures: saved.figures.clone(),
        curve: saved.curve.clone().into(),
        // Sorting takes long on the interface thread.
        sorted: known_sorted.unwrap_or_else(|| sorted(&values)),
        lesions: saved.lesions.clone(),
    };
    document.weights.insert(id, Arc::new(fitted));
    document.edit_layer(id, |l| l.content = content);
    Ok(())
}

/// Adds weights to a document whose streamlines are loaded.
pub(in crate::state) fn add_weights(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
) {
    document.filter = saved.filter.clone().sanitized();
    for layer in &saved.layers {
        if document.layer(LayerId(layer.id)).is_none() {
            continue;
        }
        // The sentence is reported together with everything left out.
        let _ = attach(document, read, layer);
    }
}

/// Creates maps whose values a session stores: of streamlines with weights, and of pathways.
pub(in crate::state) fn make(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
) -> Option<Result<Layer, PartError>> {
    match Table::new(read).base(layer.origin) {
        Some(SavedOrigin::WeightMap { layer: fitted, .. }) => {
            Some(map(document, read, layer, LayerId(*fitted)))
        }
        Some(SavedOrigin::Sensitivity(_)) => Some(pathways::map(
            document,
            read,
            layer,
            SensitivityRecipe::layer,
        )),
        Some(SavedOrigin::Share(_) | SavedOrigin::StreamlineShare { .. }) => {
            Some(pathways::map(document, read, layer, ShareRecipe::layer))
        }
        _ => None,
    }
}

/// The stored values of a map.
pub(super) fn values(read: &ReadSession, layer: &SavedLayer) -> Result<Volume, PartError> {
    let Some(SavedContent::Image { grid, values }) = &layer.content else {
        return Err(PartError::NoValues);
    };
    let grid = grid_of(grid)?;
    let values = read.numbers.get(*values).ok_or(PartError::NoValues)?;
    let values = values.clone().map_err(|unread| unread.reason)?;
    if values.len() != grid.voxel_count() {
        return Err(PartError::MapVoxels);
    }
    Ok(Volume::scalar(grid, values.to_vec()))
}

fn map(
    document: &Document,
    read: &ReadSession,
    layer: &SavedLayer,
    weighted: LayerId,
) -> Result<Layer, PartError> {
    let content = Content::Image(values(read, layer)?);
    let weights = document.weights.get(&weighted);
    let weights = weights.ok_or(PartError::StreamlinesOfMap)?;
    let scan = document.fit_inputs(weights).map(|from| from.scan);
    let scan = scan.and_then(|scan| document.layer(scan));
    scan.ok_or(PartError::ScanOfMap)?;
    let origins = Table::new(read).resolve(document, read, [layer.origin]);
    let origin = origins.get(layer.origin)?;
    let (name, display) = (layer.name.clone(), layer.display.clone());
    Ok(Layer::new(
        LayerId(layer.id),
        name,
        content,
        display,
        origin,
    ))
}
