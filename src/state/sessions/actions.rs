//! Saving, opening and recovering sessions.

use crate::state::edit::edit;
use crate::state::sessions::jobs::{FindRecoverable, ForgetRecoverable};
use crate::state::sessions::update::{
    autosave, carry_out, checked, close_document, load, relocate, restore_missing, save,
    store_streamlines, submit,
};
use crate::state::sessions::{Opening, ResultStorage, SessionAction};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: SessionAction, effects: &mut Vec<Effect>) {
    match action {
        SessionAction::CloseDocument(pending_action) => {
            close_document(state, pending_action, effects)
        }
        SessionAction::Discard => {
            if let Some(pending_action) = state.runtime.sessions.pending_action.take() {
                carry_out(state, pending_action, effects);
            }
        }
        SessionAction::CancelQuestion => {
            state.runtime.sessions.pending_action = None;
            state.runtime.sessions.changed_since = None;
        }
        SessionAction::Overwrite => checked::overwrite(state, effects),
        SessionAction::Save { path, next } => {
            let known = checked::expected_sha256(state, path.as_deref());
            save(state, path, known, next, effects);
        }
        SessionAction::SetStore(store) => store_streamlines(state, store),
        SessionAction::StoreToo { next } => {
            store_streamlines(state, ResultStorage::All);
            let known = checked::expected_sha256(state, None);
            save(state, None, known, next, effects);
        }
        SessionAction::RecipeOnlySeen => state.runtime.sessions.recipe_only.clear(),
        SessionAction::Autosave => autosave(state, effects),
        SessionAction::Relocate { index, path } => {
            relocate(state, vec![(index, path)], effects);
        }
        SessionAction::TakeAll => {
            let opening = state.runtime.sessions.opening.as_ref();
            let moved_files = opening.map_or(Vec::new(), Opening::found_elsewhere);
            relocate(state, moved_files, effects);
        }
        SessionAction::Decide { index, decision } => {
            if let Some(opening) = &mut state.runtime.sessions.opening {
                opening.decisions.insert(index, decision);
            }
        }
        SessionAction::OpenAnyway => load(state, effects),
        SessionAction::CancelOpening => {
            let saving = &mut state.runtime.sessions;
            (saving.opening, saving.arriving) = (None, None);
        }
        SessionAction::FindRecoverable => submit(effects, FindRecoverable),
        SessionAction::Forget(session) => {
            let left = &mut state.runtime.sessions.recovery.sessions;
            left.retain(|l| l.session != session);
            submit(effects, ForgetRecoverable { session });
        }
        SessionAction::Later(session) => {
            let left = &mut state.runtime.sessions.recovery.sessions;
            left.retain(|l| l.session != session);
        }
        SessionAction::Recompute(layer) => restore_missing::recompute(state, layer, effects),
        SessionAction::Restore { layer, path } => {
            restore_missing::restore(state, layer, path, effects)
        }
        SessionAction::Drop(layer) => edit(state, "Remove from the session", false, |d| {
            d.remove_missing_layer(layer);
            d.remove_missing_parts(|part| part.is_mask_of(layer));
        }),
        SessionAction::DropParts(group) => edit(state, "Remove from the session", false, |d| {
            d.remove_missing_parts(|part| group.has(part));
        }),
    }
}
