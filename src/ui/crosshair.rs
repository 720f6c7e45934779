//! The values of all layers at the crosshair.

use super::probe;
use super::widgets::{rows, section};
use crate::state::State;
use egui::Ui;

/// Height that the list needs.
pub fn height(state: &State) -> f32 {
    let n = probe::readings(state).len().max(1);
    36.0 + 22.0 * n as f32 + 12.0
}

pub fn show(ui: &mut Ui, state: &State) {
    section::head(ui, "At the crosshair");
    let readings = probe::readings(state);
    if readings.is_empty() {
        rows::hint(ui, "No values here. Click a slice to move the crosshair");
    }
    for reading in readings {
        rows::reading(ui, &reading.name, &reading.value);
    }
}
