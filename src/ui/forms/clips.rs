//! The block "Clips" of the task View: planes and boxes that hide parts of the 3-D view.

use super::display::{segment_row, select_row};
use crate::data::clip::ClipShape;
use crate::state::scene_look::{ClippedKinds, SceneClip, SceneLook, SceneLookAction};
use crate::state::view::letters;
use crate::state::{Action, Pane, Phase, State};
use crate::ui::dialogs::rename::{self, RenameTarget, Renamed};
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::slider::{RangeRow, Scale, SliderRow};
use crate::ui::widgets::{menu, paint, rows, section};
use crate::ui::{Memory, icons, theme};
use egui::{Rect, Ui};
use glam::DVec3;
use theme::{size, space};

const BLOCK: &str = "Clips";
/// Distance of a new box from the region that it surrounds, mm.
const MARGIN_MM: f64 = 5.0;

/// Unfolds the block.
pub fn open(memory: &mut Memory) {
    if !memory.is_open(BLOCK, false) {
        memory.toggle(BLOCK);
    }
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, BLOCK, memory.is_open(BLOCK, false));
    let look = &state.document.scene_look;
    if clicked {
        memory.toggle(BLOCK);
        // Outlines are drawn while the block is open.
        if !open {
            actions.push(Action::SceneLook(SceneLookAction::SelectClip(None)));
        }
    }
    if !open {
        return;
    }
    add(ui, state, actions);
    let top = ui.cursor().top();
    for index in 0..look.clips.len() {
        row(ui, index, state, memory, actions);
    }
    let selected = look
        .selected
        .and_then(|index| Some((index, look.clips.get(index)?)));
    match selected {
        Some((index, clip)) => controls(ui, state, (index, clip), actions),
        None if look.clips.is_empty() => rows::hint(
            ui,
            "A plane hides one side of it in the 3-D view, a box everything around it or inside it",
        ),
        None => rows::hint(ui, "Click one to change it"),
    }
    // The rows of a clip that was just added may lie below the visible part of the panel.
    let id = egui::Id::unique("number of clips");
    let before = ui.data_mut(|data| {
        let before = data.get_temp::<usize>(id);
        data.insert_temp(id, look.clips.len());
        before
    });
    if before.is_some_and(|before| before < look.clips.len()) {
        let added = Rect::from_x_y_ranges(ui.max_rect().x_range(), top..=ui.cursor().top());
        ui.scroll_to_rect(added, None);
    }
}

/// Adds a plane or a box.
fn add(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let look = &state.document.scene_look;
    if look.clips.len() >= SceneLook::MAX_CLIPS {
        rows::hint(ui, "There are six, the most that can be drawn");
        return;
    }
    let help =
        "A plane at a slice hides what lies in front of it, a box hides everything around it";
    let clip = select_row(ui, "Add clip", help, "Plane or box", |ui| {
        let mut chosen = None;
        let mut item = |ui: &mut Ui, name: &str, clip: Option<NewClip>| {
            if menu::Item::new(name).show(ui) {
                chosen = clip;
            }
        };
        for (pane, plane) in planes(state) {
            let name = match pane {
                Some(pane) => format!("Plane at the {} slice", pane.name().to_lowercase()),
                None => "Plane that faces you".to_owned(),
            };
            item(ui, &name, plane);
        }
        menu::line(ui);
        let (low, high) = state.document.framed();
        let around = ClipShape::Box { low, high }.valid();
        item(ui, "Box around the head", around.map(NewClip::outside));
        for region in &state.document.regions {
            let around = ClipShape::around(&region.shape, MARGIN_MM);
            let name = format!("Box around {}", region.name);
            item(ui, &name, around.map(NewClip::outside));
        }
        chosen
    });
    actions.extend(clip.map(adding));
}

/// The place of a clip to add, and the side that it hides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::ui) struct NewClip {
    shape: ClipShape,
    hides_inside: bool,
}

impl NewClip {
    fn outside(shape: ClipShape) -> Self {
        Self {
            shape,
            hides_inside: false,
        }
    }

    /// The plane through a point that hides the side to which `toward` points. Its normal points along the axes (right,
    /// front, up), so that the position of a plane at a slice is the coordinate of the slice.
    fn plane(point: DVec3, toward: DVec3) -> Option<Self> {
        let largest = toward[toward.abs().max_position()];
        let hides_inside = largest < 0.0;
        let normal = if hides_inside { -toward } else { toward };
        let shape = ClipShape::plane_through(point, normal)?;
        Some(Self {
            shape,
            hides_inside,
        })
    }
}

/// The action that adds a clip of all kinds of objects.
pub(in crate::ui) fn adding(new: NewClip) -> Action {
    let clip = SceneClip {
        name: String::new(),
        shape: new.shape,
        is_on: true,
        hides_inside: new.hides_inside,
        kinds: ClippedKinds::default(),
    };
    Action::SceneLook(SceneLookAction::AddClip(Box::new(clip)))
}

/// New planes at the slices, and one that faces the viewer; each hides the side of the viewer.
pub(in crate::ui) fn planes(state: &State) -> Vec<(Option<Pane>, Option<NewClip>)> {
    let slices = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
    let slices = slices.map(|pane| (Some(pane), at_slice(state, pane)));
    let facing = -state.view.camera.forward();
    let plane = NewClip::plane(state.view.crosshair, facing);
    slices.into_iter().chain([(None, plane)]).collect()
}

/// The plane of a slice.
fn at_slice(state: &State, pane: Pane) -> Option<NewClip> {
    let normal = state.view.normal(pane)?;
    let faces = normal.dot(state.view.camera.forward()) <= 0.0;
    NewClip::plane(state.view.crosshair, if faces { normal } else { -normal })
}

fn row(ui: &mut Ui, index: usize, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let look = &state.document.scene_look;
    let clip = &look.clips[index];
    let is_selected = look.selected == Some(index);
    let mut set = |clip: SceneClip| {
        actions.push(Action::SceneLook(SceneLookAction::SetClip {
            index,
            clip: Box::new(clip),
            phase: Phase::Done,
        }));
    };
    let target = RenameTarget::Clip(index);
    let response = rows::list_row(ui, &clip.name, ("clip", index), is_selected);
    match rename::rename(ui, response.rect, target, memory) {
        Renamed::Editing => return,
        Renamed::Done(name) => {
            return set(SceneClip {
                name,
                ..clip.clone()
            });
        }
        Renamed::Inactive => {}
    }
    let inner = paint::inset(response.rect, space::INSET, space::INSET + 54.0);
    let ink = if clip.is_on { p.t1 } else { p.t3 };
    let font = theme::regular(size::LABEL);
    paint::left(ui.painter(), inner, &clip.name, font, ink);
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    let delete = format!("Delete {}", clip.name);
    let button = IconButton::new(icons::TRASH, &delete).side(22.0);
    if button.show_right(ui, place).clicked() {
        actions.push(Action::SceneLook(SceneLookAction::RemoveClip(index)));
        return;
    }
    let (icon, verb) = match clip.is_on {
        true => (icons::EYE, "Switch off"),
        false => (icons::EYE_OFF, "Switch on"),
    };
    let switch = format!("{verb} {}", clip.name);
    let place = paint::inset(response.rect, 0.0, space::INSET + 23.0);
    let button = IconButton::new(icon, &switch).side(22.0);
    if button.show_right(ui, place).clicked() {
        return set(SceneClip {
            is_on: !clip.is_on,
            ..clip.clone()
        });
    }
    if response.double_clicked() {
        rename::begin(target, &clip.name, memory);
    } else if response.clicked() {
        let now = (!is_selected).then_some(index);
        actions.push(Action::SceneLook(SceneLookAction::SelectClip(now)));
    }
    response.context_menu(|ui| {
        rename::rename_item(ui, target, &clip.name, memory);
        if rename::delete_item(ui) {
            actions.push(Action::SceneLook(SceneLookAction::RemoveClip(index)));
        }
    });
}

type OnChange<'a> = dyn FnMut(SceneClip, Phase) + 'a;

/// The rows of the selected clip.
fn controls(
    ui: &mut Ui,
    state: &State,
    (index, clip): (usize, &SceneClip),
    actions: &mut Vec<Action>,
) {
    let mut set = |clip: SceneClip, phase: Phase| {
        actions.push(Action::SceneLook(SceneLookAction::SetClip {
            index,
            clip: Box::new(clip),
            phase,
        }));
    };
    let bounds = state.document.bounds();
    match clip.shape {
        ClipShape::Plane { normal, offset_mm } => {
            plane(ui, clip, (normal, offset_mm), bounds, &mut set);
        }
        ClipShape::Box { low, high } => corners(ui, clip, (low, high), bounds, &mut set),
    }
    let sides = match clip.shape {
        ClipShape::Plane { normal, .. } => [normal, -normal].map(|side| letters(side) + " side"),
        ClipShape::Box { .. } => ["Outside".to_owned(), "Inside".to_owned()],
    };
    let texts = [&*sides[0], &*sides[1]];
    let help = "The part of space that is hidden";
    if let Some(i) = segment_row(ui, "Hides", help, &texts, usize::from(clip.hides_inside)) {
        let hides_inside = i == 1;
        set(
            SceneClip {
                hides_inside,
                ..clip.clone()
            },
            Phase::Done,
        );
    }
    kinds(ui, clip, &mut set);
}

/// The position and the direction of a plane.
fn plane(
    ui: &mut Ui,
    clip: &SceneClip,
    (normal, offset_mm): (DVec3, f64),
    (low, high): (DVec3, DVec3),
    set: &mut OnChange,
) {
    let (centre, half) = ((low + high) * 0.5, (high - low) * 0.5);
    let (middle, reach) = (normal.dot(centre), normal.abs().dot(half).max(1.0));
    let row = SliderRow::new("Position", offset_mm, middle - reach..=middle + reach)
        .default(middle)
        .limits(-ClipShape::FARTHEST_MM..=ClipShape::FARTHEST_MM)
        .decimals(1)
        .unit("mm")
        .help("Distance from the origin of the world, along the normal");
    if let Some((offset_mm, phase)) = row.value(ui) {
        let shape = ClipShape::Plane { normal, offset_mm };
        set(
            SceneClip {
                shape,
                ..clip.clone()
            },
            phase,
        );
    }
    let azimuth = normal.y.atan2(normal.x).to_degrees();
    let elevation = normal.z.clamp(-1.0, 1.0).asin().to_degrees();
    // The plane turns about its point nearest to the middle of the data.
    let pivot = centre + normal * (offset_mm - middle);
    let turned = |azimuth: f64, elevation: f64| {
        let (a, e) = (azimuth.to_radians(), elevation.to_radians());
        let normal = DVec3::new(a.cos() * e.cos(), a.sin() * e.cos(), e.sin());
        ClipShape::plane_through(pivot, normal)
    };
    let row = SliderRow::new("Turn", azimuth, -180.0..=180.0)
        .default(0.0)
        .decimals(0)
        .unit("°")
        .help("Angle of the normal about the vertical axis, from right (0°) to front (90°)");
    let around = row
        .value(ui)
        .map(|(v, phase)| (turned(v, elevation), phase));
    let row = SliderRow::new("Tilt", elevation, -90.0..=90.0)
        .default(0.0)
        .decimals(0)
        .unit("°")
        .help("Angle of the normal above the horizontal plane");
    let up = row.value(ui).map(|(v, phase)| (turned(azimuth, v), phase));
    for (shape, phase) in around.into_iter().chain(up) {
        if let Some(shape) = shape {
            set(
                SceneClip {
                    shape,
                    ..clip.clone()
                },
                phase,
            );
        }
    }
}

/// The corners of a box, as a range along each axis.
fn corners(
    ui: &mut Ui,
    clip: &SceneClip,
    (low, high): (DVec3, DVec3),
    bounds: (DVec3, DVec3),
    set: &mut OnChange,
) {
    const AXES: [(&str, &str); 3] = [
        ("Left–right", "From left to right, world mm"),
        ("Back–front", "From back to front, world mm"),
        ("Bottom–top", "From bottom to top, world mm"),
    ];
    for (axis, (name, help)) in AXES.into_iter().enumerate() {
        let all = (bounds.0[axis], bounds.1[axis]);
        let row = RangeRow {
            name,
            values: (low[axis], high[axis]),
            scale: Scale {
                range: all.0..=all.1,
                logarithmic: false,
                decimals: 0,
            },
            default: &|| all,
            unit: "mm",
            help,
            limits: -ClipShape::FARTHEST_MM..=ClipShape::FARTHEST_MM,
            waits: false,
        };
        if let Some(((from, to), phase)) = row.show(ui) {
            let (mut low, mut high) = (low, high);
            (low[axis], high[axis]) = (from, to);
            let shape = ClipShape::Box { low, high };
            set(
                SceneClip {
                    shape,
                    ..clip.clone()
                },
                phase,
            );
        }
    }
}

/// The kinds of objects that it clips.
fn kinds(ui: &mut Ui, clip: &SceneClip, set: &mut OnChange) {
    type Kind = fn(&mut ClippedKinds) -> &mut bool;
    let rows: [(&str, &str, Kind); 4] = [
        ("Volumes", "Clouds and projections", |k| &mut k.volumes),
        ("Surfaces", "Surfaces, and regions", |k| &mut k.surfaces),
        ("Streamlines", "Streamlines and their end marks", |k| {
            &mut k.streamlines
        }),
        ("Glyphs", "Glyphs whose centre is hidden", |k| &mut k.glyphs),
    ];
    for (name, help, kind) in rows {
        let mut changed = clip.kinds;
        let now = *kind(&mut changed);
        let name = format!("Clip {}", name.to_lowercase());
        let chosen = segment_row(ui, &name, help, &["Off", "On"], usize::from(now));
        if let Some(i) = chosen {
            *kind(&mut changed) = i == 1;
            set(
                SceneClip {
                    kinds: changed,
                    ..clip.clone()
                },
                Phase::Done,
            );
        }
    }
}
