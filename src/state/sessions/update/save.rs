//! Saving a session, and its copy for recovery.

use super::{carry_out, checked, submit, summary};
use crate::jobs::Slot;
use crate::state::core::notices::Topic;
use crate::state::core::text::{counted, shortened_list};
use crate::state::files::jobs::SAVE;
use crate::state::files::opening;
use crate::state::files::types::RecentKind;
use crate::state::sessions::SessionContents;
use crate::state::sessions::jobs::{
    Autosave, ForgetRecoverable, RECOVERY, RemoveRecoveryCopy, SaveOutcome, SaveSession,
};
use crate::state::sessions::runtime::AutosavedState;
use crate::state::sessions::unsaved::{Base, summed};
use crate::state::sessions::{UnsavedAction, saved};
use crate::state::{Document, Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::state) fn save(
    state: &mut State,
    path: Option<PathBuf>,
    expected_sha256: Option<String>,
    then: Option<UnsavedAction>,
    effects: &mut Vec<Effect>,
) {
    state.runtime.forget_failures(SAVE);
    let saving = &mut state.runtime.sessions;
    (saving.pending_action, saving.changed_since) = (None, None);
    let Some(path) = path.or(saving.file.clone()) else {
        return;
    };
    saving.next = then;
    let draft = Box::new(saved::draft(state));
    state.runtime.sessions.not_final = saved::results_not_final(state);
    state.runtime.sessions.view_being_saved = Some(state.view.clone());
    state.runtime.sessions.base_being_saved = Some(Arc::new(Base::saved(state)));
    submit(
        effects,
        SaveSession {
            path,
            draft,
            expected_sha256,
        },
    );
}

/// Saves for recovery what is in no file yet.
pub(in crate::state) fn autosave(state: &mut State, effects: &mut Vec<Effect>) {
    let changed = state.is_dirty();
    let saving = &mut state.runtime.sessions;
    saving.autosave.is_due = false;
    if !changed {
        if saving.autosave.last.take().is_some() {
            submit(effects, RemoveRecoveryCopy);
        }
        return;
    }
    let now = AutosavedState::from_state(state);
    let autosave = &mut state.runtime.sessions.autosave;
    if autosave.is_running || autosave.last.as_ref() == Some(&now) {
        return;
    }
    autosave.last = Some(now);
    autosave.is_running = true;
    let draft = Box::new(saved::autosave(state));
    submit(effects, Autosave { draft });
}

/// A session was written, or was not because another program has changed the file.
pub(in crate::state) fn save_ended(
    state: &mut State,
    path: &Path,
    revision: u64,
    outcome: SaveOutcome,
    effects: &mut Vec<Effect>,
) {
    let SaveOutcome::Saved {
        sha256,
        numbers_omitted,
    } = outcome
    else {
        return checked::changed_since(state, path.to_owned());
    };
    state.runtime.sessions.seen = Some(sha256);
    if numbers_omitted > 0 {
        let lists = counted(numbers_omitted, "set");
        let sentence = format!(
            "{lists} of weights or map values are not in the session, which holds 40 MB of \
             numbers at most: export those layers as files"
        );
        state.runtime.notify_warning(SAVE, sentence);
    }
    was_saved(state, path.to_owned(), revision, effects);
}

pub(in crate::state) fn autosaved(state: &mut State, effects: &mut Vec<Effect>) {
    state.runtime.sessions.autosave.is_running = false;
    forget_recovered(state, effects);
}

/// A job that saves failed or was stopped.
pub fn failed(state: &mut State, slot: Slot) {
    let saving = &mut state.runtime.sessions;
    match slot {
        SAVE => saving.next = None,
        RECOVERY => {
            saving.autosave.is_running = false;
            saving.autosave.last = None;
        }
        _ => {}
    }
}

/// Removes a recovered copy once all of it is saved here.
fn forget_recovered(state: &mut State, effects: &mut Vec<Effect>) {
    let mut snapshots = state.runtime.snapshots.all.iter().map(|s| &s.document);
    if !(state.document.is_whole() && snapshots.all(Document::is_whole)) {
        return;
    }
    if let Some(session) = state.runtime.sessions.recovery.source.take() {
        state.runtime.forget(Topic::CopyKept);
        submit(effects, ForgetRecoverable { session });
    }
}

fn was_saved(state: &mut State, path: PathBuf, revision: u64, effects: &mut Vec<Effect>) {
    let recipe_only = state.recipe_only();
    let not_final = std::mem::take(&mut state.runtime.sessions.not_final);
    let mut without = Vec::new();
    if !recipe_only.is_empty() {
        without.push(format!(
            " without the streamlines of {}",
            summed(&recipe_only)
        ));
    }
    if !not_final.is_empty() {
        let names = not_final.join(", ");
        without.push(format!(
            " without checksums of results that are not final ({names})"
        ));
    }
    let message = format!("Saved session{}: {}", without.join(" and"), path.display());
    state.runtime.notices.status = message.into();
    notify_lost(state);
    state.runtime.forget(Topic::Recovered);
    let saving = &mut state.runtime.sessions;
    // The last of several waiting saves may hold another revision.
    if let Some(base) = saving.base_being_saved.take_if(|b| b.is_of(revision)) {
        saving.base = base;
    }
    saving.recipe_only = recipe_only;
    saving.file = Some(path.clone());
    saving.view = saving.view_being_saved.take();
    let then = saving.next.take();
    let summary = summary(&SessionContents {
        layers: state.document.layers.len() + state.document.missing_layers().count(),
        regions: state.document.regions.len(),
        weighted: state.document.weights.len(),
        pathways: state.document.kept_pathways.len(),
        has_surface: state.surface_script().is_some(),
    });
    opening::remember(state, path, RecentKind::Session, summary, effects);
    forget_recovered(state, effects);
    let asks = state.is_dirty() || revision != state.history.revision();
    // The document changed while it was written, or large layers are not in the file: the question about the following
    // action is asked again.
    if let Some(pending_action) = then.clone().filter(|_| asks || state.asks_before_closing()) {
        state.runtime.sessions.pending_action = Some(pending_action);
        return;
    }
    if asks {
        return;
    }
    if state.runtime.sessions.autosave.last.take().is_some() {
        submit(effects, RemoveRecoveryCopy);
    }
    if let Some(pending_action) = then {
        carry_out(state, pending_action, effects);
    }
}

/// Reports which streamlines are not in the saved session.
fn notify_lost(state: &mut State) {
    const NAMED: usize = 3;
    let lost = state.cannot_be_saved();
    if lost.is_empty() {
        return;
    }
    let sentence = format!(
        "{} cannot be stored in a session, since the scan or mask behind {} is gone: export {} as a file",
        shortened_list(&lost, NAMED),
        if lost.len() == 1 { "it" } else { "them" },
        if lost.len() == 1 { "it" } else { "each" },
    );
    state.runtime.notify_warning(SAVE, sentence);
}
