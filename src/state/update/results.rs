//! What the jobs bring back.

use crate::jobs::{Delivery, Outcome, Output, Receive, Request, Slot};
use crate::state::files::opening;
use crate::state::session::Severity;
use crate::state::{Effect, State, device, filter, pathways, pictures, segment, sessions};

impl Receive<State> for Request {
    fn receive(&self, delivery: Delivery<Output>, state: &mut State, effects: &mut Vec<Effect>) {
        match delivery.outcome {
            Outcome::Partial(Output::Steered(steered)) => {
                segment::update::done(state, *steered, false)
            }
            _ => ended(state, self, delivery, effects, take_in),
        }
    }
}

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
    if pathways::update::was_left(state, event.slot) {
        return;
    }
    let done = matches!(event.outcome, Outcome::Done(_));
    if !done {
        sessions::update::failed(state, event.slot);
    }
    state.session.saving.autosave_due |= done && event.slot != Slot::Recovery;
    let kept = match event.slot {
        Slot::Pathways if !done => pathways::update::kept_failed(state),
        _ => None,
    };
    let end = event.outcome.unfinished();
    let is_reported = end.is_some_and(|end| job.unfinished(&end, state));
    match event.outcome {
        Outcome::Partial(_) => {}
        _ if is_reported => {}
        Outcome::Cancelled if event.slot == Slot::Segment => segment::update::stopped(state),
        Outcome::Cancelled if event.slot == Slot::Commit => filter::update::stopped(state),
        Outcome::Cancelled if event.slot == Slot::Needs => state.session.filter.needs.fail(),
        Outcome::Cancelled | Outcome::Failed(_) | Outcome::DeviceFailed(_)
            if event.slot == Slot::Sums =>
        {
            state.session.filter.sums.fail();
        }
        Outcome::Cancelled if event.slot == Slot::Compare => {
            pathways::update::not_compared(state, None)
        }
        Outcome::Failed(why) if event.slot == Slot::Compare => {
            pathways::update::not_compared(state, Some(why));
        }
        // Replaced by something else that was asked for.
        Outcome::Cancelled
            if matches!(event.slot, Slot::Recovery | Slot::Trace)
                || event.slot == Slot::Pathway && state.session.pathways.failed.is_none() => {}
        Outcome::Cancelled => {
            // Nothing is said about a document that was left.
            if let Some(label) = label {
                state.session.status = format!("Stopped: {}", label.to_lowercase());
            }
        }
        Outcome::Failed(why) if event.slot == Slot::Pathway => {
            pathways::update::failed(state, why);
        }
        Outcome::Failed(why) if event.slot == Slot::Pathways => {
            let name = kept.unwrap_or_else(|| "A kept pathway".to_owned());
            state.session.say(
                Severity::Warning,
                format!("{name} was not solved again: {why}"),
            );
        }
        Outcome::Failed(why) if event.slot == Slot::Segment => segment::update::failed(state, why),
        Outcome::Failed(why) if event.slot == Slot::Commit => filter::update::failed(state, why),
        Outcome::Failed(why) if event.slot == Slot::Needs => filter::update::refused(state, why),
        Outcome::Failed(why) => failed(state, (event.slot, event.ticket), why, effects),
        Outcome::DeviceFailed(failure) => {
            if event.slot == Slot::Pathway {
                pathways::update::failed(state, failure.found.clone());
            }
            if event.slot == Slot::Compare {
                pathways::update::not_compared(state, Some(failure.found.clone()));
            }
            if event.slot == Slot::Segment {
                segment::update::failed(state, failure.found.clone());
            }
            if event.slot == Slot::Commit {
                filter::update::failed(state, failure.found.clone());
            }
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

fn take_in(state: &mut State, output: Output, wall_ms: f64, effects: &mut Vec<Effect>) {
    match output {
        Output::Pathway(found) => pathways::update::done(state, *found, wall_ms),
        Output::Compared(compared) => pathways::update::compared(state, *compared),
        Output::Session(output) => sessions::update::event(state, output, wall_ms, effects),
        Output::Steered(steered) => segment::update::done(state, *steered, true),
        Output::Committed(committed) => filter::update::done(state, *committed),
        Output::CommitNeeds(needs) => filter::update::needs(state, needs),
        Output::BundleSums(sums) => {
            state.session.filter.sums.finish(sums);
        }
        Output::Scheme(scheme) => filter::update::scheme(state, scheme),
    }
}
