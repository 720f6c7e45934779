//! Sessions: what the state hands over to be written, what comes back when one is read, and what is
//! kept between windows.

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

/// In the words of session files, for the window's state.
pub use crate::io::session::{
    Change, Difference, EXTENSION, Entry, FileComparison, Match, Missing, PackedMask,
    PackedNumbers, Sum,
};

/// Which streamlines are kept beside the session; the others are made again from their recipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum ResultStorage {
    Nothing,
    /// Up to 64 MB each.
    #[default]
    Small,
    All,
}

impl ResultStorage {
    /// Whether streamlines are kept beside the session; those of others are made again from their recipe.
    pub fn keeps(self, tractogram: &Tractogram) -> bool {
        match self {
            Self::Nothing => false,
            Self::Small => Self::bytes(tractogram) <= session::STORED_AT_MOST_BYTES,
            Self::All => true,
        }
    }

    /// Bytes that streamlines take beside a session: of each point its place and its values.
    pub fn bytes(tractogram: &Tractogram) -> u64 {
        let numbers = 3 + tractogram.per_point.len();
        (tractogram.points.len() * numbers * 4) as u64
    }
}

/// What a session is of, put into words by whoever writes it: of streamlines that were chosen by hand these
/// may be long.
#[derive(Clone)]
pub struct Wording(Arc<dyn Fn() -> Value + Send + Sync>);

impl Wording {
    pub fn new(tell: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub fn value(&self) -> Value {
        (self.0)()
    }
}

impl std::fmt::Debug for Wording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value().fmt(f)
    }
}

/// Takes in the words of a session where they are read: lists of streamlines that were chosen by hand may be
/// long. What it makes of them only the one who asked knows.
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

/// What a [`Parser`] gave.
#[derive(Clone, Debug)]
pub struct Parsed(Arc<dyn Any + Send + Sync>);

impl Parsed {
    pub fn new<T: Any + Send + Sync>(parsed: T) -> Self {
        Self(Arc::new(parsed))
    }

    /// `None` where another kind was asked for.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// A session to be written.
#[derive(Clone, Debug)]
pub struct SessionDraft {
    pub content: Wording,
    pub computed_on: String,
    /// In the order of their numbers in the content.
    pub files: Vec<Listed>,
    pub masks: Vec<Stored>,
    /// In the order of their numbers, too.
    pub numbers: Vec<StoredNumbers>,
    pub results: Vec<ToSum>,
    /// Files that hold masks, by the masks' numbers.
    pub mask_files: Vec<(usize, PathBuf)>,
    pub store: ResultStorage,
    /// Of the document; comes back in [`super::Saved`].
    pub revision: u64,
}

/// A mask that a session holds itself.
#[derive(Clone, Debug)]
pub enum Stored {
    Mask(Mask),
    /// Not read here: as the session had it.
    AsItWas(Arc<PackedMask>),
}

/// Numbers that a session holds itself.
#[derive(Clone, Debug)]
pub enum StoredNumbers {
    Numbers(Arc<[f32]>),
    /// Not read here: as the session had them.
    AsTheyWere(Arc<PackedNumbers>),
}

/// A mask or numbers of a session that cannot be read; it stays in the session.
#[derive(Clone, Debug)]
pub struct Unread<T> {
    pub packed: Arc<T>,
    /// The end of a sentence: `its grid has no volume`.
    pub why: String,
}

/// A file that a session refers to.
#[derive(Clone, Debug)]
pub struct Listed {
    pub path: PathBuf,
    /// Gradients beside it belong to it.
    pub scan: bool,
    /// As the session had it that this was read from, and that one's folder: stands where the file
    /// cannot be read now.
    pub known: Option<(Entry, PathBuf)>,
    /// Another file may be there now, which nobody has taken for it: it stays as the session had it.
    pub as_known: bool,
}

/// A result whose checksum a session holds.
#[derive(Clone, Debug)]
pub enum ToSum {
    Tensors(String, TensorField),
    /// `stored`: a layer, which may be kept beside the session.
    Curves {
        of: String,
        tractogram: Tractogram,
        stored: bool,
    },
    /// u₁ + u₂ of a pathway, φ of a surface, or a density map; the id is that of its image.
    Values(String, DataId, Arc<[f32]>),
    /// Not here: as the session had it, and that one's folder.
    Known(Sum, PathBuf),
}

/// A session that was read, and what has become of its files.
#[derive(Clone, Debug)]
pub struct ReadSession {
    pub path: PathBuf,
    /// Checksum of the session file.
    pub sha256: String,
    /// It is a copy for recovery, and the session that it belongs to is still what it was then.
    pub origin_is_same: bool,
    pub content: Parsed,
    /// `Arcuate 0.1.0`, and where it computed.
    pub program: String,
    pub computed_on: String,
    pub files: Vec<Found>,
    pub masks: Vec<Result<Mask, Unread<PackedMask>>>,
    pub numbers: Vec<Result<Arc<[f32]>, Unread<PackedNumbers>>>,
    /// Files that still hold masks, by the masks' numbers.
    pub mask_files: Vec<(usize, PathBuf)>,
    pub results: Vec<Sum>,
}

/// A session's file, where it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub entry: Entry,
    pub path: PathBuf,
    pub standing: FileComparison,
    /// Where it may have gone.
    pub suggestion: Option<PathBuf>,
}

/// A layer to be read again.
#[derive(Clone, Debug)]
pub enum Item {
    File {
        path: PathBuf,
        gradients: Vec<PathBuf>,
        reading: Reading,
        /// What was done to streamlines since.
        edits: Vec<Edit>,
        /// Where streamlines are wanted, too.
        moves: Vec<DAffine3>,
        /// What it was, where that has not been looked at.
        entry: Option<Box<Entry>>,
    },
    /// The built-in head.
    Head { seed: u64 },
    /// Streamlines beside the session.
    Stored { path: PathBuf, sha256: String },
    /// A density map of another layer's streamlines; what it is on was checked.
    Density {
        of: u64,
        /// Where that layer was moved.
        by: DAffine3,
        on: density::DensityGrid,
        params: density::Params,
    },
}

/// By the layers' numbers; an error is a sentence.
pub type RestoredLayers = Vec<(u64, Result<Restored, NotRestored>)>;

/// Why a layer of a session is not here: one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotRestored {
    /// Kept streamlines, whose file beside the session is not there.
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

/// What [`Item`] gave.
#[derive(Clone, Debug)]
pub enum Restored {
    File {
        path: PathBuf,
        loaded: Loaded,
        reading: Reading,
        notes: Vec<Remark>,
        /// It is not what it was.
        changed: Option<Change>,
        /// Its streamlines elsewhere; an error is a sentence.
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

    /// All of them, wherever they are.
    pub(in crate::jobs) fn all_curves(&self) -> impl Iterator<Item = &Tractogram> {
        let elsewhere = match self {
            Self::File { moved, .. } => &**moved,
            _ => &[],
        };
        let there = elsewhere
            .iter()
            .filter_map(|(_, there)| there.as_ref().ok());
        self.curves().into_iter().chain(there)
    }

    /// The streamlines of a layer elsewhere, if they were wanted there.
    pub fn moved_to(&self, by: DAffine3) -> Result<Option<Tractogram>, String> {
        let Self::File { moved, .. } = self else {
            return Ok(None);
        };
        let found = moved.iter().find(|(to, _)| *to == by);
        found.map(|(_, there)| there.clone()).transpose()
    }
}

/// What an earlier window left behind.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoverableSession {
    pub session: PathBuf,
    /// Seconds since 1970.
    pub written_s: u64,
    /// Of the document.
    pub name: String,
    pub regions: usize,
    pub layers: usize,
    /// The session it was, where it had been saved.
    pub origin: Option<PathBuf>,
}

/// Asked of the session workers.
#[derive(Clone, Debug)]
pub enum SessionRequest {
    Save {
        path: PathBuf,
        draft: Box<SessionDraft>,
        /// Checksum of the file that may be replaced; `None`: whatever is there may be.
        known: Option<String>,
    },
    /// Into this window's own folder.
    Autosave {
        draft: Box<SessionDraft>,
    },
    /// `strict`: files are read even where size and age are the same.
    Read {
        path: PathBuf,
        strict: bool,
        parser: Parser,
    },
    /// Some of a session's files are there now; the others that are missing may be beside them.
    Relocate {
        files: Vec<Found>,
        to: Vec<(usize, PathBuf)>,
    },
    Load {
        items: Vec<(u64, Item)>,
    },
    /// Looks whether files that were taken for those of a session by size and age are those.
    Verify {
        files: Vec<(PathBuf, Entry)>,
    },
    Remake(Box<Remake>),
    /// What other windows left behind; from now on nobody else finds it.
    FindLeftBehind,
    /// It was taken over, or nobody wants it.
    Forget {
        session: PathBuf,
    },
    /// The window ends by itself.
    Leave,
}

#[derive(Clone, Debug)]
pub enum SessionOutput {
    Saved {
        path: PathBuf,
        revision: u64,
        /// Checksum of the session file.
        sha256: String,
        /// Weights and values of maps for which the file has no room.
        numbers_left_out: usize,
    },
    /// Nothing was saved: the file there is none that may be replaced.
    ChangedSince {
        path: PathBuf,
    },
    /// How many files were looked at, and those that are not what they were, with why.
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
        /// How they stand to those of the session.
        outcome: Option<Match>,
    },
    /// What no look before this one has found.
    LeftBehind {
        found: Vec<RecoverableSession>,
        /// Other processes hold more: windows that live, or killed ones that are not gone yet.
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
                    work::Written::Saved(sha256, numbers_left_out) => SessionOutput::Saved {
                        path,
                        revision: draft.revision,
                        sha256,
                        numbers_left_out,
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
            Self::FindLeftBehind => {
                let (found, is_locked) = work::left_behind(memory);
                SessionOutput::LeftBehind { found, is_locked }
            }
            Self::Forget { session } => {
                memory.forget(&session);
                SessionOutput::Done
            }
            Self::Leave => {
                memory.leave();
                SessionOutput::Done
            }
        })
    }
}
