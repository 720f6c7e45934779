//! Actions on files: opening them, as the user reads them, and saving layers.

use crate::state::files::jobs::LOAD;
use crate::state::files::jobs::open::OpenFile;
use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::sessions::update::arriving;
use crate::state::streamlines::update::export;
use crate::state::update::layers;
use crate::state::{Effect, FilesAction, Severity, State, files, sessions};
use std::path::PathBuf;

/// Applies one action.
pub fn act(state: &mut State, action: FilesAction, effects: &mut Vec<Effect>) {
    match action {
        FilesAction::Open(paths) => open(state, paths, effects),
        FilesAction::OpenAs { path, reading } => {
            state.runtime.forget_failures(LOAD);
            let open = OpenFile::with_reading(path, reading);
            effects.push(Effect::submit(open.staying(state.runtime.files.stay)));
        }
        FilesAction::OpenVisit(Some(number)) => files::opening::open_visit(state, number, effects),
        FilesAction::OpenVisit(None) => state.runtime.files.folder = None,
        FilesAction::SaveLayer { layer, path } => {
            exported(state, RecentExports::LAYER, &path, effects);
            layers::save(state, layer, path, effects);
        }
        FilesAction::SaveStreamlines { layer, path } => {
            exported(state, RecentExports::STREAMLINES, &path, effects);
            export::save(state, layer, path, effects);
        }
        FilesAction::CheckPath(check) => {
            let check = state.runtime.files.paths.request(&check);
            effects.extend(check.map(Effect::submit));
        }
    }
}

fn open(state: &mut State, paths: Vec<PathBuf>, effects: &mut Vec<Effect>) {
    let (mut sessions, files): (Vec<_>, Vec<_>) = paths
        .into_iter()
        .partition(|p| sessions::update::is_session(p));
    // A session may be named twice.
    sessions.sort();
    sessions.dedup();
    if sessions.len() > 1 {
        let sentence = arriving::several_sessions(&sessions);
        return state.runtime.notify(Severity::Error, sentence);
    }
    match sessions.pop() {
        Some(session) => arriving::open_session(state, session, files, effects),
        None => {
            state.runtime.forget_failures(LOAD);
            arriving::open_files(state, files, effects);
        }
    }
}
