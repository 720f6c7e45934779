//! The point to which one ray leads from each seed.

use super::{OnChange, with};
use crate::solvers::geodesic::Params;
use crate::state::{Phase, Rays, State};
use crate::ui::forms::parameters::{self, Rows};
use crate::ui::panels;
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::paint;
use egui::{Rect, Sense, Ui, vec2};

/// The rays with the crosshair as their point, to a tenth of a millimetre.
pub fn at_crosshair(state: &State, rays: &Rays) -> Rays {
    let tenths = |mm: f64| (mm * 10.0).round() / 10.0;
    let point = state.view.crosshair.to_array().map(tenths);
    through(rays, Some(point))
}

/// The rays through a point, or in all directions.
pub fn through(rays: &Rays, point: Option<[f64; 3]>) -> Rays {
    let params = Params {
        through: point,
        ..rays.params.clone()
    };
    with(rays, params)
}

/// The row of the point, and buttons that set and remove it.
pub fn show(ui: &mut Ui, state: &State, rays: &Rays, defaults: &Rays, set: &mut OnChange) {
    parameters::rows(ui, rays, defaults, Rows::Only(&["through"]), set);
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(place.min, vec2(place.width(), space::BUTTON));
    let here = Button::plain("Through the crosshair");
    let here = here.hint("One ray from each seed ends at the crosshair: click a slice first");
    let off = rays.params.through.is_none();
    let all =
        Button::plain("All directions").disabled(off.then_some("Rays leave in all directions"));
    let (responses, _) = panels::button_row(ui, place, vec![here, all]);
    if responses[0].clicked() {
        set(at_crosshair(state, rays), Phase::Done);
    }
    if responses[1].clicked() {
        set(through(rays, None), Phase::Done);
    }
}
