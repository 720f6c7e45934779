//! Answers questions about a typed path.

use crate::compute::Control;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, PathAnswer, PathQuestion, Receive, Slot, Unfinished,
    Worker,
};
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use std::path::Path;

/// Checking typed paths before they are read or written.
pub const CHECK_PATH: Slot = Slot::latest_wins("path").beyond_document();

/// A question with its number: the same question asked later may have another answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathCheck {
    pub number: u64,
    pub question: PathQuestion,
}

impl Job for PathCheck {
    type Output = PathAnswer;

    fn slot(&self) -> Slot {
        CHECK_PATH
    }

    fn label(&self) -> String {
        let path = self.question.path().unwrap_or(Path::new(""));
        format!("Checking {}", path.display())
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<PathAnswer>,
    ) -> Result<PathAnswer, JobError> {
        self.question.answer_unless_cancelled(control)
    }
}

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
