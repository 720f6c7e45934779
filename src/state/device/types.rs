//! Actions on graphics cards.

use crate::state::BackendKind;

/// Where solvers run.
#[derive(Clone, Debug)]
pub enum DeviceAction {
    /// Their list is about to be seen.
    FindCards,
    /// Loads the kernels of graphics cards that were opened at the start.
    LoadKernels,
    Choose(BackendKind),
    /// What a graphics card failed to do.
    RunOnCpu,
}
