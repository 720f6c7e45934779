//! Limits, opacity by value and outlines of an image over others.

use super::display::{extent, segment_row, short_unit};
use crate::data::Volume;
use crate::state::core::overlay::Overlay;
use crate::state::{Display, Layer, Phase};
use crate::ui::Memory;
use crate::ui::widgets::slider::{RangeRow, Scale};
use egui::Ui;

/// Help of the outlines of a label map.
pub const LABELS: &str = "Draws only the outline of each label";
/// Help of the outline of a mask.
pub const MASK: &str = "Draws a line around the mask";

/// The rows of a scalar image.
pub fn of_image(
    ui: &mut Ui,
    layer: &Layer,
    volume: &Volume,
    memory: &mut Memory,
    set: &mut impl FnMut(Display, Phase),
) {
    let d = &layer.display;
    let overlay = &d.overlay;
    let mut change = |overlay: Overlay, phase: Phase| {
        let display = Display {
            overlay,
            ..d.clone()
        };
        set(display, phase);
    };
    let frame = d.frame.min(volume.frames - 1);
    let (low, high) = extent(memory, volume, frame);
    let has_sign = low < 0.0 && high > 0.0;
    let most = low.abs().max(high.abs());
    let range = match overlay.is_symmetric {
        true => (0.0, most),
        false => (low, high),
    };
    let help = "Shows all values, those between two limits, or those whose size, without the sign, lies between them";
    let choices: &[&str] = match has_sign || overlay.is_symmetric {
        true => &["All", "Limits", "± Limits"],
        false => &["All", "Limits"],
    };
    let now = match (overlay.limits, overlay.is_symmetric) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => 2,
    };
    if let Some(chosen) = segment_row(ui, "Values", help, choices, now).filter(|c| *c != now) {
        let is_symmetric = chosen == 2;
        let top = if is_symmetric { most } else { high };
        let start = match is_symmetric {
            true => d.window.0.abs().max(d.window.1.abs()) * 0.5,
            false => d.window.0,
        };
        let overlay = Overlay {
            limits: (chosen > 0).then_some((start, top)),
            is_symmetric,
            ..overlay.clone()
        };
        change(overlay, Phase::Done);
    }
    if let Some(limits) = overlay.limits {
        self::limits(ui, layer, limits, range, &mut |limits, phase| {
            let overlay = Overlay {
                limits: Some(limits),
                ..overlay.clone()
            };
            change(overlay, phase);
        });
        let help = "Draws lines where the values reach the limits";
        if let Some(is_outlined) = switch(ui, "Outline", help, overlay.is_outlined) {
            let overlay = Overlay {
                is_outlined,
                ..overlay.clone()
            };
            change(overlay, Phase::Done);
        }
    }
    let help = "Opacity rises with the value, from the low end of the window to its high end";
    let names = ["Uniform", "By value"];
    let now = usize::from(overlay.opacity_by_value);
    if let Some(chosen) = segment_row(ui, "Transparency", help, &names, now).filter(|c| *c != now) {
        let overlay = Overlay {
            opacity_by_value: chosen == 1,
            ..overlay.clone()
        };
        change(overlay, Phase::Done);
    }
}

/// The row of a label map or a mask.
pub fn of_labels(ui: &mut Ui, layer: &Layer, help: &str, set: &mut impl FnMut(Display, Phase)) {
    let d = &layer.display;
    if let Some(is_outlined) = switch(ui, "Outline", help, d.overlay.is_outlined) {
        let display = Display {
            overlay: Overlay {
                is_outlined,
                ..d.overlay.clone()
            },
            ..d.clone()
        };
        set(display, Phase::Done);
    }
}

/// A row with the switch off and on; its new setting.
fn switch(ui: &mut Ui, name: &str, help: &str, is_on: bool) -> Option<bool> {
    let now = usize::from(is_on);
    let chosen = segment_row(ui, name, help, &["Off", "On"], now);
    chosen.filter(|c| *c != now).map(|c| c == 1)
}

fn limits(
    ui: &mut Ui,
    layer: &Layer,
    (low, high): (f32, f32),
    range: (f32, f32),
    set: &mut impl FnMut((f32, f32), Phase),
) {
    let scale = f64::from(layer.unit_scale);
    let shown = |value: f32| f64::from(value) * scale;
    let values = (shown(low), shown(high));
    let row = RangeRow {
        name: "Limits",
        values,
        scale: Scale {
            range: shown(range.0)..=shown(range.1),
            logarithmic: false,
            decimals: crate::ui::format::range_decimals([values.0, values.1]) as i32,
        },
        default: &|| (shown(range.0), shown(range.1)),
        unit: short_unit(layer),
        help: "Values outside are transparent; double-click to show all",
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    if let Some(((low, high), phase)) = row.show(ui) {
        set(((low / scale) as f32, (high / scale) as f32), phase);
    }
}
