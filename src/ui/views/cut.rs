//! Where regions cross the plane of a slice view.

use crate::data::{DataId, Mask, Shape};
use crate::state::view::Plane;
use egui::{Pos2, Rect};
use glam::{DVec2, DVec3};
use std::collections::HashMap;
use std::sync::Arc;

/// A region's trace on a slice, in points of the screen.
pub enum Cut {
    Circle {
        centre: Pos2,
        radius: f32,
    },
    Box(Rect),
    Mask {
        /// Pieces of the border.
        border: Vec<[Pos2; 2]>,
        /// Its inside as parallelograms.
        inside: Vec<[Pos2; 4]>,
    },
}

/// Screen position of a world point in a pane at `rect`.
pub fn to_screen(plane: &Plane, rect: Rect, world: DVec3) -> Pos2 {
    let at = plane.position(world);
    rect.min + egui::vec2(at.x as f32, at.y as f32)
}

/// World point on the plane under a screen position.
pub fn to_world(plane: &Plane, rect: Rect, at: Pos2) -> DVec3 {
    let d = at - rect.min;
    plane.world(DVec2::new(f64::from(d.x), f64::from(d.y)))
}

impl Cut {
    /// `None` where the region does not reach the plane.
    pub fn new(shape: &Shape, plane: &Plane, rect: Rect, traces: &mut Traces) -> Option<Self> {
        match shape {
            Shape::Sphere { centre, radius_mm } => {
                let off = plane.distance(*centre);
                let radius_mm = (radius_mm * radius_mm - off * off).max(0.0).sqrt();
                (radius_mm > 0.0).then(|| Self::Circle {
                    centre: to_screen(plane, rect, *centre),
                    radius: (radius_mm / plane.mm_per_point) as f32,
                })
            }
            Shape::Box { centre, half_mm } => {
                // Slice planes lie along the world's axes, as boxes do.
                let reach = half_mm.dot(plane.normal().abs());
                (plane.distance(*centre).abs() < reach).then(|| {
                    let half = DVec2::new(
                        half_mm.dot(plane.right.abs()),
                        half_mm.dot(plane.down.abs()),
                    );
                    let half = (half / plane.mm_per_point).as_vec2();
                    let centre = to_screen(plane, rect, *centre);
                    Self::Box(Rect::from_center_size(
                        centre,
                        egui::vec2(half.x, half.y) * 2.0,
                    ))
                })
            }
            Shape::Mask(mask) => {
                let trace = traces.of(mask, plane);
                let on_screen = |p: &DVec3| to_screen(plane, rect, *p);
                (!trace.inside.is_empty()).then(|| Self::Mask {
                    border: trace
                        .border
                        .iter()
                        .map(|s| s.each_ref().map(on_screen))
                        .collect(),
                    inside: trace
                        .inside
                        .iter()
                        .map(|q| q.each_ref().map(on_screen))
                        .collect(),
                })
            }
        }
    }

    /// Signed distance to the outline in points: negative inside. Masks know inside or out only.
    pub fn distance(&self, at: Pos2) -> f32 {
        match self {
            Self::Circle { centre, radius } => centre.distance(at) - radius,
            Self::Box(rect) => rect.signed_distance_to_pos(at),
            Self::Mask { inside, .. } => {
                let within = |q: &[Pos2; 4]| Rect::from_points(q).contains(at);
                if inside.iter().any(within) {
                    -1e3
                } else {
                    f32::INFINITY
                }
            }
        }
    }

    /// Right, bottom, left and top of the outline: where the handles are.
    pub fn handles(&self) -> Option<[Pos2; 4]> {
        let rect = self.bounds()?;
        Some([
            rect.right_center(),
            rect.center_bottom(),
            rect.left_center(),
            rect.center_top(),
        ])
    }

    /// `None` for a mask, which cannot be reshaped by hand.
    pub fn bounds(&self) -> Option<Rect> {
        match self {
            Self::Circle { centre, radius } => Some(Rect::from_center_size(
                *centre,
                egui::Vec2::splat(2.0 * radius),
            )),
            Self::Box(rect) => Some(*rect),
            Self::Mask { .. } => None,
        }
    }
}

/// A mask on a plane, world mm.
pub struct Trace {
    pub border: Vec<[DVec3; 2]>,
    pub inside: Vec<[DVec3; 4]>,
}

/// Traces of masks, kept until the plane moves: each costs up to a few milliseconds.
#[derive(Default)]
pub struct Traces(HashMap<(DataId, usize), (f64, Arc<Trace>)>);

impl Traces {
    fn of(&mut self, mask: &Mask, plane: &Plane) -> Arc<Trace> {
        let normal = plane.normal().abs();
        let axis = (0..3).find(|&a| normal[a] > 0.5).unwrap_or(2);
        let level = plane.centre[axis];
        match self.0.get(&(mask.id(), axis)) {
            Some((kept, trace)) if *kept == level => trace.clone(),
            _ => {
                let trace = Arc::new(Trace::new(mask, axis, level));
                // Masks come and go with undo; a handful of planes is on screen.
                if self.0.len() > 60 {
                    self.0.clear();
                }
                self.0.insert((mask.id(), axis), (level, trace.clone()));
                trace
            }
        }
    }
}

impl Trace {
    /// Samples the mask on the plane `world[axis] = level` and follows its border by marching
    /// squares (Lorensen and Cline 1987, in two dimensions) at half the finest voxel edge.
    pub fn new(mask: &Mask, axis: usize, level: f64) -> Self {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut trace = Self {
            border: Vec::new(),
            inside: Vec::new(),
        };
        let Some((low, high)) = mask.bounds_inside() else {
            return trace;
        };
        if level < low[axis] || level > high[axis] {
            return trace;
        }
        // At most 512 samples a side, however large the mask: a quarter of a million look-ups, a
        // few milliseconds. That is every half voxel of a mask of 256 voxels a side.
        let extent = (high[u] - low[u]).max(high[v] - low[v]);
        let step = (mask.grid.spacing().min_element() * 0.5).max(extent / 512.0);
        // One sample of margin, so that every border closes.
        let (nu, nv) = (
            ((high[u] - low[u]) / step).ceil() as usize + 3,
            ((high[v] - low[v]) / step).ceil() as usize + 3,
        );
        let at = |i: f64, j: f64| {
            let mut world = DVec3::ZERO;
            world[axis] = level;
            world[u] = low[u] + (i - 1.0) * step;
            world[v] = low[v] + (j - 1.0) * step;
            world
        };
        let samples: Vec<bool> = (0..nu * nv)
            .map(|k| mask.contains(at((k % nu) as f64, (k / nu) as f64)))
            .collect();
        for j in 0..nv - 1 {
            for i in 0..nu - 1 {
                let corner = |di: usize, dj: usize| samples[(j + dj) * nu + i + di];
                let corners = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                let (x, y) = (i as f64, j as f64);
                let middles = [
                    (x + 0.5, y),
                    (x + 1.0, y + 0.5),
                    (x + 0.5, y + 1.0),
                    (x, y + 0.5),
                ];
                // Edge k joins corners k and k + 1; it is crossed where they differ.
                let crossed: Vec<usize> = (0..4)
                    .filter(|&k| corners[k] != corners[(k + 1) % 4])
                    .collect();
                for pair in crossed.chunks_exact(2) {
                    let end = |k: usize| at(middles[k].0, middles[k].1);
                    trace.border.push([end(pair[0]), end(pair[1])]);
                }
            }
        }
        for j in 0..nv {
            let row = &samples[j * nu..(j + 1) * nu];
            let mut i = 0;
            while i < nu {
                let run = row[i..].iter().take_while(|&&inside| inside).count();
                if run > 0 {
                    let (left, right) = (i as f64 - 0.5, (i + run) as f64 - 0.5);
                    let (top, bottom) = (j as f64 - 0.5, j as f64 + 0.5);
                    trace.inside.push([
                        at(left, top),
                        at(right, top),
                        at(right, bottom),
                        at(left, bottom),
                    ]);
                }
                i += run.max(1);
            }
        }
        trace
    }
}
