//! Snapshots of the document, and comparison with one.

use crate::state::edit::changed;
use crate::state::snapshots::update;
use crate::state::{Effect, SnapshotAction, State, tensors};

/// Applies one action.
pub fn act(state: &mut State, action: SnapshotAction, effects: &mut Vec<Effect>) {
    match action {
        SnapshotAction::Take => {
            update::add(state);
            changed(state);
        }
        SnapshotAction::Rename { number, name } => {
            update::rename(state, number, &name);
            changed(state);
        }
        SnapshotAction::Compare(with) => {
            update::compare(state, with);
            tensors::update::fit_snapshot(state, effects);
        }
        SnapshotAction::ToggleComparing => {
            update::toggle(state);
            tensors::update::fit_snapshot(state, effects);
        }
        SnapshotAction::MoveDivider(share) => {
            if let Some(comparing) = &mut state.runtime.snapshots.comparing {
                comparing.share = share.clamp(0.0, 1.0);
            }
        }
    }
}
