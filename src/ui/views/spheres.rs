//! White spheres add to the segmented surface, black ones cut from it and stay excluded.

use super::drag::{CLICK, Drag, DragKind};
use super::region_drag::{Grip, RegionPart};
use super::scene_view::Scene;
use super::slice_view::Slice;
use super::{annotations, rings};
use crate::data::clip::keep;
use crate::solvers::level_set::Sphere;
use crate::state::segment::SPHERE_MM;
use crate::state::{
    Action, Pane, Phase, PlacedSphere, SegmentAction, State, SurfaceUpdate, Task, Tool,
};
use crate::{data, scene};
use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke};
use glam::DVec3;

const ADD: Color32 = Color32::WHITE;
const DARK: Color32 = Color32::from_black_alpha(170);
/// Distance within which a rim can be grabbed, points.
const RIM: f32 = 5.0;

/// The sphere of a click, or of a drag, which sets its size.
pub fn new(add: bool, centre: DVec3, dragged_mm: Option<f64>) -> Sphere {
    Sphere {
        add,
        centre,
        radius_mm: dragged_mm.unwrap_or(SPHERE_MM).max(0.5),
    }
}

fn ring(painter: &Painter, centre: Pos2, radius: f32, add: bool) {
    let stroke = Stroke::new(1.75, ADD);
    painter.circle_stroke(centre, radius, Stroke::new(3.5, DARK));
    if add {
        painter.circle_stroke(centre, radius, stroke);
    } else {
        let points = annotations::circle_points(centre, radius);
        painter.extend(Shape::dashed_line(&points, stroke, 4.0, 3.0));
    }
}

/// Whether the surface has moved away from its initial spheres.
fn has_moved(state: &State) -> bool {
    let live = state.runtime.segment.live.as_ref();
    live.is_some_and(|live| live.step > 0)
}

/// Whether a sphere may be moved: before the surface moves, or if it was placed last, at this very step.
fn is_loose(state: &State, number: u64) -> bool {
    let live = state.runtime.segment.live.as_ref();
    let now = |(n, step): &(u64, u64), live: &SurfaceUpdate| *n == number && *step == live.step;
    !has_moved(state) || live.is_some_and(|live| live.placed.iter().any(|p| now(p, live)))
}

/// Intersection of a slice with a sphere, points.
fn crossing(slice: &Slice, sphere: &Sphere) -> Option<(Pos2, f32)> {
    let off = slice.plane.distance(sphere.centre);
    let cut = (sphere.radius_mm.powi(2) - off * off).max(0.0).sqrt();
    let radius = (cut / slice.plane.mm_per_point) as f32;
    (cut > 0.0).then(|| (slice.screen(sphere.centre), radius))
}

/// The spheres that the slice crosses; of a surface that has moved, only those that it is kept out of.
pub fn on_slice(painter: &Painter, slice: &Slice) {
    let state = slice.state;
    let active = matches!(state.view.tool, Tool::Sphere { .. });
    if state.view.task != Task::Segment {
        return;
    }
    for (number, sphere) in &state.document.segment.spheres {
        let seen = active || !sphere.add || is_loose(state, *number);
        if let Some((centre, radius)) = crossing(slice, sphere).filter(|_| seen) {
            if !sphere.add {
                painter.circle_filled(centre, radius, DARK);
            }
            ring(painter, centre, radius, sphere.add);
        }
    }
}

/// The spheres in 3-D; initial ones are hidden once the surface moves.
pub fn in_scene(painter: &Painter, scene: &Scene) {
    let state = scene.state;
    if state.view.task != Task::Segment {
        return;
    }
    for (number, sphere) in &state.document.segment.spheres {
        if sphere.add && !is_loose(state, *number) {
            continue;
        }
        if let Some((middle, radius)) = scene.silhouette(sphere.centre, sphere.radius_mm) {
            ring(painter, middle, radius, sphere.add);
        }
    }
}

/// The newest movable sphere under the pointer, and whether the pointer is on its rim.
fn grabbed(
    state: &State,
    at: Pos2,
    seen: impl Fn(&Sphere) -> Option<(Pos2, f32)>,
) -> Option<(PlacedSphere, RegionPart)> {
    if state.view.task != Task::Segment {
        return None;
    }
    let spheres = state.document.segment.spheres.iter().rev();
    let mut newest = spheres.filter(|(number, _)| is_loose(state, *number));
    newest.find_map(|sphere| {
        let (middle, radius) = seen(&sphere.1)?;
        let off = middle.distance(at) - radius;
        match off {
            _ if off > RIM => None,
            // Small ones keep a body that can be grabbed.
            _ if off < -RIM.min(radius * 0.4) => Some((*sphere, RegionPart::Body)),
            _ => Some((*sphere, RegionPart::Rim([true; 3]))),
        }
    })
}

/// Label of a keep-out sphere that can no longer be moved: no wider than a small view.
const FIXED: &str = "Fixed · see Results";

/// Whether a keep-out sphere that cannot be moved is under the pointer.
fn is_fixed(state: &State, at: Pos2, seen: impl Fn(&Sphere) -> Option<(Pos2, f32)>) -> bool {
    if state.view.task != Task::Segment || state.view.tool != Tool::Crosshair {
        return false;
    }
    let near = |(middle, radius): (Pos2, f32)| middle.distance(at) - radius <= RIM;
    state
        .document
        .segment
        .spheres
        .iter()
        .any(|(number, sphere)| {
            !sphere.add && !is_loose(state, *number) && seen(sphere).is_some_and(near)
        })
}

/// Writes next to the pointer why the sphere under it cannot be moved.
pub fn fixed_on_slice(painter: &Painter, slice: &Slice, at: Option<Pos2>, taken: &mut Vec<Rect>) {
    let fixed = |at: &Pos2| is_fixed(slice.state, *at, |s| crossing(slice, s));
    if let Some(at) = at.filter(fixed) {
        annotations::label_at_pointer(painter, at, (slice.rect, taken), FIXED, ADD);
    }
}

/// Writes next to the pointer, in 3-D, why the sphere under it cannot be moved.
pub fn fixed_in_scene(painter: &Painter, scene: &Scene, at: Option<Pos2>, taken: &mut Vec<Rect>) {
    let seen = |s: &Sphere| scene.silhouette(s.centre, s.radius_mm);
    if let Some(at) = at.filter(|at| is_fixed(scene.state, *at, seen)) {
        annotations::label_at_pointer(painter, at, (scene.rect, taken), FIXED, ADD);
    }
}

fn drag_kind(
    ((number, sphere), part): (PlacedSphere, RegionPart),
    point: DVec3,
    plane: Option<(DVec3, DVec3)>,
) -> DragKind {
    let shape = data::Shape::Sphere {
        centre: sphere.centre,
        radius_mm: sphere.radius_mm,
    };
    DragKind::MovedSphere {
        number,
        add: sphere.add,
        grip: Grip { part, shape, point },
        plane,
    }
}

/// The sphere that a press grabs.
pub fn press(slice: &Slice, at: Pos2) -> Option<DragKind> {
    let taken = grabbed(slice.state, at, |sphere| crossing(slice, sphere))?;
    Some(drag_kind(taken, slice.world(at), None))
}

/// The sphere that a press in 3-D grabs; it moves in the plane that faces the eye.
pub fn press_in_scene(scene: &Scene, at: Pos2) -> Option<DragKind> {
    let seen = |sphere: &Sphere| scene.silhouette(sphere.centre, sphere.radius_mm);
    let taken = grabbed(scene.state, at, seen)?;
    let plane = (taken.0.1.centre, scene.camera.forward());
    Some(drag_kind(taken, scene.on_plane(at, plane)?, Some(plane)))
}

/// The pointer has moved.
pub fn drag(state: &State, drag: &mut Drag, now: Option<DVec3>, actions: &mut Vec<Action>) {
    let DragKind::MovedSphere {
        number, add, grip, ..
    } = &drag.kind
    else {
        return;
    };
    let travels = drag.changed || drag.last.distance(drag.pressed) >= CLICK;
    let pulled = now.filter(|_| travels).and_then(|now| grip.dragged(now));
    if let Some(data::Shape::Sphere { centre, radius_mm }) = pulled {
        let sphere = Sphere {
            add: *add,
            centre,
            radius_mm,
        };
        let mut spheres = state.document.segment.spheres.iter();
        if spheres.any(|(n, before)| n == number && *before != sphere) {
            drag.changed = true;
            actions.push(Action::Segment(SegmentAction::Move {
                number: *number,
                sphere,
                phase: Phase::Live,
            }));
        }
    }
}

/// The live change becomes a step.
pub fn finish(state: &State, number: u64, actions: &mut Vec<Action>) {
    // This frame's own move has already been sent.
    let sent = actions.iter().rev().find_map(|a| match a {
        Action::Segment(SegmentAction::Move {
            number: n, sphere, ..
        }) if *n == number => Some(*sphere),
        _ => None,
    });
    let mut spheres = state.document.segment.spheres.iter();
    let now = spheres.find(|(n, _)| *n == number).map(|(_, s)| *s);
    if let Some(sphere) = sent.or(now) {
        actions.push(Action::Segment(SegmentAction::Move {
            number,
            sphere,
            phase: Phase::Done,
        }));
    }
}

/// The tool, and the key that deactivates it.
fn tool_label(add: bool) -> &'static str {
    match add {
        true => "Add · A ends",
        false => "Keep out · D ends",
    }
}

/// Draws the sphere that the next click on a slice would place, or that a drag is placing.
pub fn preview(
    painter: &Painter,
    slice: &Slice,
    drag: Option<&Drag>,
    at: Option<Pos2>,
    taken: &mut Vec<Rect>,
) {
    let Tool::Sphere { add } = slice.state.view.tool else {
        return;
    };
    let default_value = (SPHERE_MM / slice.plane.mm_per_point) as f32;
    match drag.map(|d| (d.pane, &d.kind, d.pressed, d.last)) {
        Some((pane, DragKind::Sphere { centre, .. }, pressed, last)) if pane == slice.pane => {
            let far = last.distance(pressed);
            let radius = if far >= CLICK { far } else { default_value };
            rings::preview(painter, slice.screen(*centre), radius, ADD);
        }
        _ => {
            if let Some(at) = at {
                rings::preview(painter, at, default_value, ADD);
                annotations::label_at_pointer(
                    painter,
                    at,
                    (slice.rect, taken),
                    tool_label(add),
                    ADD,
                );
            }
        }
    }
}

/// Draws the sphere that the next click in 3-D would place, or that a drag is placing.
pub fn preview_in_scene(
    painter: &Painter,
    scene: &Scene,
    drag: Option<&Drag>,
    at: Option<Pos2>,
    taken: &mut Vec<Rect>,
) {
    let Tool::Sphere { add } = scene.state.view.tool else {
        return;
    };
    // A drag in a slice has its own.
    let drag = drag.filter(|d| d.pane == Pane::Scene);
    let placing = drag.and_then(|d| match &d.kind {
        DragKind::Sphere { centre, .. } => Some((*centre, d.pressed.distance(d.last))),
        _ => None,
    });
    let Some(at) = at.or(drag.map(|d| d.last)) else {
        return;
    };
    let centre = placing.map(|p| p.0).or_else(|| under(scene, at));
    if let Some((middle, radius)) = centre.and_then(|c| scene.silhouette(c, SPHERE_MM)) {
        let far = placing.map(|p| p.1).filter(|far| *far >= CLICK);
        rings::preview(painter, middle, far.unwrap_or(radius), ADD);
    }
    if placing.is_none() {
        annotations::label_at_pointer(painter, at, (scene.rect, taken), tool_label(add), ADD);
    }
}

/// Where a ray meets the surface, or a plane in front of it.
pub fn under(scene: &Scene, at: Pos2) -> Option<DVec3> {
    let eye = scene.camera.eye();
    let flat = scene.flat_under(at).map(|flat| flat.point);
    let both = on_surface(scene, at).into_iter().chain(flat);
    both.min_by(|a, b| a.distance(eye).total_cmp(&b.distance(eye)))
}

/// Found in steps of half a voxel.
fn on_surface(scene: &Scene, at: Pos2) -> Option<DVec3> {
    let phi = &scene::segment::live(scene.state)?.measured.field;
    let (low, high) = phi.grid.bounds();
    let (origin, direction) = scene.ray(at);
    let (a, b) = ((low - origin) / direction, (high - origin) / direction);
    let (enter, leave) = (a.min(b).max_element().max(0.0), a.max(b).min_element());
    if !(enter <= leave) {
        return None;
    }
    let step = phi.grid.spacing().min_element() * 0.5;
    let steps = (((leave - enter) / step) as usize).min(4096);
    let look = &scene.state.document.scene_look;
    let clips = look.clips_of(|kinds| kinds.surfaces);
    let inside = |p: &DVec3| {
        let is_in = phi.grid.nearest(*p).is_some_and(|at| phi.value(at) > 0.0);
        is_in && keep(&clips, *p)
    };
    (0..=steps)
        .map(|i| origin + direction * (enter + i as f64 * step))
        .find(inside)
}
