//! The outline of the selected clip in the 3-D view.

use super::scene_view::Scene;
use crate::data::clip::{self, ClipShape};
use crate::state::Task;
use egui::{Color32, Painter, Stroke};
use glam::DVec3;

/// Pieces of an edge: one end of a long edge may lie behind the eye.
const PIECES: usize = 16;

/// Draws the selected clip within the bounds of the data: the edges of a box, or the outline of a plane.
pub(super) fn in_scene(painter: &Painter, scene: &Scene, ink: Color32) {
    let look = &scene.state.document.scene_look;
    let is_listed = scene.state.view.task == Task::View;
    let index = look.selected.filter(|_| is_listed);
    let Some(selected) = index.and_then(|index| look.clips.get(index)) else {
        return;
    };
    let bounds = scene.state.document.bounds();
    let edges = match selected.shape {
        // The edges of a box larger than the view would be a frame around nothing.
        ClipShape::Box { low, high } => {
            let (low, high) = clip::box_within((low, high), bounds);
            box_edges(low, high)
        }
        ClipShape::Plane { normal, offset_mm } => {
            let points = crossing(bounds, (normal, offset_mm));
            let next = points.iter().cycle().skip(1);
            points.iter().copied().zip(next.copied()).collect()
        }
    };
    let rim = Stroke::new(3.0, Color32::from_black_alpha(140));
    let line = Stroke::new(
        1.5,
        if selected.is_on {
            ink
        } else {
            ink.gamma_multiply(0.5)
        },
    );
    for stroke in [rim, line] {
        for (from, to) in &edges {
            let at = |i: usize| scene.screen(from.lerp(*to, i as f64 / PIECES as f64));
            for i in 0..PIECES {
                if let (Some(a), Some(b)) = (at(i), at(i + 1)) {
                    painter.line_segment([a, b], stroke);
                }
            }
        }
    }
}

fn box_edges(low: DVec3, high: DVec3) -> Vec<(DVec3, DVec3)> {
    let corner = |i: usize| {
        let end = |axis: usize| if i >> axis & 1 == 1 { high } else { low }[axis];
        DVec3::new(end(0), end(1), end(2))
    };
    let edges = (0..8usize).flat_map(|i| {
        let higher = (0..3).filter(move |axis| i >> axis & 1 == 0);
        higher.map(move |axis| (i, i | 1 << axis))
    });
    edges.map(|(a, b)| (corner(a), corner(b))).collect()
}

/// The polygon in which a plane cuts a box, in order; empty if it misses the box.
fn crossing(bounds: (DVec3, DVec3), (normal, offset_mm): (DVec3, f64)) -> Vec<DVec3> {
    let off = |p: DVec3| normal.dot(p) - offset_mm;
    let edges = box_edges(bounds.0, bounds.1).into_iter();
    let mut points: Vec<DVec3> = edges
        .filter_map(|(a, b)| {
            let (from, to) = (off(a), off(b));
            let meets = (from <= 0.0) != (to <= 0.0);
            meets.then(|| a.lerp(b, from / (from - to)))
        })
        .collect();
    let Some(first) = points.first().copied() else {
        return points;
    };
    let middle = points.iter().sum::<DVec3>() / points.len() as f64;
    let right = (first - middle).normalize_or(normal.any_orthonormal_vector());
    let up = normal.cross(right);
    let angle = |p: &DVec3| (*p - middle).dot(up).atan2((*p - middle).dot(right));
    points.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
    points
}
