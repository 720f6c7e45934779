//! Jobs of streamlines and rays.

pub mod bootstrap;
pub mod cut;
pub mod shoot;
pub mod stopped;
pub mod streamlines;

use crate::compute::BackendKind;
use crate::jobs::{Delivery, Outcome, Receive, Slot, Unfinished};
use crate::state::job_end::ended;
use crate::state::{Effect, State, track};

/// Streamlines or rays of the regions.
pub const LIVE: Slot = Slot::latest_wins("live");

/// The end of a job of live curves; what waits for that end follows.
fn receive_live<J: Receive<State>>(
    job: &J,
    delivery: Delivery<J::Output>,
    state: &mut State,
    effects: &mut Vec<Effect>,
    receive: impl FnOnce(&mut State, J::Output, f64, &mut Vec<Effect>),
) {
    let session = &mut state.session;
    session.coarse_running = false;
    let again = std::mem::take(&mut session.coarse_again);
    let full = std::mem::take(&mut session.full_next);
    let done = matches!(delivery.outcome, Outcome::Done(_));
    let on_card = matches!(delivery.outcome, Outcome::DeviceFailed(_));
    ended(state, job, delivery, effects, receive);
    if on_card && state.session.backend_kind == BackendKind::Cpu {
        // The last that was under way when the CPU was chosen.
        track::update::retrack(state, false, effects);
    }
    if again && state.session.unsettled {
        track::update::retrack(state, true, effects);
    } else if full && done {
        track::update::full(state, effects);
    }
}

/// The end of a job of live curves without an output, of which the curves' own panel says why. Curves that a
/// graphics card failed are those of the document as it is when they are tried again.
fn live_unfinished(end: &Unfinished, state: &mut State) -> bool {
    let session = &mut state.session;
    match end {
        // Replaced by something else that was asked for.
        Unfinished::Cancelled => {}
        Unfinished::Failed(why) => {
            session.live = None;
            session.live_error = Some((*why).to_owned());
        }
        Unfinished::DeviceFailed(_) if session.backend_kind == BackendKind::Cpu => {}
        Unfinished::DeviceFailed(failure) => {
            session.live = None;
            session.live_error = Some(failure.found.clone());
            session.stranded.live = true;
        }
    }
    true
}
