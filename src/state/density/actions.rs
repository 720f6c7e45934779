//! Density maps of streamlines.

use crate::state::density::{DensityAction, update};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: DensityAction, effects: &mut Vec<Effect>) {
    match action {
        DensityAction::Map { layer, options } => update::map(state, layer, options, effects),
    }
}
