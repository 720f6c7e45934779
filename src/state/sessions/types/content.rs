//! The document in a session file: one record for each item of the document, and nothing that can be opened or
//! recomputed.
//!
//! Each kind of data has one place here: where layers come from is the table of [`SavedOrigin`]s, which a layer names by
//! number; a kind of region is a variant of [`SavedShape`], a parameter a field of what it belongs to. Fields that come
//! later get `#[serde(default)]`, so that older sessions stay readable; where an older program would misread what is
//! new, the format's version goes up.

use crate::data::Role;
use crate::solvers::geodesic::RayMetricParams;
use crate::solvers::geodesic::{self, Cut};
use crate::solvers::level_set::{Measures, RunHistory, Sphere};
use crate::solvers::{curves, tensor_fit};
use crate::state::View;
use crate::state::core::camera::Camera;
use crate::state::core::display::Display;
use crate::state::filter::{Filtering, FitStatistics, VirtualLesion};
use crate::state::pathways::{PathwayParams, PathwaySettings, RandomPairRank};
use crate::state::scene_look::SceneLook;
use crate::state::segment::{LeakNotice, SegmentSettings};
use crate::state::sessions::types::file::{ReadSession, ResultStorage};
use crate::state::sessions::types::fods::SavedFodSettings;
use crate::state::sessions::types::origins::{SavedInput, SavedOrigin, Table};
use crate::state::sessions::unsaved::PartsInSession;
use crate::state::streamlines::StreamlineSettings;
use crate::state::track::types::{Method, WholeBrain};
use crate::state::track_noise::TrackNoiseSettings;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The state's part of a session file. Files, masks and layers are referred to by their numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Content {
    /// Origins of layers; documents of one session share the table.
    pub origins: Vec<SavedOrigin>,
    /// Origins of the session's masks, for commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mask_origins: Vec<SavedMaskOrigin>,
    pub document: SavedDocument,
    #[serde(default)]
    pub view: Option<View>,
    /// The 3-D camera before it moved to the surface of Segment, and the one it moved to: that task shows the second,
    /// the other tasks the first.
    #[serde(default)]
    pub surface_cameras: Option<[Camera; 2]>,
    /// The session that a recovery copy belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<PathBuf>,
    /// Checksum of that session when it was last read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_sha256: Option<String>,
    /// The part of a recovery copy that is in that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_session: Option<PartsInSession>,
    /// The snapshots, from the oldest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SavedSnapshot>,
}

/// The origin of a mask without a layer: a file that holds it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedMaskOrigin {
    pub mask: usize,
    pub origin: usize,
}

impl Content {
    /// Files that only commands name, because they hold masks: the session stores these masks itself.
    pub(in crate::state) fn files_only_named(&self) -> BTreeSet<usize> {
        let table = Table::of_content(self);
        let read = table.files(self.documents().flat_map(SavedDocument::origins));
        let named = table.files(self.mask_origins.iter().map(|m| m.origin));
        &named - &read
    }

    /// The documents of the snapshots, and the present one.
    fn documents(&self) -> impl Iterator<Item = &SavedDocument> {
        let snapshots = self.snapshots.iter().map(|s| &s.document);
        snapshots.chain([&self.document])
    }

    /// The weights of all layers.
    pub(in crate::state) fn weights(&self) -> impl Iterator<Item = &SavedWeights> {
        let layers = self.documents().flat_map(|document| &document.layers);
        layers.filter_map(|layer| layer.weights.as_deref())
    }

    /// The part of a recovery copy that is in the session it belongs to, if that is unchanged or was never saved.
    pub fn in_session(&self, read: &ReadSession) -> Option<&PartsInSession> {
        self.in_session
            .as_ref()
            .filter(|_| self.origin.is_none() || read.origin_is_same)
    }
}

/// A snapshot; its live streamlines are stored as a layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedSnapshot {
    pub name: String,
    pub document: SavedDocument,
    /// The layer that was live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedDocument {
    pub name: String,
    /// Bottom to top.
    pub layers: Vec<SavedLayer>,
    pub regions: Vec<SavedRegion>,
    pub fit: tensor_fit::Params,
    #[serde(default, skip_serializing_if = "SavedFodSettings::are_defaults")]
    pub distributions: SavedFodSettings,
    /// A layer.
    pub fit_mask: Option<u64>,
    pub method: Method,
    pub track: curves::Params,
    pub track_display: Display,
    #[serde(default)]
    pub whole_brain: WholeBrain,
    #[serde(default, skip_serializing_if = "TrackNoiseSettings::are_default")]
    pub track_noise: TrackNoiseSettings,
    #[serde(flatten)]
    pub rays: SavedRays,
    #[serde(default = "PathwaySettings::defaults")]
    pub pathways: PathwaySettings,
    #[serde(default)]
    pub kept_pathways: Vec<SavedPathway>,
    #[serde(default)]
    pub segment: SavedSegmentation,
    #[serde(default)]
    pub filter: Filtering,
    #[serde(default)]
    pub store: ResultStorage,
    /// Records refer to its regions by their indices in the list.
    #[serde(default)]
    pub streamlines: StreamlineSettings,
    /// Depth cue and clips of the 3-D view.
    #[serde(default, skip_serializing_if = "SceneLook::is_default")]
    pub scene_look: SceneLook,
}

/// Settings of rays in tensors: members of their document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRays {
    pub metric: RayMetricParams,
    #[serde(rename = "rays")]
    pub params: geodesic::Params,
    pub cut: Cut,
    #[serde(rename = "ray_display")]
    pub display: Display,
}

impl SavedDocument {
    /// The origins that its records refer to, by their numbers.
    fn origins(&self) -> impl Iterator<Item = usize> {
        let layers = self.layers.iter().flat_map(|layer| {
            let weights = layer.weights.as_ref().map(|weights| weights.fit);
            std::iter::once(layer.origin).chain(weights)
        });
        let pathways = self.kept_pathways.iter().map(|pathway| pathway.fit);
        let inputs = self.segment.run.iter().flat_map(|run| &run.inputs);
        let inputs = inputs.filter_map(|inputs| Some(inputs.layer?.0.origin));
        layers.chain(pathways).chain(inputs)
    }
}

/// A layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedLayer {
    pub id: u64,
    pub name: String,
    pub display: Display,
    /// Its origin, by its number in the session's table.
    pub origin: usize,
    /// The content of a layer that is in no file and is not recomputed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<SavedContent>,
    /// The sentence about its file, which had changed since an earlier session was saved, and was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_change: Option<String>,
    /// Weights of its streamlines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Box<SavedWeights>>,
}

/// The content of a layer, by the numbers of the session's masks and lists of numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedContent {
    /// A segmented mask, with its surface.
    Mask {
        mask: usize,
        /// sRGB.
        colour: [u8; 3],
        measures: Option<Measures>,
    },
    Image {
        grid: SavedGrid,
        values: usize,
    },
}

/// Weights of a layer's streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedWeights {
    /// Index among the session's numbers.
    pub values: usize,
    /// The streamlines have not been edited since.
    pub current: bool,
    /// The fit, by its number in the table of origins.
    pub fit: usize,
    pub figures: FitStatistics,
    pub curve: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lesions: Vec<VirtualLesion>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedGrid {
    pub shape: [usize; 3],
    /// World mm from voxels, column by column.
    pub affine: [f64; 12],
    /// The source of the affine, as the grid's source is called.
    pub source: String,
    pub space_code: i16,
}

/// A kept pathway, which is recomputed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedPathway {
    pub id: u64,
    pub name: String,
    /// sRGB.
    pub colour: [u8; 3],
    pub visible: bool,
    pub epsilon: f64,
    /// The tensor fit or the distributions, by their number in the table of origins.
    pub fit: usize,
    pub regions: Vec<SavedRegion>,
    /// The member `params` for tensors, `lifted` for distributions.
    #[serde(flatten)]
    pub params: PathwayParams,
    /// The excess up to which costs through distributions were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_excess: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<RandomPairRank>,
}

/// Initial surface before any spheres are added.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedStart {
    #[default]
    Spheres,
    Mask {
        name: String,
        mask: usize,
    },
    Values {
        low: f32,
        high: f32,
    },
    Filled {
        at: DVec3,
        within: f32,
    },
}

/// The live surface.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedSegmentation {
    pub settings: SegmentSettings,
    /// A layer.
    pub image: Option<u64>,
    /// Whether the task shows the image in place of those with an open eye.
    pub image_alone: bool,
    pub start: SavedStart,
    pub spheres: Vec<Sphere>,
    pub reference: Option<u64>,
    pub layer: Option<u64>,
    /// Regions, by their indices in the list.
    pub painted: [Option<usize>; 2],
    /// Progress of the live surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<SavedRun>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    pub script: RunHistory,
    /// Spheres by their indices in the list, each with the step after which it was placed.
    pub placed: Vec<(usize, u64)>,
    /// The leak at which it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leak: Option<LeakNotice>,
    /// By the numbers of the script; empty: the present ones of the surface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<SavedInputs>,
}

/// Inputs of the speed besides the image.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedInputs {
    /// A layer, and the index of its volume.
    pub layer: Option<(SavedInput, usize)>,
    pub painted: [Vec<SavedRegion>; 2],
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRegion {
    pub name: String,
    pub role: Role,
    pub shape: SavedShape,
    /// sRGB; `None`: the role's.
    pub colour: Option<[u8; 3]>,
    pub visible: bool,
    /// Its number in a label map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<u32>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedShape {
    Sphere {
        centre: DVec3,
        radius_mm: f64,
    },
    Box {
        centre: DVec3,
        half_mm: DVec3,
    },
    /// Stored in the session itself.
    Mask(usize),
    /// The mask of a layer.
    Layer(u64),
}

/// The key under which a session holds the checksum of a layer: `layer_7`.
pub fn result_name(layer: u64) -> String {
    format!("layer_{layer}")
}

/// The key of a layer's checksum in a snapshot, or in the document for number 0: `layer_7`, `snapshot_2_layer_7`.
pub fn snapshot_result(number: usize, layer: u64) -> String {
    let name = result_name(layer);
    match number {
        0 => name,
        number => format!("snapshot_{number}_{name}"),
    }
}

/// Keys of other results.
pub const TENSORS: &str = "tensors";
pub const DISTRIBUTIONS: &str = "distributions";
pub const LIVE: &str = "live";
pub const PATHWAY: &str = "pathway";
pub const SURFACE: &str = "surface";
