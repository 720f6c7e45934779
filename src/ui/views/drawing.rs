//! Drawing on slices: brush, rectangle, polygon.

use super::drag::{CLICK, Drag, DragKind};
use super::slice_view::Slice;
use super::{Views, annotations, pointer, rings};
use crate::data::{Outline, Stroke};
use crate::solvers::region::SliceAxis;
use crate::state::regions::brush::{drawn, measured};
use crate::state::regions::types::RegionSource;
use crate::state::{Action, Drawing, Pane, Phase, RegionAction, State, Tool};
use crate::ui::format::{fixed, with_unit};
use crate::ui::theme;
use egui::{Color32, Event, Key, Modifiers, Painter, PointerButton, Pos2, Shape, Ui, pos2};
use glam::DVec3;

/// A click this near to its first corner closes the polygon, points.
const CLOSES: f32 = 9.0;
/// With the button down, the pointer sets a corner at least this far from the last, points.
const FREEHAND: f32 = 3.0;
/// A second click at the same place within this time closes the polygon, seconds.
const DOUBLE_S: f64 = 0.4;

/// The polygon being drawn.
pub(super) struct Polygon {
    pane: Pane,
    /// World mm, in the plane of the first corner.
    points: Vec<DVec3>,
    /// Unit normal of that plane.
    normal: DVec3,
    /// When and where the last corner was set.
    last: (f64, Pos2),
}

impl Polygon {
    /// Adds a corner in the plane of the first one, even if the slice has moved or turned since.
    fn add(&mut self, mut world: DVec3, slice: &Slice) {
        let is_straight = slice.state.view.turn.is_straight();
        match (slice.pane.normal_axis(), self.points.first()) {
            (Some(axis), Some(first)) if is_straight && self.normal[axis].abs() == 1.0 => {
                world[axis] = first[axis];
            }
            (_, Some(first)) => world -= self.normal * (world - *first).dot(self.normal),
            _ => {}
        }
        self.points.push(world);
    }
}

impl Views {
    /// The drag that starts when a button goes down over a slice.
    pub(super) fn drawing_press(
        &mut self,
        slice: &Slice,
        button: PointerButton,
        at: Pos2,
    ) -> Option<DragKind> {
        let right = button == PointerButton::Secondary;
        let erase = right || slice.state.view.drawing.erase;
        match slice.state.view.tool {
            Tool::Brush => Some(DragKind::Stroke { erase }),
            Tool::Rectangle => Some(DragKind::Rectangle {
                start: slice.world(at),
                erase,
            }),
            Tool::Fill => Some(DragKind::Fill { erase }),
            Tool::Polygon if !right => Some(DragKind::Polygon),
            Tool::Polygon => {
                // The right button removes the last corner, as in other programs.
                self.take_corner_back();
                None
            }
            _ => None,
        }
    }

    /// Continues a drawing drag in this frame; `down`: its button is still down.
    pub(super) fn draw(
        &mut self,
        ui: &Ui,
        slice: &Slice,
        drag: &mut Drag,
        at: Pos2,
        down: bool,
        actions: &mut Vec<Action>,
    ) {
        let begins = !std::mem::replace(&mut drag.has_started, true);
        // Turned slices are no slices of voxels, between which regions are interpolated.
        let is_straight = slice.state.view.turn.is_straight();
        let axis = slice.pane.normal_axis().filter(|_| is_straight);
        let drawing = &slice.state.view.drawing;
        if let Some(slices) = axis.and_then(SliceAxis::from_world_axis)
            && begins
            && slice.state.view.tool.draws()
            && slices != drawing.slices
        {
            let drawing = Drawing {
                slices,
                ..drawing.clone()
            };
            actions.push(Action::Region(RegionAction::SetDrawing(drawing)));
        }
        match drag.kind {
            DragKind::Stroke { erase } => {
                let path = path_of_drag(ui, drag, at, begins);
                let phase = if down { Phase::Live } else { Phase::Done };
                if path.len() > 1 || begins || !down {
                    let points = path.iter().map(|p| slice.world(*p)).collect();
                    actions.push(Action::Region(RegionAction::Stroke {
                        stroke: self.stroke(slice, points),
                        erase,
                        begins,
                        phase,
                    }));
                }
            }
            DragKind::Rectangle { start, erase } if !down && at.distance(drag.pressed) >= CLICK => {
                actions.push(Action::Region(RegionAction::DrawOutline {
                    outline: outline(slice, corners(slice, start, slice.world(at))),
                    erase,
                }));
            }
            DragKind::Fill { erase } if begins => actions.extend(fill(slice, drag.pressed, erase)),
            DragKind::Polygon => {
                let path = path_of_drag(ui, drag, at, begins);
                let now = ui.input(|i| i.time);
                for (i, p) in path.into_iter().enumerate() {
                    if begins && i == 0 {
                        self.corner(slice, p, now, actions);
                    } else if let Some(polygon) = &mut self.polygon
                        && polygon.last.1.distance(p) >= FREEHAND
                        && drag.pressed.distance(p) >= CLICK
                    {
                        polygon.add(slice.world(p), slice);
                        polygon.last = (f64::NEG_INFINITY, p);
                    }
                }
            }
            _ => {}
        }
    }

    fn stroke(&self, slice: &Slice, points: Vec<DVec3>) -> Stroke {
        let drawing = &slice.state.view.drawing;
        Stroke {
            points,
            radius_mm: drawing.radius_mm,
            disc: drawing.flat.then(|| slice.plane.normal()),
        }
    }

    /// A click with the polygon tool.
    fn corner(&mut self, slice: &Slice, at: Pos2, now: f64, actions: &mut Vec<Action>) {
        let started = self.polygon.as_ref().is_some_and(|p| p.pane == slice.pane);
        if !started {
            self.polygon = Some(Polygon {
                pane: slice.pane,
                points: vec![slice.world(at)],
                normal: slice.plane.normal(),
                last: (now, at),
            });
            return;
        }
        let Some(polygon) = &mut self.polygon else {
            return;
        };
        let first = polygon.points.first().map(|p| slice.screen(*p));
        let on_first = first.is_some_and(|f| f.distance(at) <= CLOSES);
        let twice = now - polygon.last.0 <= DOUBLE_S && polygon.last.1.distance(at) <= CLICK;
        if polygon.points.len() >= 3 && (on_first || twice) {
            return self.close_polygon(slice.state, actions);
        }
        if !twice {
            polygon.add(slice.world(at), slice);
            polygon.last = (now, at);
        }
    }

    fn close_polygon(&mut self, state: &State, actions: &mut Vec<Action>) {
        let Some(polygon) = self.polygon.take() else {
            return;
        };
        if polygon.points.len() < 3 {
            return;
        }
        actions.push(Action::Region(RegionAction::DrawOutline {
            outline: Outline {
                points: polygon.points,
                normal: polygon.normal,
                thickness_mm: state.view.drawing.thickness_mm,
            },
            erase: state.view.drawing.erase,
        }));
    }

    fn take_corner_back(&mut self) {
        if let Some(polygon) = &mut self.polygon {
            polygon.points.pop();
            polygon.last.0 = f64::NEG_INFINITY;
            if polygon.points.is_empty() {
                self.polygon = None;
            }
        }
    }

    /// Whether Enter closes the polygon: not if the crosshair has moved from its last corner, which is how the next one
    /// is placed without a mouse.
    pub(super) fn closes_polygon(&self, state: &State) -> bool {
        /// Corners are computed from screen positions, which have single precision.
        const SAME_MM: f64 = 0.01;
        let last = self.polygon.as_ref().and_then(|p| p.points.last());
        last.is_some_and(|last| last.distance(state.view.crosshair) < SAME_MM)
    }

    /// Keys of a polygon being drawn take precedence over all others.
    pub(super) fn drawing_keys(&mut self, ui: &Ui, state: &State, actions: &mut Vec<Action>) {
        if state.view.tool != Tool::Polygon {
            self.polygon = None;
        }
        if self.polygon.is_none() || ui.ctx().text_edit_focused() {
            return;
        }
        let pressed =
            |modifiers: Modifiers, key: Key| ui.input_mut(|i| i.consume_key(modifiers, key));
        if pressed(Modifiers::NONE, Key::Escape) {
            self.polygon = None;
        } else if pressed(Modifiers::NONE, Key::Enter) {
            self.close_polygon(state, actions);
        } else if pressed(Modifiers::NONE, Key::Backspace)
            || pressed(Modifiers::NONE, Key::Delete)
            || pressed(Modifiers::COMMAND, Key::Z)
        {
            self.take_corner_back();
        }
    }

    /// Marks of a drawing tool on a slice; `at`: the pointer over it, with no button down.
    pub(super) fn drawing_marks(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        slice: &Slice,
        at: Option<Pos2>,
    ) {
        let state = slice.state;
        if !state.view.tool.draws() || self.still {
            return;
        }
        let (_, colour) = paints(state, false);
        let own_drag = self.drag.as_ref().filter(|d| d.pane == slice.pane);
        let kind = own_drag.map(|d| &d.kind);
        let right = ui.input(|i| i.pointer.secondary_down());
        let erase = match kind {
            Some(DragKind::Stroke { erase } | DragKind::Rectangle { erase, .. }) => *erase,
            _ => state.view.drawing.erase || right,
        };
        let draws = matches!(
            kind,
            Some(DragKind::Stroke { .. } | DragKind::Rectangle { .. } | DragKind::Polygon)
        );
        let pointer_at = at.or(pointer(ui).filter(|_| draws));
        let ink = if erase { Color32::WHITE } else { colour };
        if state.view.tool == Tool::Brush {
            let radius_mm = state.view.drawing.radius_mm;
            if let Some(pointer_at) = pointer_at {
                self.brush = Some((slice.pane, slice.world(pointer_at)));
                let radius = (radius_mm / slice.plane.mm_per_point) as f32;
                rings::brush(painter, pointer_at, radius, ink, erase);
            } else if let Some((_, centre)) = self.brush.filter(|(p, _)| *p != slice.pane) {
                // A ball extends into the other slices, a disc does not.
                let off = slice.plane.distance(centre);
                let within = radius_mm * radius_mm - off * off;
                if within > 0.0 && !state.view.drawing.flat {
                    let radius = (within.sqrt() / slice.plane.mm_per_point) as f32;
                    rings::brush(painter, slice.screen(centre), radius, ink, erase);
                }
            }
        }
        if let Some(DragKind::Rectangle { start, .. }) = kind
            && let Some(pointer_at) = pointer_at
        {
            let points = corners(slice, *start, slice.world(pointer_at));
            self.outline_marks(painter, slice, &points, true, ink);
        }
        if let Some(polygon) = self.polygon.as_ref().filter(|p| p.pane == slice.pane) {
            let mut points = polygon.points.clone();
            points.extend(pointer_at.map(|h| slice.world(h)));
            self.outline_marks(painter, slice, &points, false, ink);
            for (i, corner) in polygon.points.iter().enumerate() {
                let radius = if i == 0 { 4.0 } else { 2.5 };
                painter.circle(slice.screen(*corner), radius, ink, (1.0, Color32::BLACK));
            }
        }
        if let Some(at) = at
            .or(pointer_at)
            .filter(|_| !matches!(kind, Some(DragKind::Stroke { .. })))
        {
            let (label, _) = paints(state, erase);
            let at = match state.view.tool {
                Tool::Brush => {
                    let radius = state.view.drawing.radius_mm / slice.plane.mm_per_point;
                    at + egui::vec2((radius as f32).min(120.0) * 0.72, 0.0)
                }
                _ => at,
            };
            annotations::tool_text(painter, at, slice.rect, &label, ink);
        }
    }

    fn outline_marks(
        &self,
        painter: &Painter,
        slice: &Slice,
        points: &[DVec3],
        closed: bool,
        colour: Color32,
    ) {
        let on_screen: Vec<Pos2> = points.iter().map(|p| slice.screen(*p)).collect();
        let rim = egui::Stroke::new(3.0, Color32::from_black_alpha(140));
        let line = egui::Stroke::new(1.5, colour);
        for stroke in [rim, line] {
            painter.add(if closed {
                Shape::closed_line(on_screen.clone(), stroke)
            } else {
                Shape::line(on_screen.clone(), stroke)
            });
        }
        if closed && let (Some(a), Some(b)) = (points.first(), points.get(2)) {
            let size = (*b - *a).abs();
            let mm = |v: f64| fixed(v, 1);
            let [w, h] = [slice.plane.right, slice.plane.down].map(|d| size.dot(d.abs()));
            let text = with_unit(&format!("{} × {}", mm(w), mm(h)), "mm");
            let corner = on_screen
                .iter()
                .fold(on_screen[0], |m, p| pos2(m.x.max(p.x), m.y.max(p.y)));
            annotations::plate(
                painter,
                corner + egui::vec2(8.0, 0.0),
                slice.rect,
                &text,
                colour,
            );
        }
    }
}

/// Text for the next action of a drawing tool, and the colour of the region.
pub(super) fn paints(state: &State, erase: bool) -> (String, Color32) {
    let (region, role) = (drawn(state), state.view.drawing.role);
    let colour = region.map_or(theme::role_colour(role), |r| theme::region_colour(r));
    let name = region.map_or_else(
        || format!("new {}", role.name().to_lowercase()),
        |r| r.name.clone(),
    );
    let text = match (state.view.tool, erase) {
        (_, true) => format!("Erase {name}"),
        (Tool::Brush, _) => format!("Paint {name}"),
        (Tool::Fill, _) => format!("Fill {name}"),
        _ => format!("Draw {name}"),
    };
    (text, colour)
}

/// A flood fill in the displayed image, from the point under the pointer.
fn fill(slice: &Slice, at: Pos2, erase: bool) -> Option<Action> {
    let (layer, volume) = measured::image(slice.state)?;
    let drawing = &slice.state.view.drawing;
    let (low, high) = layer.display.window;
    let source = RegionSource::Fill {
        layer: layer.id,
        frame: layer.display.frame.min(volume.frames.saturating_sub(1)),
        seed: slice.world(at),
        tolerance: drawing.tolerance * (high - low).abs(),
        max_ml: drawing.most_ml,
        erase,
    };
    let phase = Phase::Done;
    Some(Action::Region(RegionAction::Make { source, phase }))
}

/// The pointer's path since the last frame, from its position then.
pub(super) fn path_of_drag(ui: &Ui, drag: &mut Drag, at: Pos2, begins: bool) -> Vec<Pos2> {
    let mut path = vec![if begins { drag.pressed } else { drag.drawn_to }];
    ui.input(|i| {
        let mut on_the_way = !begins;
        for event in &i.events {
            match event {
                Event::PointerButton { pressed: true, .. } => on_the_way = true,
                // The stroke ends where the button was released.
                Event::PointerButton { pressed: false, .. } => break,
                Event::PointerMoved(to) if on_the_way => path.push(*to),
                _ => {}
            }
        }
    });
    let released = ui.input(|i| i.pointer.any_released());
    if !released {
        path.push(at);
    }
    path.dedup();
    drag.drawn_to = path.last().copied().unwrap_or(at);
    path
}

/// The corners of a rectangle along the slice's edges.
fn corners(slice: &Slice, from: DVec3, to: DVec3) -> Vec<DVec3> {
    let along = slice.plane.right * (to - from).dot(slice.plane.right);
    let down = slice.plane.down * (to - from).dot(slice.plane.down);
    vec![from, from + along, from + along + down, from + down]
}

fn outline(slice: &Slice, points: Vec<DVec3>) -> Outline {
    Outline {
        points,
        normal: slice.plane.normal(),
        thickness_mm: slice.state.view.drawing.thickness_mm,
    }
}
