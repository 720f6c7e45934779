//! Checks whether the files of a session, and the session itself, have changed.

use crate::data::text::file_name;
use crate::state::core::notices::{Severity, StatusSubject};
use crate::state::sessions::jobs::VerifyFiles;
use crate::state::sessions::update::{save, submit};
use crate::state::sessions::{ChangedSince, FileComparison, FileVerification};
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};

/// The checksum of the file that saving may replace: for the document's own file the one last read or written here; for
/// another file any checksum is accepted, because the user confirmed it when choosing the file.
pub(in crate::state) fn expected_sha256(state: &State, path: Option<&Path>) -> Option<String> {
    let own = path.is_none();
    // The user is also asked if the checksum of the session file is unknown.
    own.then(|| state.runtime.sessions.seen.clone().unwrap_or_default())
}

/// Nothing was saved: the user decides.
pub(in crate::state) fn changed_since(state: &mut State, path: PathBuf) {
    let saving = &mut state.runtime.sessions;
    (saving.base_being_saved, saving.view_being_saved) = (None, None);
    let next = saving.next.take();
    saving.changed_since = Some(ChangedSince { path, next });
}

pub(in crate::state) fn overwrite(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(ChangedSince { path, next }) = state.runtime.sessions.changed_since.take() {
        save(state, Some(path), None, next, effects);
    }
}

/// Files that were accepted as the session's by size and age alone are read in the background.
pub(in crate::state) fn verify(state: &mut State, effects: &mut Vec<Effect>) {
    let saving = &mut state.runtime.sessions;
    let Some(opened) = &saving.opened else { return };
    let same = opened.files.iter();
    let same = same.filter(|f| f.is_read && f.standing == FileComparison::Same);
    let files: Vec<_> = same.map(|f| (f.path.clone(), f.entry.clone())).collect();
    // With that setting they were read before they were opened.
    if saving.strict {
        saving.verified = Some(FileVerification::Unchanged(files.len()));
    } else if !files.is_empty() {
        saving.verified = Some(FileVerification::Running(files.len()));
        submit(effects, VerifyFiles { files });
    }
}

pub(in crate::state) fn verified(
    state: &mut State,
    files: usize,
    differ: &[(PathBuf, FileComparison)],
) {
    let name = |path: &Path| file_name(path);
    let names: Vec<String> = differ.iter().map(|(path, _)| name(path)).collect();
    let verification = match names.is_empty() {
        true => FileVerification::Unchanged(files),
        false => FileVerification::Changed(names),
    };
    let status = &mut state.runtime.notices.status;
    // The user may have done something else since.
    if differ.is_empty() && status.subject() == StatusSubject::OpenedSession {
        status.add_remark(&format!(" · {}", verification.label()));
    }
    for (path, standing) in differ {
        let path = path.display();
        let sentence = match standing {
            FileComparison::Missing(why) => format!(
                "{why}, so the session cannot tell whether it has changed; make the file readable and open the \
                 session again: {path}"
            ),
            // Names the changed file next to a scan or streamlines.
            FileComparison::Changed(why) => format!(
                "{why}; the window shows the file as it is now: restore the earlier one and open the session again, \
                 or save the session to keep the new one: {path}"
            ),
            FileComparison::Same => continue,
        };
        state.runtime.notify(Severity::Warning, sentence);
    }
    state.runtime.sessions.verified = Some(verification);
}
