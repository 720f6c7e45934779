//! Answers about the typed path, kept by their question: an answer holds for exactly this path.

use crate::jobs::{Delivery, PathAnswer, PathCheck, Receive, Unfinished};
use crate::state::core::live::{Live, LiveKey, Order, Pace};
use crate::state::job_end::ended;
use crate::state::session::RecentExports;
use crate::state::{Effect, State};

#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The places before the present export: a place that took no file is not remembered.
    pub exports_before: Option<RecentExports>,
    answer: Live<PathCheck, PathAnswer>,
    /// The number of the question that failed.
    failed: Option<u64>,
}

impl Paths {
    /// Puts a question in place of the one before.
    pub(in crate::state) fn ask(&mut self, check: PathCheck, effects: &mut Vec<Effect>) {
        self.failed = None;
        // Questions have numbers: each is another key.
        if let Order::Start(check, _) = self.answer.follow(Some(&check), false, Pace::Newest) {
            effects.push(Effect::submit(check));
        }
    }

    fn done(&mut self, check: &PathCheck, answer: PathAnswer) {
        if self.is_open(check) {
            self.answer.finish(answer);
        }
    }

    /// The disk was not asked, or the user did not wait for it.
    pub(in crate::state) fn fail(&mut self) {
        self.failed = self.answer.running().map(|check| check.number);
        self.answer.fail();
    }

    /// The answer to exactly this question; `None`: there is none yet.
    pub fn answer(&self, check: &PathCheck) -> Option<&PathAnswer> {
        let shown = self.answer.shown();
        shown
            .filter(|(known, _)| *known == check)
            .map(|(_, answer)| answer)
    }

    /// Whether this question is on its way.
    pub fn is_open(&self, check: &PathCheck) -> bool {
        self.answer.running() == Some(check)
    }

    /// Whether this question gets no answer.
    pub fn has_failed(&self, check: &PathCheck) -> bool {
        self.failed == Some(check.number)
    }
}

impl LiveKey for PathCheck {}

impl Receive<State> for PathCheck {
    fn receive(
        &self,
        delivery: Delivery<PathAnswer>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, answer, _, _| {
            state.session.paths.done(self, answer);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        state.session.paths.fail();
        // A cancelled one was replaced by another question.
        matches!(end, Unfinished::Cancelled)
    }
}
