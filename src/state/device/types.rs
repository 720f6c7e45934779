//! Actions on graphics cards.

use crate::jobs::{AnyJob, CardError};
use crate::state::{BackendKind, State};
use std::sync::Arc;

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

/// Where solvers run, and what graphics cards failed to do.
#[derive(Clone, Debug, Default)]
pub struct DeviceRuntime {
    pub backend: OpenBackend,
    /// The requested kind: by the command line, by the setting, by the user.
    pub kind: BackendKind,
    /// The backend to open at the next start.
    pub setting: BackendKind,
    /// Becomes the setting once it is open.
    pub requested_setting: Option<BackendKind>,
    /// Names of the graphics cards, or why there are none; `None` before the first search.
    pub cards: Option<Result<Arc<[String]>, CardError>>,
    pub fallback: DeviceFallback,
}

/// Jobs that failed on graphics cards, to be repeated on the CPU.
#[derive(Clone, Debug, Default)]
pub struct DeviceFallback {
    /// The last job of each slot.
    pub requests: Vec<Box<dyn AnyJob<State>>>,
    /// The live curves.
    pub live: bool,
    /// The CPU was requested: the failed jobs are repeated once it is open.
    pub cpu_requested: bool,
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
