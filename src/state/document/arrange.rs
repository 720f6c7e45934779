//! The order of layers of a session that was read.

use crate::solvers::tensor_fit::FitMap;
use crate::state::core::layer::Layer;
use crate::state::core::layer::LayerId;
use crate::state::document::Document;
use crate::state::sessions::types::content::SavedLayer;
use crate::state::sessions::types::missing::AwaitedLayers;
use crate::state::tensors::recipe::fod::FodMap;
use std::sync::Arc;

impl Document {
    /// Puts the layers in the order of the session.
    pub(in crate::state) fn arrange_as(&mut self, saved: &[SavedLayer]) {
        let place = |layer: &Arc<Layer>| saved.iter().position(|s| s.id == layer.id.0);
        self.layers
            .sort_by_key(|layer| place(layer).unwrap_or(usize::MAX));
    }

    /// Whether a layer of the opened session is still to come from the fit or with the distributions.
    pub fn awaits(&self, id: LayerId) -> bool {
        let is_map = |saved: &AwaitedLayers| {
            let mut layers = saved.layers().iter();
            layers.any(|layer| layer.id == id.0 && saved.map_of(layer).is_some())
        };
        let is_fod_map = |saved: &AwaitedLayers| {
            let mut layers = saved.layers().iter();
            layers.any(|layer| layer.id == id.0 && saved.fod_map_of(layer).is_some())
        };
        let unrestored = &self.session.unrestored;
        self.layer(id).is_none()
            && (unrestored.awaited.as_ref().is_some_and(is_map)
                || unrestored.awaited_fods.as_ref().is_some_and(is_fod_map))
    }

    /// Puts the layers produced by the fit in the order of the session, with the display that it stored.
    pub(in crate::state) fn arrange_maps(&mut self, saved: &AwaitedLayers) {
        let was = |map: FitMap| {
            let mut layers = saved.layers().iter();
            layers.find(|l| saved.map_of(l) == Some(map))
        };
        let here: Vec<(LayerId, FitMap)> = self
            .layers
            .iter()
            .filter_map(|l| Some((l.id, self.origin(l).fit_map_or_mask()?)))
            .collect();
        for (id, map) in here {
            match was(map) {
                Some(saved) => self.edit_layer(id, |layer| {
                    layer.id = LayerId(saved.id);
                    layer.name.clone_from(&saved.name);
                    layer.display = saved.display.clone();
                }),
                // The user had deleted the layer.
                None => self.layers.retain(|l| l.id != id),
            }
        }
        self.arrange_as(saved.layers());
    }

    /// Puts the maps of distributions in the order of the session, with the display that it stored.
    pub(in crate::state) fn arrange_fod_maps(&mut self, saved: &AwaitedLayers) {
        let layers = self.layers.iter();
        let here = layers.filter_map(|l| Some((l.id, self.origin(l).fod_map()?)));
        for (id, map) in here.collect::<Vec<(LayerId, FodMap)>>() {
            let mut layers = saved.layers().iter();
            match layers.find(|l| saved.fod_map_of(l) == Some(map)) {
                Some(saved) => self.edit_layer(id, |layer| {
                    layer.id = LayerId(saved.id);
                    layer.name.clone_from(&saved.name);
                    layer.display = saved.display.clone();
                }),
                // The user had deleted the layer.
                None => self.layers.retain(|l| l.id != id),
            }
        }
        self.arrange_as(saved.layers());
    }
}
