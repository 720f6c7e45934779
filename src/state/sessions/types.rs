//! Actions on sessions, and what a session file holds.

pub(in crate::state) mod content;
pub(in crate::state) mod draft;
pub(in crate::state) mod file;
pub(in crate::state) mod fods;
pub(in crate::state) mod missing;
pub(in crate::state) mod origins;
pub(in crate::state) mod restore_error;

use crate::data::BuiltInPhantom;
use crate::state::core::layer::LayerId;
use crate::state::sessions::types::missing::MissingGroup;
use std::path::PathBuf;

pub use crate::state::sessions::types::draft::{
    ContentText, ListedFile, ResultToSum, SessionDraft, StoredMask, StoredNumbers,
};
pub use crate::state::sessions::types::file::{
    Change, Difference, EXTENSION, Entry, FileComparison, FileStatus, Match, Missing, PackedMask,
    PackedNumbers, Parse, ReadSession, RecoverableSession, ResultStorage, SessionContents, Sum,
    UnreadableArray,
};
pub use crate::state::sessions::types::restore_error::{
    ArrayError, NotRestored, ParseError, PartError,
};

/// An action that closes the document.
#[derive(Clone, PartialEq, Debug)]
pub enum UnsavedAction {
    Quit,
    New,
    Open(PathBuf),
    /// Opens a session, then adds files to it.
    OpenWith {
        session: PathBuf,
        files: Vec<PathBuf>,
    },
    /// Recovers the unsaved work of an earlier window.
    Recover(PathBuf),
    Demo {
        tour: bool,
    },
    /// Opens a built-in head.
    Head(BuiltInPhantom),
}

/// User actions on sessions.
#[derive(Clone, Debug)]
pub enum SessionAction {
    /// Asks first if work would be lost.
    CloseDocument(UnsavedAction),
    /// The user's answer that a session changed by another program may be replaced.
    Overwrite,
    /// The user's answer that work may be lost.
    Discard,
    /// Stays; also cancels the action that was to follow.
    CancelQuestion,
    /// `None`: under its present name. `next` follows once it is saved.
    Save {
        path: Option<PathBuf>,
        next: Option<UnsavedAction>,
    },
    SetStore(ResultStorage),
    /// Stores large layers, too: saves the session again, then continues with the action.
    StoreToo {
        next: Option<UnsavedAction>,
    },
    /// The user has seen that the session stores only the recipes of some layers.
    RecipeOnlySeen,
    /// A minute has passed, or a job has ended.
    Autosave,
    /// A file of the session being opened has a new path.
    Relocate {
        index: usize,
        path: PathBuf,
    },
    /// Accepts every file that was found elsewhere.
    TakeAll,
    /// The decision about a file that has changed.
    Decide {
        index: usize,
        decision: FileDecision,
    },
    /// Opens the session without missing files, and without changed ones that were not accepted.
    OpenAnyway,
    CancelOpening,
    FindRecoverable,
    /// Discards unsaved work of an earlier window.
    Forget(PathBuf),
    /// Asks again at the next start.
    Later(PathBuf),
    /// Recomputes streamlines that the session does not store.
    Recompute(LayerId),
    /// The new file of a missing layer.
    Restore {
        layer: LayerId,
        path: PathBuf,
    },
    /// Removes a missing layer from the session.
    Drop(LayerId),
    /// Removes missing regions or pathways from the session.
    DropParts(MissingGroup),
}

/// The user's decision about a changed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileDecision {
    UseAsItIs,
    /// The file is not used, and its layer stays in the session as it was.
    LeaveOut,
}

/// A session that another program has changed since it was read or written here: nothing was saved yet.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedSince {
    pub path: PathBuf,
    /// Follows once the session is saved.
    pub next: Option<UnsavedAction>,
}

/// Whether the files of the opened session have the same content as when it was saved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileVerification {
    /// Number of files being read.
    Running(usize),
    Unchanged(usize),
    /// Names of the changed files.
    Changed(Vec<String>),
}

impl FileVerification {
    pub fn label(&self) -> String {
        let files = |n: usize| crate::state::core::text::counted(n, "file");
        match self {
            Self::Running(n) => format!("{} being verified", files(*n)),
            Self::Unchanged(n) => format!("{} verified (SHA-256)", files(*n)),
            Self::Changed(names) => format!("Changed: {}", names.join(", ")),
        }
    }
}
