//! Progress and cancellation of one job, shared between the worker and its observers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The job was cancelled; the solver discards its partial results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// The progress of a job: `done` of `total` units of `stage`; `total` is 0 while unknown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    /// Present stage, such as `Fitting tensors`.
    pub stage: String,
    /// The stage is about the file that the label of the job names.
    pub stage_is_named: bool,
    /// Completed units of the stage.
    pub done: u64,
    /// Units of the stage; 0 while unknown.
    pub total: u64,
    /// The total is a limit, which the stage usually does not reach.
    pub total_is_limit: bool,
    /// The start of the stage within the whole job and its share of the job; `None` if the stages are unknown.
    pub part: Option<(f32, f32)>,
}

impl Progress {
    /// Share done in `0..=1`, or `None` while the total is unknown.
    pub fn fraction(&self) -> Option<f32> {
        let stage = (self.total > 0).then(|| (self.done as f32 / self.total as f32).min(1.0));
        match self.part {
            Some((from, share)) => Some(from + share * stage.unwrap_or(0.0)),
            None => stage,
        }
    }
}

/// A handle to one job: clones share the same job. Solvers call [`Control::check`] at least every 20 ms of work and
/// [`Control::advance`] as they proceed; both are relaxed atomic operations.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    cancelled: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
    total_is_limit: AtomicBool,
    stage: Mutex<String>,
    stage_is_named: AtomicBool,
    /// The file that the label of the job names.
    named_file: OnceLock<String>,
    parts: Mutex<Parts>,
}

/// Shares of the stages, if known before they begin.
#[derive(Debug, Default)]
struct Parts {
    now: Option<(f32, f32)>,
    to_come: VecDeque<f32>,
    /// Whether stages beyond the planned ones keep the progress where it is, instead of counting from 0.
    is_planned: bool,
    /// Share of the stage started by [`Control::begin_last`].
    last: Option<f32>,
}

impl Parts {
    /// Start and share of the next stage.
    fn next(&mut self) -> Option<(f32, f32)> {
        match self.last {
            Some(last) => Some((0.0, 1.0 - last)),
            None => {
                let from = self.now.map_or(0.0, |(from, share)| from + share);
                let unplanned = self.is_planned.then_some(0.0);
                let share = self.to_come.pop_front().or(unplanned);
                share.map(|share| (from, share))
            }
        }
    }
}

impl Control {
    /// Job that has not been cancelled and has no stage.
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle to a part of the same job: cancelled with it, but its progress is not reported.
    pub fn silent(&self) -> Self {
        Self(Arc::new(Shared {
            cancelled: self.0.cancelled.clone(),
            ..Shared::default()
        }))
    }

    /// Requests the end of the job; takes effect at its next check.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the end has been requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// `Err(Cancelled)` once the job has been cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }

    /// The next stages make up the whole job, with these shares: the progress never decreases.
    pub fn plan(&self, shares: &[f32]) {
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Parts {
            to_come: shares.iter().copied().collect(),
            ..Parts::default()
        };
    }

    /// The next stages have these shares of the job, after earlier stages with the share `done`. Stages beyond these,
    /// whose number was not known beforehand, keep the progress where it is.
    pub fn plan_from(&self, done: f32, shares: &[f32]) {
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Parts {
            now: Some((done, 0.0)),
            to_come: shares.iter().copied().collect(),
            is_planned: true,
            last: None,
        };
    }

    /// Each stage before the last counts up to the start of the last one, which has this share of the job: the number
    /// of files read is not known beforehand.
    pub fn plan_last(&self, share: f32) {
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Parts {
            last: Some(share),
            ..Parts::default()
        };
    }

    /// Starts a named stage of `total` units (voxels, streamlines, bytes).
    pub fn begin(&self, stage: &str, total: u64) {
        self.start(stage, total, Parts::next);
    }

    /// The label of the job names this file, so stages about it need not be shown.
    pub fn set_named_file(&self, name: String) {
        // The label of a job does not change.
        let _ = self.0.named_file.set(name);
    }

    /// Starts a stage that reads or writes a file of this name: `Reading t1.nii.gz`.
    pub fn begin_file(&self, verb: &str, name: &str, total: u64) {
        self.begin(&format!("{verb} {name}"), total);
        let is_named = self.0.named_file.get().is_some_and(|file| file == name);
        self.0.stage_is_named.store(is_named, Ordering::Relaxed);
    }

    /// Starts a named stage of at most `limit` units, which usually ends before: iterations until convergence.
    pub fn begin_up_to(&self, stage: &str, limit: u64) {
        self.start(stage, limit, Parts::next);
        self.0.total_is_limit.store(true, Ordering::Relaxed);
    }

    /// Starts the last stage of the job, see [`Control::plan_last`].
    pub fn begin_last(&self, stage: &str, total: u64) {
        self.start(stage, total, |parts| {
            parts.last.take().map(|last| (1.0 - last, last))
        });
    }

    fn start(&self, stage: &str, total: u64, part: impl FnOnce(&mut Parts) -> Option<(f32, f32)>) {
        *self.0.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage.to_owned();
        self.0.stage_is_named.store(false, Ordering::Relaxed);
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
        self.0.total_is_limit.store(false, Ordering::Relaxed);
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.now = part(&mut parts);
    }

    /// Adds completed units to the present stage.
    pub fn advance(&self, units: u64) {
        self.0.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Snapshot for display; the counts may be newer than the stage.
    pub fn progress(&self) -> Progress {
        Progress {
            stage: self
                .0
                .stage
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            stage_is_named: self.0.stage_is_named.load(Ordering::Relaxed),
            done: self.0.done.load(Ordering::Relaxed),
            total: self.0.total.load(Ordering::Relaxed),
            total_is_limit: self.0.total_is_limit.load(Ordering::Relaxed),
            part: self
                .0
                .parts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .now,
        }
    }
}
