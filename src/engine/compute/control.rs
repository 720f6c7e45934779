//! Progress and cancellation of one job, shared between the worker and whoever watches it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The job was cancelled; what it had computed is dropped by the solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// How far a job is: `done` of `total` units of `stage`; `total` is 0 while unknown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    pub stage: String,
    pub done: u64,
    pub total: u64,
    /// Where the stage begins in the whole job and how large a share of it is; `None`: it is all that is known.
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

/// A handle to one job: clones share the same job. Solvers call [`Control::check`] at least every
/// 20 ms of work and [`Control::advance`] as they go; both are a relaxed atomic operation.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    cancelled: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
    stage: Mutex<String>,
    parts: Mutex<Parts>,
}

/// Shares of the stages that are known before they begin.
#[derive(Debug, Default)]
struct Parts {
    now: Option<(f32, f32)>,
    to_come: VecDeque<f32>,
    /// Share of the stage that [`Control::begin_last`] starts.
    last: Option<f32>,
}

impl Control {
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle to a part of the same job: cancelled with it, its progress told to nobody.
    pub fn silent(&self) -> Self {
        Self(Arc::new(Shared {
            cancelled: self.0.cancelled.clone(),
            ..Shared::default()
        }))
    }

    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// `Err(Cancelled)` once somebody asked the job to stop.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }

    /// The next stages make up the whole job with these shares: its progress never falls back.
    pub fn plan(&self, shares: &[f32]) {
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Parts {
            to_come: shares.iter().copied().collect(),
            ..Parts::default()
        };
    }

    /// However many stages come first, each counts up to where the last begins, which has this share of the job:
    /// nobody knows how many files a file is read from.
    pub fn plan_last(&self, share: f32) {
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Parts {
            last: Some(share),
            ..Parts::default()
        };
    }

    /// Starts a named stage of `total` units (voxels, streamlines, bytes).
    pub fn begin(&self, stage: &str, total: u64) {
        self.start(stage, total, |parts| match parts.last {
            Some(last) => Some((0.0, 1.0 - last)),
            None => {
                let from = parts.now.map_or(0.0, |(from, share)| from + share);
                parts.to_come.pop_front().map(|share| (from, share))
            }
        });
    }

    /// Starts the stage after which the job is done, see [`Control::plan_last`].
    pub fn begin_last(&self, stage: &str, total: u64) {
        self.start(stage, total, |parts| {
            parts.last.take().map(|last| (1.0 - last, last))
        });
    }

    fn start(&self, stage: &str, total: u64, part: impl FnOnce(&mut Parts) -> Option<(f32, f32)>) {
        *self.0.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage.to_owned();
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.now = part(&mut parts);
    }

    pub fn advance(&self, units: u64) {
        self.0.done.fetch_add(units, Ordering::Relaxed);
    }

    pub fn progress(&self) -> Progress {
        Progress {
            stage: self
                .0
                .stage
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            done: self.0.done.load(Ordering::Relaxed),
            total: self.0.total.load(Ordering::Relaxed),
            part: self
                .0
                .parts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .now,
        }
    }
}
