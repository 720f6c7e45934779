//! Queries on the document about segmentation.

use crate::data::{Mask, Volume};
use crate::solvers::level_set::Params;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::filter::WeightMap;
use crate::state::segment::scalar;
use std::sync::Arc;

impl Document {
    /// Whether the surface of the opened session uses a map that the fit has not added yet: its image, or that of a
    /// speed.
    pub fn awaits_surface_maps(&self) -> bool {
        let segment = &self.segment;
        let speeds = segment.resume.iter().flat_map(|run| &run.awaited);
        let speeds = speeds.map(|image| LayerId(image.layer));
        let mut all = speeds.chain(segment.image).chain(segment.layer);
        all.any(|id| self.awaits(id))
    }

    /// Gives the surface of the opened session the maps that the fit has added since; returns false if one of them is
    /// missing.
    pub(in crate::state) fn take_awaited_maps(&mut self) -> bool {
        let resume = self.segment.resume.clone();
        let Some(resume) = resume.filter(|run| !run.awaited.is_empty()) else {
            return true;
        };
        let mut run = (*resume).clone();
        for image in std::mem::take(&mut run.awaited) {
            let layer = self.layer(LayerId(image.layer));
            let volume = layer.and_then(|layer| scalar(layer)).cloned();
            let volume = volume.filter(|volume| image.frame < volume.frames);
            let (Some(volume), Some(sources)) = (volume, run.speed_sources.get_mut(image.source))
            else {
                self.segment.resume = None;
                return false;
            };
            sources.layer = Some((image.layer, volume, image.frame));
        }
        self.segment.resume = Some(Arc::new(run));
        true
    }

    /// The segmented image; `None` if there is none yet: the chosen one, else the topmost visible one, else the topmost
    /// that was opened. A map of a fit is the default only if no other image is open.
    pub fn segmented_image(&self) -> Option<(&Arc<Layer>, &Volume)> {
        fn with_volume(l: &Arc<Layer>) -> Option<(&Arc<Layer>, &Volume)> {
            Some((l, scalar(l)?))
        }
        if self.segment.image.is_some_and(|id| self.awaits(id)) {
            return None;
        }
        let fitted = |l: &Layer| self.origin(l).is_recomputed_from_scan();
        let layers = || {
            self.layers
                .iter()
                .rev()
                .filter(|l| !self.is_never_segmented(l))
        };
        let images = || layers().filter(|l| !self.is_derived(l));
        let mut opened = images().filter(|l| matches!(l.content, Content::Image(_)) && !fitted(l));
        let chosen = self.segment.image.and_then(|id| self.layer(id));
        let opened = opened.find_map(with_volume);
        let shown = || {
            let mut seen = images().filter(|l| l.display.visible);
            seen.find_map(|l| with_volume(l).filter(|_| opened.is_none() || !fitted(l)))
        };
        chosen
            .and_then(with_volume)
            .or_else(shown)
            .or(opened)
            .or_else(|| images().find_map(with_volume))
            .or_else(|| layers().find_map(with_volume))
    }

    /// Whether a layer is a map of distributions or of a COMMIT fit; files of other programs are recognised by their
    /// names.
    fn is_derived(&self, layer: &Layer) -> bool {
        let name = layer.name.to_lowercase();
        let named = ["compartment_ic", "compartment_ec", "compartment_iso"];
        let is_fod_map = self.origin(layer).fod_map().is_some();
        let own = is_fod_map || self.weight_map_recipe(layer.id).is_some();
        own || named.iter().any(|part| name.contains(part))
    }

    /// Whether a layer is an error map of a fit, shows the increase of the error, or maps a pathway; files
    /// of other programs are recognised by their names.
    fn is_never_segmented(&self, layer: &Layer) -> bool {
        let map = self.weight_map_recipe(layer.id).map(|recipe| &recipe.map);
        let name = layer.name.to_lowercase();
        let named = ["rmse", "residual", "fit error", "chi2"];
        let off = matches!(map, Some(WeightMap::Error | WeightMap::Worse(_)));
        off || self.is_pathway_map(layer.id) || named.iter().any(|part| name.contains(part))
    }

    /// The parameters of the surface; a speed whose layer is gone has none.
    pub fn surface_params(&self) -> Params {
        let segment = &self.segment;
        let layer = segment.layer.and_then(|id| self.layer(id));
        let mut params = segment.settings.params.clone();
        params.layer = params
            .layer
            .filter(|_| layer.is_some_and(|l| scalar(l).is_some()));
        params
    }

    /// The reference mask, on the image's grid or another.
    pub fn reference_mask(&self) -> Option<&Mask> {
        match &self.layer(self.segment.reference?)?.content {
            Content::Mask(mask) => Some(mask),
            _ => None,
        }
    }
}
