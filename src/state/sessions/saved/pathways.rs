//! Kept pathways in a session: the inputs to recompute them, not the costs; maps of their sensitivity and shares of
//! repetitions, with their values.

use crate::data::Volume;
use crate::state::Document;
use crate::state::core::display::Display;
use crate::state::core::layer::{Layer, LayerId, OriginId};
use crate::state::pathways::{KeptPathway, PathwaySettings, RandomPairRank};
use crate::state::sessions::saved::filter::values;
use crate::state::sessions::saved::regions::region;
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::saved::{
    SavedDocument, SavedLayer, SavedPathway, SessionPart, Table, add_missing,
};
use crate::state::sessions::{PartError, ReadSession};
use std::sync::Arc;

impl ReferencedItems<'_> {
    pub(in crate::state) fn pathway(
        &mut self,
        document: &Document,
        kept: &KeptPathway,
    ) -> Option<SavedPathway> {
        document.origins.has_field(kept.fit).then_some(())?;
        let regions = kept.regions.iter();
        Some(SavedPathway {
            id: kept.id.0,
            name: kept.name.clone(),
            colour: kept.colour,
            visible: kept.visible,
            epsilon: kept.epsilon,
            regions: regions.map(|r| self.region(document, r)).collect(),
            fit: self.origin(document, kept.fit),
            params: kept.params,
            max_excess: kept.max_excess,
            compared: kept.compared,
        })
    }
}

/// A layer of stored values: a map of the voxels on which a pathway depends, or shares of repetitions.
pub(super) fn map(
    document: &Document,
    read: &ReadSession,
    layer: &SavedLayer,
    restored: impl FnOnce(LayerId, String, Volume, Display, OriginId) -> Layer,
) -> Result<Layer, PartError> {
    let values = values(read, layer)?;
    let origins = Table::new(read).resolve(document, read, [layer.origin]);
    let origin = origins.get(layer.origin)?;
    let (name, display) = (layer.name.clone(), layer.display.clone());
    let id = LayerId(layer.id);
    Ok(restored(id, name, values, display, origin))
}

/// Adds the kept pathways to a document whose layers are loaded.
pub(in crate::state) fn add_pathways(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
) {
    document.pathways = saved.pathways.clone().sanitized();
    let fits = saved.kept_pathways.iter().map(|kept| kept.fit);
    let origins = Table::new(read).resolve(document, read, fits);
    for pathway in &saved.kept_pathways {
        let regions = pathway.regions.iter().map(|r| region(document, read, r));
        let regions: Result<Vec<_>, PartError> = regions.collect();
        let inputs = origins.get(pathway.fit).and_then(|fit| Ok((fit, regions?)));
        let valid = pathway.params.check().map_err(PartError::from);
        let (fit, regions) = match inputs.and_then(|inputs| valid.map(|()| inputs)) {
            Ok(inputs) => inputs,
            Err(why) => {
                add_missing(
                    document,
                    read,
                    SessionPart::Pathway(Box::new(pathway.clone())),
                    why,
                );
                continue;
            }
        };
        let epsilon = pathway.epsilon;
        let mut kept = KeptPathway {
            id: LayerId(pathway.id),
            name: pathway.name.clone(),
            colour: pathway.colour,
            visible: pathway.visible,
            epsilon: match PathwaySettings::EPSILON.contains(&epsilon) {
                true => epsilon,
                false => document.pathways.epsilon,
            },
            fit,
            regions,
            params: pathway.params,
            max_excess: pathway
                .max_excess
                .filter(|excess| (0.0..=10.0).contains(excess)),
            result: None,
            compared: pathway.compared.and_then(RandomPairRank::validated),
        };
        let taken = document.layer(kept.id).is_some()
            || document.kept_pathways.iter().any(|k| k.id == kept.id);
        document.reserve_ids(pathway.id.saturating_add(1).min(1 << 53));
        if taken {
            kept.id = LayerId(document.fresh_id());
        }
        document.kept_pathways.push(Arc::new(kept));
    }
}
