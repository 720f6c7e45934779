//! Reading values of an image with the pointer.

use crate::state::core::notices::Severity;
use crate::state::sampling::SampleAction;
use crate::state::sampling::update::{begin, end};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: SampleAction, effects: &mut Vec<Effect>) {
    match action {
        SampleAction::Begin { at, adds } => {
            state.runtime.sample = begin(state, adds);
            match &mut state.runtime.sample {
                Some(sample) => sample.pass(at, at),
                None => state.runtime.notify(
                    Severity::Information,
                    "There is no image of numbers to sample: open or show one first",
                ),
            }
        }
        SampleAction::Over(from, to) => {
            if let Some(sample) = &mut state.runtime.sample {
                sample.pass(from, to);
            }
        }
        SampleAction::End => {
            if let Some(sample) = state.runtime.sample.take() {
                end(state, &sample, effects);
            }
        }
    }
}
