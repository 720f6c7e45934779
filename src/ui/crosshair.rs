//! The values of all layers at the crosshair, and the distribution of fibres there.

use super::widgets::{rows, section};
use super::{odf_picture, probe, theme};
use crate::data::OdfField;
use crate::state::State;
use egui::{Role, Sense, Ui, WidgetInfo, vec2};

/// Height of the picture of a distribution.
const PICTURE: f32 = 88.0;

/// Height that the list needs.
pub fn height(state: &State) -> f32 {
    let n = probe::readings(state).len().max(1);
    let picture = distribution(state).map_or(0.0, |_| PICTURE + 8.0);
    36.0 + picture + 22.0 * n as f32 + 12.0
}

pub fn show(ui: &mut Ui, state: &State) {
    section::head(ui, "At the crosshair");
    picture(ui, state);
    let readings = probe::readings(state);
    if readings.is_empty() {
        rows::hint(ui, "No values here. Click a slice to move the crosshair");
    }
    for reading in readings {
        rows::reading(ui, &reading.name, &reading.value);
    }
}

/// The field of distributions and the voxel at the crosshair, if it is on the grid.
fn distribution(state: &State) -> Option<(&OdfField, usize)> {
    let field = state.document.distributions.field()?;
    let voxel = field.grid.index(field.grid.nearest(state.view.crosshair)?);
    Some((field, voxel))
}

/// The distribution at the crosshair, turned as in the 3-D view.
fn picture(ui: &mut Ui, state: &State) {
    let Some((field, voxel)) = distribution(state) else {
        return;
    };
    let desired_size = vec2(ui.available_width(), PICTURE + 8.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    let p = theme::palette(ui.style());
    let place = egui::Rect::from_center_size(rect.center(), vec2(PICTURE, PICTURE));
    ui.painter().rect_filled(place, 4.0, p.b2);
    let coefficients = field.coefficients_at(voxel);
    let axes = state.view.camera.axes();
    let inner = place.shrink(6.0);
    odf_picture::show(ui.painter(), inner, field.order(), &coefficients, axes);
    let name = "Fibre orientations at the crosshair, seen as in the 3-D view";
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
    response.on_hover_text(name);
}
