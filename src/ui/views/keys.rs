//! Keys in the focused view: arrows move the crosshair in its plane, Page Up and Page Down go from slice to slice,
//! Enter acts like a click at the crosshair; in 3-D arrows rotate, plus and minus zoom.

use super::scene_view::Scene;
use super::slice_view::Slice;
use super::{Views, drag, pane_widget};
use crate::solvers::region::SliceAxis;
use crate::state::{Action, Pane, Phase, RegionAction, State, Tool, View, ViewAction};
use egui::{EventFilter, Key, Modifiers, PointerButton, Ui};
use glam::DVec3;

/// Rotation of the 3-D view per arrow key, radians; three times as much with Shift.
const TURN: f64 = std::f64::consts::PI / 36.0;
/// Zoom factor of the 3-D view per plus key.
const STEP: f64 = 1.1;
/// Voxels or slices per key with Shift.
const FAR: i32 = 10;

/// How often a key was pressed in this frame, each press with Shift counted this many times.
fn pressed(ui: &Ui, key: Key, with_shift: i32) -> i32 {
    let count = |modifiers| ui.input_mut(|i| i.count_and_consume_key(modifiers, key)) as i32;
    // With Shift first: the other call would consume those, too.
    with_shift * count(Modifiers::SHIFT) + count(Modifiers::NONE)
}

impl Views {
    /// The view that has the focus.
    pub(super) fn focused(&self, ui: &Ui) -> Option<Pane> {
        let focused = ui.memory(|m| m.focused())?;
        let mut panes = Pane::ALL.into_iter();
        panes.find(|&pane| !self.still && focused == pane_widget(pane))
    }

    /// Enter in the focused view, to be handled when that view is shown.
    pub(super) fn take_enter(&mut self, ui: &Ui, state: &State) {
        self.entered = self
            .focused(ui)
            .filter(|_| !self.closes_polygon(state) && pressed(ui, Key::Enter, 1) > 0);
    }

    pub(super) fn keys(
        &self,
        ui: &Ui,
        hovered: Option<Pane>,
        state: &State,
        actions: &mut Vec<Action>,
    ) {
        // The keys move through its rows.
        if egui::Popup::is_any_open(ui.ctx()) {
            return;
        }
        // With Alt, the arrows go back and forth through viewpoints.
        if ui.input(|i| i.modifiers.alt) {
            return;
        }
        self.copy_slice(ui, hovered, state, actions);
        let Some(pane) = self.focused(ui) else {
            let free = ui.memory(|m| m.focused()).is_none();
            if let Some(pane) = hovered.filter(|&p| free && p != Pane::Scene) {
                let by = pressed(ui, Key::ArrowUp, FAR) - pressed(ui, Key::ArrowDown, FAR);
                step(pane, by, actions);
            }
            return;
        };
        // Arrows act on the view instead of moving the focus.
        let filter = EventFilter {
            vertical_arrows: true,
            horizontal_arrows: true,
            ..EventFilter::default()
        };
        ui.memory_mut(|m| m.set_focus_lock_filter(pane_widget(pane), filter));
        let far = if pane == Pane::Scene { 3 } else { FAR };
        let right = pressed(ui, Key::ArrowRight, far) - pressed(ui, Key::ArrowLeft, far);
        let down = pressed(ui, Key::ArrowDown, far) - pressed(ui, Key::ArrowUp, far);
        match state.view.screen_axes(pane) {
            Some((to_right, to_down)) => {
                along(&state.view, to_right, right, actions);
                along(&state.view, to_down, down, actions);
                let by = pressed(ui, Key::PageUp, FAR) - pressed(ui, Key::PageDown, FAR);
                step(pane, by, actions);
            }
            None => {
                let nearer = pressed(ui, Key::Plus, 1) + pressed(ui, Key::Equals, 1);
                let steps = nearer - pressed(ui, Key::Minus, 1);
                if (right, down, steps) != (0, 0, 0) {
                    let turn = |by: i32| f64::from(by) * TURN;
                    let camera = state.view.camera.orbited(turn(right), turn(down));
                    actions.push(Action::View(ViewAction::SetCamera {
                        camera: camera.zoomed(STEP.powi(steps)),
                        phase: Phase::Done,
                    }));
                }
            }
        }
    }

    /// C copies the drawing of the slice under the pointer, or of the focused view, to the next slice.
    fn copy_slice(&self, ui: &Ui, hovered: Option<Pane>, state: &State, actions: &mut Vec<Action>) {
        if !state.view.tool.draws() || ui.ctx().text_edit_focused() {
            return;
        }
        let pane = hovered.or(self.focused(ui));
        let axis = pane.and_then(Pane::normal_axis);
        let slices = axis.and_then(SliceAxis::from_world_axis);
        for (modifiers, forward) in [(Modifiers::SHIFT, false), (Modifiers::NONE, true)] {
            let is_pressed = ui.input_mut(|i| i.consume_key(modifiers, Key::C));
            if let Some(slices) = slices.filter(|_| is_pressed) {
                actions.push(Action::Region(RegionAction::CopySlice { slices, forward }));
            }
        }
    }

    /// Acts like a click at the crosshair on a slice.
    pub(super) fn enter_slice(&mut self, ui: &Ui, slice: &Slice, actions: &mut Vec<Action>) {
        if self.entered.take_if(|pane| *pane == slice.pane).is_none() {
            return;
        }
        let at = slice.screen(slice.state.view.crosshair);
        let button = PointerButton::Primary;
        if let Some(kind) = self.slice_press(slice, button, at, Modifiers::NONE, actions) {
            let mut drag = drag::Drag::new(slice.pane, button, at, kind);
            self.slice_moves(ui, slice, &mut drag, (at, false), actions);
        }
    }

    /// Acts like a click at the crosshair in 3-D, where nothing hides it.
    pub(super) fn enter_scene(&mut self, ui: &Ui, scene: &Scene, actions: &mut Vec<Action>) {
        if self.entered.take_if(|pane| *pane == Pane::Scene).is_none() {
            return;
        }
        let centre = scene.state.view.crosshair;
        if let Tool::NewRegion { role, cube } = scene.state.view.tool {
            let shape = drag::new_shape(role, cube, centre, None);
            actions.push(Action::Region(RegionAction::Add { role, shape }));
        } else if scene.state.view.tool == Tool::Brush {
            actions.push(scene.dab(centre));
        } else if let Some(at) = scene.screen(centre) {
            scene.choose_at(ui, at, actions);
        }
    }
}

/// Moves from slice to slice.
fn step(pane: Pane, steps: i32, actions: &mut Vec<Action>) {
    if steps != 0 {
        actions.push(Action::View(ViewAction::StepSlice { pane, steps }));
    }
}

/// Moves the crosshair by voxels along a direction of the screen.
fn along(view: &View, direction: DVec3, steps: i32, actions: &mut Vec<Action>) {
    let across = |pane: &Pane| {
        let along = view.normal(*pane).map(|normal| normal.dot(direction));
        along.filter(|along| along.abs() > 0.5)
    };
    let mut panes = Pane::ALL.into_iter();
    let moved_pane = panes.find_map(|pane| Some((pane, across(&pane)?)));
    if let Some((pane, along)) = moved_pane {
        step(pane, steps * along.signum() as i32, actions);
    }
}
