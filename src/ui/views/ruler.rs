//! Distances and angles on slices.

use super::drag::{CLICK, Drag, DragKind};
use super::scene_view::Scene;
use super::slice_view::Slice;
use super::{Views, annotations};
use crate::state::streamlines::Measurement;
use crate::state::{Action, Pane, Phase, StreamlineAction, Tool};
use crate::ui::forms::measure::text;
use crate::ui::theme::IN_VIEW;
use egui::{Color32, Painter, PointerButton, Pos2, Rect, Shape, Stroke};
use glam::DVec3;

/// Largest distance from a slice at which a measurement is drawn on it, mm.
const NEAR_MM: f64 = 2.0;
/// Distance within which an end can be grabbed, points.
const REACH: f32 = 8.0;
const INK: Color32 = Color32::from_rgb(0xFF, 0xE0, 0x6B);

/// The measurement being made.
#[derive(Default)]
pub(super) struct Unfinished {
    /// The first arm of an angle: its pane, its end and the corner.
    arm: Option<(Pane, DVec3, DVec3)>,
    /// The first point of a measurement made by clicks.
    start: Option<(Pane, DVec3)>,
}

/// Measurements visible on a slice, with their indices.
fn seen<'a>(slice: &'a Slice) -> impl Iterator<Item = (usize, &'a Measurement)> {
    let all = slice
        .state
        .document
        .streamlines
        .measurements
        .iter()
        .enumerate();
    all.filter(|(_, m)| {
        m.points
            .iter()
            .all(|p| slice.plane.distance(*p).abs() <= NEAR_MM)
    })
}

/// The end under a position: the index of its measurement and of its point.
fn end_under(slice: &Slice, at: Pos2) -> Option<(usize, usize)> {
    let ends = seen(slice).flat_map(|(i, m)| {
        let points = m.points.iter().enumerate();
        points.map(move |(k, p)| (i, k, *p))
    });
    let off = |p: DVec3| slice.screen(p).distance(at);
    let near = ends.filter(|(.., p)| off(*p) <= REACH);
    let nearest = near.min_by(|a, b| off(a.2).total_cmp(&off(b.2)));
    nearest.map(|(i, k, _)| (i, k))
}

impl Views {
    pub(super) fn ruler_press(
        &mut self,
        slice: &Slice,
        button: PointerButton,
        at: Pos2,
        actions: &mut Vec<Action>,
    ) -> Option<DragKind> {
        let under = end_under(slice, at);
        if button == PointerButton::Secondary {
            if let Some((index, _)) = under {
                actions.push(Action::Streamline(StreamlineAction::Erase(index)));
            }
            self.measuring = Unfinished::default();
            return None;
        }
        let started = self.measuring.arm.is_some() || self.measuring.start.is_some();
        Some(match under.filter(|_| !started) {
            Some((index, point)) => DragKind::Remeasure { index, point },
            None => DragKind::Measure {
                start: slice.world(at),
            },
        })
    }

    /// Continues a measuring drag in this frame; `down`: its button is still down.
    pub(super) fn measure(
        &mut self,
        slice: &Slice,
        drag: &mut Drag,
        at: Pos2,
        down: bool,
        actions: &mut Vec<Action>,
    ) {
        let far = at.distance(drag.pressed) >= CLICK;
        match drag.kind {
            DragKind::Remeasure { index, point } => {
                let known = slice.state.document.streamlines.measurements.get(index);
                let Some(known) = known.filter(|_| far || drag.changed) else {
                    return;
                };
                let mut points = known.points.clone();
                // Undo may have put another measurement in its place.
                let Some(end) = points.get_mut(point) else {
                    return;
                };
                *end = slice.world(at);
                drag.changed = true;
                let phase = if down { Phase::Live } else { Phase::Done };
                actions.push(Action::Streamline(StreamlineAction::Remeasure {
                    index,
                    points,
                    phase,
                }));
            }
            DragKind::Measure { start: from } if !down => {
                let here = slice.world(at);
                let arm = self.measuring.arm.take_if(|(pane, ..)| *pane == slice.pane);
                // By clicks, one point after the other, or by dragging from one to the other.
                let start = self
                    .measuring
                    .start
                    .take_if(|(pane, _)| *pane == slice.pane);
                let start = start.map(|(_, start)| start);
                let near = start.is_some_and(|s| slice.screen(s).distance(at) < CLICK);
                let points = match (slice.state.view.tool, arm) {
                    (Tool::Angle, Some((_, end, corner))) => vec![end, corner, here],
                    _ if !far && (start.is_none() || near) => {
                        self.measuring.start = Some((slice.pane, from));
                        return;
                    }
                    (Tool::Angle, None) => {
                        self.measuring.arm = Some((slice.pane, start.unwrap_or(from), here));
                        return;
                    }
                    (Tool::Ruler, _) => vec![start.unwrap_or(from), here],
                    _ => return,
                };
                let pane = slice.pane;
                let measurement = Measurement { points, pane };
                actions.push(Action::Streamline(StreamlineAction::Measure(measurement)));
            }
            _ => {}
        }
    }

    /// All measurements on this slice, including the one being made.
    pub(super) fn ruler_marks(&mut self, painter: &Painter, slice: &Slice, at: Option<Pos2>) {
        let tool = slice.state.view.tool;
        if tool != Tool::Angle {
            self.measuring.arm = None;
        }
        if !matches!(tool, Tool::Ruler | Tool::Angle) {
            self.measuring.start = None;
        }
        let mut plates = Vec::new();
        for (_, measurement) in seen(slice) {
            draw(painter, slice, measurement, &mut plates);
        }
        if self.still || !matches!(tool, Tool::Ruler | Tool::Angle) {
            return;
        }
        let own_drag = self.drag.as_ref().filter(|d| d.pane == slice.pane);
        let from = own_drag.and_then(|d| match d.kind {
            DragKind::Measure { start: from } => Some((from, d.last)),
            _ => None,
        });
        let arm = self.measuring.arm.filter(|(pane, ..)| *pane == slice.pane);
        let start = self.measuring.start.filter(|(pane, _)| *pane == slice.pane);
        let points = match (arm, from, at) {
            (Some((_, end, corner)), from, at) => {
                let here = at.or(from.map(|f| f.1));
                here.map(|here| vec![end, corner, slice.world(here)])
            }
            (None, Some((from, here)), _) => {
                let from = start.map_or(from, |(_, start)| start);
                Some(vec![from, slice.world(here)])
            }
            (None, None, Some(at)) => start.map(|(_, start)| vec![start, slice.world(at)]),
            _ => None,
        };
        match points {
            Some(points) => {
                let pane = slice.pane;
                let measurement = Measurement { points, pane };
                draw(painter, slice, &measurement, &mut plates);
            }
            None => {
                if let Some(at) = at {
                    let tool_name = if tool == Tool::Ruler {
                        "Distance: two points"
                    } else {
                        "Angle: three points"
                    };
                    annotations::tool_text(painter, at, slice.rect, tool_name, IN_VIEW.t1);
                }
            }
        }
    }
}

fn draw(painter: &Painter, slice: &Slice, measurement: &Measurement, plates: &mut Vec<Rect>) {
    let points = measurement.points.iter().map(|p| slice.screen(*p));
    mark(
        painter,
        slice.rect,
        &points.collect::<Vec<_>>(),
        measurement,
        plates,
    );
}

/// Draws measurements in the 3-D view, where nothing hides them; returns the rectangles of the values.
pub(super) fn in_scene(painter: &Painter, scene: &Scene) -> Vec<Rect> {
    let mut plates = Vec::new();
    for measurement in &scene.state.document.streamlines.measurements {
        let points = measurement.points.iter().map(|p| scene.screen(*p));
        if let Some(points) = points.collect::<Option<Vec<_>>>() {
            mark(painter, scene.rect, &points, measurement, &mut plates);
        }
    }
    plates
}

/// A measurement whose points are visible there.
fn mark(
    painter: &Painter,
    within: Rect,
    points: &[Pos2],
    measurement: &Measurement,
    plates: &mut Vec<Rect>,
) {
    let rim = Stroke::new(3.5, Color32::from_black_alpha(150));
    let line = Stroke::new(1.5, INK);
    let mut arc = Vec::new();
    if let [a, b, c] = points {
        let (u, v) = ((*a - *b).normalized(), (*c - *b).normalized());
        let radius = (a.distance(*b).min(c.distance(*b)) * 0.35).min(26.0);
        let (from, to) = (u.angle(), v.angle());
        let pi = std::f32::consts::PI;
        let turn = (to - from + pi).rem_euclid(2.0 * pi) - pi;
        let at = |i: u8| from + turn * f32::from(i) / 24.0;
        arc = (0..=24)
            .map(|i| *b + radius * egui::Vec2::angled(at(i)))
            .collect();
    }
    for stroke in [rim, line] {
        painter.add(Shape::line(points.to_vec(), stroke));
        if !arc.is_empty() {
            painter.add(Shape::line(arc.clone(), stroke));
        }
    }
    for point in points {
        painter.circle(*point, 3.0, INK, (1.0, Color32::BLACK));
    }
    let text = text(measurement);
    let adjacent = match points {
        [_, corner, _] => *corner + egui::vec2(10.0, 14.0),
        [a, b] => *a + (*b - *a) * 0.5 + egui::vec2(8.0, 0.0),
        _ => return,
    };
    if !text.is_empty() {
        annotations::plate_near(painter, adjacent, within, &text, INK, plates);
    }
}
