//! Three clicks that turn the slices to the standard position of a head: the anterior and the posterior commissure, and a
//! point between the hemispheres.

use super::slice_view::{Slice, move_crosshair};
use super::{Views, annotations};
use crate::state::{Action, Tool, ViewAction};
use crate::ui::theme::{self, IN_VIEW};
use egui::{Align2, Color32, Painter, PointerButton, Pos2, Rect, Stroke, Vec2, pos2, vec2};

/// Largest distance from a slice at which a point is drawn on it, mm.
const NEAR_MM: f64 = 2.0;
const NAMES: [&str; 2] = ["AC", "PC"];
const NEXT: [&str; 3] = [
    "Click the anterior commissure",
    "Click the posterior commissure",
    "Click the midline, well above or below",
];
/// Distance of the text that names the next click from the edge of the view, and from what it must not cover, points.
const FROM_EDGE: f32 = 34.0;
const CLEARANCE: f32 = 28.0;

impl Views {
    /// Places a point, or takes the last one back.
    pub(super) fn commissure_press(
        &mut self,
        slice: &Slice,
        button: PointerButton,
        at: Pos2,
        actions: &mut Vec<Action>,
    ) {
        if button == PointerButton::Secondary {
            return actions.push(Action::View(ViewAction::TakeBackCommissure));
        }
        let world = slice.world(at);
        // The other slices show it.
        move_crosshair(slice, world, actions);
        actions.push(Action::View(ViewAction::PlaceCommissure(world)));
    }

    /// The points placed so far and, in every slice view, which one the next click places.
    pub(super) fn commissure_marks(&mut self, painter: &Painter, slice: &Slice, at: Option<Pos2>) {
        if slice.state.view.tool != Tool::Commissures {
            return;
        }
        let points = &slice.state.commissures;
        let mut avoided: Vec<Pos2> = at.into_iter().collect();
        for (point, name) in points.iter().zip(NAMES) {
            if slice.plane.distance(*point).abs() > NEAR_MM {
                continue;
            }
            let place = slice.screen(*point);
            avoided.push(place);
            painter.circle(place, 4.0, IN_VIEW.accent, Stroke::new(1.0, Color32::BLACK));
            let font = theme::semibold(theme::size::LABEL);
            let span = (name, font, IN_VIEW.t1);
            let right = place + vec2(8.0, 0.0);
            annotations::text(painter, right, Align2::LEFT_CENTER, &[span]);
        }
        if let Some(text) = NEXT.get(points.len()).filter(|_| !self.still) {
            let label = annotations::Label::new(painter, text, IN_VIEW.t1);
            let place = hint_place(slice.rect, label.size, &avoided);
            label.paint(painter, place);
        }
    }
}

/// Where the text lies: above the lower edge, or below the upper one if the pointer or a point is near. Next to the
/// pointer, it would cover what one must aim at.
fn hint_place(view: Rect, size: Vec2, avoided: &[Pos2]) -> Rect {
    let half = 0.5 * size.y + FROM_EDGE;
    let at = |y: f32| Rect::from_center_size(pos2(view.center().x, y), size);
    let places = [at(view.bottom() - half), at(view.top() + half)];
    let is_clear = |place: &Rect| {
        let around = place.expand(CLEARANCE);
        !avoided.iter().any(|at| around.contains(*at))
    };
    places.into_iter().find(is_clear).unwrap_or(places[0])
}
