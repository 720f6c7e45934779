//! The block "In 3-D" of an image layer: shown as a volume, as a surface, as a projection, or not.

use super::display::{colour_maps_and, extent, segment_row, select_row, short_unit};
use super::shapes;
use crate::data::Volume;
use crate::data::appearance::ColourMap;
use crate::scene::draw_list::{Colours, CutPlane, Transfer};
use crate::scene::volume_of;
use crate::state::core::volume_look::{VolumeCut, VolumeLook, VolumeStyle};
use crate::state::{Action, Display, Layer, LayerAction, Phase, SceneLookAction, State};
use crate::ui::widgets::slider::{Change, SliderRow};
use crate::ui::widgets::transfer::TransferEditor;
use crate::ui::widgets::{menu, rows, section};
use crate::ui::{Memory, theme};
use egui::Ui;
use glam::DVec3;

const BLOCK: &str = "In 3-D";

type OnChange<'a> = dyn FnMut(VolumeLook, Phase) + 'a;

pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let open = block(ui, state, layer, memory, actions);
    let measured = open.then_some(layer.id);
    // The values in the plot are measured while it is open.
    if state.runtime.figures.joint.layer != measured {
        actions.push(Action::SceneLook(SceneLookAction::ShowJoint(measured)));
    }
}

/// The block; returns whether the plot of two values is open.
fn block(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> bool {
    let Some(volume) = volume_of(layer) else {
        return false;
    };
    let (open, clicked) = section::fold(ui, BLOCK, memory.is_open(BLOCK, !memory.narrow));
    if clicked {
        memory.toggle(BLOCK);
    }
    if !open {
        return false;
    }
    let display = &layer.display;
    let default_value = || VolumeLook::default_for(volume, display.window);
    let look = display.volume.clone().unwrap_or_else(default_value);
    let mut set = |look: VolumeLook, phase: Phase| {
        actions.push(Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display: Display {
                volume: Some(look),
                ..display.clone()
            },
            phase,
        }));
    };
    let text = ["Off", "Cloud", "Surface", "MIP"];
    let styles = [
        VolumeStyle::Hidden,
        VolumeStyle::Cloud,
        VolumeStyle::Surface,
        VolumeStyle::Maximum,
    ];
    let now = match look.style {
        VolumeStyle::Minimum => 3,
        style => styles.iter().position(|s| *s == style).unwrap_or(0),
    };
    let help = "A cloud with the opacity curve below, a surface of constant value, or a maximum or minimum intensity projection";
    if let Some(i) = segment_row(ui, "Shown as", help, &text, now) {
        set(
            VolumeLook {
                style: styles[i],
                ..look.clone()
            },
            Phase::Done,
        );
    }
    match look.style {
        VolumeStyle::Hidden => return false,
        VolumeStyle::Cloud => cloud(ui, layer, volume, &look, memory, &mut set),
        VolumeStyle::Surface => surface(ui, layer, volume, &look, memory, &mut set),
        VolumeStyle::Maximum | VolumeStyle::Minimum => {
            projection(ui, &look, &mut set);
            cut(ui, state, &look, &mut set);
            return false;
        }
    }
    let help = "Light and shade where the value changes";
    if let Some(i) = segment_row(ui, "Lighting", help, &["Off", "On"], usize::from(look.lit)) {
        set(
            VolumeLook {
                lit: i == 1,
                ..look.clone()
            },
            Phase::Done,
        );
    }
    cut(ui, state, &look, &mut set);
    look.style == VolumeStyle::Cloud && shapes::show(ui, state, layer, &look, memory, &mut set)
}

fn cloud(
    ui: &mut Ui,
    layer: &Layer,
    volume: &Volume,
    look: &VolumeLook,
    memory: &mut Memory,
    set: &mut OnChange,
) {
    match look.two_values {
        Some(_) => rows::hint(
            ui,
            "The shapes under “Two values” replace the opacity curve",
        ),
        None => curve(ui, layer, volume, look, memory, set),
    }
    let default_value = f64::from(VolumeLook::default_reference_mm(volume));
    let row = SliderRow::new(
        "Layer thickness",
        f64::from(look.reference_mm),
        default_value * 0.05..=default_value * 20.0,
    )
    .logarithmic()
    .default(default_value)
    .limits(VolumeLook::THICKNESS_MM)
    .unit("mm")
    .help("Thickness of the layer for which the curve gives the opacity; smaller values make everything denser");
    if let Some((v, phase)) = row.value(ui) {
        set(
            VolumeLook {
                reference_mm: v as f32,
                ..look.clone()
            },
            phase,
        );
    }
}

/// The opacity curve of one value, and its colours.
fn curve(
    ui: &mut Ui,
    layer: &Layer,
    volume: &Volume,
    look: &VolumeLook,
    memory: &mut Memory,
    set: &mut OnChange,
) {
    let chosen = curve_row(ui, Transfer::presets(), &look.transfer);
    if let Some(transfer) = chosen {
        set(
            VolumeLook {
                transfer,
                ..look.clone()
            },
            Phase::Done,
        );
    }
    colours(ui, look, set);
    let frame = layer.display.frame.min(volume.frames.saturating_sub(1));
    let (low, high) = layer.display.window;
    let scale = f64::from(layer.unit_scale);
    let editor = TransferEditor {
        name: "Opacity by value",
        axis: "value",
        transfer: &look.transfer,
        counts: memory.caches.counted.get(volume, frame, (low, high)),
        range: (f64::from(low) * scale, f64::from(high) * scale),
        unit: short_unit(layer),
    };
    if let Some((transfer, phase)) = editor.show(ui) {
        set(
            VolumeLook {
                transfer,
                ..look.clone()
            },
            phase,
        );
    }
}

fn surface(
    ui: &mut Ui,
    layer: &Layer,
    volume: &Volume,
    look: &VolumeLook,
    memory: &mut Memory,
    set: &mut OnChange,
) {
    let scale = f64::from(layer.unit_scale);
    let frame = layer.display.frame.min(volume.frames.saturating_sub(1));
    let (low, high) = extent(memory, volume, frame);
    let (low, high) = (f64::from(low) * scale, f64::from(high) * scale);
    let decimals = (2.0 - (high - low).max(1e-30).log10().round()).clamp(-3.0, 8.0) as i32;
    let default_value =
        f64::from(VolumeLook::default_for(volume, layer.display.window).level) * scale;
    let row = SliderRow::new("Value", f64::from(look.level) * scale, low..=high)
        .decimals(decimals)
        .default(default_value)
        .limits(f64::MIN..=f64::MAX)
        .help("Image value at the surface");
    if let Some((v, phase)) = row.value(ui) {
        set(
            VolumeLook {
                level: (v / scale) as f32,
                ..look.clone()
            },
            phase,
        );
    }
    let text = ["Above", "Below"];
    let help = "Whether the inside has the higher or the lower values";
    if let Some(i) = segment_row(ui, "Inside is", help, &text, usize::from(look.below)) {
        set(
            VolumeLook {
                below: i == 1,
                ..look.clone()
            },
            Phase::Done,
        );
    }
    colours(ui, look, set);
    let help = "How far what lies behind the surface shows through";
    opacity(ui, "Surface opacity", help, look, set);
}

/// The largest or the smallest value along each line of sight, in the colours of the window.
fn projection(ui: &mut Ui, look: &VolumeLook, set: &mut OnChange) {
    let help = "The largest value along each line of sight, or the smallest; values at or below the low end of the \
                range do not count";
    let styles = [VolumeStyle::Maximum, VolumeStyle::Minimum];
    let now = usize::from(look.style == VolumeStyle::Minimum);
    if let Some(i) = segment_row(ui, "Projection", help, &["Maximum", "Minimum"], now) {
        set(
            VolumeLook {
                style: styles[i],
                ..look.clone()
            },
            Phase::Done,
        );
    }
    colours(ui, look, set);
    let help = "How far what lies behind the projection shows through";
    opacity(ui, "Projection opacity", help, look, set);
}

fn opacity(ui: &mut Ui, name: &str, help: &str, look: &VolumeLook, set: &mut OnChange) {
    let row = SliderRow::new(name, f64::from(look.opacity) * 100.0, 0.0..=100.0)
        .decimals(0)
        .default(100.0)
        .unit("%")
        .help(help);
    if let Some((v, phase)) = row.value(ui) {
        set(
            VolumeLook {
                opacity: v as f32 / 100.0,
                ..look.clone()
            },
            phase,
        );
    }
}

/// Colours of a map over the window, or a single colour.
fn colours(ui: &mut Ui, look: &VolumeLook, set: &mut OnChange) {
    let named = || theme::CATEGORY_NAMES.into_iter().zip(theme::CATEGORIES);
    let now = look.transfer.colours;
    let shown = match now {
        Colours::Map(map) => map.name(),
        Colours::Fixed(rgb) => named().find(|c| c.1 == rgb).map_or("One colour", |c| c.0),
    };
    let chosen = colour_maps_and(
        ui,
        ("Colours", "Colours over the window, or a single colour"),
        (&ColourMap::FOR_IMAGES, now),
        shown,
        named(),
    );
    if let Some(colours) = chosen {
        let mut look = look.clone();
        look.transfer.colours = colours;
        set(look, Phase::Done);
    }
}

const SIDES: [(&str, DVec3); 6] = [
    ("Right", DVec3::X),
    ("Left", DVec3::NEG_X),
    ("Front", DVec3::Y),
    ("Back", DVec3::NEG_Y),
    ("Top", DVec3::Z),
    ("Bottom", DVec3::NEG_Z),
];

fn cut(ui: &mut Ui, state: &State, look: &VolumeLook, set: &mut OnChange) {
    if let Some(cut) = cut_row(ui, state, look.cut) {
        set(
            VolumeLook {
                cut,
                ..look.clone()
            },
            Phase::Done,
        );
    }
    // A projection has no face, and no distance from one.
    if look.cut == VolumeCut::Nothing || look.style.is_projection() {
        return;
    }
    let text = ["Hollow", "Image"];
    let help = "Whether the cut shows the image itself";
    if let Some(i) = segment_row(ui, "Cut face", help, &text, usize::from(look.face)) {
        set(
            VolumeLook {
                face: i == 1,
                ..look.clone()
            },
            Phase::Done,
        );
    }
    let help = "Fades from opaque at the cut to transparent at this distance";
    if let Some((fade_mm, phase)) = fade_row(ui, "Fade beyond the cut", help, look.fade_mm) {
        set(
            VolumeLook {
                fade_mm,
                ..look.clone()
            },
            phase,
        );
    }
}

/// Distance from a cut up to which the volume is visible, mm, if limited; returns a changed value.
pub(super) fn fade_row(
    ui: &mut Ui,
    name: &'static str,
    help: &'static str,
    now: Option<f32>,
) -> Option<(Option<f32>, Phase)> {
    const DEFAULT: f32 = 30.0;
    let row = SliderRow::new(name, f64::from(now.unwrap_or(DEFAULT)), VolumeLook::FADE_MM)
        .logarithmic()
        .default(f64::from(DEFAULT))
        .limits(VolumeLook::FADE_MM)
        .unit("mm")
        .switch(now.is_some(), "off")
        .help(help);
    match row.show(ui)? {
        Change::Value(mm, phase) => Some((Some(mm as f32), phase)),
        Change::Toggled(on) => Some((on.then_some(DEFAULT), Phase::Done)),
    }
}

/// The part of volumes that is cut away; returns a changed value.
pub(super) fn cut_row(ui: &mut Ui, state: &State, now: VolumeCut) -> Option<VolumeCut> {
    let side = |normal: DVec3| SIDES.iter().find(|s| s.1 == normal).map(|s| s.0);
    let shown = match now {
        VolumeCut::Nothing => "Nothing",
        VolumeCut::Side(normal) => side(normal).unwrap_or("A side"),
        VolumeCut::Facing => "The half facing you",
        VolumeCut::Corner => "The corner facing you",
        VolumeCut::Plane { .. } => "At a fixed plane",
    };
    let help = "Hides one side of the crosshair";
    select_row(ui, "Cut away", help, shown, |ui| {
        let mut chosen = None;
        let mut row = |ui: &mut Ui, name: &str, cut: VolumeCut| {
            if menu::Item::new(name).chosen(now == cut).show(ui) {
                chosen = Some(cut);
            }
        };
        row(ui, "Nothing", VolumeCut::Nothing);
        for (name, normal) in SIDES {
            row(ui, name, VolumeCut::Side(normal));
        }
        row(ui, "The half facing you", VolumeCut::Facing);
        row(ui, "The corner facing you", VolumeCut::Corner);
        menu::line(ui);
        // Any orientation: rotate the view, then fix the plane.
        let CutPlane { point, normal } = facing(state);
        row(
            ui,
            "The half facing you, fixed",
            VolumeCut::Plane { at: point, normal },
        );
        chosen
    })
}

/// Chooses one of some initial curves.
pub(super) fn curve_row(
    ui: &mut Ui,
    presets: [(&str, Transfer); 4],
    now: &Transfer,
) -> Option<Transfer> {
    let chosen = presets.iter().position(|(_, t)| t == now);
    let shown = chosen.map_or("Own curve", |i| presets[i].0);
    select_row(ui, "Curve", "Preset curves", shown, |ui| {
        let mut taken = None;
        for (i, (name, transfer)) in presets.iter().enumerate() {
            if menu::Item::new(name).chosen(chosen == Some(i)).show(ui) {
                taken = Some(transfer.clone());
            }
        }
        taken
    })
}

/// The plane through the crosshair that faces the viewer.
fn facing(state: &State) -> CutPlane {
    CutPlane {
        point: state.view.crosshair,
        normal: -state.view.camera.forward(),
    }
}
