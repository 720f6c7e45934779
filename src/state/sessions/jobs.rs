//! Results of session jobs, and their effect on the state.

pub mod head;

use crate::jobs::session::{SessionOutput, SessionRequest};
use crate::jobs::{Delivery, Receive, Slot};
use crate::state::job_end::ended;
use crate::state::sessions::update;
use crate::state::{Effect, State};

impl Receive<State> for SessionRequest {
    fn receive(
        &self,
        delivery: Delivery<SessionOutput>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // Other files are opened in the same slot: their failure does not end the reading of a session.
        let is_unread = delivery.slot == Slot::Load && delivery.outcome.unfinished().is_some();
        ended(state, self, delivery, effects, update::event);
        if is_unread {
            update::not_read(state);
        }
    }
}
