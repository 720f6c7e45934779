//! The values of all layers at the crosshair, and the distribution of fibres there.

use super::format::{fixed, with_unit};
use super::widgets::button::segmented;
use super::widgets::{paint, rows, section};
use super::{Memory, odf_picture, probe, theme};
use crate::data::text::counted;
use crate::data::{AffineSource, OdfField};
use crate::state::view::{Convention, View, letter};
use crate::state::{Pane, State};
use egui::{Align2, Rect, Role, Sense, Ui, WidgetInfo, vec2};
use glam::{DMat3, DVec3};
use theme::{size, space};

/// Side of the picture of a distribution.
const PICTURE: f32 = 184.0;
/// Margin of the picture, for the letters.
const LETTERS: f32 = 20.0;
/// Height of the choice of the view, and of the line that names the viewpoint.
const CHOICE: f32 = 28.0;
const VIEWPOINT: f32 = 20.0;

/// How the crosshair is linked to other windows, and whether theirs lies outside the data here; `None` if it is not
/// linked.
pub fn link_text(state: &State) -> Option<(String, bool)> {
    let link = &state.crosshair_link;
    if !link.is_on {
        return None;
    }
    let text = match (link.outside, link.others) {
        (Some(at), _) => {
            let [x, y, z] = at.to_array().map(|v| fixed(v, 1));
            let place = with_unit(&format!("x {x} y {y} z {z}"), "mm");
            format!("Linked crosshair at {place}, outside the data here")
        }
        (None, 0) => "Linked: no other window is open".to_owned(),
        (None, n) => format!("Linked to {}", counted(n, "other window")),
    };
    Some((text, link.outside.is_some()))
}

/// Height that the list needs.
pub fn height(state: &State) -> f32 {
    let n = probe::readings(state).len().max(1);
    let picture = distribution(state).map_or(0.0, |_| CHOICE + PICTURE + VIEWPOINT + 8.0);
    36.0 + picture + 22.0 * n as f32 + 12.0
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory) {
    section::head(ui, "At the crosshair");
    picture(ui, state, memory);
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

/// Screen right, screen up and towards the viewer of a view, in world axes.
pub fn axes(view: &View, pane: Pane) -> DMat3 {
    match view.screen_axes(pane) {
        Some((right, down)) => DMat3::from_cols(right, -down, right.cross(-down)),
        None => view.camera.axes(),
    }
}

/// From where a distribution is seen: `Seen from below, radiological`.
fn viewpoint(view: &View, pane: Pane) -> String {
    let side = side_of_patient(axes(view, pane).z_axis);
    let convention = match view.convention {
        Convention::Radiological => "radiological",
        Convention::Neurological => "neurological",
    };
    match pane {
        Pane::Scene => format!("As in the 3-D view, seen from {side}"),
        _ if !view.turn.is_straight() => format!("Seen from {side}, turned"),
        Pane::Sagittal => format!("Seen from {side}"),
        Pane::Axial | Pane::Coronal => format!("Seen from {side}, {convention}"),
    }
}

/// The side of the patient nearest to a direction, after “from”.
fn side_of_patient(direction: DVec3) -> &'static str {
    match letter(direction) {
        'L' => "the left",
        'R' => "the right",
        'A' => "the front",
        'P' => "the back",
        'S' => "above",
        _ => "below",
    }
}

/// The distribution at the crosshair, as in one of the views.
fn picture(ui: &mut Ui, state: &State, memory: &mut Memory) {
    let Some((field, voxel)) = distribution(state) else {
        return;
    };
    let p = theme::palette(ui.style());
    let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), CHOICE), Sense::hover());
    let row = paint::inset(row, space::INSET, space::INSET);
    let row = Rect::from_min_size(row.min, vec2(row.width(), CHOICE - 4.0));
    let now = Pane::ALL.iter().position(|pane| *pane == memory.glyph_pane);
    let names = Pane::ALL.map(Pane::name);
    let chosen = segmented(ui, row, "View of the fibres", &names, now.unwrap_or(0));
    if let Some(chosen) = chosen {
        memory.glyph_pane = Pane::ALL[chosen];
    }
    let pane = memory.glyph_pane;
    let desired_size = vec2(ui.available_width(), PICTURE);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    let place = Rect::from_center_size(rect.center(), vec2(PICTURE, PICTURE));
    let painter = ui.painter();
    painter.rect_filled(place, 4.0, p.b2);
    let axes = axes(&state.view, pane);
    let inner = place.shrink(LETTERS);
    let coefficients = field.coefficients_at(voxel);
    painter.add(odf_picture::mesh(inner, field.order(), &coefficients, axes));
    let guessed = field.grid.source == AffineSource::Pixdim;
    for letter in odf_picture::letters(place.shrink(LETTERS * 0.5), axes) {
        let is_guessed = guessed && matches!(letter.side, 'L' | 'R');
        let (text, ink) = match (is_guessed, letter.is_behind) {
            (true, _) => (format!("{}?", letter.side), p.warning),
            (false, true) => (letter.side.to_string(), p.t3),
            (false, false) => (letter.side.to_string(), p.t1),
        };
        let font = theme::semibold(size::LABEL);
        painter.text(letter.at, Align2::CENTER_CENTER, text, font, ink);
    }
    let viewpoint = viewpoint(&state.view, pane);
    let name = format!("Fibre orientations at the crosshair. {viewpoint}");
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    response.on_hover_text(
        "Distance from the centre: amplitude. Red: left and right; green: front and back; blue: up and down",
    );
    let desired_size = vec2(ui.available_width(), VIEWPOINT);
    let (line, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    paint::centre(
        ui.painter(),
        line,
        &viewpoint,
        theme::regular(size::CAPTION),
        p.t2,
    );
    ui.add_space(8.0);
}
