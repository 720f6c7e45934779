//! What is known about the path that is typed: kept by the question, so that an answer holds for exactly this path.

use super::Effect;
use super::derived::Derived;
use super::session::Exports;
use crate::jobs::{PathAnswer, PathCheck};

#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The places before the present export: a place that took no file is not remembered.
    pub exports_before: Option<Exports>,
    answer: Derived<PathCheck, PathAnswer>,
    /// The number of the question that failed.
    failed: Option<u64>,
}

impl Paths {
    /// Puts a question in place of the one before.
    pub(super) fn ask(&mut self, check: PathCheck) -> Effect {
        self.failed = None;
        self.answer.ask(None);
        self.answer.ask(Some(check.clone()));
        Effect::Submit(crate::jobs::Request::Path(check))
    }

    pub(super) fn done(&mut self, check: &PathCheck, answer: PathAnswer) {
        if self.is_open(check) {
            self.answer.done(answer);
        }
    }

    /// The disk was not asked, or the user did not wait for it.
    pub(super) fn fail(&mut self) {
        self.failed = self.answer.asked().map(|check| check.number);
        self.answer.fail();
    }

    /// The answer to exactly this question; `None`: there is none yet.
    pub fn answer(&self, check: &PathCheck) -> Option<&PathAnswer> {
        self.answer
            .known()
            .filter(|(known, _)| *known == check)
            .map(|(_, answer)| answer)
    }

    /// Whether this question is on its way.
    pub fn is_open(&self, check: &PathCheck) -> bool {
        self.answer.asked() == Some(check)
    }

    /// Whether this question gets no answer.
    pub fn has_failed(&self, check: &PathCheck) -> bool {
        self.failed == Some(check.number)
    }
}
