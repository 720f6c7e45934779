//! Distances and angles on slices.

use super::hands::{CLICK, Drag, Kind};
use super::slice_view::Slice;
use super::{Views, ink};
use crate::state::bundle::Measurement;
use crate::state::{Action, BundleAction, Pane, Phase, Tool};
use crate::ui::forms::measure::words;
use crate::ui::theme::IN_VIEW;
use egui::{Color32, Painter, PointerButton, Pos2, Shape, Stroke};
use glam::DVec3;

/// What lies this near to a slice is drawn on it, mm.
const NEAR_MM: f64 = 2.0;
/// An end is taken from within this distance, points.
const REACH: f32 = 8.0;
const INK: Color32 = Color32::from_rgb(0xFF, 0xE0, 0x6B);

/// The first arm of an angle: where it was drawn, its end and the corner.
pub(super) type Arm = (Pane, DVec3, DVec3);

/// Measurements that are seen on a slice, with their places in the list.
fn seen<'a>(slice: &'a Slice) -> impl Iterator<Item = (usize, &'a Measurement)> {
    let all = slice.state.document.bundle.measurements.iter().enumerate();
    all.filter(|(_, m)| {
        m.points
            .iter()
            .all(|p| slice.plane.distance(*p).abs() <= NEAR_MM)
    })
}

/// The end under a position: of which measurement, and which of its points.
fn end_under(slice: &Slice, at: Pos2) -> Option<(usize, usize)> {
    let ends = seen(slice).flat_map(|(i, m)| {
        let points = m.points.iter().enumerate();
        points.map(move |(k, p)| (i, k, *p))
    });
    let off = |p: DVec3| slice.screen(p).distance(at);
    let near = ends.filter(|(.., p)| off(*p) <= REACH);
    let least = near.min_by(|a, b| off(a.2).total_cmp(&off(b.2)));
    least.map(|(i, k, _)| (i, k))
}

impl Views {
    pub(super) fn ruler_press(
        &mut self,
        slice: &Slice,
        button: PointerButton,
        at: Pos2,
        actions: &mut Vec<Action>,
    ) -> Option<Kind> {
        let under = end_under(slice, at);
        if button == PointerButton::Secondary {
            if let Some((index, _)) = under {
                actions.push(Action::Bundle(BundleAction::Erase(index)));
            }
            self.arm = None;
            return None;
        }
        Some(match under.filter(|_| self.arm.is_none()) {
            Some((index, point)) => Kind::Remeasure { index, point },
            None => Kind::Measure {
                from: slice.world(at),
            },
        })
    }

    /// A hand that measures, in this frame; `down`: its button still is.
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
            Kind::Remeasure { index, point } => {
                let known = slice.state.document.bundle.measurements.get(index);
                let Some(known) = known.filter(|_| far || drag.changed) else {
                    return;
                };
                let mut points = known.points.clone();
                points[point] = slice.world(at);
                drag.changed = true;
                let phase = if down { Phase::Live } else { Phase::Done };
                actions.push(Action::Bundle(BundleAction::Remeasure {
                    index,
                    points,
                    phase,
                }));
            }
            Kind::Measure { from } if !down => {
                let here = slice.world(at);
                let arm = self.arm.take_if(|(pane, ..)| *pane == slice.pane);
                let points = match (slice.state.view.tool, arm) {
                    (Tool::Angle, Some((_, end, corner))) => vec![end, corner, here],
                    (Tool::Angle, None) if far => {
                        self.arm = Some((slice.pane, from, here));
                        return;
                    }
                    (Tool::Ruler, _) if far => vec![from, here],
                    _ => return,
                };
                let pane = slice.pane;
                let measurement = Measurement { points, pane };
                actions.push(Action::Bundle(BundleAction::Measure(measurement)));
            }
            _ => {}
        }
    }

    /// All that was measured here, and what is being.
    pub(super) fn ruler_marks(&mut self, painter: &Painter, slice: &Slice, at: Option<Pos2>) {
        let tool = slice.state.view.tool;
        if tool != Tool::Angle {
            self.arm = None;
        }
        for (_, measurement) in seen(slice) {
            draw(painter, slice, measurement);
        }
        if self.still || !matches!(tool, Tool::Ruler | Tool::Angle) {
            return;
        }
        let held = self.drag.as_ref().filter(|d| d.pane == slice.pane);
        let from = held.and_then(|d| match d.kind {
            Kind::Measure { from } => Some((from, d.last)),
            _ => None,
        });
        let arm = self.arm.filter(|(pane, ..)| *pane == slice.pane);
        let points = match (arm, from, at) {
            (Some((_, end, corner)), from, at) => {
                let here = at.or(from.map(|f| f.1));
                here.map(|here| vec![end, corner, slice.world(here)])
            }
            (None, Some((from, here)), _) => Some(vec![from, slice.world(here)]),
            _ => None,
        };
        match points {
            Some(points) => {
                let pane = slice.pane;
                draw(painter, slice, &Measurement { points, pane });
            }
            None => {
                if let Some(at) = at {
                    let word = if tool == Tool::Ruler {
                        "Distance"
                    } else {
                        "Angle"
                    };
                    ink::tool_word(painter, at, slice.rect, word, IN_VIEW.t1);
                }
            }
        }
    }
}

fn draw(painter: &Painter, slice: &Slice, measurement: &Measurement) {
    let points: Vec<Pos2> = measurement
        .points
        .iter()
        .map(|p| slice.screen(*p))
        .collect();
    let rim = Stroke::new(3.5, Color32::from_black_alpha(150));
    let line = Stroke::new(1.5, INK);
    let mut arc = Vec::new();
    if let [a, b, c] = points.as_slice() {
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
        painter.add(Shape::line(points.clone(), stroke));
        if !arc.is_empty() {
            painter.add(Shape::line(arc.clone(), stroke));
        }
    }
    for point in &points {
        painter.circle(*point, 3.0, INK, (1.0, Color32::BLACK));
    }
    let words = words(measurement);
    let beside = match points.as_slice() {
        [_, corner, _] => *corner + egui::vec2(10.0, 14.0),
        [a, b] => *a + (*b - *a) * 0.5 + egui::vec2(8.0, 0.0),
        _ => return,
    };
    if !words.is_empty() {
        ink::plate(painter, beside, slice.rect, &words, INK);
    }
}
