//! White spheres add to the surface that is segmented, black ones cut from it.

use super::hands::{CLICK, Drag, Kind};
use super::scene_view::Scene;
use super::slice_view::Slice;
use super::{ink, rings};
use crate::render::build;
use crate::solvers::level_set::Sphere;
use crate::state::{Task, Tool, defaults};
use egui::{Color32, Painter, Pos2, Shape, Stroke};
use glam::DVec3;

const ADD: Color32 = Color32::WHITE;

/// The sphere of a click, or of a drag as large as that.
pub fn new(add: bool, centre: DVec3, dragged_mm: Option<f64>) -> Sphere {
    Sphere {
        add,
        centre,
        radius_mm: dragged_mm.unwrap_or(defaults::SPHERE_MM).max(0.5),
    }
}

fn ring(painter: &Painter, centre: Pos2, radius: f32, add: bool) {
    let dark = Color32::from_black_alpha(170);
    let stroke = Stroke::new(1.75, ADD);
    if add {
        painter.circle_stroke(centre, radius, Stroke::new(3.5, dark));
        painter.circle_stroke(centre, radius, stroke);
    } else {
        painter.circle_filled(centre, radius, dark);
        let points = ink::circle_points(centre, radius);
        painter.extend(Shape::dashed_line(&points, stroke, 4.0, 3.0));
    }
}

/// Those that the slice crosses; of a surface that moves only what was begun with is of no interest.
pub fn on_slice(painter: &Painter, slice: &Slice) {
    let state = slice.state;
    if state.view.task != Task::Segment {
        return;
    }
    let begun = state
        .session
        .segment
        .live
        .as_ref()
        .is_some_and(|live| live.step > 0);
    let held = matches!(state.view.tool, Tool::Sphere { .. });
    if begun && !held {
        return;
    }
    for (_, sphere) in &state.document.segment.spheres {
        let off = slice.plane.distance(sphere.centre);
        let cut = (sphere.radius_mm.powi(2) - off * off).max(0.0).sqrt();
        if cut > 0.0 {
            let radius = (cut / slice.plane.mm_per_point) as f32;
            ring(painter, slice.screen(sphere.centre), radius, sphere.add);
        }
    }
}

fn word(add: bool) -> &'static str {
    if add { "Add" } else { "Remove" }
}

/// What the next click would place, or a drag places.
pub fn preview(painter: &Painter, slice: &Slice, drag: Option<&Drag>, at: Option<Pos2>) {
    let Tool::Sphere { add } = slice.state.view.tool else {
        return;
    };
    let usual = (defaults::SPHERE_MM / slice.plane.mm_per_point) as f32;
    match drag.map(|d| (d.pane, &d.kind, d.pressed, d.last)) {
        Some((pane, Kind::Sphere { centre, .. }, pressed, last)) if pane == slice.pane => {
            let far = last.distance(pressed);
            let radius = if far >= CLICK { far } else { usual };
            rings::preview(painter, slice.screen(*centre), radius, ADD);
        }
        _ => {
            if let Some(at) = at {
                rings::preview(painter, at, usual, ADD);
                ink::tool_word(painter, at, slice.rect, word(add), ADD);
            }
        }
    }
}

/// The same in 3-D.
pub fn preview_in_scene(painter: &Painter, scene: &Scene, drag: Option<&Drag>, at: Option<Pos2>) {
    let Tool::Sphere { add } = scene.state.view.tool else {
        return;
    };
    let placing = drag.and_then(|d| match &d.kind {
        Kind::Sphere { centre, .. } if d.pane == crate::state::Pane::Scene => {
            Some((*centre, d.pressed.distance(d.last)))
        }
        _ => None,
    });
    let Some(at) = at.or(drag.map(|d| d.last)) else {
        return;
    };
    let centre = placing.map(|p| p.0).or_else(|| under(scene, at));
    if let Some((middle, radius)) = centre.and_then(|c| scene.silhouette(c, defaults::SPHERE_MM)) {
        let far = placing.map(|p| p.1).filter(|far| *far >= CLICK);
        rings::preview(painter, middle, far.unwrap_or(radius), ADD);
    }
    if placing.is_none() {
        ink::tool_word(painter, at, scene.rect, word(add), ADD);
    }
}

/// Where a ray meets the surface, else the nearest slice.
pub fn under(scene: &Scene, at: Pos2) -> Option<DVec3> {
    on_surface(scene, at).or_else(|| scene.slice_under(at))
}

/// Found in steps of half a voxel.
fn on_surface(scene: &Scene, at: Pos2) -> Option<DVec3> {
    let phi = &build::segment::live(scene.state)?.phi;
    let (low, high) = phi.grid.bounds();
    let (origin, direction) = scene.ray(at);
    let (a, b) = ((low - origin) / direction, (high - origin) / direction);
    let (enter, leave) = (a.min(b).max_element().max(0.0), a.max(b).min_element());
    if !(enter <= leave) {
        return None;
    }
    let step = phi.grid.spacing().min_element() * 0.5;
    let steps = (((leave - enter) / step) as usize).min(4096);
    let inside = |p: &DVec3| phi.nearest(0, *p).is_some_and(|v| v > 0.0);
    (0..=steps)
        .map(|i| origin + direction * (enter + i as f64 * step))
        .find(inside)
}
