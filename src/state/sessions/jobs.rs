//! Results of session jobs, and their effect on the state.

use crate::jobs::session::{SessionOutput, SessionRequest};
use crate::jobs::{Delivery, Receive};
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
        ended(state, self, delivery, effects, update::event);
    }
}
