//! Missing parts of a session, and those that cannot be read: they stay in the session, and are written unchanged.

use crate::data::DataId;
use crate::data::region::RegionId;
use crate::solvers::tensor_fit::FitMap;
use crate::state::core::layer::LayerId;
use crate::state::core::text::{counted, shortened_list};
use crate::state::sessions::types::content::{
    SavedLayer, SavedPathway, SavedRegion, SavedSegmentation, SavedShape, SavedWeights,
    snapshot_result,
};
use crate::state::sessions::types::file::{FileComparison, ReadSession, ResultStorage};
use crate::state::sessions::types::origins::{SavedOrigin, Table};
use crate::state::sessions::types::restore_error::{NotRestored, PartError};
use crate::state::tensors::recipe::fod::FodMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Choices of what a session stores, and records of the session that was opened.
#[derive(Clone, Debug, Default)]
pub struct SessionParts {
    /// The streamlines that a session stores next to itself.
    pub store: ResultStorage,
    /// Records of the session that was opened which are not restored; saving writes them back.
    pub unrestored: UnrestoredRecords,
}

impl SessionParts {
    /// Adds a record that is not restored.
    pub(in crate::state) fn add(&mut self, item: MissingItem) {
        self.unrestored.items.push(item);
    }
}

/// Records of an opened session that the document does not contain. They are data to be restored or written back, not
/// provenance: the number of an origin in such a record refers to the table of its session, and once a record is
/// restored its origin is in [`Origins`](crate::state::origin::Origins) like any other.
#[derive(Clone, Debug, Default)]
pub struct UnrestoredRecords {
    /// Records whose files are missing, or that cannot be read.
    pub items: Vec<MissingItem>,
    /// The layers of the session while the opening runs, until the fit has added its own.
    pub awaited: Option<AwaitedLayers>,
    /// The awaited layers, until the distributions have added theirs.
    pub awaited_fods: Option<AwaitedLayers>,
}

#[derive(Clone, Debug)]
pub enum MissingItem {
    Layer(Arc<MissingLayer>),
    /// The record of a loaded layer whose origin cannot be read: that layer has an unknown origin.
    Origin(Arc<MissingLayer>),
    Part(Arc<MissingPart>),
}

/// A layer of a session.
#[derive(Clone, Debug)]
pub struct MissingLayer {
    pub layer: SavedLayer,
    pub reason: NotRestored,
    /// The session that its numbers refer to.
    pub session: Arc<ReadSession>,
}

/// The layers of a session, until the fit has added its own.
#[derive(Clone, Debug)]
pub struct AwaitedLayers {
    layers: Arc<[SavedLayer]>,
    /// Their session.
    pub(in crate::state) session: Arc<ReadSession>,
}

impl AwaitedLayers {
    pub fn new(layers: Arc<[SavedLayer]>, session: Arc<ReadSession>) -> Self {
        Self { layers, session }
    }

    pub fn layers(&self) -> &[SavedLayer] {
        &self.layers
    }

    /// The map of the distributions that a layer is.
    pub(in crate::state) fn fod_map_of(&self, layer: &SavedLayer) -> Option<FodMap> {
        match Table::new(&self.session).base(layer.origin)? {
            SavedOrigin::FodMap { map, .. } => Some(*map),
            _ => None,
        }
    }

    /// The map of the fit that a layer is.
    pub(in crate::state) fn map_of(&self, layer: &SavedLayer) -> Option<FitMap> {
        match Table::new(&self.session).base(layer.origin)? {
            SavedOrigin::BrainMask { .. } => Some(FitMap::Mask),
            SavedOrigin::FitMap { map, .. } => Some(*map),
            _ => None,
        }
    }
}

impl MissingItem {
    /// The layer that is missing, or whose origin is.
    pub fn layer(&self) -> Option<LayerId> {
        match self {
            Self::Layer(missing) | Self::Origin(missing) => Some(LayerId(missing.layer.id)),
            Self::Part(_) => None,
        }
    }
}

impl MissingLayer {
    /// Its origin before any edit, transform and reorientation.
    pub(in crate::state) fn base(&self) -> Option<&SavedOrigin> {
        Table::new(&self.session).base(self.layer.origin)
    }

    /// Its session, with the layer's file at another place.
    pub(in crate::state) fn session_with_file_at(&self, path: PathBuf) -> ReadSession {
        let mut read = (*self.session).clone();
        if let Some(SavedOrigin::File { file, .. }) = self.base()
            && let Some(entry) = read.files.get_mut(*file)
        {
            (entry.path, entry.standing) = (path, FileComparison::Same);
        }
        read
    }

    /// The former path of its file, if it comes from one.
    pub fn file(&self) -> Option<&Path> {
        match self.base()? {
            SavedOrigin::File { file, .. } => self.session.files.get(*file).map(|f| &*f.path),
            _ => None,
        }
    }

    /// Whether its session has only the recipe of its streamlines: nothing else can be lost.
    pub(in crate::state) fn is_recipe_alone(&self) -> bool {
        let content = self.session.content.as_ref();
        let snapshots = content.map_or(0, |(content, _)| content.snapshots.len());
        // A snapshot may have others with the same number.
        let of_it =
            |result: &str| (0..=snapshots).any(|n| snapshot_result(n, self.layer.id) == result);
        let mut results = self.session.results.iter();
        self.can_be_recomputed() && !results.any(|r| r.file.is_some() && of_it(&r.result))
    }

    /// Whether it can be recomputed.
    pub fn can_be_recomputed(&self) -> bool {
        matches!(self.base(), Some(SavedOrigin::Curves(_)))
    }

    pub(in crate::state) fn is_map_of_streamlines(&self) -> bool {
        matches!(self.base(), Some(SavedOrigin::Density(_)))
    }
}

/// A part of a session that is missing and not a layer; it stays in the session.
#[derive(Clone, Debug)]
pub struct MissingPart {
    pub part: SessionPart,
    pub reason: PartError,
    /// The session that its numbers refer to.
    pub session: Arc<ReadSession>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SessionPart {
    Region(SavedRegion),
    Pathway(Box<SavedPathway>),
    Weights(Box<MissingWeights>),
    /// The live surface, and the regions of its speeds.
    Surface(Box<SavedSegmentation>, [Option<SpeedRegion>; 2]),
}

/// A region of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum SpeedRegion {
    Loaded(RegionId),
    Missing(Box<SavedRegion>),
}

/// Weights whose numbers do not match the loaded streamlines, or cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub struct MissingWeights {
    pub(in crate::state) layer: LayerId,
    /// Name of the layer.
    pub(in crate::state) layer_name: String,
    /// The streamlines; the numbers do not apply to others.
    pub(in crate::state) tractogram: Option<DataId>,
    pub(in crate::state) saved: SavedWeights,
}

impl SessionPart {
    /// Its own name, or that of its owner.
    pub(in crate::state) fn name(&self) -> &str {
        match self {
            Self::Region(region) => &region.name,
            Self::Pathway(pathway) => &pathway.name,
            Self::Weights(weights) => &weights.layer_name,
            Self::Surface(..) => "",
        }
    }

    pub(in crate::state) fn label(&self) -> String {
        match self {
            Self::Region(_) | Self::Pathway(_) => self.name().to_owned(),
            Self::Weights(weights) => format!("weights of {}", weights.layer_name),
            Self::Surface(..) => "the surface that was segmented".to_owned(),
        }
    }

    fn kind(&self) -> PartKind {
        match self {
            Self::Region(_) => PartKind::Region,
            Self::Pathway(_) => PartKind::Pathway,
            Self::Weights(_) => PartKind::Weights,
            Self::Surface(..) => PartKind::Surface,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PartKind {
    Region,
    Pathway,
    Weights,
    Surface,
}

impl MissingPart {
    /// Whether it is the mask of a layer.
    pub fn is_mask_of(&self, layer: LayerId) -> bool {
        matches!(&self.part, SessionPart::Region(r) if r.shape == SavedShape::Layer(layer.0))
    }
}

/// The missing parts of one kind, for one reason.
#[derive(Clone, PartialEq, Debug)]
pub struct MissingGroup {
    kind: PartKind,
    reason: PartError,
}

impl MissingGroup {
    pub(in crate::state) fn from_part(part: &MissingPart) -> Self {
        Self {
            kind: part.part.kind(),
            reason: part.reason.clone(),
        }
    }

    pub fn has(&self, part: &MissingPart) -> bool {
        *self == Self::from_part(part)
    }

    pub(in crate::state) fn sentence(&self, names: &[&str]) -> String {
        const NAMED: usize = 3;
        let why = &self.reason;
        let what = match self.kind {
            PartKind::Region => "region",
            PartKind::Pathway => "pathway",
            PartKind::Weights => {
                let owners = match names {
                    [name] => format!("“{name}”"),
                    names => shortened_list(names, NAMED),
                };
                return format!(
                    "The weights of {owners} are left out and stay in the session until the streamlines \
                     are edited or fitted again: {why}"
                );
            }
            PartKind::Surface => {
                return format!(
                    "The surface that was segmented is left out and stays in the session until \
                     another is begun: {why}"
                );
            }
        };
        match names {
            [name] => format!("The {what} “{name}” is left out and stays in the session: {why}"),
            names => format!(
                "{} are left out and stay in the session ({}): for each, {why}",
                counted(names.len(), what),
                shortened_list(names, NAMED)
            ),
        }
    }
}

impl MissingPart {
    /// The reason, and the consequence.
    pub(in crate::state) fn sentence(&self) -> String {
        MissingGroup::from_part(self).sentence(&[self.part.name()])
    }
}
