//! Waiting for results that come within a frame.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How soon the jobs of a slot have a first result.
#[derive(Default)]
pub(super) struct FirstResult {
    /// The start of the running job, until it has a result.
    pending: Option<Instant>,
    /// Duration of the last job that had a result, from its start to the first one.
    last: Option<Duration>,
    /// The limit of a wait for the next result.
    awaited: Option<Duration>,
    /// The limit of a wait in vain, which is not repeated until a job takes no longer than this.
    missed: Option<Duration>,
}

impl FirstResult {
    /// Notes that a job starts.
    pub fn begin(&mut self) {
        self.pending = Some(Instant::now());
    }

    /// Notes that the running job has a result.
    pub fn arrive(&mut self) {
        if let Some(started) = self.pending.take() {
            let last = started.elapsed();
            let limit = self.awaited.take().or(self.missed);
            self.missed = limit.filter(|limit| last > *limit);
            self.last = Some(last);
        }
    }

    /// Notes that the running job has ended. If it was cancelled or failed, its duration tells nothing about the next.
    pub fn end(&mut self) {
        (self.pending, self.awaited) = (None, None);
    }

    /// Whether a wait of `limit` for a result is worthwhile, from the running job or from one that is queued. The answer
    /// yes counts as a wait.
    pub fn is_awaited(&mut self, is_queued: bool, limit: Duration) -> bool {
        // A job takes longer beside the drawing of a picture, which the waiting frame leaves out.
        let longest = limit + limit / 2;
        let is_young = self
            .pending
            .is_none_or(|started| started.elapsed() <= longest);
        let is_due = (self.pending.is_some() || is_queued) && is_young && self.missed.is_none();
        let is_awaited = is_due && self.last.is_some_and(|last| last <= longest);
        if is_awaited {
            self.awaited = Some(limit);
        }
        is_awaited
    }
}

/// Counts events, so that a thread can wait for the next one.
#[derive(Default)]
pub(super) struct Arrivals {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Arrivals {
    pub fn add(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    /// Waits while the condition holds, at most for `limit`; it is tested after every event.
    pub fn wait_while(&self, limit: Duration, is_awaited: impl Fn() -> bool) {
        let end = Instant::now() + limit;
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while is_awaited() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(count, left);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
