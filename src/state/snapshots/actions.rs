//! Snapshots of the document, and comparison with one.

use crate::state::edit::changed;
use crate::state::{Effect, SnapshotAction, State, snapshots, tensors};

/// Applies one action.
pub fn act(state: &mut State, action: SnapshotAction, effects: &mut Vec<Effect>) {
    match action {
        SnapshotAction::Take => {
            snapshots::add(state);
            changed(state);
        }
        SnapshotAction::Rename { number, name } => {
            snapshots::rename(state, number, &name);
            changed(state);
        }
        SnapshotAction::Compare(with) => {
            snapshots::compare(state, with);
            tensors::update::fit_snapshot(state, effects);
        }
        SnapshotAction::ToggleComparing => {
            snapshots::toggle(state);
            tensors::update::fit_snapshot(state, effects);
        }
        SnapshotAction::MoveDivider(share) => {
            if let Some(comparing) = &mut state.session.snapshots.comparing {
                comparing.share = share.clamp(0.0, 1.0);
            }
        }
    }
}
