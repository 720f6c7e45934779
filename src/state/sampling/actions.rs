//! Reading values of an image with the pointer.

use crate::state::core::notices::Severity;
use crate::state::sampling::SampleAction;
use crate::state::sampling::update::{begin, end};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: SampleAction, effects: &mut Vec<Effect>) {
    match action {
        SampleAction::Begin { at, adds } => {
            state.session.sample = begin(state, adds);
            match &mut state.session.sample {
                Some(sample) => sample.pass(at, at),
                None => state.session.notify(
                    Severity::Information,
                    "There is no image of numbers to sample: open or show one first",
                ),
            }
        }
        SampleAction::Over(from, to) => {
            if let Some(sample) = &mut state.session.sample {
                sample.pass(from, to);
            }
        }
        SampleAction::End => {
            if let Some(sample) = state.session.sample.take() {
                end(state, &sample, effects);
            }
        }
    }
}
