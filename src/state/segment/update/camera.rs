//! Moves the 3-D camera to a new surface, and back.

use crate::state::{Camera, State, SurfaceUpdate, Task};

/// Moves the camera to a new surface, but not farther away.
pub(in crate::state) fn frame(state: &mut State, live: &SurfaceUpdate) {
    /// Visible extent around a small surface, mm.
    const AROUND_MM: f64 = 65.0;
    let Some(voxels) = live.measured.field.extent() else {
        return;
    };
    if state.view.task != Task::Segment {
        return;
    }
    let (low, high) = live.measured.field.grid.block_bounds(voxels);
    let now = state.view.camera;
    let radius_mm = (0.5 * low.distance(high)).max(AROUND_MM);
    let near = Camera::around(0.5 * (low + high), radius_mm);
    if near.distance_mm < now.distance_mm {
        let near = Camera {
            azimuth: now.azimuth,
            elevation: now.elevation,
            ..near
        };
        // The first of several successive surfaces has the view of the whole.
        let before = state.runtime.segment.framed.take();
        let before = before.filter(|(_, to)| same_place(to, &now));
        let before = before.map_or(now, |(before, _)| before);
        state.runtime.segment.framed = Some((before, near));
        state.view.camera = near;
    }
}

/// Whether two cameras have the same focus and distance, whatever the direction.
fn same_place(a: &Camera, b: &Camera) -> bool {
    (a.focus, a.distance_mm) == (b.focus, b.distance_mm)
}

/// After the surface is kept, the camera returns to its former position, unless the user has moved it since; a rotation
/// stays.
pub(in crate::state) fn unframe(state: &mut State) {
    if let Some((before, near)) = state.runtime.segment.framed.take() {
        move_if_at(state, &near, &before);
    }
}

/// The other tasks show what they showed before Segment, unless the user has moved the camera since.
pub(in crate::state) fn leave_task(state: &mut State) {
    swap(state, |(before, near)| (near, before));
}

/// Back at the surface, unless the user has moved the camera meanwhile.
pub(in crate::state) fn enter_task(state: &mut State) {
    swap(state, |(before, near)| (before, near));
}

/// Moves the camera from one of its two places to the other.
fn swap(state: &mut State, way: fn((Camera, Camera)) -> (Camera, Camera)) {
    let framed = state.runtime.segment.framed.take();
    if let Some(both) = framed {
        let (from, to) = way(both);
        state.runtime.segment.framed = move_if_at(state, &from, &to).then_some(both);
    }
}

/// Moves the camera between two places, in its present direction; false: it was elsewhere.
fn move_if_at(state: &mut State, from: &Camera, to: &Camera) -> bool {
    let now = state.view.camera;
    let is_at_start = same_place(from, &now);
    if is_at_start {
        state.view.camera = Camera {
            focus: to.focus,
            distance_mm: to.distance_mm,
            ..now
        };
    }
    is_at_start
}
