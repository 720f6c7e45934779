//! The four views: each pane's pixels by one paint callback, sharp text and marks on top of it by the painter, and
//! mouse drags.
//!
//! A drag sends [`Phase::Live`](crate::state::Phase::Live) while it moves and
//! [`Phase::Done`](crate::state::Phase::Done) when it is released; nothing is sent when nothing changed.

mod annotations;
pub mod badge;
mod bars;
mod choose;
mod chrome;
mod clip_outline;
mod commissures;
mod compare;
mod cut;
mod drag;
mod drawing;
mod fan;
mod keys;
pub mod layout;
mod leak;
pub mod legend;
mod letters;
mod mask_outline;
mod mosaic;
pub mod opening;
pub mod path_at_pointer;
mod pickable_planes;
mod region_drag;
mod rings;
mod ruler;
mod sampling;
mod scene_brush;
mod scene_paint;
mod scene_view;
mod shortest_line;
mod slice_paint;
mod slice_view;
mod speed_comparison;
mod spheres;
mod turn_handles;

use crate::render::PaneId;
use crate::state::{Action, Camera, Layout, Pane, PathwayAction, State, View};
use crate::ui::theme;
use crate::ui::widgets::focus;
use drag::Drag;
use egui::emath::GuiRounding as _;
use egui::{Color32, Event, Id, Mesh, Pos2, Rect, Sense, Stroke, StrokeKind, Ui, WidgetInfo};
use glam::DVec3;

/// The pointer counts as resting when it has not moved for this long, seconds.
const REST_S: f64 = 0.12;
/// Time to move to a camera preset, seconds.
const SNAP_S: f64 = 0.15;

/// State of the views between frames; none of it is worth keeping.
#[derive(Default)]
pub struct Views {
    drag: Option<Drag>,
    drag_watch: crate::ui::widgets::drag::Watch,
    outlines: mask_outline::MaskOutlines,
    /// Corners of the polygon being drawn.
    polygon: Option<drawing::Polygon>,
    /// Position of the brush: the other slices show where it cuts them.
    brush: Option<(Pane, DVec3)>,
    /// The path of a drag that selects streamlines.
    outline: Vec<Pos2>,
    measuring: ruler::Unfinished,
    badge: badge::Badge,
    camera: CameraMotion,
    curve_points: scene_paint::CurvePoints,
    /// The pane whose layer menu is open.
    menu: Option<Pane>,
    /// Enter was pressed in this view in this frame.
    entered: Option<Pane>,
    /// The panes on screen, points.
    panes: Vec<(Pane, Rect)>,
    motion: PointerMotion,
    /// For pictures: nothing follows the pointer, and the renderer uses separate panes.
    still: bool,
    /// These views show the snapshot of a comparison.
    compared: bool,
    /// These views show that snapshot in an exported picture.
    for_picture: bool,
    /// The pane in which a snapshot is being named, with the text.
    naming: Option<(Pane, String)>,
    /// The half that these views fill in a comparison.
    half: Option<compare::Half>,
    other: Option<Box<Views>>,
}

#[derive(Default)]
struct PointerMotion {
    /// When pointer or wheel last moved, s.
    moved_at: f64,
    /// Scrolled points that do not yet make a step.
    scrolled: f32,
}

#[derive(Default)]
struct CameraMotion {
    snap: Option<CameraMove>,
    /// The camera of the last frame.
    last: Option<Camera>,
}

/// The camera moving to a preset.
struct CameraMove {
    from: Camera,
    started_s: f64,
}

impl Views {
    /// Views for a picture instead of a window.
    pub fn still() -> Self {
        Self {
            still: true,
            ..Self::default()
        }
    }

    /// Fills the rest of `ui` with the panes of the layout.
    pub fn show(&mut self, ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
        let area = ui.available_rect_before_wrap();
        self.outlines.tick();
        self.half = None;
        if !self.still {
            let given_up = self.drag_watch.given_up(ui, state);
            if let Some(before) = given_up.filter(|_| self.drag.take().is_some()) {
                self.outline.clear();
                actions.push(Action::AbandonDrag(before));
            }
            self.take_enter(ui, state);
            self.drawing_keys(ui, state, actions);
        }
        if state.view.layout == Layout::Mosaic {
            self.mosaic(ui, area, state, actions);
            if !self.still {
                opening::show(ui, state, &[(state.view.mosaic_pane(), area)]);
            }
            ui.advance_cursor_after_rect(area);
            return;
        }
        let view = &state.view;
        let panes = layout::panes(view.layout, view.single, area, ui.pixels_per_point());
        let first_slice = panes.iter().map(|p| p.0).find(|&p| p != Pane::Scene);
        self.panes.clone_from(&panes);
        let speeds =
            (view.layout == Layout::SpeedComparison).then(|| layout::speeds_rect(&panes, area));
        let speeds = speeds.flatten();
        let covered = panes.iter().chain(&speeds).map(|p| p.1);
        fill_between(ui, area, covered, theme::palette(ui.style()).line);
        let mut hovered = None;
        let comparing = state.runtime.snapshots.comparing.as_ref();
        let comparing = comparing.map(|c| (c, c.with_view_of(state)));
        self.half = comparing
            .as_ref()
            .map(|(c, seen)| compare::Half::present(c, seen));
        for (pane, rect) in panes {
            let mut child = ui.new_child(egui::UiBuilder::new().max_rect(rect).id_salt(pane));
            child.set_clip_rect(rect.intersect(ui.clip_rect()));
            let is_hovered = if pane == Pane::Scene {
                self.scene(&mut child, rect, state, actions)
            } else {
                let legend = first_slice == Some(pane);
                self.slice(&mut child, pane, rect, legend, state, actions)
            };
            if let Some((comparing, seen)) = &comparing {
                let place = (pane, rect, first_slice == Some(pane));
                self.compare(ui, place, (comparing, seen, state), actions);
            }
            if is_hovered {
                hovered = Some(pane);
            }
            if self.focused(ui) == Some(pane) {
                let painter = ui.painter();
                let rim = Stroke::new(3.0, theme::palette(ui.style()).canvas);
                painter.rect_stroke(rect, 0.0, rim, StrokeKind::Inside);
                let stroke = Stroke::new(2.0, theme::palette(ui.style()).accent);
                painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Inside);
            }
        }
        if let Some(place) = speeds {
            self.speeds(ui, place, state, actions);
        }
        if !self.still {
            self.leak(ui, state, actions);
            opening::show(ui, state, &self.panes);
        }
        if hovered.is_none() {
            self.brush = None;
        }
        let off_slices = hovered.is_none_or(|pane| pane == Pane::Scene);
        if off_slices && !self.still && state.path_hovered().is_some() {
            actions.push(Action::Pathway(PathwayAction::Hover(None)));
        }
        if !self.still {
            self.keys(ui, hovered, state, actions);
            self.settle(ui, state, actions);
        }
        ui.advance_cursor_after_rect(area);
    }

    /// The panes on screen, points.
    pub fn panes(&self) -> &[(Pane, Rect)] {
        &self.panes
    }

    /// Senses the pointer over a whole pane.
    fn sense(&self, ui: &Ui, pane: Pane, rect: Rect) -> egui::Response {
        let sense = if self.still {
            Sense::hover()
        } else {
            Sense::click_and_drag()
        };
        if self.compared {
            return ui.interact(rect, Id::unique(("compared", pane)), sense);
        }
        let response = ui.interact(rect, pane_widget(pane), sense);
        let name = format!("{} view", pane.name());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Canvas, true, &name));
        if !self.still {
            focus::stop(ui, focus::WindowPart::View, response.id);
        }
        response
    }

    fn pane_id(&self, pane: Pane) -> PaneId {
        let index = Pane::ALL.iter().position(|&p| p == pane).unwrap_or(0) as u32;
        let first = match (self.still, self.compared) {
            // A picture is drawn step by step while the window continues.
            (_, true) if self.for_picture => 300,
            (_, true) => 200,
            (true, false) => 100,
            (false, false) => 0,
        };
        PaneId(first + index)
    }

    /// The panes that pictures use in the renderer.
    pub fn still_panes() -> impl Iterator<Item = PaneId> {
        let slices = mosaic::FIRST_STILL..mosaic::FIRST_STILL + View::MAXIMUM_SLICES as u32;
        (100..104)
            .chain(300..304)
            .chain(slices)
            .chain([701])
            .map(PaneId)
    }

    /// The camera to draw with: the view's or, after a jump to a preset, one moving there.
    fn shown_camera(&mut self, ui: &Ui, state: &State) -> Camera {
        use std::f64::consts::{PI, TAU};
        /// Larger than a drag rotates in one frame, radians.
        const JUMP: f64 = 0.35;
        let requested = state.view.camera;
        let now = ui.input(|i| i.time);
        let shorter_turn = |from: f64, to: f64| (to - from + PI).rem_euclid(TAU) - PI;
        // The theme's animation time is 0 if motion is not wanted, and in tests.
        let moves = ui.style().animation_time > 0.0 && !self.still && self.drag.is_none();
        if let Some(last) = self.camera.last.filter(|last| *last != requested && moves) {
            let turn = shorter_turn(last.azimuth, requested.azimuth).abs();
            if turn.max((last.elevation - requested.elevation).abs()) > JUMP {
                self.camera.snap = Some(CameraMove {
                    from: last,
                    started_s: now,
                });
            }
        }
        self.camera.last = Some(requested);
        let Some(snap) = self.camera.snap.as_ref().filter(|_| moves) else {
            return requested;
        };
        let t = (now - snap.started_s) / SNAP_S;
        if t >= 1.0 {
            self.camera.snap = None;
            return requested;
        }
        ui.ctx().request_repaint();
        let eased = t * t * (3.0 - 2.0 * t);
        let from = &snap.from;
        let turn = shorter_turn(from.azimuth, requested.azimuth);
        Camera {
            focus: from.focus.lerp(requested.focus, eased),
            distance_mm: from.distance_mm + (requested.distance_mm - from.distance_mm) * eased,
            azimuth: (from.azimuth + turn * eased).rem_euclid(TAU),
            elevation: from.elevation + (requested.elevation - from.elevation) * eased,
        }
    }

    /// Full results follow the coarse ones as soon as the pointer rests.
    fn settle(&mut self, ui: &Ui, state: &State, actions: &mut Vec<Action>) {
        let (now, moving) = ui.input(|i| {
            let scrolls = |e: &Event| matches!(e, Event::MouseWheel { .. } | Event::Zoom(_));
            let moves = i.pointer.delta() != egui::Vec2::ZERO || i.events.iter().any(scrolls);
            (i.time, moves)
        });
        if moving {
            self.motion.moved_at = now;
        }
        if !state.waits_for_rest() {
            return;
        }
        let rested = now - self.motion.moved_at;
        if rested >= REST_S {
            actions.push(Action::Settle);
        } else {
            let wait = std::time::Duration::from_secs_f64(REST_S - rested);
            ui.ctx().request_repaint_after(wait);
        }
    }
}

pub(in crate::ui) fn pane_widget(pane: Pane) -> Id {
    Id::unique(("view", pane))
}

/// Fills the rest of an area outside the panes: each pane has a picture whenever it is shown, which covers all of it.
fn fill_between(ui: &Ui, area: Rect, panes: impl Iterator<Item = Rect>, colour: Color32) {
    let on_pixels = |rect: Rect| rect.round_to_pixels(ui.pixels_per_point());
    let panes: Vec<Rect> = panes.map(on_pixels).collect();
    // Thin rectangles would be drawn as lines with soft ends.
    let mut mesh = Mesh::default();
    for rest in layout::between(on_pixels(area), &panes) {
        mesh.add_colored_rect(rest, colour);
    }
    ui.painter().add(mesh);
}

/// Whole steps of the wheel over `rect`; the rest is kept for later.
fn wheel_steps(ui: &Ui, left_over: &mut f32) -> (i32, bool) {
    /// Points that a touchpad scrolls per step.
    const POINTS: f32 = 24.0;
    let mut lines = 0.0;
    let mut shift = false;
    ui.input(|i| {
        for event in &i.events {
            if let Event::MouseWheel {
                unit,
                delta,
                modifiers,
                ..
            } = event
                && !modifiers.command
                && !modifiers.ctrl
            {
                // With Shift some systems turn the wheel sideways.
                let along = if delta.y == 0.0 { delta.x } else { delta.y };
                lines += match unit {
                    egui::MouseWheelUnit::Line => along,
                    egui::MouseWheelUnit::Point => along / POINTS,
                    egui::MouseWheelUnit::Page => along * 10.0,
                };
                shift |= modifiers.shift;
            }
        }
    });
    *left_over += lines;
    let steps = left_over.trunc();
    *left_over -= steps;
    (steps as i32, shift)
}

/// Position of the pointer, if known.
fn pointer(ui: &Ui) -> Option<Pos2> {
    ui.input(|i| i.pointer.latest_pos())
}
