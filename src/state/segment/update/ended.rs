//! The message that the surface vanished or filled the image, and what to do: it stays as long as this holds, whatever
//! else is requested or undone meanwhile.

use crate::solvers::level_set::Ended;
use crate::state::State;
use crate::state::core::notices::{Severity, Topic};

/// Shown if the range includes other tissue: widening it would not help.
const OUT_OF_RANGE: &str = "The surface vanished and its last state is kept; place a sphere where the values lie \
                            within T ± ε, or lower the smoothness";

/// The way the surface ended with the current parameters, as a sentence; `None` if it can move.
fn sentence(state: &State) -> Option<String> {
    let live = state.runtime.segment.live.as_ref()?;
    let ended = Some(live.ended).filter(|e| matches!(e, Ended::Vanished | Ended::Filled))?;
    if live.script.params_at(u64::MAX).0 != &state.document.surface_params() {
        return None;
    }
    match (ended, state.range_doubt()) {
        (Ended::Vanished, Some(_)) => Some(OUT_OF_RANGE.to_owned()),
        _ => ended.sentence(),
    }
}

/// Called after every action in Segment. A message that the user has dismissed returns when the surface ends again.
pub(in crate::state) fn report(state: &mut State) {
    let sentence = sentence(state);
    let is_known = std::mem::replace(&mut state.runtime.segment.end_reported, sentence.is_some());
    let Some(sentence) = sentence else {
        return state.runtime.forget(Topic::SurfaceEnded);
    };
    if !is_known {
        let (topic, severity) = (Topic::SurfaceEnded, Severity::Warning);
        return state.runtime.notify_about(topic, severity, sentence);
    }
    let messages = state.runtime.notices.messages.iter_mut();
    for message in messages.filter(|m| m.topic == Some(Topic::SurfaceEnded)) {
        message.text.clone_from(&sentence);
    }
}
