//! Answers about the typed path, stored with their question: an answer holds for exactly this path.

use crate::data::text::file_name;
use crate::data::{BuiltInPhantom, PhantomKind, keyed};
use crate::io::Reading;
use crate::jobs::{Folder, PathAnswer};
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Live, LiveKey, Order, Pace};
use crate::state::files::jobs::PathCheck;
use crate::state::files::jobs::open::StayInFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The folders before the present export: a folder that could not be written to is not kept.
    pub exports_before: Option<RecentExports>,
    check: Live<PathCheck, PathAnswer>,
    /// The number of the question that failed.
    failed: Option<u64>,
}

impl Paths {
    /// Asks a question, replacing the one before; returns the one to submit.
    pub(in crate::state) fn request(&mut self, check: &PathCheck) -> Option<PathCheck> {
        self.failed = None;
        // Questions are numbered: each is a different key.
        match self.check.follow(Some(check), false, Pace::Newest) {
            Order::Start(check, _) => Some(check),
            Order::Nothing | Order::Cancel => None,
        }
    }

    pub(in crate::state) fn done(&mut self, check: &PathCheck, answer: PathAnswer) {
        if self.is_open(check) {
            self.check.finish(answer);
        }
    }

    /// The disk was not asked, or the user did not wait.
    pub(in crate::state) fn fail(&mut self) {
        self.failed = self.check.running().map(|check| check.number);
        self.check.fail();
    }

    /// The answer to exactly this question; `None`: not yet.
    pub fn result(&self, check: &PathCheck) -> Option<&PathAnswer> {
        let shown = self.check.shown();
        shown
            .filter(|(known, _)| *known == check)
            .map(|(_, answer)| answer)
    }

    /// Whether this question is being answered.
    pub fn is_open(&self, check: &PathCheck) -> bool {
        self.check.running() == Some(check)
    }

    /// Whether this question gets no answer.
    pub fn has_failed(&self, check: &PathCheck) -> bool {
        self.failed == Some(check.number)
    }
}

impl LiveKey for PathCheck {}

/// The name of a built-in phantom on the command line: `phantom:1` for a head, `phantom:crossing:1` for the head whose
/// bundles cross, `phantom:helix:1` or `phantom:helix` for another kind, or `phantom:1:dwi` for the scan where the T1
/// would be meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhantomName {
    pub head: BuiltInPhantom,
    pub is_scan: bool,
}

impl PhantomName {
    const PREFIX: &str = "phantom:";
    const SCAN: &str = ":dwi";
    /// The names that messages give.
    pub const EXPECTED: &str = "phantom:SEED, or phantom:KIND:SEED with the kind crossing, helix, diagonal, u-fibre or planar";

    /// The phantom that a path names; `None` for the name of a file.
    pub fn of_path(path: &Path) -> Option<Self> {
        Self::read(path.to_str()?)?.ok()
    }

    /// Reads a name, which has the seed 1 without another; `None` for the name of a file, an error if the kind is unknown
    /// or the seed is not a number.
    pub fn read(name: &str) -> Option<Result<Self, ParseIntError>> {
        let name = name.strip_prefix(Self::PREFIX)?;
        let (name, is_scan) = match name.strip_suffix(Self::SCAN) {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (kind, seed) = name.split_once(':').unwrap_or((name, "1"));
        let kind = PhantomKind::ALL
            .into_iter()
            .find(|k| k.key() == kind && !k.is_plain());
        let (kind, seed) = match kind {
            Some(kind) => (kind, seed),
            None => (PhantomKind::Plain, name),
        };
        Some(seed.parse().map(|seed| Self {
            head: BuiltInPhantom { kind, seed },
            is_scan,
        }))
    }
}

impl fmt::Display for PhantomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = if self.is_scan { Self::SCAN } else { "" };
        write!(f, "{}", Self::PREFIX)?;
        if !self.head.kind.is_plain() {
            write!(f, "{}:", self.head.kind.key())?;
        }
        write!(f, "{}{part}", self.head.seed)
    }
}

/// An image of the built-in head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhantomPart {
    Dwi,
    T1,
    BrainMask,
}

keyed!(PhantomPart, serde {
    Dwi = "dwi",
    T1 = "T1",
    BrainMask = "Brain mask",
});

/// Folders and names of the last exports, which the next ones of the same document suggest.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RecentExports {
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// Names of the last files, by kind.
    pub last: BTreeMap<String, String>,
}

impl RecentExports {
    pub const STREAMLINES: &str = "tracks";
    pub const LAYER: &str = "layer";
    pub const REGION: &str = "region";
    pub const PICTURE: &str = "picture";

    pub fn remember(&mut self, what: &str, path: &Path) {
        self.folder = path.parent().map(Path::to_owned);
        let name = file_name(path);
        self.last.insert(what.to_owned(), name);
    }
}

/// Actions on files.
#[derive(Clone, Debug)]
pub enum FilesAction {
    Open(Vec<PathBuf>),
    /// Reopens a layer's file with the user's reading of it.
    OpenAs {
        path: PathBuf,
        reading: Reading,
    },
    /// One of the visits of the folder opened last; `None`: none of them.
    OpenVisit(Option<usize>),
    SaveLayer {
        layer: LayerId,
        path: PathBuf,
    },
    /// Streamlines of a layer, of one with rules those that they keep; `None`: the live curves.
    SaveStreamlines {
        layer: Option<LayerId>,
        path: PathBuf,
    },
    /// A question about the typed path, replacing the one before.
    CheckPath(PathCheck),
}

/// Files that were opened and written.
#[derive(Clone, Debug, Default)]
pub struct FilesRuntime {
    /// A folder from which a visit must be chosen.
    pub folder: Option<Arc<Folder>>,
    pub recent: Vec<Recent>,
    pub exports: RecentExports,
    pub paths: Paths,
    /// Files that were opened together.
    pub opened_together: Vec<PathBuf>,
    /// A file that was opened since the features last followed.
    pub just_opened: Option<JustOpened>,
    /// The condition under which streamlines stay in their file.
    pub stay: StayInFile,
}

/// A file that was opened, for the features that react to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JustOpened {
    /// The document was empty.
    pub is_first: bool,
}

/// The kind of a file opened before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecentKind {
    #[default]
    Image,
    Streamlines,
    Session,
}

keyed!(RecentKind, serde {
    Image = "image",
    Streamlines = "streamlines",
    Session = "session",
});

/// A file opened before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recent {
    pub path: PathBuf,
    #[serde(default)]
    pub kind: RecentKind,
    /// Description of its content: `81 × 105 × 60 × 33, 1 × b 0, 32 × b 1000`.
    pub summary: String,
    /// Seconds since 1970.
    pub opened: u64,
    /// Values displayed as the first and last colour, if the user has chosen them.
    #[serde(default)]
    pub window: Option<(f32, f32)>,
}
