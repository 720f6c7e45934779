//! The document in a session file: one record for each item of the document, and nothing that can be opened or
//! recomputed.
//!
//! Each kind of item has one place here: a kind of layer is a variant of [`SavedOrigin`], a kind of region one of
//! [`SavedShape`], a parameter a field of its owner. Later fields get `#[serde(default)]`, so that older sessions stay
//! readable; if an older program would misread the new content, the format's version increases.

mod held;
mod late;
pub(in crate::state) mod read;
mod results;
pub(in crate::state) mod write;

pub use crate::state::regions::saved::{Group, LeftOut, MissingRegion, left_out};
pub use crate::state::sessions::saved::late::{moved_to, one, weigh};
pub use crate::state::sessions::saved::read::{Parse, build, edits, items, made, parse, view};
pub use crate::state::sessions::saved::results::{LIVE, PATHWAY, SURFACE, TENSORS, result_name};
pub use crate::state::sessions::saved::write::{autosave, draft};
pub use crate::state::snapshots::saved::{
    awaiting, restore as snapshots, result_name as snapshot_result,
};

use crate::data::axis_change::AxisChange;
use crate::data::{Role, TensorLayout};
use crate::io::Space;
use crate::jobs::session::{Change, Entry, ReadSession, ResultStorage};
use crate::solvers::curves::{self, StopReason};
use crate::solvers::geodesic::{self, Cut};
use crate::solvers::level_set::{Measures, RunHistory, Sphere};
use crate::solvers::tensor_fit::{self, FitMap};
use crate::solvers::tractogram::selection::Runs;
use crate::solvers::{density, pathway};
use crate::state::alignment::AlignedBy;
use crate::state::core::display::Display;
use crate::state::document::{Document, Method};
use crate::state::filter::{Filtering, FitInputs, FitStatistics, VirtualLesion, WeightMap};
use crate::state::origin::PhantomPart;
use crate::state::pathways::{self, AmongPairs, PathwaySettings};
use crate::state::recipe::RayMetricParams;
use crate::state::segment::SegmentSettings;
use crate::state::segment::jobs::LeakNotice;
use crate::state::session::CurveParams;
use crate::state::sessions::unsaved::InSession;
use crate::state::streamlines::Bundle;
use crate::state::track::types::WholeBrain;
use crate::state::view::View;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state's part of a session file. Files, masks and layers are referred to by their numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Content {
    pub document: SavedDocument,
    #[serde(default)]
    pub view: Option<View>,
    /// The session that a recovery copy belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<PathBuf>,
    /// Checksum of that session when it was last read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_sha256: Option<String>,
    /// The part of a recovery copy that is in that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_session: Option<InSession>,
    /// The snapshots, from the oldest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SavedSnapshot>,
}

impl Content {
    /// The part of a recovery copy that is in the session it belongs to, if that is unchanged or was never saved.
    pub fn in_session(&self, read: &ReadSession) -> Option<&InSession> {
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
    /// A layer.
    pub fit_mask: Option<u64>,
    pub method: Method,
    pub track: curves::Params,
    pub track_display: Display,
    #[serde(default)]
    pub whole_brain: WholeBrain,
    pub medium: RayMetricParams,
    pub rays: geodesic::Params,
    pub cut: Cut,
    pub ray_display: Display,
    #[serde(default = "PathwaySettings::defaults")]
    pub pathways: pathways::PathwaySettings,
    #[serde(default)]
    pub kept_pathways: Vec<SavedPathway>,
    #[serde(default)]
    pub segment: SavedSegmentation,
    #[serde(default)]
    pub filter: Filtering,
    #[serde(default)]
    pub store: ResultStorage,
    /// Its regions are referred to by their indices in the list.
    #[serde(default)]
    pub bundle: Bundle,
}

/// A layer. Recorded edits of the file's content are stored here, next to `from`, and applied to that content in
/// [`build`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedLayer {
    pub id: u64,
    pub name: String,
    pub display: Display,
    pub from: SavedOrigin,
    /// Permutation and flips of a scan's gradient axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AxisChange>,
    /// Its transform: from the world of the file to this one, mm, by rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<[f64; 12]>,
    #[serde(default)]
    pub moved_how: AlignedBy,
    /// Edits of its streamlines, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<SavedEdit>,
    /// Its file had changed since the session was saved, and was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Weights of its streamlines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Box<SavedWeights>>,
}

/// A step that keeps some streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum SavedEdit {
    Select(Box<SavedRules>),
    Keep(Runs),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRules {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub regions: Vec<SavedRegion>,
    pub by_ends: bool,
    /// Name, and limits; `None`: open.
    pub values: Vec<(String, Option<f32>, Option<f32>)>,
    pub stop: Option<StopReason>,
    pub invert: bool,
    pub at_most: Option<(usize, u64)>,
}

/// Origin of a layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum SavedOrigin {
    /// A file, and gradient files that are not next to it.
    File {
        file: usize,
        gradients: Vec<usize>,
        #[serde(default, skip_serializing_if = "SavedTold::is_nothing")]
        told: SavedTold,
    },
    /// The built-in head.
    Head { seed: u64, part: PhantomPart },
    /// Recomputed by the fit.
    Made { map: FitMap },
    /// Kept streamlines or rays.
    Kept(Box<SavedCurves>),
    /// A density map of another layer's streamlines.
    Density(Box<SavedDensity>),
    /// A mask from a level set.
    Segmented(Box<SavedSegment>),
    /// A map of a COMMIT fit; its values are in the session.
    Weights(Box<SavedWeightMap>),
}

/// Weights of a layer's streamlines, and all inputs of their fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedWeights {
    /// Index among the session's numbers.
    pub values: usize,
    /// The streamlines have not been edited since.
    pub current: bool,
    /// Layers, by their numbers.
    pub from: FitInputs,
    pub figures: FitStatistics,
    pub curve: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lesions: Vec<VirtualLesion>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedWeightMap {
    /// A layer.
    pub of: u64,
    pub map: WeightMap,
    pub grid: SavedGrid,
    /// Index of its values among the session's numbers.
    pub values: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedDensity {
    /// A layer, and its transform at the time, as in [`SavedLayer::moved`].
    pub of: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<[f64; 12]>,
    /// `None`: voxels around the streamlines.
    pub grid: Option<SavedGrid>,
    /// Edge of cubes, mm; `None`: the grid's own voxels.
    pub voxel_mm: Option<f64>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<usize>,
    pub params: density::Params,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedGrid {
    pub shape: [usize; 3],
    /// World mm from voxels, column by column.
    pub affine: [f64; 12],
    /// Source of the affine, by its key.
    pub source: String,
    pub space_code: i16,
}

/// The user's reading of a file where it leaves something open.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SavedTold {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vtk_space: Option<Space>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colours: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensors: Option<TensorLayout>,
}

impl SavedTold {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Inputs of a tensor fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedBasis {
    pub source: SavedSource,
    /// Axis change of the scan's gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AxisChange>,
    pub mask: SavedMask,
    pub fit: tensor_fit::Params,
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
    #[serde(flatten)]
    pub basis: SavedBasis,
    pub regions: Vec<SavedRegion>,
    pub params: pathway::Params,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<AmongPairs>,
}

/// Initial surface before any spheres are added.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
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
    pub start: SavedStart,
    pub spheres: Vec<Sphere>,
    pub reference: Option<u64>,
    pub layer: Option<u64>,
    /// Regions, by their indices in the list.
    pub painted: [Option<usize>; 2],
    /// Its progress.
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
    pub layer: Option<(u64, usize)>,
    pub painted: [Vec<SavedRegion>; 2],
}

/// A mask, and all inputs of its segmentation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedSegment {
    pub image: u64,
    pub frame: usize,
    pub start: SavedStart,
    pub spheres: Vec<Sphere>,
    #[serde(flatten)]
    pub inputs: SavedInputs,
    /// Their later replacements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<SavedInputs>,
    pub script: RunHistory,
    pub mask: usize,
    /// sRGB.
    pub colour: [u8; 3],
    pub measures: Option<Measures>,
}

/// The recipe of kept streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedCurves {
    #[serde(flatten)]
    pub basis: SavedBasis,
    pub regions: Vec<SavedRegion>,
    pub curves: CurveParams,
    pub cut: Cut,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum SavedSource {
    File { file: usize, gradients: Vec<usize> },
    Tensors { file: usize, layout: TensorLayout },
    Head { seed: u64 },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum SavedMask {
    /// Found from the scan itself.
    Found,
    File(usize),
    /// The built-in head's own mask.
    Head,
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

/// The sentence about a layer whose file has changed: `refFA.nii.gz is not the file this session was saved with: it has
/// 683 319 bytes and had 752 851`.
pub(in crate::state) fn not_what_it_was(entry: &Entry, path: &Path, change: &Change) -> String {
    let name = entry.name();
    let now = path.file_name().unwrap_or_default().to_string_lossy();
    let what = match now == name {
        true => name.to_owned(),
        false => format!("{now}, taken for {name},"),
    };
    let why = change.clause();
    format!("{what} is not the file this session was saved with: {why}")
}

/// A missing layer of a session; it stays in the session.
#[derive(Clone, Debug)]
pub struct MissingLayer {
    pub layer: SavedLayer,
    /// The reason, a sentence.
    pub why: String,
    /// The session that its numbers refer to.
    pub read: Arc<ReadSession>,
}

/// The missing kept results of a session, as one sentence.
pub fn away(document: &Document) -> Option<String> {
    let kept = document.absent.iter().filter(|a| a.kept().is_some());
    let names: Vec<&str> = kept.map(|a| &*a.layer.name).collect();
    let (what, them) = match names.len() {
        0 => return None,
        1 => ("1 kept result is".to_owned(), "it"),
        n => (format!("{n} kept results are"), "them"),
    };
    Some(format!(
        "{what} not stored beside the session ({}): recompute {them}, or remove {them}, in Layers",
        names.join(", ")
    ))
}

/// Why the missing files of the session could not be opened.
pub fn unopened(document: &Document) -> Option<String> {
    let absent = document.absent.iter().filter(|a| a.file().is_some());
    let all: Vec<&str> = absent.map(|a| &*a.why).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

impl MissingLayer {
    /// The former path of its file, if it comes from one.
    pub fn file(&self) -> Option<&std::path::Path> {
        match &self.layer.from {
            SavedOrigin::File { file, .. } => self.read.files.get(*file).map(|f| &*f.path),
            _ => None,
        }
    }

    /// Whether its session has only the recipe of its streamlines: nothing else can be lost.
    pub(in crate::state) fn is_recipe_alone(&self) -> bool {
        let name = result_name(self.layer.id);
        // A snapshot may have others with the same number.
        let before = |of: &str| of.strip_suffix(&name).map(str::to_owned);
        let of_it = |of: &str| before(of).is_some_and(|b| b.is_empty() || b.ends_with(' '));
        let mut results = self.read.results.iter();
        self.kept().is_some() && !results.any(|r| r.file.is_some() && of_it(&r.of))
    }

    /// Its recipe, if it can be recomputed.
    pub fn kept(&self) -> Option<&SavedCurves> {
        match &self.layer.from {
            SavedOrigin::Kept(curves) => Some(&**curves),
            _ => None,
        }
    }
}
