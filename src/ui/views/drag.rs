//! A drag in a view, from press to release.

use super::region_drag::{Grip, RegionPart, same};
use super::spheres;
use crate::data::region::RegionId;
use crate::data::{Role, Shape, VolumeKind};
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::slice_turn::SliceTurn;
use crate::state::regions::region_radius_mm;
use crate::state::view::SliceCamera;
use crate::state::{Action, Document, LayerAction, Pane, Phase, RegionAction, State};
use egui::{CursorIcon, PointerButton, Pos2, Response, Ui, Vec2};
use glam::DVec3;
use std::sync::Arc;

/// A press that moves less than this is a click, points.
pub const CLICK: f32 = 4.0;

pub struct Drag {
    pub pane: Pane,
    pub button: PointerButton,
    pub pressed: Pos2,
    /// Last position of the pointer.
    pub last: Pos2,
    pub kind: DragKind,
    /// A live action was sent: it must be concluded.
    pub changed: bool,
    /// The drag has lasted for at least one frame.
    pub has_started: bool,
    /// End of the part that has been drawn.
    pub drawn_to: Pos2,
}

impl Drag {
    /// A press that has not moved yet.
    pub fn new(pane: Pane, button: PointerButton, at: Pos2, kind: DragKind) -> Self {
        Self {
            pane,
            button,
            pressed: at,
            last: at,
            kind,
            changed: false,
            has_started: false,
            drawn_to: at,
        }
    }
}

pub enum DragKind {
    Crosshair,
    /// A new region, centred where the button went down.
    NewRegion {
        centre: DVec3,
    },
    /// A sphere added to a surface or cut from it.
    Sphere {
        centre: DVec3,
        add: bool,
    },
    /// A sphere placed before, being moved.
    MovedSphere {
        number: u64,
        add: bool,
        grip: Grip,
        /// In the 3-D view: the plane of the drag, a point and its normal.
        plane: Option<(DVec3, DVec3)>,
    },
    /// Turns the slices about the crosshair; the turn at the start.
    Turn {
        before: SliceTurn,
    },
    Pan,
    /// Zooms; holds the camera at the start.
    Zoom {
        before: SliceCamera,
    },
    Window {
        layer: LayerId,
        before: Display,
    },
    Region {
        id: RegionId,
        grip: Grip,
        was_selected: bool,
        /// In the 3-D view: the plane of the drag, a point and its normal.
        plane: Option<(DVec3, DVec3)>,
    },
    Orbit,
    /// A brush stroke that paints or erases voxels.
    Stroke {
        erase: bool,
    },
    /// A brush stroke in the 3-D view, with the regions as they were at its start.
    StrokeInScene {
        erase: bool,
        surfaces: Vec<Arc<Shape>>,
    },
    /// From a corner to the pointer.
    Rectangle {
        start: DVec3,
        erase: bool,
    },
    /// Fills the voxels connected to the click.
    Fill {
        erase: bool,
    },
    /// A corner of the polygon, or many if the pointer moves on.
    Polygon,
    /// An outline around streamlines.
    Choose,
    /// Samples the values of an image, starting at the last position.
    Sample {
        last: DVec3,
        /// In the 3-D view: the plane of the drag, a point and its normal.
        plane: Option<(DVec3, DVec3)>,
    },
    /// From a point to the pointer.
    Measure {
        start: DVec3,
    },
    /// Moves a point of a measurement.
    Remeasure {
        index: usize,
        point: usize,
    },
}

/// The button that went down over a pane in this frame, and where.
pub fn press(ui: &Ui, response: &Response) -> Option<(PointerButton, Pos2)> {
    const BUTTONS: [PointerButton; 3] = [
        PointerButton::Primary,
        PointerButton::Middle,
        PointerButton::Secondary,
    ];
    let (button, at) = ui.input(|i| {
        let button = BUTTONS.into_iter().find(|&b| i.pointer.button_pressed(b))?;
        let at = i.pointer.press_origin().or(i.pointer.interact_pos())?;
        Some((button, at))
    })?;
    // A fast click goes down and up between two frames.
    let ours = response.is_pointer_button_down_on() || response.clicked_by(button);
    (ours && response.rect.contains(at)).then_some((button, at))
}

/// Distance of the drag since the last frame.
pub fn travelled(drag: &mut Drag, now: Pos2) -> Vec2 {
    let by = now - drag.last;
    drag.last = now;
    by
}

/// The shape of a new region: its centre and, if the drag moved, its size.
pub fn new_shape(role: Role, cube: bool, centre: DVec3, dragged_mm: Option<f64>) -> Shape {
    let radius_mm = dragged_mm.unwrap_or(region_radius_mm(role)).max(0.5);
    if cube {
        Shape::Box {
            centre,
            half_mm: DVec3::splat(radius_mm),
        }
    } else {
        Shape::Sphere { centre, radius_mm }
    }
}

/// Sends a region's new shape if there is one.
pub fn reshape(
    state: &State,
    region: RegionId,
    shape: Shape,
    changed: &mut bool,
    actions: &mut Vec<Action>,
) {
    let Some(now) = state.document.region(region) else {
        return;
    };
    let shape = shape.snapped();
    if !same(&now.shape, &shape) {
        *changed = true;
        actions.push(Action::Region(RegionAction::SetShape {
            region,
            shape,
            phase: Phase::Live,
        }));
    }
}

/// Ends a drag: a live change becomes a step.
pub fn conclude(state: &State, drag: &Drag, actions: &mut Vec<Action>) {
    if !drag.changed {
        return;
    }
    match &drag.kind {
        DragKind::Region { id, .. } => {
            // This frame's own move has already been sent.
            let sent = actions.iter().rev().find_map(|a| match a {
                Action::Region(RegionAction::SetShape { region, shape, .. }) if region == id => {
                    Some(shape.clone())
                }
                _ => None,
            });
            let now = || state.document.region(*id).map(|r| (*r.shape).clone());
            if let Some(shape) = sent.or_else(now) {
                actions.push(Action::Region(RegionAction::SetShape {
                    region: *id,
                    shape,
                    phase: Phase::Done,
                }));
            }
        }
        DragKind::MovedSphere { number, .. } => spheres::finish(state, *number, actions),
        DragKind::Window { layer, .. } => {
            let sent = actions.iter().rev().find_map(|a| match a {
                Action::Layer(LayerAction::SetDisplay {
                    layer: l, display, ..
                }) if l == layer => Some(display.clone()),
                _ => None,
            });
            let now = || state.document.layer(*layer).map(|l| l.display.clone());
            if let Some(display) = sent.or_else(now) {
                actions.push(Action::Layer(LayerAction::SetDisplay {
                    layer: *layer,
                    display,
                    phase: Phase::Done,
                }));
            }
        }
        DragKind::Orbit
        | DragKind::Pan
        | DragKind::Zoom { .. }
        | DragKind::Turn { .. }
        | DragKind::Crosshair
        | DragKind::NewRegion { .. }
        | DragKind::Sphere { .. }
        | DragKind::Stroke { .. }
        | DragKind::StrokeInScene { .. }
        | DragKind::Rectangle { .. }
        | DragKind::Fill { .. }
        | DragKind::Choose
        | DragKind::Sample { .. }
        | DragKind::Measure { .. }
        | DragKind::Remeasure { .. }
        | DragKind::Polygon => {}
    }
}

/// The layer whose window a right drag changes: the topmost visible scalar image, else the topmost
/// colour image, whose brightness it changes.
pub fn window_layer(state: &State) -> Option<&Arc<Layer>> {
    let layers = || state.document.layers.iter().rev();
    let visible = || layers().filter(|l| state.shows(l));
    // Colours of labels have no window.
    let kind = |l: &Layer| {
        let volume = l.content.picture().filter(|v| v.labels.is_none());
        volume.map(|v| v.kind)
    };
    let scalar = visible().find(|l| kind(l) == Some(VolumeKind::Scalar));
    scalar.or_else(|| visible().find(|l| kind(l) == Some(VolumeKind::Rgb)))
}

/// Display of a layer after a drag by this many points: to the right widens the window (less contrast), upwards
/// brightens.
pub fn window_dragged(layer: &Layer, before: &Display, by: Vec2) -> Display {
    const POINTS: f32 = 250.0;
    let mut display = before.clone();
    if is_colour(layer) {
        display.brightness = (before.brightness * (-by.y / POINTS).exp()).clamp(0.5, 3.0);
    } else {
        let (low, high) = before.window;
        let width = (high - low) * (by.x / POINTS).exp();
        let level = (low + high) * 0.5 + (high - low) * by.y / POINTS;
        display.window = (level - width * 0.5, level + width * 0.5);
    }
    display
}

/// The display with the layer's initial window.
pub fn window_reset(document: &Document, layer: &Layer) -> Display {
    let mut display = layer.display.clone();
    match &layer.content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
            let map = document.origin(layer).fit_map();
            display.brightness = display::brightness(map);
            display.window = display::window(volume, display.frame, map);
        }
        Content::Mask(_) | Content::Tractogram(_) | Content::InPlace(_) => {}
    }
    display
}

fn is_colour(layer: &Layer) -> bool {
    let kind = layer.content.volume().map(|v| v.kind);
    kind == Some(VolumeKind::Rgb)
}

/// The cursor over a part of a region, `off` from its centre.
pub fn cursor(part: RegionPart, off: Vec2) -> CursorIcon {
    match part {
        RegionPart::Body => CursorIcon::Move,
        RegionPart::Rim(_) => {
            // Eight directions, opposite ones of which look the same.
            let eighth = (off.y.atan2(off.x) / std::f32::consts::FRAC_PI_4).round() as i32;
            match eighth.rem_euclid(4) {
                0 => CursorIcon::ResizeHorizontal,
                1 => CursorIcon::ResizeNwSe,
                2 => CursorIcon::ResizeVertical,
                _ => CursorIcon::ResizeNeSw,
            }
        }
    }
}
