//! The open backend, and actions on graphics cards.

use crate::jobs::{BackendKind, CardError};

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
    /// The error because of which they do not, although the CPU was not chosen.
    pub no_card: Option<CardError>,
}
