//! Sessions: drafts that the state hands over to be written, contents that are read, and data kept between windows.

mod job;
mod mask_files;
mod memory;
mod remake;
mod work;

pub(super) use memory::Memory;
pub use remake::{Remade, Remake, Tensors};

use super::JobError;
use crate::compute::{Backend, Control};
use crate::data::{DataId, Mask, TensorField, Tractogram, Volume};
use crate::io::{Reading, Remark, session};
use crate::phantom;
use crate::solvers::density;
use crate::solvers::tractogram::selection::Edit;
use crate::state::files::jobs::open::Loaded;
use glam::DAffine3;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Types of session files, for the window's state.
pub use crate::io::session::{
    Change, Difference, EXTENSION, Entry, FileComparison, Match, Missing, PackedMask,
    PackedNumbers, Sum,
};

/// The streamlines that are stored next to the session; the others are recomputed from their recipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum ResultStorage {
    Nothing,
    /// Up to 64 MB each.
    #[default]
    Small,
    All,
}

impl ResultStorage {
    /// Whether streamlines are stored next to the session; others are recomputed from their recipe.
    pub fn keeps(self, tractogram: &Tractogram) -> bool {
        match self {
            Self::Nothing => false,
            Self::Small => Self::bytes(tractogram) <= session::STORED_AT_MOST_BYTES,
            Self::All => true,
        }
    }

    /// Bytes that streamlines take next to a session: the position and the values of each point.
    pub fn bytes(tractogram: &Tractogram) -> u64 {
        let numbers = 3 + tractogram.per_point.len();
        (tractogram.points.len() * numbers * 4) as u64
    }
}

/// The content of a session, serialized by the thread that writes it: lists of manually selected streamlines may be
/// long.
#[derive(Clone)]
pub struct ContentText(Arc<dyn Fn() -> Value + Send + Sync>);

impl ContentText {
    pub fn new(write: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub fn value(&self) -> Value {
        (self.0)()
    }
}

impl std::fmt::Debug for ContentText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value().fmt(f)
    }
}

/// Parses the content of a session where it is read: lists of manually selected streamlines may be long. Only the
/// caller knows the type of the result.
#[derive(Clone)]
pub struct Parser(Arc<dyn Fn(Value) -> Parsed + Send + Sync>);

impl Parser {
    pub fn new<T: Any + Send + Sync>(parse: impl Fn(Value) -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |text| Parsed::new(parse(text))))
    }
}

impl std::fmt::Debug for Parser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parser")
    }
}

/// The result of a [`Parser`].
#[derive(Clone, Debug)]
pub struct Parsed(Arc<dyn Any + Send + Sync>);

impl Parsed {
    pub fn new<T: Any + Send + Sync>(parsed: T) -> Self {
        Self(Arc::new(parsed))
    }

    /// `None` if it is of another type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// A session to be written.
#[derive(Clone, Debug)]
pub struct SessionDraft {
    pub content: ContentText,
    pub computed_on: String,
    /// In the order of their numbers in the content.
    pub files: Vec<Listed>,
    pub masks: Vec<Stored>,
    /// Also in the order of their numbers.
    pub numbers: Vec<StoredNumbers>,
    pub results: Vec<ToSum>,
    /// Files that hold masks, by the masks' numbers.
    pub mask_files: Vec<(usize, PathBuf)>,
    pub store: ResultStorage,
    /// Revision of the document; returned in [`super::Saved`].
    pub revision: u64,
}

/// A mask stored in a session.
#[derive(Clone, Debug)]
pub enum Stored {
    Mask(Mask),
    /// Not read here: as the session had it.
    AsItWas(Arc<PackedMask>),
}

/// Numbers stored in a session.
#[derive(Clone, Debug)]
pub enum StoredNumbers {
    Numbers(Arc<[f32]>),
    /// Not read here: as the session had them.
    AsTheyWere(Arc<PackedNumbers>),
}

/// A mask or numbers of a session that cannot be read; they stay in the session.
#[derive(Clone, Debug)]
pub struct UnreadableArray<T> {
    pub packed: Arc<T>,
    /// The end of a sentence: `its grid has no volume`.
    pub why: String,
}

/// A file that a session refers to.
#[derive(Clone, Debug)]
pub struct Listed {
    pub path: PathBuf,
    /// The gradients next to it belong to it.
    pub scan: bool,
    /// The entry in the session that was read, and that session's folder: used if the file cannot be read now.
    pub known: Option<(Entry, PathBuf)>,
    /// Another file may now have this path, which the user has not accepted: the entry stays as in the session.
    pub as_known: bool,
}

/// A result whose checksum a session holds.
#[derive(Clone, Debug)]
pub enum ToSum {
    Tensors(String, TensorField),
    /// `stored`: a layer, which may be stored next to the session.
    Curves {
        of: String,
        tractogram: Tractogram,
        stored: bool,
    },
    /// u₁ + u₂ of a pathway, φ of a surface, or a density map; the id is that of its image.
    Values(String, DataId, Arc<[f32]>),
    /// Not available: as in the session, with that session's folder.
    Known(Sum, PathBuf),
}

/// A session that was read, and the state of its files.
#[derive(Clone, Debug)]
pub struct ReadSession {
    pub path: PathBuf,
    /// Checksum of the session file.
    pub sha256: String,
    /// It is a copy for recovery, and the session that it belongs to has not changed since.
    pub origin_is_same: bool,
    pub content: Parsed,
    /// `Arcuate 0.1.0`, and the device it computed on.
    pub program: String,
    pub computed_on: String,
    pub files: Vec<Found>,
    pub masks: Vec<Result<Mask, UnreadableArray<PackedMask>>>,
    pub numbers: Vec<Result<Arc<[f32]>, UnreadableArray<PackedNumbers>>>,
    /// Files that still hold masks, by the masks' numbers.
    pub mask_files: Vec<(usize, PathBuf)>,
    pub results: Vec<Sum>,
}

/// A session's file and its present path.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub entry: Entry,
    pub path: PathBuf,
    pub standing: FileComparison,
    /// A likely new path.
    pub suggestion: Option<PathBuf>,
}

/// A layer to be read or computed again.
#[derive(Clone, Debug)]
pub enum Item {
    File {
        path: PathBuf,
        gradients: Vec<PathBuf>,
        reading: Reading,
        /// Edits of the streamlines since.
        edits: Vec<Edit>,
        /// Transforms for which the streamlines are needed, too.
        moves: Vec<DAffine3>,
        /// The entry of the file, if it has not been compared.
        entry: Option<Box<Entry>>,
    },
    /// The built-in head.
    Head { seed: u64 },
    /// Streamlines stored next to the session.
    Stored { path: PathBuf, sha256: String },
    /// A density map of another layer's streamlines; its grid was checked.
    Density {
        of: u64,
        /// Transform of that layer.
        by: DAffine3,
        on: density::DensityGrid,
        params: density::Params,
    },
}

/// By the layers' numbers; an error is a sentence.
pub type RestoredLayers = Vec<(u64, Result<Restored, NotRestored>)>;

/// Why a layer of a session is missing: one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotRestored {
    /// Kept streamlines whose file next to the session is missing.
    Gone(PathBuf),
    Other(String),
}

impl From<String> for NotRestored {
    fn from(sentence: String) -> Self {
        Self::Other(sentence)
    }
}

impl fmt::Display for NotRestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(path) => {
                write!(f, "Its file beside the session is gone: {}", path.display())
            }
            Self::Other(sentence) => f.write_str(sentence),
        }
    }
}

/// The result of an [`Item`].
#[derive(Clone, Debug)]
pub enum Restored {
    File {
        path: PathBuf,
        loaded: Loaded,
        reading: Reading,
        notes: Vec<Remark>,
        /// How it differs from before.
        changed: Option<Change>,
        /// Its transformed streamlines; an error is a sentence.
        moved: Vec<(DAffine3, Result<Tractogram, String>)>,
    },
    Head(Arc<phantom::Demo>),
    Curves(Tractogram),
    Density(Volume),
}

impl Restored {
    /// The streamlines of a layer.
    pub(in crate::jobs) fn curves(&self) -> Option<&Tractogram> {
        match self {
            Self::Curves(tractogram)
            | Self::File {
                loaded: Loaded::Tractogram(tractogram),
                ..
            } => Some(tractogram),
            _ => None,
        }
    }

    /// All of them, including transformed ones.
    pub(in crate::jobs) fn all_curves(&self) -> impl Iterator<Item = &Tractogram> {
        let elsewhere = match self {
            Self::File { moved, .. } => &**moved,
            _ => &[],
        };
        let moved_curves = elsewhere
            .iter()
            .filter_map(|(_, moved_curves)| moved_curves.as_ref().ok());
        self.curves().into_iter().chain(moved_curves)
    }

    /// The transformed streamlines of a layer, if they were requested.
    pub fn moved_to(&self, by: DAffine3) -> Result<Option<Tractogram>, String> {
        let Self::File { moved, .. } = self else {
            return Ok(None);
        };
        let found = moved.iter().find(|(to, _)| *to == by);
        found.map(|(_, curves)| curves.clone()).transpose()
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
    pub regions: usize,
    pub layers: usize,
    /// The session file that it belongs to, if it had been saved.
    pub origin: Option<PathBuf>,
}

/// A request to the session workers.
#[derive(Clone, Debug)]
pub enum SessionRequest {
    Save {
        path: PathBuf,
        draft: Box<SessionDraft>,
        /// Checksum of the file that may be replaced; `None`: any file may be.
        known: Option<String>,
    },
    /// Saves to this window's own folder.
    Autosave {
        draft: Box<SessionDraft>,
    },
    /// `strict`: files are read even if size and age are unchanged.
    Read {
        path: PathBuf,
        strict: bool,
        parser: Parser,
    },
    /// Some of a session's files have new paths; other missing files may be in the same folders.
    Relocate {
        files: Vec<Found>,
        to: Vec<(usize, PathBuf)>,
    },
    Load {
        items: Vec<(u64, Item)>,
    },
    /// Checks whether files that were accepted by size and age are those of a session.
    Verify {
        files: Vec<(PathBuf, Entry)>,
    },
    Remake(Box<Remake>),
    /// Finds unsaved work of other windows; from now on no other process takes it.
    FindRecoverable,
    /// It was recovered or discarded.
    Forget {
        session: PathBuf,
    },
    /// The window closes normally.
    RemoveOwnFolder,
}

#[derive(Clone, Debug)]
pub enum SessionOutput {
    Saved {
        path: PathBuf,
        revision: u64,
        /// Checksum of the session file.
        sha256: String,
        /// Weights and values of maps that did not fit in the file.
        numbers_omitted: usize,
    },
    /// Nothing was saved: the existing file may not be replaced.
    ChangedSince {
        path: PathBuf,
    },
    /// The number of files checked, and those that have changed, with the reasons.
    Verified {
        files: usize,
        differ: Vec<(PathBuf, FileComparison)>,
    },
    Autosaved {
        revision: u64,
    },
    Read(Arc<ReadSession>),
    Relocated(Vec<Found>),
    Loaded(RestoredLayers),
    Remade {
        layer: u64,
        tractogram: Tractogram,
        /// Comparison with those of the session.
        outcome: Option<Match>,
    },
    /// Sessions that no earlier call has found.
    Recoverable {
        found: Vec<RecoverableSession>,
        /// Other processes lock more: running windows, or killed ones that have not ended yet.
        is_locked: bool,
    },
    Done,
}

impl SessionRequest {
    fn solve(
        self,
        memory: &Memory,
        backend: &Backend,
        control: &Control,
    ) -> Result<SessionOutput, JobError> {
        Ok(match self {
            Self::Save { path, draft, known } => {
                match work::write(&path, &draft, known.as_deref(), memory, control)? {
                    work::Written::Saved(sha256, numbers_omitted) => SessionOutput::Saved {
                        path,
                        revision: draft.revision,
                        sha256,
                        numbers_omitted,
                    },
                    work::Written::ChangedSince => SessionOutput::ChangedSince { path },
                }
            }
            Self::Verify { files } => SessionOutput::Verified {
                files: files.len(),
                differ: work::verify(files, control)?,
            },
            Self::Autosave { draft } => {
                let path = memory.own_session()?;
                work::write_if_new(&path, &draft, memory, control)?;
                SessionOutput::Autosaved {
                    revision: draft.revision,
                }
            }
            Self::Read {
                path,
                strict,
                parser,
            } => SessionOutput::Read(Arc::new(work::read(&path, strict, &parser, control)?)),
            Self::Relocate { files, to } => {
                SessionOutput::Relocated(work::relocate(files, to, control)?)
            }
            Self::Load { items } => SessionOutput::Loaded(work::load(items, backend, control)?),
            Self::Remake(remake) => {
                let (layer, expected) = (remake.layer, remake.expected.clone());
                let tractogram = remake.run(backend, control)?;
                let again = session::Recomputed::Curves(&tractogram);
                let outcome = expected.map(|sum| session::compare(&sum, &again).0);
                SessionOutput::Remade {
                    layer,
                    tractogram,
                    outcome,
                }
            }
            Self::FindRecoverable => {
                let (found, is_locked) = work::recoverable_sessions(memory);
                SessionOutput::Recoverable { found, is_locked }
            }
            Self::Forget { session } => {
                memory.forget(&session);
                SessionOutput::Done
            }
            Self::RemoveOwnFolder => {
                memory.remove_own_folder();
                SessionOutput::Done
            }
        })
    }
}
