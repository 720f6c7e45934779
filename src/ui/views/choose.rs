//! Selecting streamlines with the mouse: by a click, or all that lie within an outline.

use super::drag::{CLICK, Drag};
use super::drawing::path_of_drag;
use super::scene_view::Scene;
use super::slice_view::Slice;
use super::{Views, annotations};
use crate::scene::SLAB_MM;
use crate::solvers::tractogram::pick::{PickQuery, Screen};
use crate::state::streamlines::SelectionMode;
use crate::state::{Action, State, StreamlineAction, Tool};
use crate::ui::theme::IN_VIEW;
use egui::{Color32, Modifiers, Painter, Pos2, Rect, Shape, Stroke, Ui};
use glam::{DMat4, DVec2, DVec3, DVec4};

/// Largest distance from the pointer at which a streamline is picked, points.
const REACH: f64 = 8.0;
/// Corners of an outline lie at least this far apart, points.
const CORNER: f32 = 2.0;

impl Slice<'_> {
    /// Maps the world to points of the pane; depths are fractions of half the slab.
    pub(super) fn screen_of(&self) -> Screen {
        let plane = &self.plane;
        let row = |axis: DVec3, scale: f64, add: f64| {
            let axis = axis * scale;
            axis.extend(add - axis.dot(plane.centre))
        };
        let per_mm = 1.0 / plane.mm_per_point;
        let x = row(plane.right, per_mm, plane.size.x * 0.5);
        let y = row(plane.down, per_mm, plane.size.y * 0.5);
        let z = row(plane.normal(), 2.0 / SLAB_MM, 0.0);
        Screen {
            from_world: DMat4::from_cols(x, y, z, DVec4::W).transpose(),
            slab: true,
            clips: Vec::new(),
        }
    }
}

impl Scene<'_> {
    pub(super) fn screen_of(&self) -> Screen {
        let (w, h) = (f64::from(self.rect.width()), f64::from(self.rect.height()));
        let points = DMat4::from_cols(
            DVec4::new(w * 0.5, 0.0, 0.0, 0.0),
            DVec4::new(0.0, -h * 0.5, 0.0, 0.0),
            DVec4::Z,
            DVec4::new(w * 0.5, h * 0.5, 0.0, 1.0),
        );
        Screen {
            from_world: points * self.camera.clip_from_world(w / h.max(1e-9)),
            slab: false,
            clips: self
                .state
                .document
                .scene_look
                .clips_of(|kinds| kinds.streamlines),
        }
    }
}

/// Whether a plain click in the 3-D view selects a streamline.
pub fn is_about_lines(state: &State) -> bool {
    // Streamlines that stay in their file cannot be picked.
    if state.current_in_place().is_some() {
        return false;
    }
    let selected = state.runtime.selected_layer;
    let selected = selected.and_then(|id| state.document.layer(id));
    let lines = |l: &std::sync::Arc<crate::state::Layer>| {
        matches!(l.content, crate::state::Content::Tractogram(_))
    };
    selected.is_some_and(lines) || state.view.bottom_panel.is_some()
}

fn how(modifiers: Modifiers) -> SelectionMode {
    match (modifiers.shift, modifiers.command) {
        (_, true) => SelectionMode::Toggle,
        (true, false) => SelectionMode::Add,
        _ => SelectionMode::Replace,
    }
}

/// The action of a click, or of the drawn outline.
fn action(
    ui: &Ui,
    screen: Screen,
    rect: Rect,
    (pressed, at): (Pos2, Pos2),
    outline: &[Pos2],
) -> Action {
    let local = |p: Pos2| DVec2::new(f64::from(p.x - rect.left()), f64::from(p.y - rect.top()));
    let far = outline.iter().any(|p| p.distance(pressed) >= CLICK);
    let target = match far && outline.len() >= 3 {
        true => PickQuery::Within(outline.iter().copied().map(local).collect()),
        false => PickQuery::Nearest {
            at: local(at),
            radius: REACH,
        },
    };
    Action::Streamline(StreamlineAction::Pick {
        screen,
        target,
        mode: how(ui.input(|i| i.modifiers)),
    })
}

impl Views {
    /// The outline being drawn in a view; `down`: the button is still down.
    pub(super) fn choose(
        &mut self,
        ui: &Ui,
        (screen, rect): (Screen, Rect),
        (drag, at): (&mut Drag, Pos2),
        down: bool,
        actions: &mut Vec<Action>,
    ) {
        // A slow frame may contain the whole path.
        let begins = self.outline.is_empty();
        for p in path_of_drag(ui, drag, at, begins) {
            let last = self.outline.last();
            if last.is_none_or(|last| last.distance(p) >= CORNER) {
                self.outline.push(p);
            }
        }
        if !down {
            let outline = std::mem::take(&mut self.outline);
            let ends = (drag.pressed, at);
            actions.push(action(ui, screen, rect, ends, &outline));
        }
    }

    /// A click in the 3-D view without the tool.
    pub(super) fn click_in_scene(ui: &Ui, scene: &Scene, at: Pos2, actions: &mut Vec<Action>) {
        actions.push(action(ui, scene.screen_of(), scene.rect, (at, at), &[]));
    }

    /// Marks of the tool in a pane; `at`: the pointer over it.
    pub(super) fn choosing_marks(
        &self,
        painter: &Painter,
        state: &State,
        (pane, rect): (crate::state::Pane, Rect),
        at: Option<Pos2>,
        ink: Color32,
    ) {
        if state.view.tool != Tool::Pick || self.still {
            return;
        }
        let drawing = self.drag.as_ref().is_some_and(|d| d.pane == pane);
        if drawing && self.outline.len() > 1 {
            let rim = Stroke::new(3.0, Color32::from_black_alpha(140));
            let line = Stroke::new(1.5, ink);
            for stroke in [rim, line] {
                painter.add(Shape::line(self.outline.clone(), stroke));
            }
            if let (Some(first), Some(last)) = (self.outline.first(), self.outline.last()) {
                let ends = [*last, *first];
                painter.extend(Shape::dashed_line(&ends, line, 4.0, 4.0));
            }
        } else if let Some(at) = at {
            annotations::tool_text(painter, at, rect, "Choose", IN_VIEW.t1);
        }
    }
}
