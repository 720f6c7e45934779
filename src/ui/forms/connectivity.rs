//! Connections between labels: the settings of the matrix.

use super::display::{segment_row, select_row};
use super::parameters::{self, Rows};
use super::streamlines::{image_items, scalar_images};
use crate::data::Tractogram;
use crate::solvers::connectivity::Params;
use crate::state::streamlines::{Column, ConnectSettings, MatrixValue};
use crate::state::{Action, Content, Layer, State, StreamlineAction};
use crate::ui::widgets::{menu, rows};
use egui::Ui;
use std::sync::Arc;

/// Layers that can serve as label maps, the topmost first.
pub fn maps(state: &State) -> impl Iterator<Item = &Arc<Layer>> {
    state.document.layers.iter().rev().filter(|l| is_map(l))
}

fn is_map(layer: &Layer) -> bool {
    let volume = match &layer.content {
        Content::Image(volume) => volume,
        _ => return false,
    };
    let scalar = volume.frames == 1 && volume.kind == crate::data::VolumeKind::Scalar;
    scalar && (volume.labels.is_some() || holds_whole_numbers(&volume.values))
}

/// Checks the first values that are not background: maps of measures soon have fractions.
fn holds_whole_numbers(values: &[f32]) -> bool {
    let mut some = values.iter().filter(|v| **v != 0.0).take(4096);
    some.all(|v| v.fract() == 0.0 && *v > 0.0)
}

/// The choice of the label map; `none` stands for no choice.
pub fn label_map_row(
    ui: &mut Ui,
    state: &State,
    (none, help): (&str, &str),
    actions: &mut Vec<Action>,
) {
    let now = state.label_map();
    let name = now.map_or(none, |l| l.name.as_str());
    let chosen = select_row(ui, "Label map", help, name, |ui| {
        let mut chosen = None;
        for map in maps(state) {
            let is_now = now.is_some_and(|l| l.id == map.id);
            if menu::Item::new(&map.name).chosen(is_now).show(ui) {
                chosen = Some(map.id);
            }
        }
        chosen
    });
    if chosen.is_some() {
        let settings = ConnectSettings {
            labels: chosen,
            ..state.document.streamlines.connect.clone()
        };
        actions.push(Action::Streamline(StreamlineAction::SetConnect(settings)));
    }
}

pub fn show(ui: &mut Ui, state: &State, lines: &Tractogram, actions: &mut Vec<Action>) {
    let settings = &state.document.streamlines.connect;
    if maps(state).next().is_none() {
        rows::hint(
            ui,
            "Open a label map: an image of whole numbers, one for each structure",
        );
        return;
    }
    let help = "An image of whole numbers, one for each structure";
    label_map_row(ui, state, ("Choose one", help), actions);
    let mut set = |settings: ConnectSettings| {
        actions.push(Action::Streamline(StreamlineAction::SetConnect(settings)));
    };
    parameters::rows(
        ui,
        &settings.params,
        &Params::defaults(),
        Rows::AllBut(&[]),
        &mut |params, _| {
            set(ConnectSettings {
                params,
                ..settings.clone()
            });
        },
    );
    let shown = match &settings.value {
        Some(column) => state.column_name(column),
        None => "None".to_owned(),
    };
    let help = "Mean of the value over the streamlines of a pair";
    let chosen = select_row(ui, "Mean of", help, &shown, |ui| {
        let mut chosen = None;
        if menu::Item::new("None")
            .chosen(settings.value.is_none())
            .show(ui)
        {
            chosen = Some(None);
        }
        for name in lines.value_names().into_iter().skip(1) {
            let column = Column::Value(name.to_owned());
            if super::streamlines::is_stop(&column) || ["seed", "measure"].contains(&name) {
                continue;
            }
            let is_now = settings.value.as_ref() == Some(&column);
            if menu::Item::new(&state.column_name(&column))
                .chosen(is_now)
                .show(ui)
            {
                chosen = Some(Some(column));
            }
        }
        let offered = scalar_images(state);
        let is_now = |id| settings.value == Some(Column::Image(id));
        let image = image_items(ui, state, &offered, is_now);
        chosen.or(image.map(|id| Some(Column::Image(id))))
    });
    if let Some(value) = chosen {
        let shown = match (settings.shown, &value) {
            (MatrixValue::Value, None) => MatrixValue::Count,
            (shown, _) => shown,
        };
        set(ConnectSettings {
            value,
            shown,
            ..settings.clone()
        });
    }
    let value_labels = ["Count", "Length", "Value"];
    let value_labels = match settings.value {
        Some(_) => &value_labels[..],
        None => &value_labels[..2],
    };
    let now = MatrixValue::ALL
        .iter()
        .position(|s| *s == settings.shown)
        .unwrap_or(0);
    let help = "What the colours of the matrix show";
    if let Some(i) = segment_row(ui, "Matrix of", help, value_labels, now) {
        set(ConnectSettings {
            shown: MatrixValue::ALL[i],
            ..settings.clone()
        });
    }
}
