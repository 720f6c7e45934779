//! The device that solvers use, and the jobs that failed on it. Not undone and not saved.

use crate::jobs::{AnyJob, BackendKind, CardError};
use crate::state::State;
use crate::state::device::types::OpenBackend;
use std::sync::Arc;

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
