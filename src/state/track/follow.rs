//! Live curves selected for display: those that stopped for one reason, and those through the crosshair's voxel.
//! Recomputed when the curves, the reason or the voxel change.

use crate::data::Tractogram;
use crate::state::session::{CurvesAtCrosshair, StopFilterKey};
use crate::state::track::jobs::stopped::CollectStopped;
use crate::state::view::Task;
use crate::state::{Effect, State};
use glam::Vec3;

/// Examining this many points takes a few milliseconds; with more, nothing is displayed.
const MOST_POINTS: usize = 2_000_000;

/// Copying this many points takes about a tenth of a frame.
const AT_ONCE: usize = 500_000;

pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    stopped(state, effects);
    passing(state);
}

fn stopped(state: &mut State, effects: &mut Vec<Effect>) {
    let live = state.session.live.as_ref();
    let requested = state
        .view
        .stop
        .zip(live)
        .map(|(reason, live)| StopFilterKey {
            of: [live.output.kept.id(), live.output.missed.id()],
            reason,
        });
    let curves = live.map(|live| [&live.output.kept, &live.output.missed].map(Tractogram::clone));
    let query = state.session.bundle.stopped.ask(requested);
    let (Some(StopFilterKey { reason, .. }), Some(curves)) = (query, curves) else {
        return;
    };
    if curves.iter().map(|c| c.points.len()).sum::<usize>() > AT_ONCE {
        return effects.push(Effect::submit(CollectStopped { curves, reason }));
    }
    let found = curves.map(|curves| reason.only(&curves));
    state.session.bundle.stopped.finish(found);
}

fn passing(state: &mut State) {
    let tensors = state.document.tensors.as_ref();
    let live = state.session.live.as_ref();
    let live = live.filter(|live| {
        state.view.task == Task::Track && live.output.kept.points.len() <= MOST_POINTS
    });
    let voxel = tensors.and_then(|t| t.field.grid.nearest(state.view.crosshair));
    let (Some(tensors), Some(live), Some(voxel)) = (tensors, live, voxel) else {
        state.session.passing = None;
        return;
    };
    let curves = &live.output.kept;
    let known = state.session.passing.as_ref();
    if known.is_some_and(|p| p.of == curves.id() && p.voxel == voxel) {
        return;
    }
    let grid = &tensors.field.grid;
    let centre = grid.world(glam::DVec3::from_array(voxel.map(|v| v as f64)));
    let near = centre.as_vec3();
    // A sphere around the voxel first: most points are far away.
    let radius = (grid.spacing().length() * 0.5) as f32;
    let inside = |point: &[f32; 3]| {
        let point = Vec3::from(*point);
        point.distance_squared(near) <= radius * radius
            && grid.nearest(point.as_dvec3()) == Some(voxel)
    };
    let through: Vec<usize> = (0..curves.len())
        .filter(|&i| curves.streamline(i).iter().any(inside))
        .collect();
    let measures = curves.per_streamline.get("cm");
    let measure = measures.filter(|_| !through.is_empty()).map(|measures| {
        let sum: f64 = through.iter().map(|&i| f64::from(measures[i])).sum();
        sum / through.len() as f64
    });
    state.session.passing = Some(CurvesAtCrosshair {
        of: curves.id(),
        voxel,
        count: through.len(),
        measure,
    });
}
