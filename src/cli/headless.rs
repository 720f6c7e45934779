//! The window's state without the window: actions in, effects carried out at once.

use super::runner::{Failure, Runner};
use crate::jobs::Outcome;
use crate::state::{Action, Effect, Severity, State, update};

pub struct Headless<'a> {
    pub state: State,
    runner: &'a mut Runner,
}

impl<'a> Headless<'a> {
    pub fn new(runner: &'a mut Runner) -> Self {
        let backend = format!("CPU {}", runner.backend.detail());
        Self {
            state: State::new(backend),
            runner,
        }
    }

    /// Applies an action and everything that follows from it; a job that fails ends it.
    pub fn act(&mut self, action: Action) -> Result<(), Failure> {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            let effect = effects.remove(0);
            let Effect::Submit(request) = effect else {
                continue;
            };
            let event = self.runner.event(request);
            if let Outcome::Failed(sentence) = &event.outcome {
                return Err(Failure::new(sentence.clone()));
            }
            effects.extend(update(&mut self.state, Action::Event(event)));
        }
        if let Some(error) = self
            .state
            .session
            .messages
            .iter()
            .find(|m| m.severity == Severity::Error)
        {
            return Err(Failure::new(error.text.clone()));
        }
        Ok(())
    }
}
