//! Actions on the noise of streamlines.

use crate::state::track_noise::{TrackNoiseAction, update};
use crate::state::{Effect, State};

pub fn act(state: &mut State, action: TrackNoiseAction, effects: &mut Vec<Effect>) {
    match action {
        TrackNoiseAction::Set { settings, phase } => update::set(state, settings, phase),
        TrackNoiseAction::KeepShare => update::keep_share(state),
        TrackNoiseAction::Save(file, path) => update::save(state, file, path, effects),
        TrackNoiseAction::RepeatAgain => update::repeat_again(state),
    }
}
