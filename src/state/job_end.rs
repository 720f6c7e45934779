//! The end of a job: changes of the state that are the same for jobs of every type.

use crate::data::text::within_sentence;
use crate::jobs::{Delivery, JobHandle, Outcome, Receive, Slot};
use crate::state::{Effect, State};
use std::time::Duration;

/// An end without an output, for features whose waiting state depends on a slot and not on one type of job.
#[derive(Clone, PartialEq, Debug)]
pub struct FailedJob {
    pub slot: Slot,
    pub ticket: u64,
    /// One sentence; `None` if the job was stopped or replaced, if a graphics card failed it, or if it reports the
    /// failure itself.
    pub reason: Option<String>,
}

/// Removes an ended job from the list, reports an end without an output, and applies an output by `receive`.
pub fn ended<J: Receive<State>>(
    state: &mut State,
    job: &J,
    event: Delivery<J::Output>,
    effects: &mut Vec<Effect>,
    receive: impl FnOnce(&mut State, J::Output, f64, &mut Vec<Effect>),
) {
    // The job goes on.
    if matches!(event.outcome, Outcome::Partial(_)) {
        return;
    }
    let label = remove_job(state, event.ticket);
    let done = matches!(event.outcome, Outcome::Done(_));
    let mut failed = FailedJob {
        slot: event.slot,
        ticket: event.ticket,
        reason: None,
    };
    state.runtime.sessions.autosave.is_due |= done && !event.slot.is_in_background();
    let end = event.outcome.unfinished();
    let is_reported = end.is_some_and(|end| job.unfinished(&end, state));
    match event.outcome {
        Outcome::Partial(_) => {}
        _ if is_reported => {}
        // Replaced by another request.
        Outcome::Cancelled if event.slot.is_in_background() => {}
        Outcome::Cancelled => {
            // Nothing is reported about a closed document.
            if let Some(label) = label {
                state.runtime.notices.status =
                    format!("Stopped: {}", within_sentence(&label)).into();
            }
        }
        Outcome::Failed(why) => {
            let why = why.for_window().to_owned();
            state.runtime.notify_failure(event.slot, why.clone());
            failed.reason = Some(why);
        }
        Outcome::DeviceFailed(failure) => {
            let job = Box::new(job.clone());
            state
                .runtime
                .notify_device_failure(event.slot, failure, job);
        }
        Outcome::Done(output) => {
            // When several files are opened or written, one must not hide another's failure.
            if !event.slot.keeps_failures() {
                state.runtime.forget_failures(event.slot);
            }
            receive(state, output, event.wall_ms, effects);
        }
    }
    if !done {
        state.runtime.jobs.failed.push(failed);
    }
}

/// Implements [`Receive`] for jobs that only the command line requests: their output changes no state.
macro_rules! for_command_line {
    ($($job:ty),+ $(,)?) => {$(
        impl $crate::jobs::Receive<$crate::state::State> for $job {
            fn receive(
                &self,
                delivery: $crate::jobs::Delivery<Self::Output>,
                state: &mut $crate::state::State,
                effects: &mut Vec<$crate::state::Effect>,
            ) {
                $crate::state::job_end::ended(state, self, delivery, effects, |_, _, _, _| {});
            }
        }
    )+};
}

pub(crate) use for_command_line;

/// Removes a job from the list and returns its label.
pub fn remove_job(state: &mut State, ticket: u64) -> Option<String> {
    let jobs = &mut state.runtime.jobs.running;
    let job = jobs.iter().find(|j| j.ticket == ticket);
    let label = job.map(|j| j.label.clone());
    jobs.retain(|j| j.ticket != ticket);
    label
}

/// Jobs in progress, and those that ended without an output.
#[derive(Clone, Debug, Default)]
pub struct JobList {
    pub running: Vec<JobHandle>,
    /// Jobs that ended without an output since the features last followed.
    pub failed: Vec<FailedJob>,
}

impl JobList {
    /// Whether a job of one of these slots is running.
    pub fn is_running(&self, slots: &[Slot]) -> bool {
        self.running.iter().any(|j| slots.contains(&j.slot))
    }

    /// Whether only jobs in the background and those of these slots are running.
    pub fn is_idle(&self, but: &[Slot]) -> bool {
        let is_short = |slot: Slot| slot.is_in_background() || but.contains(&slot);
        self.running.iter().all(|job| is_short(job.slot))
    }

    /// The running job of this slot; the first one if the slot queues.
    pub fn of_slot(&self, slot: Slot) -> Option<&JobHandle> {
        self.running.iter().find(|j| j.slot == slot)
    }

    /// Whether a job of this slot has been running for longer than `age`.
    pub fn is_older(&self, slot: Slot, age: Duration) -> bool {
        let mut jobs = self.running.iter();
        jobs.any(|j| j.slot == slot && j.started.elapsed() > age)
    }

    /// Whether a newer job of this slot has replaced the one with this ticket.
    pub fn is_replaced(&self, slot: Slot, ticket: u64) -> bool {
        let mut jobs = self.running.iter();
        jobs.any(|j| j.slot == slot && j.ticket > ticket)
    }
}
