//! Examines a session that is to be opened together with other files, before anything is replaced.

use crate::compute::Control;
use crate::data::Sentence;
use crate::io::disk::without_links;
use crate::io::session::{self, Entry};
use crate::jobs::{Delivery, Job, JobError, Outcome, PartialSender, Receive, Slot, Worker};
use crate::state::core::text::file_name;
use crate::state::files::jobs::LOAD;
use crate::state::job_end::ended;
use crate::state::sessions::update::arriving;
use crate::state::sessions::{ParseError, saved};
use crate::state::{Effect, State};
use std::fmt;
use std::path::{Path, PathBuf};

/// Reads a session without its layers, and looks for the files that it needs among those that are to be added to it.
#[derive(Clone, Debug)]
pub struct ExamineSession {
    pub session: PathBuf,
    /// Files to be added to it.
    pub files: Vec<PathBuf>,
}

/// A session that can be read.
#[derive(Clone, PartialEq, Debug)]
pub struct ExaminedSession {
    pub session: PathBuf,
    /// Files to be added to it. One that the session needs has the path by which the session finds it.
    pub files: Vec<PathBuf>,
}

impl Job for ExamineSession {
    type Output = ExaminedSession;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        format!("Examining {}", file_name(&self.session))
    }

    fn run(
        self,
        _: &Worker,
        _: &Control,
        _: &PartialSender<ExaminedSession>,
    ) -> Result<ExaminedSession, JobError> {
        examine(self.session, self.files)
    }
}

impl Receive<State> for ExamineSession {
    fn receive(
        &self,
        delivery: Delivery<ExaminedSession>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // Whoever stops the job wants nothing opened.
        let failed = matches!(delivery.outcome, Outcome::Failed(_));
        ended(
            state,
            self,
            delivery,
            effects,
            |state, examined, _, effects| arriving::was_examined(state, examined, effects),
        );
        if failed {
            arriving::open_files(state, self.files.clone(), effects);
        }
    }
}

/// A session whose content cannot be parsed, with its file.
#[derive(Clone, PartialEq, Debug)]
struct UnreadableSession {
    error: ParseError,
    path: PathBuf,
}

impl fmt::Display for UnreadableSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (error, path) = (&self.error, self.path.display());
        write!(f, "{error}, expected one saved by Arcuate: {path}")
    }
}

impl std::error::Error for UnreadableSession {}

impl From<UnreadableSession> for JobError {
    fn from(error: UnreadableSession) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

fn examine(session: PathBuf, files: Vec<PathBuf>) -> Result<ExaminedSession, JobError> {
    let path = std::path::absolute(&session).unwrap_or_else(|_| session.clone());
    let read = session::read(&path)?;
    if let Err(error) = saved::parse(read.content) {
        return Err(UnreadableSession { error, path }.into());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let own = |entry: &Entry| entry.path_from(folder);
    let needed: Vec<(PathBuf, PathBuf)> = read
        .files
        .iter()
        .flat_map(|entry| entry.companions.iter().chain([entry]))
        .map(own)
        .filter_map(|path| Some((without_links(&path).ok()?, path)))
        .collect();
    let files = files.into_iter().map(|file| {
        let file = std::path::absolute(&file).unwrap_or(file);
        let place = without_links(&file).ok();
        let known = needed
            .iter()
            .find(|(other, _)| Some(other) == place.as_ref());
        known.map_or(file, |(_, path)| path.clone())
    });
    Ok(ExaminedSession {
        files: files.collect(),
        session,
    })
}
