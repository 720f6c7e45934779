//! Three clicks that turn the slices to the standard position of a head: the anterior and the posterior commissure, and a
//! point between the hemispheres.

use super::slice_view::{Slice, move_crosshair};
use super::{Views, annotations};
use crate::state::core::slice_turn::Commissures;
use crate::state::{Action, Tool, ViewAction};
use crate::ui::theme::IN_VIEW;
use egui::{Align2, Color32, Painter, PointerButton, Pos2, Stroke, vec2};

/// Largest distance from a slice at which a point is drawn on it, mm.
const NEAR_MM: f64 = 2.0;
const NAMES: [&str; 2] = ["AC", "PC"];
const NEXT: [&str; 3] = [
    "Click the anterior commissure",
    "Click the posterior commissure",
    "Click between the hemispheres, well above",
];

impl Views {
    /// Places a point, or takes the last one back.
    pub(super) fn commissure_press(
        &mut self,
        slice: &Slice,
        button: PointerButton,
        at: Pos2,
        actions: &mut Vec<Action>,
    ) {
        let points = &mut self.measuring.commissures;
        if button == PointerButton::Secondary {
            points.pop();
            return;
        }
        let world = slice.world(at);
        // The other slices show it.
        move_crosshair(slice, world, actions);
        points.push(world);
        if let &[anterior, posterior, midline] = points.as_slice() {
            points.clear();
            let points = Commissures {
                anterior,
                posterior,
                midline,
            };
            actions.push(Action::View(ViewAction::AlignToCommissures(points)));
        }
    }

    /// The points placed so far, and which one the next click places.
    pub(super) fn commissure_marks(&mut self, painter: &Painter, slice: &Slice, at: Option<Pos2>) {
        if slice.state.view.tool != Tool::Commissures {
            self.measuring.commissures.clear();
            return;
        }
        let points = &self.measuring.commissures;
        for (point, name) in points.iter().zip(NAMES) {
            if slice.plane.distance(*point).abs() > NEAR_MM {
                continue;
            }
            let place = slice.screen(*point);
            painter.circle(place, 4.0, IN_VIEW.accent, Stroke::new(1.0, Color32::BLACK));
            let span = (
                name,
                crate::ui::theme::semibold(crate::ui::theme::size::LABEL),
                IN_VIEW.t1,
            );
            annotations::text(
                painter,
                place + vec2(8.0, 0.0),
                Align2::LEFT_CENTER,
                &[span],
            );
        }
        if let Some((at, text)) = at.zip(NEXT.get(points.len())) {
            annotations::tool_text(painter, at, slice.rect, text, IN_VIEW.t1);
        }
    }
}
