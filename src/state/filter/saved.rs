//! Weights of streamlines in a session: the weights, the maps, and the inputs of their fit.

use crate::data::Volume;
use crate::data::text::counted;
use crate::jobs::session::ReadSession;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::text::count;
use crate::state::density::saved::{grid_of, saved_grid};
use crate::state::filter::{FittedWeights, MapOf, WEIGHT, sorted};
use crate::state::recipes::weight_fit;
use crate::state::regions::saved::{MissingRegion, MissingWeights, leave_out};
use crate::state::sessions::saved::write::Lists;
use crate::state::sessions::saved::{
    SavedDocument, SavedLayer, SavedOrigin, SavedWeightMap, SavedWeights,
};
use crate::state::streamlines::lines_of;
use std::sync::Arc;

impl Lists<'_> {
    /// The weights of a layer's streamlines.
    pub(in crate::state) fn weights(
        &mut self,
        document: &Document,
        layer: &Layer,
    ) -> Option<SavedWeights> {
        let (weighed, values) = document.weights_of_layer(layer)?;
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

    /// Weights of the opened session that cannot be read, stored as they were.
    pub(in crate::state) fn lacking_weights(
        &mut self,
        document: &Document,
        layer: &Layer,
    ) -> Option<SavedWeights> {
        let lines = lines_of(layer)?.id();
        let mut left_out = document.left_out.iter();
        let (lacking, read) = left_out.find_map(|left| match &left.what {
            MissingRegion::Weights(w) if w.layer == layer.id && w.lines == Some(lines) => {
                Some((w, &left.read))
            }
            _ => None,
        })?;
        let mut saved = lacking.saved.clone();
        saved.values = self.known_numbers(read, saved.values)?;
        Some(saved)
    }

    pub(in crate::state) fn weight_map(&mut self, made: &MapOf, volume: &Volume) -> SavedWeightMap {
        SavedWeightMap {
            of: made.of.0,
            map: made.map.clone(),
            grid: saved_grid(&volume.grid),
            values: self.numbers(&Arc::from(volume.frame(0))),
        }
    }
}

pub(in crate::state) fn left_out(layer: &SavedLayer, why: &str) -> String {
    format!("The weights of \"{}\" are left out: {why}", layer.name)
}

/// Adds the weights from a session to a layer's streamlines, if it has any. Parts that fail are left out, and an error
/// is the sentence about them.
pub(in crate::state) fn attach(
    document: &mut Document,
    read: &Arc<ReadSession>,
    layer: &SavedLayer,
) -> Result<(), String> {
    let Some(saved) = &layer.weights else {
        return Ok(());
    };
    put_on(document, read, layer, saved).map_err(|why| {
        let id = LayerId(layer.id);
        let lines = document.layer(id).and_then(|l| lines_of(l));
        let lacking = MissingWeights {
            layer: id,
            of: layer.name.clone(),
            lines: lines.map(|lines| lines.id()),
            saved: (**saved).clone(),
        };
        leave_out(
            document,
            read,
            MissingRegion::Weights(Box::new(lacking)),
            why,
        );
        let left = document.left_out.last();
        left.map_or_else(String::new, |left| left.sentence())
    })
}

/// An error is the end of a sentence.
fn put_on(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
    saved: &SavedWeights,
) -> Result<(), String> {
    let id = LayerId(layer.id);
    let values = read.numbers.get(saved.values);
    let values = values.ok_or("the session has none of this number")?;
    let values = values.clone().map_err(|unread| unread.why)?;
    let lines = document.layer(id).and_then(|l| lines_of(l)).cloned();
    let lines = lines.ok_or("there are no streamlines")?;
    if lines.len() != values.len() {
        return Err(format!(
            "they are of {}, and there are {}",
            counted(values.len(), "streamline"),
            count(lines.len() as u64)
        ));
    }
    let before = lines.id();
    let weighted = lines.renewed().with_per_streamline(WEIGHT, values.clone());
    let weighed = FittedWeights {
        // Streamlines edited since no longer match the weights.
        of: match saved.current {
            true => weighted.id(),
            false => crate::data::DataId::fresh(),
        },
        lines: before,
        from: saved.from.clone(),
        figures: saved.figures.clone(),
        curve: saved.curve.clone().into(),
        sorted: sorted(&values),
        lesions: saved.lesions.clone(),
    };
    document.weights.insert(id, Arc::new(weighed));
    document.edit_layer(id, |l| l.content = Content::Tractogram(weighted));
    Ok(())
}

/// Adds weights to a document whose streamlines are loaded.
pub(in crate::state) fn put(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
) {
    document.filter = saved.filter.clone().sanitized();
    for layer in &saved.layers {
        if document.layer(LayerId(layer.id)).is_none() {
            continue;
        }
        // Its error is reported together with everything left out.
        let _ = attach(document, read, layer);
    }
    // Sessions written before each layer had a cut of its own.
    if document.filter.cut > 0.0 && document.filter.cut_of.is_none() {
        document.filter.cut_of = document.filtered().map(|(layer, _)| layer.id);
    }
}

/// Creates maps of streamlines with weights.
pub(in crate::state) fn make(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
) -> Option<Result<Layer, String>> {
    match &layer.from {
        SavedOrigin::Weights(from) => Some(map(document, read, layer, from)),
        _ => None,
    }
}

/// Creates the layer, and records its origin in the document.
fn map(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
    saved: &SavedWeightMap,
) -> Result<Layer, String> {
    let of = LayerId(saved.of);
    let grid = grid_of(&saved.grid)?;
    let values = read.numbers.get(saved.values);
    let values = values.ok_or("the session has no values of it")?;
    let values = values.clone().map_err(|unread| unread.why)?;
    if values.len() != grid.voxel_count() {
        return Err("it has another number of voxels than its grid".to_owned());
    }
    let from = document.weights.get(&of).map(|w| w.from.clone());
    let from = from.ok_or("its streamlines are missing")?;
    let fit = weight_fit(document, of, &from).ok_or("its scan is missing")?;
    let fit = document.origins.add(fit);
    let content = Content::Image(Volume::scalar(grid, values.to_vec()));
    let (name, display) = (layer.name.clone(), layer.display.clone());
    let id = LayerId(layer.id);
    let map = saved.map.clone();
    let origin = document.origins.add(MapOf { of, map, fit });
    Ok(Layer::new(id, name, content, display, origin))
}
