//! Handles near the ends of the crosshair lines: dragged about the crosshair, they turn the picture, and with it the
//! other two slices.

use super::drag::DragKind;
use super::slice_view::Slice;
use super::{Views, annotations};
use crate::state::core::slice_turn::SliceTurn;
use crate::state::{Layout, Tool};
use crate::ui::format::fixed;
use crate::ui::theme::IN_VIEW;
use egui::{Color32, Painter, Pos2, Shape, Stroke, pos2, vec2};
use glam::DQuat;

/// Distance of a handle from the view's edge: the letters lie between them, points.
const FROM_EDGE: f32 = 40.0;
/// A handle this near to the crosshair would turn too fast.
const FROM_CROSSHAIR: f32 = 48.0;
/// Distance within which a handle can be grabbed.
const REACH: f32 = 9.0;
const RADIUS: f32 = 5.0;
/// Smaller views have no space for handles.
const SMALLEST: f32 = 200.0;
/// A drag that ends nearer to the axes than this puts the slices back there, degrees.
const SNAP_DEG: f64 = 0.5;

/// The handles of a slice view: right, bottom, left and top.
fn places(slice: &Slice) -> impl Iterator<Item = Pos2> {
    let view = &slice.state.view;
    let rect = slice.rect;
    let is_shown = view.tool == Tool::Crosshair
        && view.visible.crosshair
        && view.layout != Layout::Mosaic
        && rect.size().min_elem() >= SMALLEST;
    let centre = slice.screen(view.crosshair);
    let inner = rect.shrink(FROM_EDGE);
    let ends = [
        pos2(inner.right(), centre.y),
        pos2(centre.x, inner.bottom()),
        pos2(inner.left(), centre.y),
        pos2(centre.x, inner.top()),
    ];
    let is_free =
        move |at: &Pos2| is_shown && inner.contains(*at) && at.distance(centre) >= FROM_CROSSHAIR;
    ends.into_iter().filter(is_free)
}

/// Whether a handle lies under a position.
pub fn is_over(slice: &Slice, at: Pos2) -> bool {
    places(slice).any(|place| place.distance(at) <= REACH)
}

/// The slices turned such that the anatomy at one position moves to the direction of another, as seen from the
/// crosshair.
pub fn turned(slice: &Slice, before: SliceTurn, from: Pos2, to: Pos2) -> SliceTurn {
    let crosshair = slice.state.view.crosshair;
    let centre = slice.screen(crosshair);
    let angle = |at: Pos2| {
        let off = at - centre;
        f64::from(off.y).atan2(f64::from(off.x))
    };
    // The plane turns the other way: what it shows then turns with the pointer.
    let by = DQuat::from_axis_angle(slice.plane.normal(), angle(from) - angle(to));
    let turn = before.turned(crosshair, by);
    match turn.degrees() < SNAP_DEG {
        true => SliceTurn::STRAIGHT,
        false => turn,
    }
}

impl Views {
    /// The handles of the view under the pointer, and the angle while one is dragged.
    pub(super) fn turn_handles(&self, painter: &Painter, slice: &Slice, hovered: bool) {
        if self.still {
            return;
        }
        let drag = self.drag.as_ref();
        let turning = drag.filter(|d| matches!(d.kind, DragKind::Turn { .. }));
        if let Some(drag) = turning.filter(|d| d.pane == slice.pane) {
            let centre = slice.screen(slice.state.view.crosshair);
            let stroke = Stroke::new(1.0, IN_VIEW.accent);
            painter.extend(Shape::dashed_line(&[centre, drag.last], stroke, 4.0, 4.0));
            handle(painter, drag.last, true);
            let degrees = fixed(slice.state.view.turn.degrees(), 1);
            let text = match slice.state.view.turn.is_straight() {
                true => "At the axes".to_owned(),
                false => format!("Turned by {degrees}°"),
            };
            annotations::tool_text(painter, drag.last, slice.rect, &text, IN_VIEW.t1);
            return;
        }
        if !hovered || drag.is_some() {
            return;
        }
        let at = pointer_of(painter);
        for place in places(slice) {
            let is_under = at.is_some_and(|at| place.distance(at) <= REACH);
            handle(painter, place, is_under);
            if is_under {
                let text = match slice.state.view.turn.is_straight() {
                    true => "Drag to turn the slices",
                    false => "Drag to turn the slices; Z turns them back",
                };
                annotations::tool_text(painter, place, slice.rect, text, IN_VIEW.t1);
            }
        }
    }
}

fn pointer_of(painter: &Painter) -> Option<Pos2> {
    painter.ctx().input(|i| i.pointer.latest_pos())
}

/// Arrow heads would be too small to see, so a handle is a ring, which is filled under the pointer.
fn handle(painter: &Painter, at: Pos2, is_under: bool) {
    let fill = match is_under {
        true => IN_VIEW.accent,
        false => Color32::from_black_alpha(150),
    };
    painter.circle(
        at,
        RADIUS + 1.0,
        Color32::from_black_alpha(120),
        Stroke::NONE,
    );
    painter.circle(at, RADIUS, fill, Stroke::new(1.5, IN_VIEW.t1));
    let half = vec2(1.5, 1.5);
    painter.rect_filled(
        egui::Rect::from_min_max(at - half, at + half),
        1.0,
        IN_VIEW.t1,
    );
}
