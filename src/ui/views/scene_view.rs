//! The 3-D view: geometry and mouse.

use super::choose::is_about_lines;
use super::cut::Cut;
use super::drag::{self, CLICK, Drag, DragKind};
use super::region_drag::{Grip, RegionPart};
use super::{Views, annotations, pointer, sampling, spheres, wheel_steps};
use crate::data::clip::{Clip, keep, kept_parts};
use crate::data::region::RegionId;
use crate::data::{Mask, Shape};
use crate::scene::{self, Size};
use crate::state::sampling::SampleAction;
use crate::state::{
    Action, Camera, Pane, Phase, RegionAction, SegmentAction, State, Tool, ViewAction,
};
use crate::ui::paint_callback::{self, PaneContent, pixels};
use crate::ui::theme;
use egui::{Color32, CursorIcon, Painter, PointerButton, Pos2, Rect, Response, Ui};
use glam::{DVec2, DVec3};

/// Distance within which a silhouette can be grabbed, points.
const RIM: f32 = 5.0;
/// Rotation of a drag across the pane's smaller side, radians.
const TURN: f64 = std::f64::consts::PI;
/// Zoom factor of a wheel step.
const STEP: f64 = 1.1;

/// The 3-D view in one frame.
pub(super) struct Scene<'a> {
    pub state: &'a State,
    pub rect: Rect,
    pub camera: Camera,
    size: DVec2,
}

impl<'a> Scene<'a> {
    pub fn new(state: &'a State, rect: Rect, camera: Camera) -> Self {
        Self {
            state,
            rect,
            camera,
            size: DVec2::new(f64::from(rect.width()), f64::from(rect.height())),
        }
    }

    fn aspect(&self) -> f64 {
        self.size.x / self.size.y.max(1e-9)
    }

    /// Screen position of a world point; `None` behind the eye.
    pub fn screen(&self, world: DVec3) -> Option<Pos2> {
        let (at, _) = self.camera.project(world, self.aspect())?;
        let at = at * self.size;
        Some(self.rect.min + egui::vec2(at.x as f32, at.y as f32))
    }

    /// World ray through a screen position: origin and unit direction.
    pub fn ray(&self, at: Pos2) -> (DVec3, DVec3) {
        let d = at - self.rect.min;
        let share = DVec2::new(f64::from(d.x), f64::from(d.y)) / self.size.max(DVec2::ONE);
        self.camera.ray(share, self.aspect())
    }

    /// Where the ray through a position meets a plane (a point and its normal).
    pub fn on_plane(&self, at: Pos2, (point, normal): (DVec3, DVec3)) -> Option<DVec3> {
        let (origin, direction) = self.ray(at);
        let slope = direction.dot(normal);
        let t = (point - origin).dot(normal) / slope;
        (slope.abs() > 1e-9 && t > 0.0).then(|| origin + direction * t)
    }

    /// A sphere's silhouette on screen: centre and radius.
    pub fn silhouette(&self, centre: DVec3, radius_mm: f64) -> Option<(Pos2, f32)> {
        let middle = self.screen(centre)?;
        // From nearby, less than half of a sphere is visible, but enlarged.
        let distance = centre.distance(self.camera.eye());
        let shrink = (1.0 - (radius_mm / distance.max(radius_mm + 1e-6)).powi(2)).sqrt();
        let edge = self.screen(centre + self.camera.axes().x_axis * (radius_mm / shrink))?;
        Some((middle, edge.distance(middle)))
    }

    /// Selects the target of a click: a streamline if these are being picked, else a region.
    pub fn choose_at(&self, ui: &Ui, at: Pos2, actions: &mut Vec<Action>) {
        if self.state.view.tool == Tool::Pick || is_about_lines(self.state) {
            Views::click_in_scene(ui, self, at, actions);
        } else if let Some((id, _)) = self.region_under(at) {
            actions.push(Action::Region(RegionAction::Select(Some(id))));
        }
    }

    /// The nearest region under a position, its part, and the point of the ray that grabs it.
    pub fn region_under(&self, at: Pos2) -> Option<(RegionId, RegionPart)> {
        let (origin, direction) = self.ray(at);
        let selected = self.state.runtime.regions.selected;
        let look = &self.state.document.scene_look;
        let clips = look.clips_of(|kinds| kinds.surfaces);
        let regions = self.state.document.regions.iter().filter(|r| r.visible);
        let hits = regions.filter_map(|region| {
            if !is_shown(&clips, (origin, direction), &region.shape) {
                return None;
            }
            let (distance, part) = match &*region.shape {
                Shape::Sphere { centre, radius_mm } => {
                    let (middle, radius) = self.silhouette(*centre, *radius_mm)?;
                    let off = middle.distance(at) - radius;
                    let inner = RIM.min(radius * 0.4);
                    let cut = Cut::Circle {
                        centre: middle,
                        radius,
                    };
                    let ends = cut.handles().filter(|_| selected == Some(region.id));
                    let handle = ends.and_then(|ends| annotations::handle_at(ends, at));
                    let part = if handle.is_some() {
                        RegionPart::Rim([true; 3])
                    } else if off > RIM {
                        return None;
                    } else if off < -inner {
                        RegionPart::Body
                    } else {
                        RegionPart::Rim([true; 3])
                    };
                    (centre.distance(origin) - radius_mm, part)
                }
                shape => (through_shape(origin, direction, shape)?, RegionPart::Body),
            };
            Some((distance, region.id, part))
        });
        hits.min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, id, part)| (id, part))
    }
}

/// Whether clips leave a part of a region visible along a ray, or the middle of a region that the ray misses.
fn is_shown(clips: &[Clip], (origin, direction): (DVec3, DVec3), shape: &Shape) -> bool {
    if clips.is_empty() {
        return true;
    }
    if through_shape(origin, direction, shape).is_none() {
        return keep(clips, shape.centre());
    }
    let parts = kept_parts(clips, (origin, direction), (0.0, f64::INFINITY));
    parts.into_iter().any(|(start, end)| {
        let met = through_shape(origin + direction * start, direction, shape);
        met.is_some_and(|mm| start + mm <= end)
    })
}

/// A sentence in the middle of a view that cannot be drawn.
fn instead(painter: &Painter, rect: Rect, sentence: &str) {
    let (font, width) = (theme::regular(theme::size::LABEL), rect.width() - 40.0);
    let text = painter.layout(sentence.to_owned(), font, Color32::from_gray(190), width);
    let at = rect.center() - text.size() / 2.0;
    painter.galley(at, text, Color32::WHITE);
}

/// Where a ray enters a region's shape, mm.
pub(super) fn through_shape(origin: DVec3, direction: DVec3, shape: &Shape) -> Option<f64> {
    match shape {
        Shape::Sphere { centre, radius_mm } => {
            let along = (*centre - origin).dot(direction);
            let off = origin + direction * along - *centre;
            // NaN if the ray misses, so that the comparison fails.
            let half = (radius_mm * radius_mm - off.length_squared()).sqrt();
            (along + half > 0.0).then_some((along - half).max(0.0))
        }
        Shape::Box { centre, half_mm } => through_box(origin, direction, *centre, *half_mm),
        Shape::Mask(mask) => through_mask(origin, direction, mask),
    }
}

/// Where a ray enters a box (Kay and Kajiya 1986), mm.
fn through_box(origin: DVec3, direction: DVec3, centre: DVec3, half: DVec3) -> Option<f64> {
    let (a, b) = (
        (centre - half - origin) / direction,
        (centre + half - origin) / direction,
    );
    let (enter, leave) = (a.min(b).max_element(), a.max(b).min_element());
    (enter <= leave && leave > 0.0).then_some(enter.max(0.0))
}

/// Where a ray first enters a mask, mm; found in steps of half a voxel.
fn through_mask(origin: DVec3, direction: DVec3, mask: &Mask) -> Option<f64> {
    // Computed once per mask.
    let (low, high) = mask.bounds_inside()?;
    let enter = through_box(origin, direction, (low + high) * 0.5, (high - low) * 0.5)?;
    let step = mask.grid.spacing().min_element() * 0.5;
    let steps = ((high - low).length() / step).ceil() as usize;
    (0..=steps)
        .map(|i| enter + i as f64 * step)
        .find(|&t| mask.contains(origin + direction * t))
}

impl Views {
    /// Shows the 3-D view; returns whether the pointer is over it.
    pub(super) fn scene(
        &mut self,
        ui: &mut Ui,
        rect: Rect,
        state: &State,
        actions: &mut Vec<Action>,
    ) -> bool {
        let response = self.sense(ui, Pane::Scene, rect);
        let camera = self.shown_camera(ui, state);
        let scene = Scene::new(state, rect, camera);
        let hovered = response.contains_pointer() && !self.still;
        if !self.still {
            self.scene_hands(ui, &scene, &response, actions);
        }
        let size = Size {
            points: scene.size,
            pixels_per_point: f64::from(ui.pixels_per_point()),
        };
        let mut list = scene::scene_from(state, &camera, size);
        list.moving = (list.moving || self.camera.snap.is_some()) && !self.still;
        let ctx = ui.ctx().clone();
        let painter = ui.painter().clone();
        let id = self.pane_id(Pane::Scene);
        let drawn = self.still || paint_callback::shows(&ctx, id, &list);
        painter.add(pixels(&ctx, rect, id, PaneContent::Scene(list)));
        let never = paint_callback::no_scene_message(&ctx);
        if let Some(sentence) = &never {
            instead(&painter, rect, sentence);
        }
        // A picture that never comes does not count as pending.
        self.scene_overlay(ui, &scene, hovered, drawn || never.is_some());
        if (hovered && self.drag.is_none()) || self.menu == Some(Pane::Scene) {
            self.scene_buttons(ui, &scene, actions);
        }
        hovered
    }

    fn scene_hands(
        &mut self,
        ui: &mut Ui,
        scene: &Scene,
        response: &Response,
        actions: &mut Vec<Action>,
    ) {
        let shift = ui.input(|i| i.modifiers.shift);
        if self.drag.is_none()
            && let Some((button, at)) = drag::press(ui, response)
            && let Some(kind) = sample_press(ui, scene, button, at, actions)
                .or_else(|| scene_press(scene, button, at, shift, actions))
        {
            self.drag = Some(Drag::new(Pane::Scene, button, at, kind));
        }
        if let Some(mut drag) = self.drag.take_if(|d| d.pane == Pane::Scene) {
            let at = pointer(ui).unwrap_or(drag.last);
            scene_drag(scene, &mut drag, at, actions);
            let down = ui.input(|i| i.pointer.button_down(drag.button));
            let click = at.distance(drag.pressed) < CLICK && drag.button == PointerButton::Primary;
            match drag.kind {
                DragKind::Choose => {
                    let view = (scene.screen_of(), scene.rect);
                    self.choose(ui, view, (&mut drag, at), down, actions);
                }
                DragKind::StrokeInScene { .. } => scene.paint(ui, &mut drag, at, down, actions),
                DragKind::Orbit if !down && click && is_about_lines(scene.state) => {
                    Self::click_in_scene(ui, scene, at, actions);
                }
                _ => {}
            }
            if down {
                self.drag = Some(drag);
            } else {
                scene_release(scene, &drag, at, actions);
                drag::conclude(scene.state, &drag, actions);
            }
        }
        self.enter_scene(ui, scene, actions);
        if response.contains_pointer() {
            self.scene_wheel(ui, scene, actions);
            self.scene_cursor(ui, scene);
        }
    }

    fn scene_wheel(&mut self, ui: &Ui, scene: &Scene, actions: &mut Vec<Action>) {
        let (steps, shift) = wheel_steps(ui, &mut self.motion.scrolled);
        if steps != 0 && shift && scene.state.view.tool == Tool::Brush {
            let drawing = scene.state.view.drawing.resized(steps);
            actions.push(Action::Region(RegionAction::SetDrawing(drawing)));
            return;
        }
        let pinch = ui.input(|i| f64::from(i.zoom_delta()));
        let factor = STEP.powi(steps) * pinch;
        let camera = scene.camera.zoomed(factor);
        if factor != 1.0 && camera != scene.camera {
            actions.push(Action::View(ViewAction::SetCamera {
                camera,
                phase: Phase::Live,
            }));
        }
    }

    fn scene_cursor(&self, ui: &Ui, scene: &Scene) {
        let icon = match self.drag.as_ref().map(|d| &d.kind) {
            Some(DragKind::Choose | DragKind::StrokeInScene { .. }) => CursorIcon::Crosshair,
            Some(_) => CursorIcon::Grabbing,
            None if matches!(
                scene.state.view.tool,
                Tool::NewRegion { .. } | Tool::Sphere { .. } | Tool::Sample | Tool::Pick
            ) =>
            {
                CursorIcon::Crosshair
            }
            None if scene.state.view.tool == Tool::Brush && self.brush.is_some() => {
                CursorIcon::Crosshair
            }
            None => pointer(ui)
                .and_then(|at| {
                    let (id, part) = scene.region_under(at)?;
                    let region = scene.state.document.region(id)?;
                    let centre = scene.screen(region.shape.centre())?;
                    Some(drag::cursor(part, at - centre))
                })
                .unwrap_or(CursorIcon::Grab),
        };
        ui.ctx().set_cursor_icon(icon);
    }
}

/// A press that samples values in 3-D, which is possible on planes.
fn sample_press(
    ui: &Ui,
    scene: &Scene,
    button: PointerButton,
    at: Pos2,
    actions: &mut Vec<Action>,
) -> Option<DragKind> {
    let samples = button == PointerButton::Primary && sampling::is_active(ui, scene.state);
    let flat = scene.flat_under(at).filter(|_| samples)?;
    let plane = (flat.point, flat.normal);
    let adds = ui.input(|i| i.modifiers.shift);
    Some(sampling::begin(flat.point, Some(plane), adds, actions))
}

fn scene_press(
    scene: &Scene,
    button: PointerButton,
    at: Pos2,
    shift: bool,
    actions: &mut Vec<Action>,
) -> Option<DragKind> {
    let state = scene.state;
    if !shift && let Some(stroke) = scene.brush_press(button, at) {
        return Some(stroke);
    }
    match button {
        PointerButton::Middle => Some(DragKind::Pan),
        PointerButton::Primary if state.view.tool == Tool::Pick => Some(DragKind::Choose),
        // The left button is used by the tool.
        PointerButton::Secondary if state.view.tool == Tool::Pick => Some(DragKind::Orbit),
        PointerButton::Primary if shift => Some(DragKind::Pan),
        // Off all paintable surfaces, a drag rotates the view.
        PointerButton::Primary if state.view.tool == Tool::Brush => Some(DragKind::Orbit),
        PointerButton::Primary => {
            if let Tool::NewRegion { .. } = state.view.tool {
                // Outside the head there is nothing to place on: a drag rotates the view.
                let flat = scene.flat_under(at);
                return Some(flat.map_or(DragKind::Orbit, |flat| DragKind::NewRegion {
                    centre: flat.point,
                }));
            }
            if let Tool::Sphere { add } = state.view.tool {
                // Off the surface and the slices there is nothing to place on: a drag rotates the view.
                let centre = spheres::under(scene, at);
                return Some(
                    centre.map_or(DragKind::Orbit, |centre| DragKind::Sphere { centre, add }),
                );
            }
            if let Some(grabbed) = spheres::press_in_scene(scene, at) {
                return Some(grabbed);
            }
            let Some((id, part)) = scene.region_under(at) else {
                return Some(DragKind::Orbit);
            };
            let region = state.document.region(id)?;
            let was_selected = state.runtime.regions.selected == Some(id);
            if !was_selected {
                actions.push(Action::Region(RegionAction::Select(Some(id))));
            }
            let plane = (region.shape.centre(), scene.camera.forward());
            let grip = Grip {
                part,
                shape: (*region.shape).clone(),
                point: scene.on_plane(at, plane)?,
            };
            Some(DragKind::Region {
                id,
                grip,
                was_selected,
                plane: Some(plane),
            })
        }
        _ => None,
    }
}

fn scene_drag(scene: &Scene, drag: &mut Drag, at: Pos2, actions: &mut Vec<Action>) {
    let travelled = drag::travelled(drag, at);
    let (x, y) = (f64::from(travelled.x), f64::from(travelled.y));
    let still = travelled == egui::Vec2::ZERO;
    if let DragKind::Sample {
        last,
        plane: Some(plane),
    } = &mut drag.kind
    {
        if let Some(now) = scene.on_plane(at, *plane) {
            sampling::extend(last, now, actions);
        }
        return;
    }
    let camera = match &drag.kind {
        DragKind::Orbit if !still => {
            let per_point = TURN / scene.size.min_element().max(1.0);
            scene.camera.orbited(x * per_point, y * per_point)
        }
        DragKind::Pan if !still => {
            let mm = scene.camera.mm_per_pixel(scene.size);
            scene.camera.panned(x * mm, y * mm)
        }
        DragKind::MovedSphere {
            plane: Some(plane), ..
        } => {
            let now = scene.on_plane(at, *plane);
            spheres::drag(scene.state, drag, now, actions);
            return;
        }
        DragKind::Region {
            id,
            grip,
            plane: Some(plane),
            ..
        } => {
            let travels = drag.changed || at.distance(drag.pressed) >= CLICK;
            let now = scene.on_plane(at, *plane).filter(|_| travels);
            if let Some(shape) = now.and_then(|now| grip.dragged(now)) {
                drag::reshape(scene.state, *id, shape, &mut drag.changed, actions);
            }
            return;
        }
        _ => return,
    };
    if camera != scene.camera {
        actions.push(Action::View(ViewAction::SetCamera {
            camera,
            phase: Phase::Live,
        }));
    }
}

fn scene_release(scene: &Scene, drag: &Drag, at: Pos2, actions: &mut Vec<Action>) {
    match &drag.kind {
        DragKind::Sample { .. } => actions.push(Action::Sample(SampleAction::End)),
        DragKind::NewRegion { centre } => {
            if let Tool::NewRegion { role, cube } = scene.state.view.tool {
                let plane = (*centre, scene.camera.forward());
                let far = at.distance(drag.pressed) >= CLICK;
                let edge = scene.on_plane(at, plane).filter(|_| far);
                let dragged = edge.map(|p| p.distance(*centre));
                actions.push(Action::View(ViewAction::MoveCrosshair(*centre)));
                actions.push(Action::Region(RegionAction::Add {
                    role,
                    shape: drag::new_shape(role, cube, *centre, dragged),
                }));
            }
        }
        DragKind::Sphere { centre, add } => {
            let plane = (*centre, scene.camera.forward());
            let far = at.distance(drag.pressed) >= CLICK;
            let edge = scene.on_plane(at, plane).filter(|_| far);
            actions.push(Action::View(ViewAction::MoveCrosshair(*centre)));
            let sphere = spheres::new(*add, *centre, edge.map(|p| p.distance(*centre)));
            actions.push(Action::Segment(SegmentAction::Sphere(sphere)));
        }
        DragKind::Orbit | DragKind::Pan if scene.state.view.moving => {
            // The last move of this frame, if there was one, is the camera's final position.
            let sent = actions.iter().rev().find_map(|a| match a {
                Action::View(ViewAction::SetCamera { camera, .. }) => Some(*camera),
                _ => None,
            });
            actions.push(Action::View(ViewAction::SetCamera {
                camera: sent.unwrap_or(scene.camera),
                phase: Phase::Done,
            }));
        }
        _ => {}
    }
}
