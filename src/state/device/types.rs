//! Actions on graphics cards.

use crate::state::BackendKind;

/// Where solvers run.
#[derive(Clone, Debug)]
pub enum DeviceAction {
    /// The list of graphics cards is about to be shown.
    FindCards,
    /// Loads the kernels of graphics cards opened at the start.
    LoadKernels,
    Choose(BackendKind),
    /// Runs on the CPU the jobs that failed on a graphics card.
    RunOnCpu,
}
