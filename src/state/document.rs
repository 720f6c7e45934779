//! The content restored by undo: layers, regions and parameters.

mod arrange;
mod extent;
mod missing;

use crate::data::{Mask, Region, TensorField, Volume};
pub use crate::solvers::geodesic::Rays;
use crate::solvers::tensor_fit;
use crate::state::core::layer::{Layer, LayerId, OriginId};
use crate::state::filter::{Filtering, FittedWeights};
use crate::state::origin::{MaskOrigins, Origins};
use crate::state::pathways::{self, KeptPathway, PathwaySettings};
use crate::state::scene_look::SceneLook;
use crate::state::segment::{KeptSurface, Segmentation};
use crate::state::sessions::types::missing::SessionParts;
use crate::state::streamlines::StreamlineSettings;
use crate::state::tensors::types::fods::Distributions;
use crate::state::tensors::types::{FitKey, ResidualCache};
pub use crate::state::track::types::Method;
use crate::state::track::types::TrackSettings;
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A finished tensor fit.
#[derive(Clone, Debug)]
pub struct Tensors {
    pub field: TensorField,
    pub fa: Volume,
    pub mask: Mask,
    /// Reliability of the mask, if it was computed from the scan.
    pub mask_report: Option<tensor_fit::MaskReport>,
    pub key: FitKey,
    /// Origin of the fit, in the document's table.
    pub origin: OriginId,
    pub fitted: usize,
    pub repaired: usize,
    pub unfitted: usize,
    /// Volumes left out: b above 50 without a direction; b outside the range.
    pub without_direction: Vec<usize>,
    pub outside_range: Vec<usize>,
    pub wall_ms: f64,
    /// World bounds of the fitted voxels, mm.
    pub head: (DVec3, DVec3),
    /// Residuals of the fit, once a bootstrap has requested them.
    pub residuals: ResidualCache,
}

#[derive(Clone, Debug)]
pub struct Document {
    /// Shown in the top bar.
    pub name: String,
    /// Bottom to top.
    pub layers: Vec<Arc<Layer>>,
    pub regions: Vec<Arc<Region>>,
    /// Origins of the layers.
    pub origins: Origins,
    /// Origins of regions' masks that no layer has.
    pub mask_origins: MaskOrigins,
    pub tensors: Option<Arc<Tensors>>,
    pub fit: tensor_fit::Params,
    pub distributions: Distributions,
    /// The mask layer of the fit; `None`: a mask is computed from the scan.
    pub fit_mask: Option<LayerId>,
    pub track: TrackSettings,
    pub pathways: pathways::PathwaySettings,
    pub kept_pathways: Vec<Arc<KeptPathway>>,
    pub segment: Segmentation,
    /// The surfaces of segmented masks.
    pub surfaces: BTreeMap<LayerId, Arc<KeptSurface>>,
    pub filter: Filtering,
    /// Weights of layers' streamlines.
    pub weights: BTreeMap<LayerId, Arc<FittedWeights>>,
    /// Settings of streamlines, and measurements.
    pub streamlines: StreamlineSettings,
    /// Depth cue and clips of the 3-D view.
    pub scene_look: SceneLook,
    /// Choices of what a session stores, and records of the one that was opened.
    pub session: SessionParts,
    next_id: u64,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            name: String::new(),
            layers: Vec::new(),
            regions: Vec::new(),
            origins: Origins::default(),
            mask_origins: MaskOrigins::default(),
            tensors: None,
            fit: tensor_fit::Params::defaults(),
            distributions: Distributions::default(),
            fit_mask: None,
            track: TrackSettings::default(),
            pathways: PathwaySettings::defaults(),
            kept_pathways: Vec::new(),
            segment: Segmentation::default(),
            surfaces: BTreeMap::new(),
            filter: Filtering::default(),
            weights: BTreeMap::new(),
            streamlines: StreamlineSettings::default(),
            scene_look: SceneLook::default(),
            session: SessionParts::default(),
            next_id: 1,
        }
    }
}

impl Document {
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty() && self.missing_layers().next().is_none()
    }

    pub fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// The first id that no layer and no region has.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Reserves ids below `next`.
    pub fn reserve_ids(&mut self, next: u64) {
        self.next_id = self.next_id.max(next);
    }

    pub fn layer(&self, id: LayerId) -> Option<&Arc<Layer>> {
        self.layers.iter().find(|l| l.id == id)
    }

    /// Sentences about files that had changed since the session was saved, in the order in which their layers were
    /// opened.
    pub fn file_changes(&self) -> Vec<String> {
        let mut changed: Vec<_> = self.layers.iter().collect();
        changed.sort_by_key(|layer| layer.id);
        let changes = changed.into_iter().map(|layer| layer.file_change.clone());
        changes.flatten().collect()
    }

    pub fn layer_named(&self, name: &str) -> Option<&Arc<Layer>> {
        self.layers.iter().find(|l| l.name == name)
    }

    /// This name for a new layer, with a number if it is taken.
    pub fn free_layer_name(&self, base: &str) -> String {
        let numbered = (2..).map(|n| format!("{base} {n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let free = names.find(|name| self.layer_named(name).is_none());
        free.unwrap_or_else(|| base.to_owned())
    }

    /// The name of a layer among choices. If others have the same name, its folder follows, or, where it shares that with
    /// one of them, its number in the order in which they were added.
    pub fn distinct_layer_name(&self, layer: &Layer) -> String {
        let same_name = || self.layers.iter().filter(|l| l.name == layer.name);
        if same_name().count() < 2 {
            return layer.name.clone();
        }
        let folder = |layer: &Layer| -> Option<String> {
            let folder = self.origins.path_in_place(layer.origin)?.parent()?;
            Some(folder.file_name()?.to_string_lossy().into_owned())
        };
        let own = folder(layer);
        let in_folder = same_name().filter(|l| folder(l) == own).count();
        let addition = match own {
            Some(own) if in_folder == 1 => own,
            _ => (1 + same_name().filter(|l| l.id < layer.id).count()).to_string(),
        };
        format!("{} ({addition})", layer.name)
    }

    /// Changes a layer in place (a new value behind the same id).
    pub fn edit_layer(&mut self, id: LayerId, edit: impl FnOnce(&mut Layer)) {
        if let Some(layer) = self.layers.iter_mut().find(|l| l.id == id) {
            edit(Arc::make_mut(layer));
        }
    }
}
