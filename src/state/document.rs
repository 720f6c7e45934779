//! The content restored by undo: layers, regions and parameters.

mod arrange;
mod extent;
mod missing;

use crate::data::region::RegionId;
use crate::data::{DataId, Mask, Region, Role, Shape, TensorField, TensorLayout, Volume};
use crate::solvers::geodesic::Cut;
pub use crate::solvers::geodesic::Rays;
use crate::solvers::{density, tensor_fit};
use crate::state::core::display::Display;
use crate::state::core::layer::{Content, Input, Layer, LayerId, OriginId};
use crate::state::filter::{Filtering, FittedWeights};
use crate::state::origin::Origins;
use crate::state::pathways::{self, KeptPathway, PathwaySettings};
use crate::state::regions::recipe::{RegionSpec, ShapeSpec};
use crate::state::segment::{KeptSurface, Segmentation};
use crate::state::sessions::types::file::ResultStorage;
use crate::state::sessions::types::missing::{AwaitedLayers, MissingItem};
use crate::state::streamlines::Bundle;
use crate::state::tensors::types::{BootstrapInput, FitKey, ResidualCache};
pub use crate::state::track::types::Method;
use crate::state::track::types::{CurveParams, TrackSettings};
use glam::{DAffine3, DVec3};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A finished tensor fit.
#[derive(Clone, Debug)]
pub struct Tensors {
    pub field: TensorField,
    pub fa: Volume,
    pub mask: Mask,
    /// Reliability of the mask, if it was found from the scan.
    pub mask_found: Option<tensor_fit::MaskReport>,
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
    pub tensors: Option<Arc<Tensors>>,
    pub fit: tensor_fit::Params,
    /// The mask layer of the fit; `None`: a mask is found from the scan.
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
    pub bundle: Bundle,
    /// The streamlines that a session stores next to itself.
    pub store: ResultStorage,
    /// Missing parts of a session, and those that cannot be read.
    pub missing: Vec<MissingItem>,
    /// The layers of a session, until the fit has added its own.
    pub awaited: Option<AwaitedLayers>,
    /// Files that hold masks made here, for commands.
    pub mask_files: Vec<(DataId, PathBuf)>,
    next_id: u64,
}

/// The recipe of kept streamlines or rays.
#[derive(Clone, PartialEq, Debug)]
pub struct CurveRecipe {
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub curves: CurveParams,
    pub cut: Cut,
}

/// The recipe of a density map.
#[derive(Clone, PartialEq, Debug)]
pub struct DensityMap {
    pub input: Input,
    /// Transform of that layer at the time.
    pub transform: DAffine3,
    pub grid: density::DensityGrid,
    /// The image that defines the voxels, if the streamlines have no grid.
    pub template: Option<PathBuf>,
    pub params: density::Params,
}

/// The mask of a tensor fit.
#[derive(Clone, PartialEq, Debug)]
pub enum FitMask {
    /// Found from the scan itself.
    Found,
    File(PathBuf),
    /// The built-in head's own mask.
    Head,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            name: String::new(),
            layers: Vec::new(),
            regions: Vec::new(),
            origins: Origins::default(),
            tensors: None,
            fit: tensor_fit::Params::defaults(),
            fit_mask: None,
            track: TrackSettings::default(),
            pathways: PathwaySettings::defaults(),
            kept_pathways: Vec::new(),
            segment: Segmentation::default(),
            surfaces: BTreeMap::new(),
            filter: Filtering::default(),
            weights: BTreeMap::new(),
            bundle: Bundle::default(),
            store: ResultStorage::default(),
            missing: Vec::new(),
            awaited: None,
            mask_files: Vec::new(),
            next_id: 1,
        }
    }
}

/// The name of a region whose mask has no file, so that no command can name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MaskWithoutFile(pub String);

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

    /// Input of a bootstrap of the tensors, if their scan is still loaded.
    pub fn resample(&self) -> Option<BootstrapInput> {
        let tensors = self.tensors.as_ref()?;
        let (dwi, gradients) = self.layers.iter().find_map(|l| match &l.content {
            Content::Scan {
                dwi,
                gradients: Some(gradients),
            } => (dwi.id() == tensors.key.scan).then_some((dwi, gradients)),
            _ => None,
        })?;
        Some(BootstrapInput {
            dwi: dwi.clone(),
            gradients: gradients.clone(),
            mask: tensors.mask.clone(),
            params: tensors.key.params.clone(),
            residuals: tensors.residuals.clone(),
        })
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

    pub fn region(&self, id: RegionId) -> Option<&Arc<Region>> {
        self.regions.iter().find(|r| r.id == id)
    }

    /// Changes a layer in place (a new value behind the same id).
    pub fn edit_layer(&mut self, id: LayerId, edit: impl FnOnce(&mut Layer)) {
        if let Some(layer) = self.layers.iter_mut().find(|l| l.id == id) {
            edit(Arc::make_mut(layer));
        }
    }

    pub fn edit_region(&mut self, id: RegionId, edit: impl FnOnce(&mut Region)) {
        if let Some(region) = self.regions.iter_mut().find(|r| r.id == id) {
            edit(Arc::make_mut(region));
        }
    }

    /// The input of a fit: the topmost diffusion scan with gradients, or image of tensors.
    pub fn scan(&self) -> Option<&Arc<Layer>> {
        let fits = |l: &&Arc<Layer>| match &l.content {
            Content::Scan { dwi, gradients } => gradients.is_some() || dwi.tensors.is_some(),
            _ => false,
        };
        self.layers.iter().rev().find(fits)
    }

    /// The topmost image of six volumes without any reading: tensors, perhaps.
    pub fn unread_tensors(&self) -> Option<&Arc<Layer>> {
        let six = |l: &&Arc<Layer>| match &l.content {
            Content::Scan {
                dwi,
                gradients: None,
            } => dwi.frames == TensorLayout::VOLUMES && dwi.tensors.is_none(),
            _ => false,
        };
        self.layers.iter().rev().find(six)
    }

    /// Whether a layer can be the fit's mask: a mask that was opened, with the scan's voxels. A computed mask would
    /// make a fit depend on the previous one.
    pub fn can_be_fit_mask(&self, layer: &Layer) -> bool {
        let origin = self.origin(layer);
        let opened = origin.is_plain_file() || origin.is_phantom();
        let scan = self.scan().and_then(|l| l.content.volume());
        match (&layer.content, scan) {
            (Content::Mask(mask), Some(scan)) => opened && mask.has_voxels_of(&scan.grid),
            _ => false,
        }
    }

    /// The chosen mask of the fit with its layer, if it is loaded and fits the scan.
    pub fn chosen_mask(&self) -> Option<(&Arc<Layer>, &Mask)> {
        let layer = self.layer(self.fit_mask?)?;
        match &layer.content {
            Content::Mask(mask) if self.can_be_fit_mask(layer) => Some((layer, mask)),
            _ => None,
        }
    }

    /// The key of the fit of the present document; `None` without a scan.
    pub fn requested_fit(&self) -> Option<FitKey> {
        Some(FitKey {
            scan: self.scan()?.content.volume()?.id(),
            mask: self.chosen_mask().map(|(_, mask)| mask.id()),
            params: self.fit.clone(),
        })
    }

    /// Whether the tensors that it wants are still to be computed.
    pub fn lacks_requested_fit(&self) -> bool {
        let requested = self.requested_fit();
        requested.is_some() && requested.as_ref() != self.tensors.as_ref().map(|t| &t.key)
    }

    /// Display of the live result.
    pub fn live_display(&self) -> &Display {
        match self.track.method {
            Method::Streamlines => &self.track.streamline_display,
            Method::Rays => &self.track.ray_display,
        }
    }

    pub fn live_display_mut(&mut self) -> &mut Display {
        match self.track.method {
            Method::Streamlines => &mut self.track.streamline_display,
            Method::Rays => &mut self.track.ray_display,
        }
    }

    /// Regions as text.
    pub fn specs(&self, regions: &[Region]) -> Result<Vec<RegionSpec>, MaskWithoutFile> {
        let path_of = |region: &Region| {
            let Shape::Mask(mask) = &*region.shape else {
                return None;
            };
            let same =
                |l: &&Arc<Layer>| matches!(&l.content, Content::Mask(m) if m.id() == mask.id());
            let opened = self.layers.iter().find(same);
            let exported = || {
                let mut files = self.mask_files.iter().rev();
                let (_, path) = files.find(|(id, _)| *id == mask.id())?;
                Some(path.clone())
            };
            // The file of a moved layer gives its original position.
            let original_path = opened.and_then(|l| self.origins.path_in_place(l.origin));
            original_path.map(Path::to_owned).or_else(exported)
        };
        let spec = |r: &Region| {
            let shape = ShapeSpec::from_shape(&r.shape, path_of(r).as_deref());
            let shape = shape.ok_or_else(|| MaskWithoutFile(r.name.clone()))?;
            let role = r.role;
            Ok(RegionSpec { role, shape })
        };
        regions.iter().map(spec).collect()
    }

    /// Adds a region.
    pub fn add_region(&mut self, name: String, role: Role, shape: Arc<Shape>) -> RegionId {
        let id = RegionId(self.fresh_id());
        self.regions.push(Arc::new(Region {
            id,
            name,
            role,
            shape,
            colour: None,
            visible: true,
            label_number: None,
        }));
        id
    }

    /// A name that no region has yet: `Seed`, `Seed 2`, …
    pub fn region_name(&self, role: Role) -> String {
        let taken = |name: &str| self.regions.iter().any(|r| r.name == name);
        let numbered = (2..).map(|n| format!("{} {n}", role.name()));
        std::iter::once(role.name().to_owned())
            .chain(numbered)
            .find(|name| !taken(name))
            .unwrap_or_default()
    }
}
