//! The rows of a layer of fixels: the list of values, its range, the values that are drawn, and the colours.

use super::display::{colour_maps, segment_row, select_row};
use crate::data::Fixels;
use crate::data::appearance::ColourMap;
use crate::state::core::overlay::Overlay;
use crate::state::core::text::{decimals_of, file_stem};
use crate::state::{Action, Display, FilesAction, Layer, LayerAction, Phase, State, ViewAction};
use crate::ui::widgets::menu;
use crate::ui::widgets::slider::{RangeRow, Scale};
use egui::Ui;
use std::path::Path;

/// The name of directions without a list of values.
const UNIT: &str = "None: length 1";

pub fn show(
    ui: &mut Ui,
    state: &State,
    (layer, fixels): (&Layer, &Fixels),
    actions: &mut Vec<Action>,
) {
    let mut set = |display: Display, phase: Phase| {
        actions.push(Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase,
        }));
    };
    if fixels.has_values() {
        values(ui, (&layer.display, fixels), &mut set);
    }
    if let Some(path) = list_row(ui, fixels) {
        actions.extend(shown_list(state, fixels, &path));
    }
}

/// The rows of the values: their range, those that are drawn, and their colours.
fn values(ui: &mut Ui, (d, fixels): (&Display, &Fixels), set: &mut impl FnMut(Display, Phase)) {
    let range = (f64::from(fixels.range.0), f64::from(fixels.range.1));
    let window = (f64::from(d.window.0), f64::from(d.window.1));
    let natural = (f64::from(fixels.window.0), f64::from(fixels.window.1));
    let help = "Values of the first and the last colour; lines by value have the full length at the end farther from 0";
    if let Some((window, phase)) = range_row(ui, ("Range", help), window, range, natural) {
        set(
            Display {
                window,
                ..d.clone()
            },
            phase,
        );
    }
    limits(ui, (d, fixels), range, set);
    if let Some(colour_map) = colour_maps(ui, &ColourMap::FOR_IMAGES, d.colour_map) {
        set(
            Display {
                colour_map,
                ..d.clone()
            },
            Phase::Done,
        );
    }
}

/// The rows that choose the values that are drawn.
fn limits(
    ui: &mut Ui,
    (d, fixels): (&Display, &Fixels),
    range: (f64, f64),
    set: &mut impl FnMut(Display, Phase),
) {
    let overlay = &d.overlay;
    let mut change = |limits: Option<(f32, f32)>, is_symmetric: bool, phase: Phase| {
        let overlay = Overlay {
            limits,
            is_symmetric,
            ..overlay.clone()
        };
        set(
            Display {
                overlay,
                ..d.clone()
            },
            phase,
        );
    };
    let most = fixels.range.0.abs().max(fixels.range.1.abs());
    let has_sign = fixels.range.0 < 0.0;
    let choices: &[&str] = match has_sign || overlay.is_symmetric {
        true => &["All", "Limits", "± Limits"],
        false => &["All", "Limits"],
    };
    let now = match (overlay.limits, overlay.is_symmetric) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => 2,
    };
    let help = "Draws all fixels, those with values between two limits, or those whose value without its sign lies there";
    if let Some(chosen) = segment_row(ui, "Values", help, choices, now).filter(|c| *c != now) {
        let limits = match chosen {
            0 => None,
            1 => Some((d.window.0, fixels.range.1)),
            _ => Some((d.window.1.abs() * 0.5, most)),
        };
        change(limits, chosen == 2, Phase::Done);
    }
    if let Some((low, high)) = overlay.limits {
        let all = match overlay.is_symmetric {
            true => (0.0, f64::from(most)),
            false => range,
        };
        let help = "Fixels with other values are not drawn; double-click to draw all";
        let values = (f64::from(low), f64::from(high));
        if let Some((limits, phase)) = range_row(ui, ("Limits", help), values, all, all) {
            change(Some(limits), overlay.is_symmetric, phase);
        }
    }
}

fn range_row(
    ui: &mut Ui,
    (name, help): (&str, &str),
    values: (f64, f64),
    range: (f64, f64),
    default: (f64, f64),
) -> Option<((f32, f32), Phase)> {
    let row = RangeRow {
        name,
        values,
        scale: Scale {
            range: range.0..=range.1,
            logarithmic: false,
            decimals: decimals_of(range.1 - range.0),
        },
        default: &|| default,
        unit: "",
        help,
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    let ((low, high), phase) = row.show(ui)?;
    Some(((low as f32, high as f32), phase))
}

/// Chooses another list of values of the same folder.
fn list_row(ui: &mut Ui, fixels: &Fixels) -> Option<std::path::PathBuf> {
    if fixels.lists.is_empty() {
        return None;
    }
    let name = |path: &Path| file_stem(path);
    let now = fixels.values_list.as_deref();
    let shown = now.map_or_else(|| UNIT.to_owned(), name);
    let help = "Opens another list of values of this folder as a layer, and shows its lines";
    select_row(ui, "Values of", help, &shown, |ui| {
        let mut chosen = None;
        for list in &fixels.lists {
            let is_now = Some(list.as_path()) == now;
            let item = menu::Item::new(&name(list)).chosen(is_now).show(ui);
            if item && !is_now {
                chosen = Some(list.clone());
            }
        }
        chosen
    })
}

/// Shows the lines of a list: of its layer if it is open, otherwise of the file.
fn shown_list(state: &State, fixels: &Fixels, path: &Path) -> Vec<Action> {
    let mut layers = state.document.layers.iter();
    let open = layers.find(|layer| {
        let known = layer.content.volume().and_then(|v| v.fixels.as_ref());
        known.is_some_and(|known| known.shows(path, fixels))
    });
    let Some(layer) = open else {
        return vec![Action::Files(FilesAction::Open(vec![path.to_owned()]))];
    };
    let look = state.view.glyphs.showing_peaks_of(layer.id);
    let mut actions = vec![Action::View(ViewAction::SetGlyphs(look))];
    // The eye of a layer of fixels hides its lines.
    if !state.shows(layer) {
        actions.push(Action::Layer(LayerAction::Show {
            layer: layer.id,
            visible: true,
        }));
    }
    actions
}
