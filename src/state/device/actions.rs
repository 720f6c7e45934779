//! Where solvers run.

use crate::state::{DeviceAction, Effect, State, device};

/// Applies one action.
pub fn act(state: &mut State, action: DeviceAction, effects: &mut Vec<Effect>) {
    match action {
        DeviceAction::FindCards => device::update::find_cards(state, effects),
        DeviceAction::LoadKernels => device::update::load_kernels(effects),
        DeviceAction::Choose(kind) => device::update::choose(state, kind, effects),
        DeviceAction::RunOnCpu => device::update::run_on_cpu(state, effects),
    }
}
