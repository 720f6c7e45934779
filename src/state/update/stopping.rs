//! What the user stops, and what that leaves.

use crate::jobs::Slot;
use crate::state::pathways::jobs::PATHWAY;
use crate::state::segment::jobs::SEGMENT;
use crate::state::track::jobs::LIVE;
use crate::state::view::Tool;
use crate::state::{Effect, State, pathways, pictures, regions, segment, track};

/// Does the first that applies.
pub(super) fn escape(state: &mut State, effects: &mut Vec<Effect>) {
    if pictures::update::stop(state) {
        // The pictures are kept that are there.
    } else if state.view.tool != Tool::Crosshair {
        regions::draw::take(state, Tool::Crosshair, effects);
    } else if let Some(job) = state
        .session
        .jobs
        .iter()
        .rev()
        .find(|j| !matches!(j.slot, Slot::Save | Slot::Device))
    {
        stop(state, job.slot, effects);
    } else if state.session.bundle.chosen.take().is_none() {
        state.session.selected_region = None;
        state.session.selected_layer = None;
        state.session.pathways.selected = None;
    }
}

/// Stops a job because the user wants it, and says what that leaves.
pub(super) fn stop(state: &mut State, slot: Slot, effects: &mut Vec<Effect>) {
    effects.push(Effect::Cancel(slot));
    match slot {
        LIVE => track::update::stopped(state),
        PATHWAY => pathways::update::stopped(state),
        SEGMENT => segment::update::stopped(state),
        // With it the rest of a turn.
        Slot::Picture => pictures::update::cancelled(state),
        _ => {}
    }
}
