//! The window's state without the window: actions in, effects carried out at once.

use super::runner::{Failure, Runner};
use crate::jobs::{Outcome, Output, Request};
use crate::state::{Action, Effect, Severity, State, update};

pub struct Headless<'a> {
    pub state: State,
    runner: &'a mut Runner,
}

impl<'a> Headless<'a> {
    pub fn new(runner: &'a mut Runner) -> Self {
        let mut state = State::new(runner.backend.label());
        state.session.backend_reason = runner.backend.reason();
        Self { state, runner }
    }

    /// Applies an action and everything that follows from it; a job that fails ends it.
    pub fn act(&mut self, action: Action) -> Result<(), Failure> {
        let effects = update(&mut self.state, action);
        self.carry_out(effects)
    }

    /// Runs a request that no action stands for.
    pub fn request(&mut self, request: Request) -> Result<(), Failure> {
        self.carry_out(vec![Effect::Submit(request)])
    }

    /// The output of a request that changes nothing here.
    pub fn run(&mut self, request: Request) -> Result<Output, Failure> {
        self.runner.run(request).map(|(output, _)| output)
    }

    fn carry_out(&mut self, mut effects: Vec<Effect>) -> Result<(), Failure> {
        while !effects.is_empty() {
            let Effect::Submit(request) = effects.remove(0) else {
                continue;
            };
            let event = self.runner.event(request);
            match &event.outcome {
                Outcome::Failed(sentence) => return Err(Failure::new(sentence.clone())),
                Outcome::CardFailed(failure) => return Err(Failure::new(failure.sentence.clone())),
                Outcome::Done(_) | Outcome::Cancelled => {}
            }
            effects.extend(update(&mut self.state, Action::Event(event)));
        }
        let mut messages = self.state.session.messages.iter();
        match messages.find(|m| m.severity == Severity::Error) {
            Some(error) => Err(Failure::new(error.text.clone())),
            None => Ok(()),
        }
    }
}
