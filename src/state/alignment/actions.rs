//! Moves of a layer in the world.

use crate::state::alignment::AlignedBy;
use crate::state::{AlignmentAction, Effect, State, alignment};

/// Applies one action.
pub fn act(state: &mut State, action: AlignmentAction, effects: &mut Vec<Effect>) {
    match action {
        AlignmentAction::Shift {
            layer,
            transform,
            phase,
        } => {
            alignment::update::shift(
                state,
                layer,
                (transform, AlignedBy::Manually),
                phase,
                effects,
            );
        }
        AlignmentAction::Align(layer) => alignment::update::align(state, layer, effects),
        AlignmentAction::ApplyAffine { layer, path } => {
            alignment::update::apply(state, layer, path, effects)
        }
    }
}
