//! What is shown of the live curves beyond themselves: those that stopped for one reason, and those
//! through the crosshair's voxel. Found anew where the curves, the reason or the voxel changed.

use crate::data::Tractogram;
use crate::solvers::tracking::StopReason;
use crate::state::State;
use crate::state::session::{Passing, Stopped};
use crate::state::view::Task;
use glam::Vec3;

/// Looking at so many points takes a few milliseconds; nothing is said of more.
const MOST_POINTS: usize = 2_000_000;

pub fn follow(state: &mut State) {
    stopped(state);
    passing(state);
}

fn stopped(state: &mut State) {
    let live = state.session.live.as_ref();
    let (Some(reason), Some(live)) = (state.view.stop, live) else {
        state.session.stopped = None;
        return;
    };
    let (kept, missed) = (&live.output.kept, &live.output.missed);
    let of = [kept.id(), missed.id()];
    let known = state.session.stopped.as_ref();
    if known.is_some_and(|s| s.of == of && s.reason == reason) {
        return;
    }
    state.session.stopped = Some(Stopped {
        of,
        reason,
        kept: with_end(kept, reason),
        missed: with_end(missed, reason),
    });
}

/// Those of which an end stopped for this reason.
fn with_end(curves: &Tractogram, reason: StopReason) -> Tractogram {
    let ends = ["stop_start", "stop_end"].map(|name| curves.per_streamline.get(name));
    let wanted = f32::from(reason as u8);
    let is = |i: usize| ends.iter().flatten().any(|ends| ends[i] == wanted);
    let marks: Vec<bool> = (0..curves.len()).map(is).collect();
    curves.filtered(&marks)
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
    // A sphere about the voxel first: most points lie far off.
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
    state.session.passing = Some(Passing {
        of: curves.id(),
        voxel,
        count: through.len(),
        measure,
    });
}
