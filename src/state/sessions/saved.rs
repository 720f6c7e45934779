//! The document in a session file: what is written for each thing a user has, and nothing that can be
//! opened or computed again.
//!
//! Each kind of thing has one place here: a kind of layer is a variant of [`SavedOrigin`], a kind of region
//! one of [`SavedShape`], a parameter a field of what it belongs to. Fields that come later get
//! `#[serde(default)]`, so that older sessions stay readable; where an older program would misread
//! what is new, the format's version goes up.

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
use crate::state::recipe::MediumRecipe;
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

/// What the state adds to a session file. Files, masks and layers are named by their numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Content {
    pub document: SavedDocument,
    #[serde(default)]
    pub view: Option<View>,
    /// The session that a save for recovery belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<PathBuf>,
    /// Checksum of that one as it was read or written last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_sha256: Option<String>,
    /// What of a save for recovery is in that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_session: Option<InSession>,
    /// What is kept to be compared with, from the oldest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SavedSnapshot>,
}

impl Content {
    /// What of a copy for recovery is in the session that it belongs to, where that one is what it was, or was
    /// never saved.
    pub fn in_session(&self, read: &ReadSession) -> Option<&InSession> {
        self.in_session
            .as_ref()
            .filter(|_| self.origin.is_none() || read.origin_is_same)
    }
}

/// What was there once; live streamlines are a layer of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedSnapshot {
    pub name: String,
    pub document: SavedDocument,
    /// That layer.
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
    pub medium: MediumRecipe,
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
    /// Regions in it are named by their places in the list.
    #[serde(default)]
    pub bundle: Bundle,
}

/// A layer. Edits of what was read that are recorded belong here, beside `from`, applied in [`build`]
/// to what a file gave.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedLayer {
    pub id: u64,
    pub name: String,
    pub display: Display,
    pub from: SavedOrigin,
    /// Axes of a scan's gradients that were exchanged or flipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AxisChange>,
    /// Where it was moved to: from the file's world to this one, mm, by rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<[f64; 12]>,
    #[serde(default)]
    pub moved_how: AlignedBy,
    /// What was done to streamlines, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<SavedEdit>,
    /// Its file was not what the session was saved with, and was taken as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Of streamlines.
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
    /// Name, and limits; none: open.
    pub values: Vec<(String, Option<f32>, Option<f32>)>,
    pub stop: Option<StopReason>,
    pub invert: bool,
    pub at_most: Option<(usize, u64)>,
}

/// Where a layer comes from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum SavedOrigin {
    /// A file, and gradient files that do not lie beside it.
    File {
        file: usize,
        gradients: Vec<usize>,
        #[serde(default, skip_serializing_if = "SavedTold::is_nothing")]
        told: SavedTold,
    },
    /// The built-in head.
    Head { seed: u64, part: PhantomPart },
    /// The fit makes it again.
    Made { map: FitMap },
    /// Streamlines or rays that were kept.
    Kept(Box<SavedCurves>),
    /// Where another layer's streamlines pass.
    Density(Box<SavedDensity>),
    /// A mask by a level set.
    Segmented(Box<SavedSegment>),
    /// A map of a fit of weights; its values are in the session.
    Weights(Box<SavedWeightMap>),
}

/// Weights of a layer's streamlines, and all that they were fitted from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedWeights {
    /// Which of the session's numbers they are.
    pub values: usize,
    /// The streamlines were not edited since.
    pub current: bool,
    /// Layers by their numbers.
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
    /// Which of the session's numbers its values are.
    pub values: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedDensity {
    /// A layer, and where it was moved then, as [`SavedLayer::moved`].
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
    /// What the affine is from, as the grid's source is called.
    pub source: String,
    pub space_code: i16,
}

/// What the user said of a file where it is silent itself.
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

/// What tensors were fitted from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedBasis {
    pub source: SavedSource,
    /// Of the scan's gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AxisChange>,
    pub mask: SavedMask,
    pub fit: tensor_fit::Params,
}

/// A pathway that was kept; it is solved again.
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

/// What a surface begins with, before spheres.
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

/// The surface in the hand.
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
    /// Regions by their places in the list.
    pub painted: [Option<usize>; 2],
    /// How far it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<SavedRun>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    pub script: RunHistory,
    /// Spheres by their places in the list, and after how many steps they were placed.
    pub placed: Vec<(usize, u64)>,
    /// The leak at which it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leak: Option<LeakNotice>,
    /// By the numbers of the script; none: what the surface has now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<SavedInputs>,
}

/// What gave speeds beside the image.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedInputs {
    pub layer: Option<(u64, usize)>,
    pub painted: [Vec<SavedRegion>; 2],
}

/// A mask, and all that it was segmented from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedSegment {
    pub image: u64,
    pub frame: usize,
    pub start: SavedStart,
    pub spheres: Vec<Sphere>,
    #[serde(flatten)]
    pub inputs: SavedInputs,
    /// What took their place on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<SavedInputs>,
    pub script: RunHistory,
    pub mask: usize,
    /// sRGB.
    pub colour: [u8; 3],
    pub measures: Option<Measures>,
}

/// All that kept streamlines were made from.
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
    /// From the scan itself.
    Found,
    File(usize),
    /// The built-in head's own.
    Head,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRegion {
    pub name: String,
    pub role: Role,
    pub shape: SavedShape,
    /// sRGB; none: the role's.
    pub colour: Option<[u8; 3]>,
    pub visible: bool,
    /// What it was in a label map.
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
    /// In the session itself.
    Mask(usize),
    /// The mask that a layer is.
    Layer(u64),
}

/// What is said of a layer whose file is not what it was: `refFA.nii.gz is not the file this session was
/// saved with: it has 683 319 bytes and had 752 851`.
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

/// A layer of a session that is not here; it stays in the session.
#[derive(Clone, Debug)]
pub struct MissingLayer {
    pub layer: SavedLayer,
    /// A sentence.
    pub why: String,
    /// What its numbers are of.
    pub read: Arc<ReadSession>,
}

/// What of a session's kept results is not here, in one sentence.
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

/// Why the session's files that are not here could not be opened.
pub fn unopened(document: &Document) -> Option<String> {
    let absent = document.absent.iter().filter(|a| a.file().is_some());
    let all: Vec<&str> = absent.map(|a| &*a.why).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

impl MissingLayer {
    /// Where its file was, if it is of one.
    pub fn file(&self) -> Option<&std::path::Path> {
        match &self.layer.from {
            SavedOrigin::File { file, .. } => self.read.files.get(*file).map(|f| &*f.path),
            _ => None,
        }
    }

    /// Whether its session has no streamlines of it, only how they are made: there is nothing else to lose.
    pub(in crate::state) fn is_recipe_alone(&self) -> bool {
        let name = result_name(self.layer.id);
        // Under the same number a snapshot may have others.
        let before = |of: &str| of.strip_suffix(&name).map(str::to_owned);
        let of_it = |of: &str| before(of).is_some_and(|b| b.is_empty() || b.ends_with(' '));
        let mut results = self.read.results.iter();
        self.kept().is_some() && !results.any(|r| r.file.is_some() && of_it(&r.of))
    }

    /// Whether it can be made again.
    pub fn kept(&self) -> Option<&SavedCurves> {
        match &self.layer.from {
            SavedOrigin::Kept(curves) => Some(&**curves),
            _ => None,
        }
    }
}
