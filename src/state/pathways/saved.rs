//! Kept pathways in a session: the inputs to recompute them, not the costs.

use crate::jobs::session::ReadSession;
use crate::state::Document;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::document::FitMask;
use crate::state::origin::{Origins, TensorFit};
use crate::state::pathways::{AmongPairs, KeptPathway, PathwaySettings};
use crate::state::recipe::Source;
use crate::state::regions::saved::{MissingRegion, leave_out, region};
use crate::state::sessions::saved::write::Lists;
use crate::state::sessions::saved::{
    SavedBasis, SavedDocument, SavedMask, SavedPathway, SavedSource,
};
use std::sync::Arc;

impl Lists<'_> {
    pub(in crate::state) fn pathway(
        &mut self,
        document: &Document,
        kept: &KeptPathway,
    ) -> Option<SavedPathway> {
        let regions = kept.regions.iter();
        Some(SavedPathway {
            id: kept.id.0,
            name: kept.name.clone(),
            colour: kept.colour,
            visible: kept.visible,
            epsilon: kept.epsilon,
            regions: regions.map(|r| self.region(document, r)).collect(),
            basis: self.basis(document, kept.fit)?,
            params: kept.params,
            compared: kept.compared,
        })
    }
}

/// The inputs of the tensor fit; an error is half a sentence.
pub(in crate::state) fn basis(
    origins: &Origins,
    read: &ReadSession,
    saved: &SavedBasis,
) -> Result<OriginId, String> {
    let place = |number: usize| {
        let found = read.files.get(number).map(|f| f.path.clone());
        found.ok_or_else(|| format!("the session has no file {number}"))
    };
    let source = match &saved.source {
        SavedSource::Head { seed } => Source::Phantom { seed: *seed },
        SavedSource::Tensors { file, layout } => Source::Tensors {
            file: place(*file)?,
            layout: *layout,
        },
        SavedSource::File { file, gradients } => Source::File {
            dwi: place(*file)?,
            gradients: gradients
                .iter()
                .map(|n| place(*n))
                .collect::<Result<_, _>>()?,
        },
    };
    Ok(origins.add(TensorFit {
        scan: origins.scan(&source.with_turn(saved.turn)),
        mask: match &saved.mask {
            SavedMask::Found => FitMask::Found,
            SavedMask::File(number) => FitMask::File(place(*number)?),
            SavedMask::Head => FitMask::Head,
        },
        params: saved.fit.clone(),
    }))
}

/// Adds them to a document whose layers are loaded.
pub(in crate::state) fn put(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
) {
    document.pathways = saved.pathways.clone().sanitized();
    for one in &saved.kept_pathways {
        let regions = one.regions.iter().map(|r| region(document, read, r));
        let regions: Result<Vec<_>, String> = regions.collect();
        let made = basis(&document.origins, read, &one.basis).and_then(|fit| Ok((fit, regions?)));
        let valid = one.params.check().map_err(|e| e.to_string());
        let (fit, regions) = match made.and_then(|made| valid.map(|()| made)) {
            Ok(made) => made,
            Err(why) => {
                leave_out(
                    document,
                    read,
                    MissingRegion::Pathway(Box::new(one.clone())),
                    why,
                );
                continue;
            }
        };
        let epsilon = one.epsilon;
        let mut kept = KeptPathway {
            id: LayerId(one.id),
            name: one.name.clone(),
            colour: one.colour,
            visible: one.visible,
            epsilon: match PathwaySettings::EPSILON.contains(&epsilon) {
                true => epsilon,
                false => document.pathways.epsilon,
            },
            fit,
            regions,
            params: one.params,
            found: None,
            compared: one.compared.and_then(AmongPairs::validated),
        };
        let taken = document.layer(kept.id).is_some()
            || document.kept_pathways.iter().any(|k| k.id == kept.id);
        document.reserve_ids(one.id.saturating_add(1).min(1 << 53));
        if taken {
            kept.id = LayerId(document.fresh_id());
        }
        document.kept_pathways.push(Arc::new(kept));
    }
}
