//! The open backend, and actions on graphics cards.

use crate::jobs::BackendKind;

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

/// The backend that is open.
#[derive(Clone, Debug, Default)]
pub struct OpenBackend {
    /// Last field of the status line: `CPU 2 threads · AVX2`.
    pub label: String,
    /// Why it was chosen: `CPU: no NVIDIA driver found`.
    pub reason: String,
    /// Whether solvers that have a kernel run on a graphics card.
    pub on_card: bool,
}
