//! The surface as an input of pathways, and as the object whose distance from repetitions is measured.

use crate::data::region::RegionId;
use crate::data::{Region, Role};
use crate::state::pathways::{DistanceTarget, SurfaceInput};
use crate::state::regions::recipe::SURFACE_REGION;
use crate::state::segment::jobs::SurfaceUpdate;
use crate::state::segment::{RunStart, SurfaceStanding};
use crate::state::{State, Task};
use std::sync::Arc;

/// Gives pathways the surface that they take into account, and the one whose distance from their repetitions, or from those
/// of streamlines, is measured; returns whether one of them differs from the one before.
pub(in crate::state) fn offer(state: &mut State) -> bool {
    let settings = &state.document.pathways;
    let offered_obstacle = offered(state, settings.surface_use.role());
    let noise = &settings.noise;
    let pathway_target = noise.repeats.then_some(noise.distance_to);
    let repetitions = state.document.track_repetitions();
    let streamline_target = repetitions.map(|_| state.document.track.noise.distance_to);
    let is_target = [pathway_target, streamline_target].contains(&Some(DistanceTarget::Surface));
    let offered_target = offered(state, is_target.then_some(Role::Region));
    let pathways = &mut state.runtime.pathways;
    let both = [
        (&mut pathways.surface, offered_obstacle),
        (&mut pathways.noise.surface, offered_target),
    ];
    let mut differs = false;
    for (known, offered) in both {
        differs |= !known.is_same(&offered);
        *known = offered;
    }
    differs
}

fn offered(state: &State, role: Option<Role>) -> SurfaceInput {
    let Some(role) = role.filter(|_| state.document.segment.begins()) else {
        return SurfaceInput::Nothing;
    };
    if state.segment_standing() == Some(SurfaceStanding::Leaked) {
        return SurfaceInput::Awaited { leaks: true };
    }
    let surface = state.surface_of_document();
    let shape = surface.and_then(|(live, moves)| Some((live.measured.shape.clone()?, moves)));
    let Some((shape, moves)) = shape else {
        return SurfaceInput::Awaited { leaks: false };
    };
    SurfaceInput::Present {
        region: Region {
            id: RegionId(0),
            name: SURFACE_REGION.to_owned(),
            role,
            shape,
            colour: None,
            visible: true,
            label_number: None,
        },
        moves,
    }
}

impl State {
    /// The live surface if it is that of the document, and whether it moves. While Segment computes another surface, this
    /// returns the one that is shown. Other tasks compute none, so there an earlier surface does not belong to the document.
    fn surface_of_document(&self) -> Option<(&Arc<SurfaceUpdate>, bool)> {
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref().filter(|l| l.run == runtime.run)?;
        let has_start = |start: &RunStart| start.is_of(&self.document);
        let is_its =
            runtime.start.as_ref().is_none_or(has_start) && self.is_moved_as_requested(live);
        let is_computed = self.view.task == Task::Segment && runtime.running;
        let runs = self.segment_standing() == Some(SurfaceStanding::Running);
        (is_its || is_computed).then_some((live, runs || !is_its))
    }
}
