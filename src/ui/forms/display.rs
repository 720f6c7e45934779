//! Display of a layer: window, brightness, colours, opacity.

use super::{fixels, lines, overlay};
use crate::data::appearance::ColourMap;
use crate::data::{Volume, VolumeKind};
use crate::parameters::shortest_f64;
use crate::scene::draw_list::{Colours, Interpolation};
use crate::state::core::display::{self, LABEL_OPACITY, LineColouring, MASK_OPACITY};
use crate::state::origin::Origin;
use crate::state::{
    Action, Content, Display, FilesAction, Layer, LayerAction, Pane, Phase, Reading, Slab, Space,
    State, View, ViewAction,
};
use crate::ui::Memory;
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::theme::space;
use crate::ui::widgets::button::segmented_but;
use crate::ui::widgets::slider::{Columns, RangeRow, Scale, SliderRow, help_over, label};
use crate::ui::widgets::{charts, menu};
use egui::{Color32, Rect, Ui, vec2};

/// A row with a drop-down across slider and field.
pub fn select_row<T>(
    ui: &mut Ui,
    name: &str,
    help: &str,
    shown: &str,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let columns = Columns::allocate(ui);
    // The whole row opens the menu.
    if label(ui, columns.label, name, help).clicked() {
        menu::open_select(ui, name);
    }
    let chosen = menu::select(ui, columns.wide, name, shown, rows);
    help_over(ui, columns.wide, name, help);
    chosen
}

/// A row with a segmented switch across slider and field.
pub fn segment_row(
    ui: &mut Ui,
    name: &str,
    help: &str,
    labels: &[&str],
    chosen: usize,
) -> Option<usize> {
    segment_row_but(ui, name, help, labels, chosen, |_| None)
}

/// Like [`segment_row`]; `why` gives the reason why a segment cannot be chosen.
pub fn segment_row_but<'a>(
    ui: &mut Ui,
    name: &str,
    help: &str,
    labels: &[&str],
    chosen: usize,
    why: impl Fn(usize) -> Option<&'a str>,
) -> Option<usize> {
    let columns = Columns::allocate(ui);
    label(ui, columns.label, name, help);
    let place = Rect::from_center_size(
        columns.wide.center(),
        vec2(columns.wide.width(), space::FIELD + 2.0),
    );
    let chosen = segmented_but(ui, place, name, labels, chosen, why);
    help_over(ui, place, name, help);
    chosen
}

/// Range of a frame's values and its default window.
pub(super) fn extent(memory: &mut Memory, volume: &Volume, frame: usize) -> (f32, f32) {
    let key = (volume.id(), frame);
    *memory
        .caches
        .ranges
        .entry(key)
        .or_insert_with(|| volume.range(frame))
}

/// The display controls that apply to a layer.
pub fn controls(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    if let Some(fixels) = layer.content.volume().and_then(|v| v.fixels.as_ref()) {
        return fixels::show(ui, state, (layer, fixels), actions);
    }
    controls_of_content(ui, state, layer, memory, actions);
}

fn controls_of_content(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let mut set = |display: Display, phase: Phase| {
        actions.push(Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase,
        }));
    };
    let d = &layer.display;
    match &layer.content {
        Content::Image(volume) if volume.labels.is_some() => {
            opacity(ui, d, LABEL_OPACITY, &mut set);
            overlay::of_labels(ui, layer, overlay::LABELS, &mut set);
        }
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
            let colour = volume.kind == VolumeKind::Rgb;
            if volume.frames > 1 && !colour {
                frame(ui, volume, d, &mut set);
            }
            if colour {
                let default_value = display::brightness(state.document.origin(layer).fit_map());
                let row = SliderRow::new("Brightness", f64::from(d.brightness), 0.5..=3.0)
                    .decimals(1)
                    .default(f64::from(default_value))
                    .limits(0.1..=10.0)
                    .help("Multiplies direction × FA");
                if let Some((v, phase)) = row.value(ui) {
                    set(
                        Display {
                            brightness: v as f32,
                            ..d.clone()
                        },
                        phase,
                    );
                }
            } else {
                window(ui, layer, volume, memory, &mut set);
            }
            if state.document.tensors.is_some() {
                let row = SliderRow::new("Hide below FA", f64::from(d.hide_below_fa), 0.0..=0.5)
                    .default(0.0)
                    .limits(0.0..=1.0)
                    .help("Hides voxels with low anisotropy");
                if let Some((v, phase)) = row.value(ui) {
                    set(
                        Display {
                            hide_below_fa: v as f32,
                            ..d.clone()
                        },
                        phase,
                    );
                }
            }
            if !colour
                && let Some(colour_map) = colour_maps(ui, &ColourMap::FOR_IMAGES, d.colour_map)
            {
                set(
                    Display {
                        colour_map,
                        ..d.clone()
                    },
                    Phase::Done,
                );
            }
            opacity(ui, d, 1.0, &mut set);
            if !colour {
                overlay::of_image(ui, layer, volume, memory, &mut set);
            }
            let names = ["Nearest", "Linear", "Cubic"];
            let all = [
                Interpolation::Nearest,
                Interpolation::Linear,
                Interpolation::Cubic,
            ];
            let now = all.iter().position(|&i| i == d.interpolation).unwrap_or(1);
            let help = "Display only; the data do not change";
            let chosen = select_row(ui, "Smoothing", help, names[now], |ui| {
                let mut chosen = None;
                for (i, name) in names.iter().enumerate() {
                    if menu::Item::new(name).chosen(i == now).show(ui) {
                        chosen = Some(all[i]);
                    }
                }
                chosen
            });
            if let Some(interpolation) = chosen {
                set(
                    Display {
                        interpolation,
                        ..d.clone()
                    },
                    Phase::Done,
                );
            }
        }
        Content::Mask(_) => {
            opacity(ui, d, MASK_OPACITY, &mut set);
            overlay::of_labels(ui, layer, overlay::MASK, &mut set);
        }
        Content::InPlace(_) | Content::Tractogram(_) => {
            let has = lines::AvailableValues::of_content(state, layer);
            if has.is_some_and(|has| lines::show(ui, d, &has, &mut set)) {
                let text = match &d.line_colouring {
                    LineColouring::ValuesFile(path) => path.display().to_string(),
                    _ => String::new(),
                };
                let (files, purpose) = (&mut memory.files, PathPurpose::LineValues(layer.id));
                files.ask_for_path(ui.ctx(), purpose, DialogPosition::Middle, &text);
            }
            file_space(ui, state, layer, actions);
        }
    }
}

/// Switches the axes of a file that does not name them.
fn file_space(ui: &mut Ui, state: &State, layer: &Layer, actions: &mut Vec<Action>) {
    let Origin::File { file, reading, .. } = state.document.origin(layer) else {
        return;
    };
    let Some(space) = reading.vtk_space else {
        return;
    };
    let text = Space::ALL.map(Space::name);
    let now = Space::ALL.iter().position(|s| *s == space).unwrap_or(0);
    let help = "The file does not say in which direction its axes run. If left and right are swapped, choose \
                the other option";
    if let Some(i) = segment_row(ui, "Axes in the file", help, &text, now) {
        actions.push(Action::Files(FilesAction::OpenAs {
            path: file.clone(),
            reading: Reading {
                vtk_space: Some(Space::ALL[i]),
                ..reading.clone()
            },
        }));
    }
}

pub(super) fn opacity(
    ui: &mut Ui,
    d: &Display,
    default: f32,
    set: &mut impl FnMut(Display, Phase),
) {
    let row = SliderRow::new("Opacity", f64::from(d.opacity) * 100.0, 0.0..=100.0)
        .decimals(0)
        .default(shortest_f64(default) * 100.0)
        .unit("%")
        .help("How far the layers below show through");
    if let Some((v, phase)) = row.value(ui) {
        set(
            Display {
                opacity: v as f32 / 100.0,
                ..d.clone()
            },
            phase,
        );
    }
}

fn frame(ui: &mut Ui, volume: &Volume, d: &Display, set: &mut impl FnMut(Display, Phase)) {
    let last = (volume.frames - 1) as f64;
    let row = SliderRow::new("Volume", d.frame as f64, 0.0..=last)
        .whole()
        .help("Which volume of the scan is shown, counted from 0");
    if let Some((v, phase)) = row.value(ui) {
        let frame = (v as usize).min(volume.frames - 1);
        set(Display { frame, ..d.clone() }, phase);
    }
}

/// The unit next to a slider; a long one does not fit and is shown in the corners of the views.
pub fn short_unit(layer: &Layer) -> &'static str {
    match layer.unit.chars().count() <= 3 {
        true => layer.unit,
        false => "",
    }
}

fn window(
    ui: &mut Ui,
    layer: &Layer,
    volume: &Volume,
    memory: &mut Memory,
    set: &mut impl FnMut(Display, Phase),
) {
    let d = &layer.display;
    let scale = f64::from(layer.unit_scale);
    let frame = d.frame.min(volume.frames - 1);
    let (low, high) = extent(memory, volume, frame);
    let (low, high) = (f64::from(low) * scale, f64::from(high) * scale);
    let values = (f64::from(d.window.0) * scale, f64::from(d.window.1) * scale);
    // The legend has the same decimals.
    let decimals = crate::ui::format::range_decimals([values.0, values.1]) as i32;
    let row = RangeRow {
        name: "Window",
        values,
        scale: Scale {
            range: low..=high,
            logarithmic: false,
            decimals,
        },
        default: &|| {
            let (low, high) = volume.percentiles(frame, 0.01, 0.99);
            (f64::from(low) * scale, f64::from(high) * scale)
        },
        unit: short_unit(layer),
        help: "Values shown as black and white. Right-drag on a slice does the same; double-click to reset",
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    if let Some(((low, high), phase)) = row.show(ui) {
        let window = ((low / scale) as f32, (high / scale) as f32);
        set(
            Display {
                window,
                ..d.clone()
            },
            phase,
        );
    }
}

pub(super) fn colour_maps(ui: &mut Ui, all: &[ColourMap], now: ColourMap) -> Option<ColourMap> {
    let texts = ("Colour map", "Colours from low to high");
    let choice = (all, Colours::Map(now));
    match colour_maps_and(ui, texts, choice, now.name(), std::iter::empty())? {
        Colours::Map(map) => Some(map),
        Colours::Fixed(_) => None,
    }
}

/// A row to choose a colour map or, below a separator, one of these single colours.
pub(super) fn colour_maps_and(
    ui: &mut Ui,
    (name, help): (&str, &str),
    (all, now): (&[ColourMap], Colours),
    shown: &str,
    single: impl Iterator<Item = (&'static str, [u8; 3])>,
) -> Option<Colours> {
    select_row(ui, name, help, shown, |ui| {
        let mut chosen = None;
        for &map in all {
            let is_now = now == Colours::Map(map);
            let hit = menu::glyph_item(ui, map.name(), "", is_now, |painter, at| {
                let strip = Rect::from_center_size(at + vec2(1.0, 0.0), vec2(18.0, 10.0));
                charts::colour_strip(painter, strip, |t| colour_of(map, t));
            });
            if hit {
                chosen = Some(Colours::Map(map));
            }
        }
        let mut single = single.peekable();
        if single.peek().is_some() {
            menu::line(ui);
        }
        for (name, rgb) in single {
            let [r, g, b] = rgb;
            let is_now = now == Colours::Fixed(rgb);
            let hit = menu::glyph_item(ui, name, "", is_now, |painter, at| {
                painter.circle_filled(at, 6.0, Color32::from_rgb(r, g, b));
            });
            if hit {
                chosen = Some(Colours::Fixed(rgb));
            }
        }
        chosen
    })
}

pub fn colour_of(map: ColourMap, t: f32) -> Color32 {
    let [r, g, b] = map.at(t);
    Color32::from_rgb(r, g, b)
}

/// The choice of the streamlines that the 3-D view shows.
pub fn slab(ui: &mut Ui, view: &View, actions: &mut Vec<Action>) {
    const PANES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
    let text = ["Whole", "Axial", "Sag.", "Cor."];
    let help = "Whole streamlines, or only the parts near a slice";
    let chosen = view
        .slab
        .and_then(|s| PANES.iter().position(|&p| p == s.pane));
    let thickness_mm = view.slab.map_or(Slab::DEFAULT_MM, |s| s.thickness_mm);
    if let Some(i) = segment_row(ui, "Lines in 3-D", help, &text, chosen.map_or(0, |i| i + 1)) {
        let pane = i.checked_sub(1).map(|i| PANES[i]);
        actions.push(Action::View(ViewAction::CutToSlab(
            pane.map(|pane| Slab { pane, thickness_mm }),
        )));
    }
    if let Some(slab) = view.slab {
        let row = SliderRow::new("Thickness", thickness_mm, 1.0..=60.0)
            .default(Slab::DEFAULT_MM)
            .limits(Slab::LIMITS_MM)
            .decimals(1)
            .unit("mm")
            .help("Thickness of the slab around the slice in which streamlines are drawn");
        if let Some((thickness_mm, _)) = row.value(ui) {
            actions.push(Action::View(ViewAction::CutToSlab(Some(Slab {
                thickness_mm,
                ..slab
            }))));
        }
    }
}
