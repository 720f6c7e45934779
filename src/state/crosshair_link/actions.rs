//! Switching the link on and off.

use crate::state::crosshair_link::{LinkAction, update};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: LinkAction, effects: &mut Vec<Effect>) {
    match action {
        LinkAction::Link(true) => update::link(state),
        LinkAction::Link(false) => update::unlink(state, effects),
    }
}
