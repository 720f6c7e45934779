//! Marks a leak of the surface in the views, with a button that goes back.

use super::Views;
use super::scene_view::Scene;
use super::slice_view::Slice;
use crate::state::{Action, LeakNotice, Pane, SegmentAction, State};
use crate::ui::forms::level_set::leak_notice;
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::Button;
use egui::{Color32, Painter, Pos2, Rect, Stroke, Ui, UiBuilder, pos2, vec2};
use glam::DVec3;

const AMBER: Color32 = Color32::from_rgb(0xF5, 0xA6, 0x23);
const DARK: Color32 = Color32::from_black_alpha(170);
/// Largest distance from a slice at which the place is marked on it, mm.
const NEAR_MM: f64 = 6.0;
const RADIUS: f32 = 9.0;
/// Below the badge.
const TOP: f32 = super::badge::HEIGHT + 14.0;

fn place(state: &State) -> Option<DVec3> {
    leak_notice::leaked(state).and_then(|leaked| leaked.at)
}

/// A ring with a gap on each side: the tissue there stays visible.
fn mark(painter: &Painter, at: Pos2) {
    for (width, colour) in [(4.5, DARK), (2.5, AMBER)] {
        let stroke = Stroke::new(width, colour);
        painter.circle_stroke(at, RADIUS, stroke);
        for out in [
            vec2(1.0, 0.0),
            vec2(-1.0, 0.0),
            vec2(0.0, 1.0),
            vec2(0.0, -1.0),
        ] {
            painter.line_segment([at + out * RADIUS, at + out * (RADIUS + 6.0)], stroke);
        }
    }
}

pub fn on_slice(painter: &Painter, slice: &Slice) {
    let near = place(slice.state).filter(|at| slice.plane.distance(*at).abs() < NEAR_MM);
    if let Some(at) = near {
        mark(painter, slice.screen(at));
    }
}

pub fn in_scene(painter: &Painter, scene: &Scene) {
    if let Some(at) = place(scene.state).and_then(|at| scene.screen(at)) {
        mark(painter, at);
    }
}

/// Height of the button that goes back from a leak in the 3-D view; 0 without a leak.
pub fn button_height(state: &State) -> f32 {
    leak_notice::leaked(state).map_or(0.0, |_| space::BUTTON + 6.0)
}

/// The place of the button that goes back, in this pane.
fn button_rect(ui: &Ui, pane: Rect) -> Rect {
    let size = vec2(Button::plain(leak_notice::BACK).width(ui), space::BUTTON);
    let corner = pos2(pane.right() - 10.0 - size.x, pane.top() + TOP);
    Rect::from_min_size(corner, size)
}

/// The place of the button in the 3-D view, if there is a leak.
pub fn button_in_scene(ui: &Ui, scene: &Scene) -> Option<Rect> {
    leak_notice::leaked(scene.state).map(|_| button_rect(ui, scene.rect))
}

impl Views {
    /// The button that goes back, below the badge of the 3-D view, else at the top right of the first view.
    pub(super) fn leak(&self, ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
        let Some(leaked) = leak_notice::leaked(state) else {
            return;
        };
        let scene = self.panes.iter().find(|(pane, _)| *pane == Pane::Scene);
        let Some((_, rect)) = scene.or(self.panes.first()) else {
            return;
        };
        let mut child = ui.new_child(UiBuilder::new().max_rect(*rect).id_salt("leak"));
        child.set_clip_rect(rect.intersect(ui.clip_rect()));
        button(&mut child, *rect, &leaked, actions);
    }
}

fn button(ui: &mut Ui, pane: Rect, leaked: &LeakNotice, actions: &mut Vec<Action>) {
    let place = button_rect(ui, pane);
    let p = theme::palette(ui.style());
    // Opaque over any picture.
    ui.painter()
        .rect_filled(place, theme::radius::CONTROL, p.b3);
    if Button::plain(leak_notice::BACK)
        .show_at(ui, place)
        .clicked()
    {
        let back = SegmentAction::Rewind(leaked.leak.rewind_step);
        actions.push(Action::Segment(back));
    }
}
