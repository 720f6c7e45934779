//! What the jobs bring back.

use crate::jobs::{Delivery, Outcome, Receive, Slot};
use crate::state::files::opening;
use crate::state::{Effect, State, device, pictures, sessions};

/// A job has ended: what that means for jobs of every type, and what `receive` makes of its output.
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
    if !done {
        sessions::update::failed(state, event.slot);
    }
    state.session.saving.autosave_due |= done && event.slot != Slot::Recovery;
    let end = event.outcome.unfinished();
    let is_reported = end.is_some_and(|end| job.unfinished(&end, state));
    match event.outcome {
        Outcome::Partial(_) => {}
        _ if is_reported => {}
        // Replaced by something else that was asked for.
        Outcome::Cancelled if event.slot == Slot::Recovery => {}
        Outcome::Cancelled => {
            // Nothing is said about a document that was left.
            if let Some(label) = label {
                state.session.status = format!("Stopped: {}", label.to_lowercase());
            }
        }
        Outcome::Failed(why) => failed(state, (event.slot, event.ticket), why, effects),
        Outcome::DeviceFailed(failure) => {
            let job = Box::new(job.clone());
            state.session.failed_on_card(event.slot, failure, job);
        }
        Outcome::Done(output) => {
            // When several files are opened or written, one must not hide another's failure.
            if !matches!(event.slot, Slot::Load | Slot::Save | Slot::Remake) {
                state.session.forget_failures(event.slot);
            }
            receive(state, output, event.wall_ms, effects);
        }
    }
}

/// A job is no longer on its way. Its label.
pub fn remove_job(state: &mut State, ticket: u64) -> Option<String> {
    let jobs = &mut state.session.jobs;
    let job = jobs.iter().find(|j| j.ticket == ticket);
    let label = job.map(|j| j.label.clone());
    jobs.retain(|j| j.ticket != ticket);
    label
}

/// Reports a failure for which no feature has its own message.
fn failed(state: &mut State, (slot, ticket): (Slot, u64), why: String, effects: &mut Vec<Effect>) {
    if slot == Slot::Device {
        device::update::not_opened(state);
    }
    if slot == Slot::Save {
        opening::export_failed(state, &why, effects);
        pictures::update::not_saved(state, ticket);
    }
    state.session.failed(slot, why);
}
