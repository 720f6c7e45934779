//! A session file that was read, and the state of the files that it refers to.

use crate::data::keyed;
use crate::data::{Mask, Tractogram};
use crate::io::session::STORED_MAX_BYTES;
use crate::state::core::text::counted;
use crate::state::sessions::types::content::{Content, SavedDocument};
use crate::state::sessions::types::restore_error::{ArrayError, ParseError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Types of session files.
pub use crate::io::session::{
    Change, Difference, EXTENSION, Entry, FileComparison, Match, Missing, PackedMask,
    PackedNumbers, Sum,
};

/// The content of a session, and the names of its unknown parts.
pub type Parse = Result<(Arc<Content>, Vec<String>), ParseError>;

/// The streamlines that are stored next to the session; the others are recomputed from their recipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResultStorage {
    Nothing,
    /// Up to 64 MB each.
    #[default]
    Small,
    All,
}

keyed!(ResultStorage, serde {
    Nothing = "nothing",
    Small = "small",
    All = "all",
});

impl ResultStorage {
    /// Whether streamlines are stored next to the session; others are recomputed from their recipe.
    pub fn keeps(self, tractogram: &Tractogram) -> bool {
        match self {
            Self::Nothing => false,
            Self::Small => Self::bytes(tractogram) <= STORED_MAX_BYTES,
            Self::All => true,
        }
    }

    /// Bytes that streamlines take next to a session: the position and the values of each point.
    pub fn bytes(tractogram: &Tractogram) -> u64 {
        let numbers = 3 + tractogram.per_point.len();
        (tractogram.points.len() * numbers * 4) as u64
    }
}

/// A mask or numbers of a session that cannot be read; they stay in the session.
#[derive(Clone, Debug)]
pub struct UnreadableArray<T> {
    pub packed: Arc<T>,
    pub reason: ArrayError,
}

/// A session that was read, and the state of its files.
#[derive(Clone, Debug)]
pub struct ReadSession {
    pub path: PathBuf,
    /// Checksum of the session file.
    pub sha256: String,
    /// It is a copy for recovery, and the session that it belongs to has not changed since.
    pub origin_is_same: bool,
    pub content: Parse,
    /// `Arcuate 0.1.0`, and the device it computed on.
    pub program: String,
    pub computed_on: String,
    pub files: Vec<FileStatus>,
    pub masks: Vec<Result<Mask, UnreadableArray<PackedMask>>>,
    pub numbers: Vec<Result<Arc<[f32]>, UnreadableArray<PackedNumbers>>>,
    /// Weights above 0, ascending, by the index of the weights among the numbers.
    pub sorted_weights: BTreeMap<usize, Arc<[f32]>>,
    pub results: Vec<Sum>,
}

/// A session's file and its present path.
#[derive(Clone, PartialEq, Debug)]
pub struct FileStatus {
    pub entry: Entry,
    pub path: PathBuf,
    pub standing: FileComparison,
    /// Whether parts of the session are read from it. Nothing is asked about a file that only commands name.
    pub is_read: bool,
    /// A likely new path.
    pub suggestion: Option<PathBuf>,
}

/// The parts of a session, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionContents {
    pub layers: usize,
    pub regions: usize,
    /// Layers with weights of their streamlines.
    pub weighted: usize,
    /// Kept pathways.
    pub pathways: usize,
    /// Whether there is a surface of Segment.
    pub has_surface: bool,
}

impl SessionContents {
    /// The contents of a saved document.
    pub fn from_saved(document: &SavedDocument) -> Self {
        let weighted = document.layers.iter().filter(|l| l.weights.is_some());
        Self {
            layers: document.layers.len(),
            regions: document.regions.len(),
            weighted: weighted.count(),
            pathways: document.kept_pathways.len(),
            has_surface: document.segment.run.is_some(),
        }
    }

    /// The parts that exist: `13 layers`, `2 regions`, `weights`.
    pub fn parts(&self) -> Vec<String> {
        let numbers = [
            (self.layers, "layer"),
            (self.regions, "region"),
            (self.pathways, "pathway"),
        ];
        let present = numbers.into_iter().filter(|(n, _)| *n > 0);
        let mut parts: Vec<String> = present.map(|(n, what)| counted(n, what)).collect();
        if self.weighted > 0 {
            parts.push("weights".to_owned());
        }
        if self.has_surface {
            parts.push("a surface".to_owned());
        }
        parts
    }
}

/// Unsaved work of an earlier window.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoverableSession {
    pub session: PathBuf,
    /// Seconds since 1970.
    pub written_s: u64,
    /// Name of the document.
    pub name: String,
    pub contents: SessionContents,
    /// The session file that it belongs to, if it had been saved.
    pub origin: Option<PathBuf>,
}
