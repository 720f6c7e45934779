//! A session that is opened together with other files: they are added to it as layers once it is open.

use crate::state::core::notices::Severity;
use crate::state::core::text::{file_name, shortened_list};
use crate::state::files::jobs::LOAD;
use crate::state::files::together;
use crate::state::sessions::jobs::{ExamineSession, ExaminedSession, OpenSession};
use crate::state::sessions::update::{close_document, submit};
use crate::state::sessions::{FileComparison, FileStatus, UnsavedAction};
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};

/// Why several sessions are not opened together.
pub fn several_sessions(sessions: &[PathBuf]) -> String {
    const NAMED: usize = 3;
    let names: Vec<String> = sessions.iter().map(|s| file_name(s)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!(
        "Found {} sessions, expected one at a time, since a session replaces everything that is open; open one of \
         them: {}",
        sessions.len(),
        shortened_list(&names, NAMED)
    )
}

/// Opens a session, alone or with files. With files it is examined first: a session that cannot be read must not keep the
/// files from opening.
pub(in crate::state) fn open_session(
    state: &mut State,
    session: PathBuf,
    files: Vec<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    if files.is_empty() {
        return close_document(state, UnsavedAction::Open(session), effects);
    }
    state.runtime.forget_failures(LOAD);
    submit(effects, ExamineSession { session, files });
}

/// A session can be read; it opens, unless the user must be asked about unsaved work first.
pub(in crate::state) fn was_examined(
    state: &mut State,
    examined: ExaminedSession,
    effects: &mut Vec<Effect>,
) {
    let ExaminedSession { session, files } = examined;
    close_document(state, UnsavedAction::OpenWith { session, files }, effects);
}

/// Opens files; those that arrive while a session is being opened are added to it, since it replaces the document.
pub(in crate::state) fn open_files(
    state: &mut State,
    files: Vec<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    match &mut state.runtime.sessions.arriving {
        Some(arriving) => arriving.extend(files),
        None => together::open_together(state, files, effects),
    }
}

/// Reads a session, to which the files are added.
pub(in crate::state) fn read(
    state: &mut State,
    path: PathBuf,
    files: Vec<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    state.runtime.forget_failures(LOAD);
    let saving = &mut state.runtime.sessions;
    let folder = |file: &PathBuf| file.parent().map(Path::to_owned);
    let mut folders: Vec<PathBuf> = files.iter().filter_map(folder).collect();
    folders.dedup();
    saving.arriving = Some(files);
    let strict = saving.strict;
    let job = OpenSession {
        path,
        strict,
        folders,
    };
    submit(effects, job);
}

/// No session is opened: the files that waited for it are added to the current document.
pub(in crate::state) fn open_waiting(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(files) = state.runtime.sessions.arriving.take() {
        together::open_together(state, files, effects);
    }
}

/// Adds files to the session that was just opened, except those that it shows.
pub(in crate::state) fn add(state: &mut State, files: Vec<PathBuf>, effects: &mut Vec<Effect>) {
    let Some(session) = state.runtime.sessions.opened.clone() else {
        return together::open_together(state, files, effects);
    };
    let is_available = |f: &&FileStatus| !matches!(f.standing, FileComparison::Missing(_));
    let read = session.files.iter().filter(|f| f.is_read);
    let shown: Vec<PathBuf> = read.filter(is_available).flat_map(all_paths).collect();
    let (known, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|f| shown.contains(f));
    if !known.is_empty() {
        const NAMED: usize = 3;
        let names: Vec<String> = known.iter().map(|f| file_name(f)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sentence = format!(
            "{} {} already in the session and {} not added again",
            shortened_list(&names, NAMED),
            if known.len() == 1 { "is" } else { "are" },
            if known.len() == 1 { "was" } else { "were" }
        );
        state.runtime.notify(Severity::Information, sentence);
    }
    together::open_together(state, files, effects);
}

/// A file of a session and those that belong to it, such as its gradients.
fn all_paths(file: &FileStatus) -> Vec<PathBuf> {
    let companions = file.entry.companions.iter();
    let companions = companions.map(|c| file.path.with_file_name(c.name()));
    companions.chain([file.path.clone()]).collect()
}
