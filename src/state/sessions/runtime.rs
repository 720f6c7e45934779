//! The session file: its path, whether it is complete, and sessions being opened or recovered. Not undone.

use crate::state::State;
use crate::state::session_report::ReportProgress;
use crate::state::sessions::types::content::Content;
use crate::state::sessions::types::file::{
    FileComparison, FileStatus, ReadSession, RecoverableSession,
};
use crate::state::sessions::types::{
    ChangedSince, FileDecision, FileVerification, NotRestored, UnsavedAction,
};
use crate::state::sessions::unsaved::{Base, DataInFiles, RecipeOnly};
use crate::state::view::View;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// Its layers that were read so far.
    pub progress: RestoreProgress,
}

/// The number of layers that a job has read or computed so far, and that of all.
#[derive(Clone, Debug, Default)]
pub struct RestoreProgress {
    done: Arc<AtomicUsize>,
    pub total: usize,
}

impl RestoreProgress {
    pub fn new(total: usize) -> Self {
        Self {
            done: Arc::default(),
            total,
        }
    }

    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// One more is done.
    pub(in crate::state) fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Opening {
    /// Changed files of which parts are read, with their numbers.
    pub fn changed_files(&self) -> impl Iterator<Item = (usize, &FileStatus)> {
        let files = self.session.files.iter().enumerate();
        files.filter(|(_, f)| f.is_read && f.standing != FileComparison::Same)
    }

    /// The number of files without a decision of the user.
    pub fn open_questions(&self) -> usize {
        let open = |(index, file): &(usize, &FileStatus)| {
            matches!(file.standing, FileComparison::Missing(_))
                || !self.decisions.contains_key(index)
        };
        self.changed_files().filter(open).count()
    }

    /// Missing files that were found elsewhere.
    pub fn found_elsewhere(&self) -> Vec<(usize, PathBuf)> {
        let changed = self.changed_files();
        changed
            .filter_map(|(index, f)| Some((index, f.suggestion.clone()?)))
            .collect()
    }
}

/// Identifies what a recovery copy holds.
#[derive(Clone, PartialEq, Debug)]
pub struct AutosavedState {
    pub revision: u64,
    pub view: View,
    /// Run and step of the surface, which grows without an edit.
    pub surface: Option<(u64, u64)>,
}

impl AutosavedState {
    pub fn from_state(state: &State) -> Self {
        let surface = state.runtime.segment.live.as_ref();
        Self {
            revision: state.history.revision(),
            view: state.view.clone(),
            surface: surface.map(|surface| (surface.run, surface.step)),
        }
    }
}

/// Saving for recovery.
#[derive(Clone, Debug, Default)]
pub struct Autosave {
    /// The state last saved for recovery.
    pub last: Option<AutosavedState>,
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
pub struct SessionsRuntime {
    /// The session file of the document.
    pub file: Option<PathBuf>,
    /// Its checksum when it was last read or written here.
    pub seen: Option<String>,
    /// An open question: that file has changed.
    pub changed_since: Option<ChangedSince>,
    pub verified: Option<FileVerification>,
    /// The content of that file, or the state when the first file was opened.
    pub base: Arc<Base>,
    /// The content of a file being written.
    pub base_being_saved: Option<Arc<Base>>,
    /// Layers whose files were exported.
    pub in_files: DataInFiles,
    /// Layers of which the last saved session stores only the recipe, until the user has seen it.
    pub recipe_only: Vec<RecipeOnly>,
    /// Results without a checksum in a file being written, since they were not final.
    pub not_final: Vec<&'static str>,
    /// The view in that file, and the one in a file being written.
    pub view: Option<View>,
    pub view_being_saved: Option<View>,
    /// The session from which the document was opened.
    pub opened: Option<Arc<ReadSession>>,
    pub opening: Option<Opening>,
    /// Files to be added to the session that is being opened; `None`: none is being opened.
    pub arriving: Option<Vec<PathBuf>>,
    /// An open question: work would be lost.
    pub pending_action: Option<UnsavedAction>,
    /// Follows once the session is saved.
    pub next: Option<UnsavedAction>,
    pub autosave: Autosave,
    pub recovery: Recovery,
    /// A report whose views are being drawn.
    pub report: Option<ReportProgress>,
    /// Whether files are read even if their size and age are unchanged.
    pub strict: bool,
}

impl SessionsRuntime {
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
