//! Changes by an answer about a typed path.

use crate::jobs::{Delivery, PathAnswer, PathCheck, Receive, Unfinished};
use crate::state::job_end::ended;
use crate::state::{Effect, State};

impl Receive<State> for PathCheck {
    fn receive(
        &self,
        delivery: Delivery<PathAnswer>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, answer, _, _| {
            state.runtime.files.paths.done(self, answer);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        state.runtime.files.paths.fail();
        // A cancelled one was replaced by another question.
        matches!(end, Unfinished::Cancelled)
    }
}
