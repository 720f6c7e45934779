//! The document in a session file: what is written for each thing a user has, and nothing that can be
//! opened or computed again.
//!
//! Each kind of thing has one place here: where layers come from is the table of [`SavedOrigin`]s, which a layer names by
//! number; a kind of region is a variant of [`SavedShape`], a parameter a field of what it belongs to. Fields that come
//! later get `#[serde(default)]`, so that older sessions stay readable; where an older program would misread what is
//! new, the format's version goes up.

mod held;
mod late;
pub(in crate::state) mod origins;
pub(in crate::state) mod read;
mod results;
pub(in crate::state) mod write;

pub use crate::state::regions::saved::{Group, LeftOut, MissingRegion, left_out};
pub use crate::state::sessions::saved::late::{moved_to, one, weigh};
pub use crate::state::sessions::saved::origins::{
    SavedCurves, SavedDensity, SavedEdit, SavedFit, SavedInput, SavedMask, SavedOrigin,
    SavedReading, SavedRules, SavedSegment, SavedWeightFit, Table,
};
pub use crate::state::sessions::saved::read::{Parse, build, items, parse, view};
pub use crate::state::sessions::saved::results::{LIVE, PATHWAY, SURFACE, TENSORS, result_name};
pub use crate::state::sessions::saved::write::{autosave, draft};
pub use crate::state::snapshots::saved::{
    awaiting, restore as snapshots, result_name as snapshot_result,
};

use crate::data::Role;
use crate::jobs::session::{Change, Entry, ReadSession, ResultStorage};
use crate::solvers::curves;
use crate::solvers::geodesic::{self, Cut};
use crate::solvers::level_set::{Measures, RunHistory, Sphere};
use crate::solvers::pathway;
use crate::solvers::tensor_fit::{self, FitMap};
use crate::solvers::tractogram::selection::Edit;
use crate::state::document::{Display, Document, Made, Method};
use crate::state::filter::{Filtering, FitStatistics, VirtualLesion};
use crate::state::origin::{Computed, Origin};
use crate::state::pathways::{self, AmongPairs};
use crate::state::recipe::MediumRecipe;
use crate::state::segment::SegmentSettings;
use crate::state::segment::jobs::LeakNotice;
use crate::state::sessions::unsaved::InSession;
use crate::state::streamlines::Bundle;
use crate::state::track::whole_brain::WholeBrain;
use crate::state::view::View;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the state adds to a session file. Files, masks and layers are named by their numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Content {
    /// Where layers come from; documents of one session share the table.
    pub origins: Vec<SavedOrigin>,
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
    #[serde(default = "crate::state::defaults::pathways")]
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

/// A layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedLayer {
    pub id: u64,
    pub name: String,
    pub display: Display,
    /// Where it comes from, by its number in the session's table of origins.
    pub origin: usize,
    /// The content of a layer that no file holds and that is not made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<SavedContent>,
    /// Its file was not what an earlier session was saved with, and was taken as it is: a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_change: Option<String>,
    /// Of streamlines.
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
    /// Which of the session's numbers they are.
    pub values: usize,
    /// The streamlines were not edited since.
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

/// A pathway that was kept; it is solved again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedPathway {
    pub id: u64,
    pub name: String,
    /// sRGB.
    pub colour: [u8; 3],
    pub visible: bool,
    pub epsilon: f64,
    /// The tensor fit, by its number in the table of origins.
    pub fit: usize,
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
    /// With the volume of it.
    pub layer: Option<(SavedInput, usize)>,
    pub painted: [Vec<SavedRegion>; 2],
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

/// The layers of a session, until the fit has brought those that are its own.
#[derive(Clone, Debug)]
pub struct AwaitedLayers {
    layers: Arc<[SavedLayer]>,
    /// Their session.
    pub(in crate::state) read: Arc<ReadSession>,
}

impl AwaitedLayers {
    pub fn new(layers: Arc<[SavedLayer]>, read: Arc<ReadSession>) -> Self {
        Self { layers, read }
    }

    pub fn layers(&self) -> &[SavedLayer] {
        &self.layers
    }

    /// The map of the fit that a layer is.
    pub(in crate::state) fn map_of(&self, layer: &SavedLayer) -> Option<FitMap> {
        match Table::new(&self.read).base(layer.origin)? {
            SavedOrigin::BrainMask { .. } => Some(FitMap::Mask),
            SavedOrigin::FitMap { map, .. } => Some(*map),
            _ => None,
        }
    }
}

/// What of a session's kept results is not here, in one sentence.
pub fn away(document: &Document) -> Option<String> {
    let kept = document.absent.iter().filter(|a| a.can_be_made());
    let names: Vec<&str> = kept.map(|a| &*a.layer.name).collect();
    let (what, them) = match names.len() {
        0 => return None,
        1 => ("1 kept result is".to_owned(), "it"),
        n => (format!("{n} kept results are"), "them"),
    };
    Some(format!(
        "{what} not stored beside the session ({}): make {them} again, or take {them} out, in Layers",
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
    /// Where it comes from before it was edited, moved and reoriented.
    pub(in crate::state) fn base(&self) -> Option<&SavedOrigin> {
        Table::new(&self.read).base(self.layer.origin)
    }

    /// Where its file was, if it is of one.
    pub fn file(&self) -> Option<&std::path::Path> {
        match self.base()? {
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
        self.can_be_made() && !results.any(|r| r.file.is_some() && of_it(&r.of))
    }

    /// Whether it can be made again.
    pub fn can_be_made(&self) -> bool {
        matches!(self.base(), Some(SavedOrigin::Curves(_)))
    }

    /// How its streamlines were made; `None` where they were not made here. An error is half a sentence.
    pub fn made(&self, document: &Document) -> Option<Result<Arc<Made>, String>> {
        if !self.can_be_made() {
            return None;
        }
        let table = Table::new(&self.read);
        let origin = table
            .resolve(document, &self.read)
            .get(table.unedited(self.layer.origin));
        Some(
            origin.and_then(|origin| match document.origins.base(origin) {
                Origin::Computed(Computed::Curves(made)) => Ok(made.clone()),
                _ => Err("its session does not say how".to_owned()),
            }),
        )
    }

    /// The steps that kept some of its streamlines; an error is a sentence.
    pub fn edits(&self) -> Result<Vec<Edit>, String> {
        let table = Table::new(&self.read);
        origins::edits(&self.read, &table.steps(self.layer.origin))
    }
}
