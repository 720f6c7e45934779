//! Runs the engine's work on a thread of its own while Python goes on: other Python threads run, the progress is
//! reported, and Ctrl+C cancels.

use crate::errors::{Failure, raised};
use arcuate_engine::compute::{Backend, BackendChoice, Control};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two looks for signals and two reports of progress.
const TICK: Duration = Duration::from_millis(50);

/// Backends by their name and number of threads. Their threads are started once.
static BACKENDS: Mutex<BTreeMap<(String, Option<usize>), Backend>> = Mutex::new(BTreeMap::new());

/// The arguments that every function has.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Common {
    backend: String,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
}

fn backend(common: &Common) -> Result<Backend, Failure> {
    let kind = common.backend.parse();
    let kind = kind.map_err(|e| Failure::Parameter(format!("{e}")))?;
    if common.threads == Some(0) {
        let sentence = "Found 0 for threads, expected a whole number of at least 1; leave it out for one per core";
        return Err(Failure::Parameter(sentence.to_owned()));
    }
    let key = (common.backend.clone(), common.threads);
    let mut known = BACKENDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(backend) = known.get(&key) {
        return Ok(backend.clone());
    }
    let choice = BackendChoice {
        kind,
        threads: common.threads,
    };
    let chosen = Backend::choose(&choice).map_err(|e| Failure::Card(e.to_string()))?;
    known.insert(key, chosen.clone());
    Ok(chosen)
}

/// The result of `work`. An exception of the progress function, or of a signal, cancels the work and is raised.
pub fn run<T: Send>(
    py: Python<'_>,
    common: &Common,
    work: impl FnOnce(&Backend, &Control) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let backend = py.detach(|| backend(common));
    let backend = backend.map_err(|failure| raised(py, failure))?;
    let control = Control::new();
    let (finished, mut waiting) = channel::<()>();
    let mut interrupted = None;
    let outcome = std::thread::scope(|scope| {
        let (backend, shared) = (&backend, &control);
        let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Dropped at the end, also by a panic.
            let _finished = finished;
            work(backend, shared)
        });
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => {
                return Ok(Err(Failure::Memory(format!(
                    "Could not start a thread: {error}"
                ))));
            }
        };
        loop {
            let (ended, back) = py.detach(move || (waiting.recv_timeout(TICK), waiting));
            waiting = back;
            if ended != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if interrupted.is_none()
                && let Err(error) = tick(py, common, &control)
            {
                control.cancel();
                interrupted = Some(error);
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    match outcome {
        Ok(result) => result.map_err(|failure| raised(py, failure)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Handles signals and reports the progress: the stage, and the share of it that is done or `None`.
fn tick(py: Python<'_>, common: &Common, control: &Control) -> PyResult<()> {
    py.check_signals()?;
    if let Some(report) = &common.progress {
        let progress = control.progress();
        report.call1(py, (progress.stage.as_str(), progress.fraction()))?;
    }
    Ok(())
}
