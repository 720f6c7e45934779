//! The session file: where it is, whether all is in it, what is being opened, what was left behind.

use crate::jobs::session::ReadSession;
use crate::state::sessions::saved::{self, Content};
use crate::state::sessions::unsaved::{Base, InFiles, RecipeOnly};
use crate::state::{LayerId, View};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

pub use crate::jobs::session::{FileComparison, Found, RecoverableSession, ResultStorage};

/// What would leave the document behind.
#[derive(Clone, PartialEq, Debug)]
pub enum UnsavedAction {
    Quit,
    New,
    Open(PathBuf),
    /// What an earlier window left behind.
    Recover(PathBuf),
    Demo {
        guide: bool,
    },
}

/// What a user does with sessions.
#[derive(Clone, Debug)]
pub enum SessionAction {
    /// Asks first where work would be lost.
    Leave(UnsavedAction),
    /// The answer to the question whether a session that somebody else has changed is replaced.
    Overwrite,
    /// Work may be lost: the answer to the question.
    Discard,
    /// Stays; also takes back what was to follow.
    Stay,
    /// `None`: under the name it has. `then` follows once it is saved.
    Save {
        path: Option<PathBuf>,
        then: Option<UnsavedAction>,
    },
    SetStore(ResultStorage),
    /// Stores large layers, too: saves the session once more, then what follows.
    StoreToo {
        then: Option<UnsavedAction>,
    },
    /// It was read that the session stores layers as recipes alone.
    RecipeOnlySeen,
    /// A minute is over, or a job has ended.
    Autosave,
    /// A file of the session that is being opened is there now.
    Relocate {
        index: usize,
        path: PathBuf,
    },
    /// Every file that was found elsewhere is taken.
    TakeAll,
    /// What to do with a file that is not what it was.
    Answer {
        index: usize,
        answer: Changed,
    },
    /// Opens the session without what is missing, and without what has changed and was not asked for.
    OpenAnyway,
    CancelOpening,
    FindLeftBehind,
    /// Nobody wants what was left behind.
    Forget(PathBuf),
    /// Asks again at the next start.
    Later(PathBuf),
    /// Streamlines that the session does not keep.
    MakeAgain(LayerId),
    /// The file of a layer that is not here.
    Restore {
        layer: LayerId,
        path: PathBuf,
    },
    /// Takes what is not here out of the session.
    Drop(LayerId),
    /// Takes regions or pathways that are not here out of the session.
    DropLeftOut(saved::Group),
}

/// What the user does with a file that is not what it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    UseAsItIs,
    /// It stays in the session as it was.
    LeaveOut,
}

/// A session that is being opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub read: Arc<ReadSession>,
    pub content: Arc<Content>,
    /// It was left behind.
    pub recovered: bool,
    /// Files are missing or changed: the user looks.
    pub asking: bool,
    /// The user has pointed to files.
    pub moved: bool,
    /// Answers about changed files, by their numbers.
    pub answers: BTreeMap<usize, Changed>,
    /// This version leaves out some of it.
    pub unknown: bool,
    /// Layers that cannot be read.
    pub absent: Vec<(u64, String)>,
}

impl Opening {
    /// Files that are not what they were, with their numbers.
    pub fn wrong(&self) -> impl Iterator<Item = (usize, &Found)> {
        let files = self.read.files.iter().enumerate();
        files.filter(|(_, f)| f.standing != FileComparison::Same)
    }

    /// The number of files that the user has not decided about.
    pub fn open_questions(&self) -> usize {
        let open = |(index, found): &(usize, &Found)| {
            matches!(found.standing, FileComparison::Missing(_))
                || !self.answers.contains_key(index)
        };
        self.wrong().filter(open).count()
    }

    /// Missing files that were found elsewhere.
    pub fn found(&self) -> Vec<(usize, PathBuf)> {
        let found = self.wrong();
        found
            .filter_map(|(index, f)| Some((index, f.suggestion.clone()?)))
            .collect()
    }
}

/// A session that somebody else has changed since it was read or written here: nothing was saved yet.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedSince {
    pub path: PathBuf,
    /// Follows once it is saved.
    pub then: Option<UnsavedAction>,
}

/// Whether the files of the session that was opened hold what they held when it was saved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verified {
    /// Number of files being read.
    Running(usize),
    Same(usize),
    /// Names of those that do not.
    Differ(Vec<String>),
}

impl Verified {
    pub fn words(&self) -> String {
        let files = |n: usize| crate::state::core::words::counted(n, "file");
        match self {
            Self::Running(n) => format!("{} being verified", files(*n)),
            Self::Same(n) => format!("{} verified (SHA-256)", files(*n)),
            Self::Differ(names) => format!("Not what it was: {}", names.join(", ")),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Saving {
    /// The session file of the document.
    pub file: Option<PathBuf>,
    /// Its checksum as it was read or written here last.
    pub seen: Option<String>,
    /// A question is open: that file is not what it was.
    pub changed_since: Option<ChangedSince>,
    pub verified: Option<Verified>,
    /// The status line just after the session was opened.
    pub opened_status: String,
    /// What is in that file, or was there when the first file was opened.
    pub base: Arc<Base>,
    /// What will be in a file that is being written.
    pub base_asked: Option<Arc<Base>>,
    /// Layers whose files were exported.
    pub in_files: InFiles,
    /// Layers that the session saved last stores as recipes alone, until the user has seen it.
    pub recipe_only: Vec<RecipeOnly>,
    /// The view that is in that file, and the one in a file that is being written.
    pub view: Option<View>,
    pub view_asked: Option<View>,
    /// The session that the document was opened from.
    pub opened: Option<Arc<ReadSession>>,
    pub opening: Option<Opening>,
    /// A question is open: work would be lost.
    pub leaving: Option<UnsavedAction>,
    /// Follows once the session is saved.
    pub then: Option<UnsavedAction>,
    /// What was saved for recovery last.
    pub autosaved: Option<(u64, View)>,
    pub autosaving: bool,
    /// A job has ended since.
    pub autosave_due: bool,
    pub left_behind: Vec<RecoverableSession>,
    /// Another process held something at the last look, and may be ending.
    pub looks_again: bool,
    /// The document was left behind there: kept until it is saved here.
    pub recovered: Option<PathBuf>,
    /// The session that is being read, if it was left behind.
    pub recovering: Option<PathBuf>,
    /// Files are read even where their size and age are the session's.
    pub strict: bool,
}

impl Saving {
    /// What was left behind, but for what is being recovered.
    pub fn offered(&self) -> impl Iterator<Item = &RecoverableSession> {
        let opening = self.opening.as_ref().filter(|o| o.recovered);
        let taken = [
            self.recovering.as_deref(),
            opening.map(|o| o.read.path.as_path()),
        ];
        let left = self.left_behind.iter();
        left.filter(move |l| !taken.contains(&Some(l.session.as_path())))
    }
}
