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
        AlignmentAction::AddTransforms { layer, paths } => {
            alignment::warps::add(state, layer, paths)
        }
        AlignmentAction::SetWarp { layer, warp } => alignment::warps::set(state, layer, warp),
        AlignmentAction::ApplyWarp(layer) => alignment::warps::apply(state, layer, effects),
    }
}
