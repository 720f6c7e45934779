//! Stopping jobs for the user, and the consequences.

use crate::jobs::Slot;
use crate::state::device::jobs::DEVICE;
use crate::state::files::jobs::SAVE;
use crate::state::pathways::jobs::{COMPARE, PATHWAY, PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES};
use crate::state::pictures::jobs::PICTURE;
use crate::state::regions::types::PlacedRegion;
use crate::state::segment::jobs::SEGMENT;
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::jobs::fod::FOD;
use crate::state::track::jobs::LIVE;
use crate::state::track_noise::jobs::{TRACK_NOISE, TRACK_NOISE_DISTANCES};
use crate::state::view::Tool;
use crate::state::{
    Effect, State, pathways, pictures, regions, segment, tensors, track, track_noise,
};

/// Does the first that applies.
pub(super) fn escape(state: &mut State, effects: &mut Vec<Effect>) {
    if pictures::update::stop(state) {
        // Finished pictures are kept.
    } else if state.view.tool != Tool::Crosshair {
        regions::draw::activate_tool(state, Tool::Crosshair, effects);
        state.runtime.regions.placed = None;
    } else if let Some(job) = state
        .runtime
        .jobs
        .running
        .iter()
        .rev()
        .find(|j| !matches!(j.slot, SAVE | DEVICE))
    {
        let (slot, ticket) = (job.slot, job.ticket);
        let placed = state.runtime.regions.placed.take();
        let placed = placed.filter(|placed| placed.revision == state.history.revision());
        // The placed region ended its tool, for which the first Esc was meant: the results that follow the region go on,
        // and so do jobs that were running before.
        let follows_region = matches!(
            slot,
            LIVE | PATHWAY
                | COMPARE
                | PATHWAY_NOISE
                | PATHWAY_NOISE_DISTANCES
                | TRACK_NOISE
                | TRACK_NOISE_DISTANCES
        );
        let is_spared = |placed: PlacedRegion| follows_region || ticket <= placed.newest_job;
        if !placed.is_some_and(is_spared) {
            stop(state, slot, effects);
        }
    } else if state.runtime.streamlines.manual_selection.take().is_none() {
        state.runtime.regions.selected = None;
        state.runtime.selected_layer = None;
        state.runtime.pathways.selected = None;
    }
}

/// Stops a job at the user's request, and reports the consequence.
pub(super) fn stop(state: &mut State, slot: Slot, effects: &mut Vec<Effect>) {
    let slot = match slot {
        // While repetitions grow, their distances are measured after each batch: the measurement ends by itself.
        PATHWAY_NOISE_DISTANCES if state.pathway_noise_growth().is_some() => PATHWAY_NOISE,
        slot => slot,
    };
    effects.push(Effect::Cancel(slot));
    match slot {
        LIVE => track::update::stopped(state),
        PATHWAY => pathways::update::stopped(state),
        PATHWAY_NOISE => pathways::update::noise::stopped(state),
        PATHWAY_NOISE_DISTANCES => pathways::update::noise::measurement_stopped(state),
        TRACK_NOISE => track_noise::update::stopped(state),
        TRACK_NOISE_DISTANCES => track_noise::update::measurement_stopped(state),
        FIT => tensors::update::stopped(state),
        FOD => tensors::fods::stopped(state),
        SEGMENT => segment::update::stopped(state),
        // This also ends the rest of a turntable.
        PICTURE => pictures::update::cancelled(state),
        _ => {}
    }
}
