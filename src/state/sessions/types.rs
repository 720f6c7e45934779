//! The session file: its path, whether it is complete, and sessions being opened or recovered.

pub(in crate::state) mod content;
pub(in crate::state) mod draft;
pub(in crate::state) mod file;
pub(in crate::state) mod missing;
pub(in crate::state) mod origins;
pub(in crate::state) mod restore_error;

use crate::state::sessions::types::content::Content;
use crate::state::sessions::types::missing::MissingGroup;
use crate::state::sessions::unsaved::{Base, DataInFiles, RecipeOnly};
use crate::state::{LayerId, View};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

pub use crate::state::sessions::types::draft::{
    ContentText, ListedFile, ResultToSum, SessionDraft, StoredMask, StoredNumbers,
};
pub use crate::state::sessions::types::file::{
    Change, Difference, EXTENSION, Entry, FileComparison, FileStatus, Match, Missing, PackedMask,
    PackedNumbers, Parse, ReadSession, RecoverableSession, ResultStorage, Sum, UnreadableArray,
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
    /// Recovers the unsaved work of an earlier window.
    Recover(PathBuf),
    Demo {
        tour: bool,
    },
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
    Stay,
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
    MakeAgain(LayerId),
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

/// A session being opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub session: Arc<ReadSession>,
    pub content: Arc<Content>,
    /// Whether it is unsaved work of an earlier window.
    pub recovered: bool,
    /// Files are missing or changed: the user must decide.
    pub asking: bool,
    /// Whether the user has chosen files.
    pub moved: bool,
    /// Decisions about changed files, by their numbers.
    pub decisions: BTreeMap<usize, FileDecision>,
    /// Whether this version does not know part of it.
    pub unknown: bool,
    /// Layers that cannot be read.
    pub unreadable: Vec<(u64, NotRestored)>,
}

impl Opening {
    /// Changed files, with their numbers.
    pub fn changed_files(&self) -> impl Iterator<Item = (usize, &FileStatus)> {
        let files = self.session.files.iter().enumerate();
        files.filter(|(_, f)| f.standing != FileComparison::Same)
    }

    /// The number of files without a decision of the user.
    pub fn open_questions(&self) -> usize {
        let open = |(index, found): &(usize, &FileStatus)| {
            matches!(found.standing, FileComparison::Missing(_))
                || !self.decisions.contains_key(index)
        };
        self.changed_files().filter(open).count()
    }

    /// Missing files that were found elsewhere.
    pub fn found_elsewhere(&self) -> Vec<(usize, PathBuf)> {
        let found = self.changed_files();
        found
            .filter_map(|(index, f)| Some((index, f.suggestion.clone()?)))
            .collect()
    }
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

/// Saving for recovery.
#[derive(Clone, Debug, Default)]
pub struct Autosave {
    /// Revision and view last saved for recovery.
    pub last: Option<(u64, View)>,
    pub is_running: bool,
    /// A job has ended since.
    pub is_due: bool,
}

/// Work of earlier windows that can be recovered.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    pub sessions: Vec<RecoverableSession>,
    /// Another process held a lock at the last search, and may be ending.
    pub search_again: bool,
    /// The recovery file of the document: kept until it is saved here.
    pub source: Option<PathBuf>,
    /// The session being read, if it is recovered.
    pub reading: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct Saving {
    /// The session file of the document.
    pub file: Option<PathBuf>,
    /// Its checksum when it was last read or written here.
    pub seen: Option<String>,
    /// An open question: that file has changed.
    pub changed_since: Option<ChangedSince>,
    pub verified: Option<FileVerification>,
    /// The status line just after the session was opened.
    pub opened_status: String,
    /// The content of that file, or the state when the first file was opened.
    pub base: Arc<Base>,
    /// The content of a file being written.
    pub base_being_saved: Option<Arc<Base>>,
    /// Layers whose files were exported.
    pub in_files: DataInFiles,
    /// Layers of which the last saved session stores only the recipe, until the user has seen it.
    pub recipe_only: Vec<RecipeOnly>,
    /// The view in that file, and the one in a file being written.
    pub view: Option<View>,
    pub view_being_saved: Option<View>,
    /// The session from which the document was opened.
    pub opened: Option<Arc<ReadSession>>,
    pub opening: Option<Opening>,
    /// An open question: work would be lost.
    pub pending_action: Option<UnsavedAction>,
    /// Follows once the session is saved.
    pub next: Option<UnsavedAction>,
    pub autosave: Autosave,
    pub recovery: Recovery,
    /// Whether files are read even if their size and age are unchanged.
    pub strict: bool,
}

impl Saving {
    /// Recoverable sessions, except the one being recovered.
    pub fn offered(&self) -> impl Iterator<Item = &RecoverableSession> {
        let opening = self.opening.as_ref().filter(|o| o.recovered);
        let taken = [
            self.recovery.reading.as_deref(),
            opening.map(|o| o.session.path.as_path()),
        ];
        let left = self.recovery.sessions.iter();
        left.filter(move |l| !taken.contains(&Some(l.session.as_path())))
    }
}
