//! The history of a run, and how it ended.

use super::error::InputError;
use super::leak_detector::Leak;
use super::parameters::{Layout, Params};
use super::start::Sphere;
use serde::{Deserialize, Serialize};

/// The longest run: hours on a CPU. A surface rests long before.
pub const MAX_STEPS: u64 = 1_000_000;

/// A change that the user made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptEvent {
    /// New parameters, from the next step on.
    Params(Params),
    /// A sphere added to the surface or cut away.
    Sphere(Sphere),
    /// Another image or other painted regions, by number: a run begins with number 0.
    Inputs(usize),
}

/// A change, and the number of steps before it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Number of steps before the change.
    pub step: u64,
    /// The change itself.
    #[serde(flatten)]
    pub event: ScriptEvent,
}

/// A run by step number: replaying it gives the same result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunHistory {
    /// Parameters at the start.
    pub params: Params,
    /// Bricks and band.
    pub layout: Layout,
    /// Changes that the user made.
    pub events: Vec<Event>,
    /// Length of the run.
    pub steps: u64,
}

impl RunHistory {
    /// The parameters after a number of steps, before the changes made there, and the number of the inputs.
    pub fn params_at(&self, step: u64) -> (&Params, usize) {
        let (mut params, mut number) = (&self.params, 0);
        for event in self.events.iter().take_while(|event| event.step < step) {
            match &event.event {
                ScriptEvent::Params(later) => params = later,
                ScriptEvent::Inputs(later) => number = *later,
                ScriptEvent::Sphere(_) => {}
            }
        }
        (params, number)
    }

    /// An error if it exceeds the longest run, or refers to speed inputs that do not exist.
    pub fn check(&self, inputs: usize) -> Result<(), InputError> {
        let last = self.events.iter().map(|event| event.step).max();
        let steps = self.steps.max(last.unwrap_or(0));
        if steps > MAX_STEPS {
            return Err(InputError::TooManySteps(steps));
        }
        let requested = self.events.iter().filter_map(|event| match event.event {
            ScriptEvent::Inputs(number) => Some(number),
            ScriptEvent::Params(_) | ScriptEvent::Sphere(_) => None,
        });
        match requested.max().filter(|number| *number >= inputs) {
            None => Ok(()),
            Some(number) => Err(InputError::SpeedInputs {
                number,
                known: inputs,
            }),
        }
    }
}

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All steps were done.
    Steps,
    /// The surface is at rest.
    Converged,
    /// No voxel is inside any more: the state before is kept.
    Vanished,
    /// No voxel is outside any more: the state before is kept.
    Filled,
    /// The leak detector stopped it.
    Leaked(Leak),
}

impl Ended {
    /// The key in machine output.
    pub fn key(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Converged => "converged",
            Self::Vanished => "vanished",
            Self::Filled => "filled",
            Self::Leaked(_) => "leaked",
        }
    }

    /// A sentence about the end, if something went wrong.
    pub fn sentence(self) -> Option<String> {
        match self {
            Self::Steps | Self::Converged => None,
            Self::Vanished => Some(
                "The surface vanished and its last state is kept; widen the tolerance or lower the smoothness"
                    .to_owned(),
            ),
            Self::Filled => Some(
                "The surface filled the whole image and its last state is kept; narrow the tolerance or raise the \
                 smoothness"
                    .to_owned(),
            ),
            Self::Leaked(leak) => Some(format!(
                "The surface leaks from step {} on: {}; go back to that step, then narrow the tolerance, raise the \
                 smoothness or cut it off with a sphere",
                leak.rewind_step,
                leak.cause.clause()
            )),
        }
    }
}
