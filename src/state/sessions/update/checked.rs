//! Checks whether the files of a session are what they were, and whether the session itself is still the one that
//! was read.

use crate::jobs::session::{FileComparison, SessionRequest};
use crate::state::session::Severity;
use crate::state::sessions::update::{save, submit};
use crate::state::sessions::{ChangedSince, Verified};
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};

/// The checksum of what saving may replace: of the document's own file what was read or written here last, of
/// another anything, since whoever chose it was asked.
pub(in crate::state) fn known(state: &State, path: Option<&Path>) -> Option<String> {
    let own = path.is_none();
    // Where nothing is known of the own file, that is asked about as well.
    own.then(|| state.session.saving.seen.clone().unwrap_or_default())
}

/// Nothing was saved: the user decides.
pub(in crate::state) fn changed_since(state: &mut State, path: PathBuf) {
    let saving = &mut state.session.saving;
    (saving.base_asked, saving.view_asked) = (None, None);
    let then = saving.then.take();
    saving.changed_since = Some(ChangedSince { path, then });
}

pub(in crate::state) fn overwrite(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(ChangedSince { path, then }) = state.session.saving.changed_since.take() {
        save(state, Some(path), None, then, effects);
    }
}

/// Files that were taken for those of the session by size and age alone are read in the background.
pub(in crate::state) fn verify(state: &mut State, effects: &mut Vec<Effect>) {
    let saving = &mut state.session.saving;
    saving.opened_status.clone_from(&state.session.status);
    let Some(opened) = &saving.opened else { return };
    let same = opened.files.iter();
    let same = same.filter(|f| f.standing == FileComparison::Same);
    let files: Vec<_> = same.map(|f| (f.path.clone(), f.entry.clone())).collect();
    // Whoever asked for that has read them before they were opened.
    if saving.strict {
        saving.verified = Some(Verified::Same(files.len()));
    } else if !files.is_empty() {
        saving.verified = Some(Verified::Running(files.len()));
        submit(effects, SessionRequest::Verify { files });
    }
}

pub(in crate::state) fn verified(
    state: &mut State,
    files: usize,
    differ: &[(PathBuf, FileComparison)],
) {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let names: Vec<String> = differ.iter().map(|(path, _)| name(path)).collect();
    let found = match names.is_empty() {
        true => Verified::Same(files),
        false => Verified::Differ(names),
    };
    let opened = &state.session.saving.opened_status;
    // The user may have done something else since.
    if differ.is_empty() && !opened.is_empty() && state.session.status.starts_with(opened) {
        state.session.status = format!("{} · {}", state.session.status, found.words());
    }
    for (path, standing) in differ {
        let path = path.display();
        let sentence = match standing {
            FileComparison::Missing(why) => format!(
                "{why}, so the session cannot tell whether it has changed; make the file readable again and open the \
                 session again: {path}"
            ),
            // Names the file beside a scan or streamlines that differs.
            FileComparison::Changed(why) => format!(
                "{why}; the window shows what is there now: put the earlier file back and open the session again, or \
                 save the session to keep the new one: {path}"
            ),
            FileComparison::Same => continue,
        };
        state.session.notify(Severity::Warning, sentence);
    }
    state.session.saving.verified = Some(found);
}
