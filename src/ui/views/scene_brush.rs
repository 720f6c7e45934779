//! The brush in 3-D: it paints and erases on slices, on the faces of cut volumes, and on the surfaces of regions.
//!
//! Surfaces are those at the start of a stroke: it neither climbs on what it has painted nor digs into what it has
//! erased.

use super::drag::{Drag, DragKind};
use super::drawing::{paints, path_of_drag};
use super::scene_view::{Scene, through_shape};
use super::{Views, annotations, pointer, rings};
use crate::data::{Shape, Stroke};
use crate::state::{Action, Pane, Phase, RegionAction, Tool};
use egui::{Color32, Painter, PointerButton, Pos2, Ui, vec2};
use glam::DVec3;
use std::sync::Arc;

/// Distance between samples along the pointer's path, points.
const SPACING: f32 = 3.0;

/// A point under the pointer, and the normal of the surface there.
#[derive(Clone, Copy)]
struct SurfacePoint {
    point: DVec3,
    normal: DVec3,
}

impl Scene<'_> {
    /// The stroke of a brush that is put down here.
    pub(super) fn brush_press(&self, button: PointerButton, at: Pos2) -> Option<DragKind> {
        let right = button == PointerButton::Secondary;
        if self.state.view.tool != Tool::Brush || button == PointerButton::Middle {
            return None;
        }
        let surfaces = self.surfaces();
        self.ground(at, &surfaces)?;
        Some(DragKind::StrokeInScene {
            erase: right || self.state.view.drawing.erase,
            surfaces,
        })
    }

    fn surfaces(&self) -> Vec<Arc<Shape>> {
        let seen = self.state.document.regions.iter().filter(|r| r.visible);
        seen.map(|r| r.shape.clone()).collect()
    }

    /// The nearest paintable surface under a position.
    fn ground(&self, at: Pos2, surfaces: &[Arc<Shape>]) -> Option<SurfacePoint> {
        let (origin, direction) = self.ray(at);
        let meets = |shape: &Arc<Shape>| through_shape(origin, direction, shape);
        let surface = surfaces
            .iter()
            .filter_map(meets)
            .min_by(|a, b| a.total_cmp(b));
        let flat = self.flat_under(at);
        match (flat, surface) {
            (Some(flat), surface) if surface.is_none_or(|mm| flat.mm <= mm) => Some(SurfacePoint {
                point: flat.point,
                normal: flat.normal,
            }),
            (_, surface) => surface.map(|mm| SurfacePoint {
                point: origin + direction * mm,
                // A disc faces the eye.
                normal: self.camera.forward(),
            }),
        }
    }

    fn stroke(&self, points: Vec<DVec3>, normal: DVec3) -> Stroke {
        let drawing = &self.state.view.drawing;
        Stroke {
            points,
            radius_mm: drawing.radius_mm,
            disc: drawing.flat.then_some(normal),
        }
    }

    /// Paints a single dab, as one step.
    pub(super) fn dab(&self, at: DVec3) -> Action {
        Action::Region(RegionAction::Stroke {
            stroke: self.stroke(vec![at], self.camera.forward()),
            erase: self.state.view.drawing.erase,
            begins: true,
            phase: Phase::Done,
        })
    }

    /// Continues the stroke in this frame; `down`: its button is still down.
    pub(super) fn paint(
        &self,
        ui: &Ui,
        drag: &mut Drag,
        at: Pos2,
        down: bool,
        actions: &mut Vec<Action>,
    ) {
        let begins = !std::mem::replace(&mut drag.has_started, true);
        let path = path_of_drag(ui, drag, at, begins);
        let DragKind::StrokeInScene { erase, surfaces } = &drag.kind else {
            return;
        };
        if path.len() < 2 && !begins && down {
            return;
        }
        let grounds = between(&path).map(|p| self.ground(p, surfaces));
        let mut pieces = pieces(grounds, self.state.view.drawing.radius_mm);
        if pieces.is_empty() && down {
            return;
        }
        if pieces.is_empty() {
            // Away from all surfaces the stroke ends at its last point.
            pieces.push((Vec::new(), DVec3::Z));
        }
        let last = pieces.len() - 1;
        for (i, (points, normal)) in pieces.into_iter().enumerate() {
            actions.push(Action::Region(RegionAction::Stroke {
                stroke: self.stroke(points, normal),
                erase: *erase,
                begins: begins && i == 0,
                phase: match down || i < last {
                    true => Phase::Live,
                    false => Phase::Done,
                },
            }));
        }
    }
}

/// The pointer's path in small steps.
fn between(path: &[Pos2]) -> impl Iterator<Item = Pos2> {
    let first = path.first().copied();
    let steps = path.windows(2).flat_map(|ends| {
        let (from, to) = (ends[0], ends[1]);
        let count = (from.distance(to) / SPACING).ceil().max(1.0) as usize;
        (1..=count).map(move |i| from.lerp(to, i as f32 / count as f32))
    });
    first.into_iter().chain(steps)
}

/// Splits strokes at jumps from one surface to another behind it.
fn pieces(
    grounds: impl Iterator<Item = Option<SurfacePoint>>,
    radius_mm: f64,
) -> Vec<(Vec<DVec3>, DVec3)> {
    let mut pieces: Vec<(Vec<DVec3>, DVec3)> = Vec::new();
    let mut last: Option<SurfacePoint> = None;
    for now in grounds {
        let goes_on = |a: &SurfacePoint, b: &SurfacePoint| {
            a.normal == b.normal && a.point.distance(b.point) <= 2.0 * radius_mm
        };
        if let Some(now) = now {
            match pieces.last_mut() {
                Some(piece) if last.is_some_and(|last| goes_on(&last, &now)) => {
                    piece.0.push(now.point);
                }
                _ => pieces.push((vec![now.point], now.normal)),
            }
        }
        last = now;
    }
    pieces
}

impl Views {
    /// The ball under the pointer.
    pub(super) fn brush_in_scene(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        scene: &Scene,
        hovered: bool,
    ) {
        let state = scene.state;
        if state.view.tool != Tool::Brush || self.still {
            return;
        }
        let own_drag = self.drag.as_ref().filter(|d| d.pane == Pane::Scene);
        let stroke = own_drag.and_then(|d| match &d.kind {
            DragKind::StrokeInScene { erase, surfaces } => Some((*erase, surfaces)),
            _ => None,
        });
        let pointer_at =
            pointer(ui).filter(|_| stroke.is_some() || (hovered && own_drag.is_none()));
        let Some(pointer_at) = pointer_at else { return };
        let ground = match stroke {
            Some((_, surfaces)) => scene.ground(pointer_at, surfaces),
            None => scene.ground(pointer_at, &scene.surfaces()),
        };
        let radius_mm = state.view.drawing.radius_mm;
        let ring = ground.and_then(|g| scene.silhouette(g.point, radius_mm));
        self.brush = ground.map(|g| (Pane::Scene, g.point));
        let Some((middle, radius)) = ring else { return };
        let erase = stroke.map_or(state.view.drawing.erase, |s| s.0);
        let (label, colour) = paints(state, erase);
        let ink = if erase { Color32::WHITE } else { colour };
        rings::brush(painter, middle, radius, ink, erase);
        if stroke.is_none() {
            let adjacent = middle + vec2(radius.min(120.0) * 0.72, 0.0);
            annotations::tool_text(painter, adjacent, scene.rect, &label, ink);
        }
    }
}
