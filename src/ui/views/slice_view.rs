//! A slice view: geometry and mouse.

use super::cut::{Cut, to_screen, to_world};
use super::drag::{self, CLICK, Drag, DragKind};
use super::region_drag::{Grip, RegionPart};
use super::{
    Views, annotations, path_at_pointer, pointer, sampling, spheres, turn_handles, wheel_steps,
};
use crate::data::region::RegionId;
use crate::scene::draw_list::SlicePane;
use crate::scene::{self, Size};
use crate::state::sampling::SampleAction;
use crate::state::view::{Plane, SliceCamera};
use crate::state::{
    Action, Gesture, LayerAction, Pane, Phase, RegionAction, SegmentAction, State, Tool, ViewAction,
};
use crate::ui::paint_callback::{PaneContent, pixels};
use egui::{CursorIcon, Modifiers, PointerButton, Pos2, Rect, Response, Ui};
use glam::{DVec2, DVec3};

/// Distance within which a rim can be grabbed, points.
const RIM: f32 = 5.0;
const ZOOM: (f64, f64) = (0.2, 40.0);

/// One slice view in one frame.
pub(super) struct Slice<'a> {
    pub state: &'a State,
    pub pane: Pane,
    pub rect: Rect,
    pub plane: Plane,
    /// Limits of the crosshair.
    pub bounds: (DVec3, DVec3),
}

impl<'a> Slice<'a> {
    /// The slice and its draw list; `None` if the rectangle is empty.
    pub fn new(ui: &Ui, pane: Pane, rect: Rect, state: &'a State) -> Option<(Self, SlicePane)> {
        let points = DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
        let size = Size {
            points,
            pixels_per_point: f64::from(ui.pixels_per_point()),
        };
        let list = scene::slice(state, pane, size)?;
        let slice = Self {
            state,
            pane,
            rect,
            plane: state.plane(pane, points)?,
            bounds: state.document.bounds(),
        };
        Some((slice, list))
    }

    pub fn world(&self, at: Pos2) -> DVec3 {
        to_world(&self.plane, self.rect, at)
    }

    pub fn screen(&self, world: DVec3) -> Pos2 {
        to_screen(&self.plane, self.rect, world)
    }

    fn camera(&self) -> SliceCamera {
        self.state.slice_camera(self.pane, self.plane.size)
    }
}

impl Views {
    /// Shows a slice view; returns whether the pointer is over it.
    pub(super) fn slice(
        &mut self,
        ui: &mut Ui,
        pane: Pane,
        rect: Rect,
        legend: bool,
        state: &State,
        actions: &mut Vec<Action>,
    ) -> bool {
        let response = self.sense(ui, pane, rect);
        let Some((slice, list)) = Slice::new(ui, pane, rect, state) else {
            return false;
        };
        let hovered = response.contains_pointer() && !self.still;
        if !self.still {
            self.slice_hands(ui, &slice, &response, actions);
        }
        if hovered && self.drag.is_none() {
            path_at_pointer::request_path(ui, &slice, actions);
        }
        let painter = ui.painter().clone();
        let ctx = ui.ctx().clone();
        painter.add(pixels(
            &ctx,
            rect,
            self.pane_id(pane),
            PaneContent::Slice(list),
        ));
        self.slice_overlay(ui, &slice, legend, hovered);
        if hovered && self.drag.is_none() {
            path_at_pointer::label(ui, &slice);
        }
        if (hovered && self.drag.is_none()) || self.menu == Some(pane) {
            self.slice_buttons(ui, &slice, legend, actions);
        }
        hovered
    }

    fn slice_hands(
        &mut self,
        ui: &mut Ui,
        slice: &Slice,
        response: &Response,
        actions: &mut Vec<Action>,
    ) {
        let modifiers = ui.input(|i| i.modifiers);
        if self.drag.is_none()
            && let Some((button, at)) = drag::press(ui, response)
            && let Some(kind) = match button {
                PointerButton::Primary if sampling::is_active(ui, slice.state) => Some(
                    sampling::begin(slice.world(at), None, modifiers.shift, actions),
                ),
                _ => self.slice_press(slice, button, at, modifiers, actions),
            }
        {
            self.drag = Some(Drag::new(slice.pane, button, at, kind));
        }
        if let Some(mut drag) = self.drag.take_if(|d| d.pane == slice.pane) {
            let at = pointer(ui).unwrap_or(drag.last);
            let down = ui.input(|i| i.pointer.button_down(drag.button));
            self.slice_moves(ui, slice, &mut drag, (at, down), actions);
            if down {
                self.drag = Some(drag);
            }
        }
        self.enter_slice(ui, slice, actions);
        if response.double_clicked_by(PointerButton::Secondary)
            && !slice.state.view.tool.draws()
            && let Some(layer) = drag::window_layer(slice.state)
        {
            let display = drag::window_reset(&slice.state.document, layer);
            if display != layer.display {
                actions.push(Action::Layer(LayerAction::SetDisplay {
                    layer: layer.id,
                    display,
                    phase: Phase::Done,
                }));
            }
        }
        if response.contains_pointer() {
            self.slice_wheel(ui, slice, actions);
            self.slice_cursor(ui, slice);
        }
    }

    /// Continues a drag in this frame: the pointer's position, and whether its button is still down.
    pub(super) fn slice_moves(
        &mut self,
        ui: &Ui,
        slice: &Slice,
        drag: &mut Drag,
        (at, down): (Pos2, bool),
        actions: &mut Vec<Action>,
    ) {
        slice_drag(slice, drag, at, actions);
        self.draw(ui, slice, drag, at, down, actions);
        match drag.kind {
            DragKind::Choose => {
                let view = (slice.screen_of(), slice.rect);
                self.choose(ui, view, (drag, at), down, actions);
            }
            _ => self.measure(slice, drag, at, down, actions),
        }
        if !down {
            slice_release(slice, drag, at, actions);
            drag::conclude(slice.state, drag, actions);
        }
    }

    pub(super) fn slice_press(
        &mut self,
        slice: &Slice,
        button: PointerButton,
        at: Pos2,
        modifiers: Modifiers,
        actions: &mut Vec<Action>,
    ) -> Option<DragKind> {
        let state = slice.state;
        let mouse = state.runtime.settings.mouse;
        match button {
            PointerButton::Middle => Some(DragKind::Pan),
            PointerButton::Primary if state.view.tool == Tool::Pick => Some(DragKind::Choose),
            PointerButton::Primary if modifiers.shift => Some(DragKind::Pan),
            _ if state.view.tool == Tool::Commissures => {
                self.commissure_press(slice, button, at, actions);
                None
            }
            _ if matches!(state.view.tool, Tool::Ruler | Tool::Angle) => {
                self.ruler_press(slice, button, at, actions)
            }
            _ if state.view.tool.draws() => self.drawing_press(slice, button, at),
            PointerButton::Secondary => gesture(slice, mouse.right(modifiers.command)),
            PointerButton::Primary => {
                if let Tool::NewRegion { .. } = state.view.tool {
                    let centre = slice.world(at);
                    return Some(DragKind::NewRegion { centre });
                }
                if let Tool::Sphere { add } = state.view.tool {
                    let centre = slice.world(at);
                    return Some(DragKind::Sphere { centre, add });
                }
                if turn_handles::is_over(slice, at) {
                    let before = state.view.turn;
                    return Some(DragKind::Turn { before });
                }
                if let Some(grabbed) = spheres::press(slice, at) {
                    return Some(grabbed);
                }
                let Some((id, part)) = self.region_under(slice, at) else {
                    return gesture(slice, mouse.left());
                };
                let region = state.document.region(id)?;
                let was_selected = state.runtime.regions.selected == Some(id);
                if !was_selected {
                    actions.push(Action::Region(RegionAction::Select(Some(id))));
                }
                let grip = Grip {
                    part,
                    shape: (*region.shape).clone(),
                    point: slice.world(at),
                };
                Some(DragKind::Region {
                    id,
                    grip,
                    was_selected,
                    plane: None,
                })
            }
            _ => None,
        }
    }

    /// The region under a position, the selected one first, and its part.
    fn region_under(&mut self, slice: &Slice, at: Pos2) -> Option<(RegionId, RegionPart)> {
        let state = slice.state;
        let selected = state.runtime.regions.selected;
        let mut regions: Vec<_> = state
            .document
            .regions
            .iter()
            .rev()
            .filter(|r| r.visible)
            .collect();
        regions.sort_by_key(|r| selected != Some(r.id));
        regions.into_iter().find_map(|region| {
            let cut = Cut::new(&region.shape, &slice.plane, slice.rect, &mut self.outlines)?;
            let distance = cut.distance(at);
            let Some(bounds) = cut.bounds() else {
                return (distance < 0.0).then_some((region.id, RegionPart::Body));
            };
            let (right, down) = (slice.plane.right.abs(), slice.plane.down.abs());
            let rim = |across: bool, along: bool| {
                let axes =
                    [0, 1, 2].map(|a| (across && right[a] > 0.5) || (along && down[a] > 0.5));
                Some((region.id, RegionPart::Rim(axes)))
            };
            let ends = cut.handles().filter(|_| selected == Some(region.id));
            if let Some(handle) = ends.and_then(|ends| annotations::handle_at(ends, at)) {
                // Right, bottom, left and top.
                return rim(handle % 2 == 0, handle % 2 == 1);
            }
            // Small rings keep a body that can be grabbed.
            let inner = RIM.min(bounds.width().min(bounds.height()) * 0.2);
            if distance > RIM {
                None
            } else if distance < -inner {
                Some((region.id, RegionPart::Body))
            } else {
                let near = |a: f32, b: f32| (a - b).abs() <= RIM;
                let across = near(at.x, bounds.left()) || near(at.x, bounds.right());
                let along = near(at.y, bounds.top()) || near(at.y, bounds.bottom());
                rim(across, along)
            }
        })
    }

    fn slice_wheel(&mut self, ui: &Ui, slice: &Slice, actions: &mut Vec<Action>) {
        let (steps, shift) = wheel_steps(ui, &mut self.motion.scrolled);
        if steps != 0 && shift && slice.state.view.tool == Tool::Brush {
            let drawing = slice.state.view.drawing.resized(steps);
            actions.push(Action::Region(RegionAction::SetDrawing(drawing)));
        } else if steps != 0 {
            let steps = if shift { steps * 10 } else { steps };
            actions.push(Action::View(ViewAction::StepSlice {
                pane: slice.pane,
                steps,
            }));
        }
        let factor = ui.input(|i| f64::from(i.zoom_delta()));
        if let Some(at) = pointer(ui).filter(|_| factor != 1.0) {
            let camera = slice.camera();
            let zoom = (camera.zoom * factor).clamp(ZOOM.0, ZOOM.1);
            if zoom != camera.zoom {
                // The point under the pointer stays there.
                let kept = slice.world(at) - slice.plane.centre;
                let kept = slice.state.view.turn.straight_direction(kept);
                let pan_mm = camera.pan_mm + kept * (1.0 - camera.zoom / zoom);
                actions.push(Action::View(ViewAction::SetSlice {
                    pane: slice.pane,
                    slice: SliceCamera { zoom, pan_mm },
                }));
            }
        }
    }

    fn slice_cursor(&mut self, ui: &Ui, slice: &Slice) {
        let shift = ui.input(|i| i.modifiers.shift);
        let icon = match self.drag.as_ref().map(|d| &d.kind) {
            Some(DragKind::Pan | DragKind::Turn { .. }) => CursorIcon::Grabbing,
            Some(DragKind::Region { grip, .. } | DragKind::MovedSphere { grip, .. }) => {
                match grip.part {
                    RegionPart::Body => CursorIcon::Grabbing,
                    part => pointer(ui).map_or(CursorIcon::Move, |at| {
                        drag::cursor(part, at - slice.screen(grip.shape.centre()))
                    }),
                }
            }
            Some(_) => CursorIcon::Crosshair,
            None if shift => CursorIcon::Grab,
            None if slice.state.view.tool != Tool::Crosshair => CursorIcon::Crosshair,
            None if pointer(ui).is_some_and(|at| turn_handles::is_over(slice, at)) => {
                CursorIcon::Grab
            }
            None => pointer(ui)
                .and_then(|at| {
                    let (id, part) = self.region_under(slice, at)?;
                    let region = slice.state.document.region(id)?;
                    let centre = match part {
                        RegionPart::Body => at,
                        RegionPart::Rim(_) => slice.screen(region.shape.centre()),
                    };
                    Some(drag::cursor(part, at - centre))
                })
                .unwrap_or(CursorIcon::Crosshair),
        };
        ui.ctx().set_cursor_icon(icon);
    }
}

/// The drag of a button over no region.
fn gesture(slice: &Slice, gesture: Gesture) -> Option<DragKind> {
    match gesture {
        Gesture::Crosshair => Some(DragKind::Crosshair),
        Gesture::Zoom => Some(DragKind::Zoom {
            before: slice.camera(),
        }),
        Gesture::Window => drag::window_layer(slice.state).map(|layer| DragKind::Window {
            layer: layer.id,
            before: layer.display.clone(),
        }),
    }
}

fn slice_drag(slice: &Slice, drag: &mut Drag, at: Pos2, actions: &mut Vec<Action>) {
    let state = slice.state;
    let travelled = drag::travelled(drag, at);
    match &mut drag.kind {
        DragKind::Sample { last, .. } => sampling::extend(last, slice.world(at), actions),
        DragKind::Crosshair => move_crosshair(slice, slice.world(at), actions),
        DragKind::Turn { before } if drag.changed || at.distance(drag.pressed) >= CLICK => {
            drag.changed = true;
            let turn = turn_handles::turned(slice, *before, drag.pressed, at);
            if turn != state.view.turn {
                actions.push(Action::View(ViewAction::TurnSlices(turn)));
            }
        }
        DragKind::Pan if travelled != egui::Vec2::ZERO => {
            let camera = slice.camera();
            let (x, y) = (f64::from(travelled.x), f64::from(travelled.y));
            let moved = (slice.plane.right * x + slice.plane.down * y) * slice.plane.mm_per_point;
            let moved = state.view.turn.straight_direction(moved);
            actions.push(Action::View(ViewAction::SetSlice {
                pane: slice.pane,
                slice: SliceCamera {
                    pan_mm: camera.pan_mm - moved,
                    ..camera
                },
            }));
        }
        DragKind::Zoom { before } if travelled != egui::Vec2::ZERO => {
            // Upwards zooms in; the centre of the view stays.
            const POINTS: f64 = 150.0;
            let factor = (f64::from(drag.pressed.y - at.y) / POINTS).exp();
            let zoom = (before.zoom * factor).clamp(ZOOM.0, ZOOM.1);
            actions.push(Action::View(ViewAction::SetSlice {
                pane: slice.pane,
                slice: SliceCamera {
                    zoom,
                    ..slice.camera()
                },
            }));
        }
        DragKind::Window { layer, before } => {
            // Where the left button changes the window, a click without a drag sets the crosshair.
            let left = drag.button == PointerButton::Primary;
            if left && !drag.changed && at.distance(drag.pressed) < CLICK {
                return;
            }
            if let Some(now) = state.document.layer(*layer) {
                let display = drag::window_dragged(now, before, at - drag.pressed);
                if display != now.display {
                    drag.changed = true;
                    actions.push(Action::Layer(LayerAction::SetDisplay {
                        layer: *layer,
                        display,
                        phase: Phase::Live,
                    }));
                }
            }
        }
        DragKind::Region { id, grip, .. } => {
            let travels = drag.changed || at.distance(drag.pressed) >= CLICK;
            if let Some(shape) = grip.dragged(slice.world(at)).filter(|_| travels) {
                if grip.part == RegionPart::Body {
                    // The other views keep cutting through the region.
                    move_crosshair(slice, shape.centre(), actions);
                }
                drag::reshape(state, *id, shape, &mut drag.changed, actions);
            }
        }
        DragKind::MovedSphere { .. } => {
            spheres::drag(state, drag, Some(slice.world(at)), actions);
        }
        DragKind::Pan
        | DragKind::Turn { .. }
        | DragKind::Zoom { .. }
        | DragKind::NewRegion { .. }
        | DragKind::Sphere { .. }
        | DragKind::Orbit
        | DragKind::Stroke { .. }
        | DragKind::StrokeInScene { .. }
        | DragKind::Rectangle { .. }
        | DragKind::Fill { .. }
        | DragKind::Choose
        | DragKind::Measure { .. }
        | DragKind::Remeasure { .. }
        | DragKind::Polygon => {}
    }
}

fn slice_release(slice: &Slice, drag: &Drag, at: Pos2, actions: &mut Vec<Action>) {
    match &drag.kind {
        DragKind::Sample { .. } => actions.push(Action::Sample(SampleAction::End)),
        DragKind::NewRegion { centre } => {
            if let Tool::NewRegion { role, cube } = slice.state.view.tool {
                let far = at.distance(drag.pressed) >= CLICK;
                let dragged = far.then(|| slice.world(at).distance(*centre));
                move_crosshair(slice, *centre, actions);
                actions.push(Action::Region(RegionAction::Add {
                    role,
                    shape: drag::new_shape(role, cube, *centre, dragged),
                }));
            }
        }
        DragKind::Sphere { centre, add } => {
            let far = at.distance(drag.pressed) >= CLICK;
            let dragged = far.then(|| slice.world(at).distance(*centre));
            move_crosshair(slice, *centre, actions);
            let sphere = spheres::new(*add, *centre, dragged);
            actions.push(Action::Segment(SegmentAction::Sphere(sphere)));
        }
        DragKind::Turn { .. } if !drag.changed => {
            move_crosshair(slice, slice.world(drag.pressed), actions);
        }
        DragKind::Window { .. } if drag.button == PointerButton::Primary && !drag.changed => {
            move_crosshair(slice, slice.world(drag.pressed), actions);
        }
        DragKind::Region {
            was_selected: true, ..
        } if !drag.changed => move_crosshair(slice, slice.world(drag.pressed), actions),
        _ => {}
    }
}

/// Moves it within the slice: its own position along the normal stays.
pub(super) fn move_crosshair(slice: &Slice, world: DVec3, actions: &mut Vec<Action>) {
    let world = slice.state.view.on_slice(slice.pane, world, slice.bounds);
    if world.distance(slice.state.view.crosshair) > 1e-9 {
        actions.push(Action::View(ViewAction::MoveCrosshair(world)));
    }
}
