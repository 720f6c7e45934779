//! Density maps of the streamlines that a panel shows.

use super::display::segment_row_but;
use super::parameters::{self, Rows, Shown};
use crate::state::density::jobs::DENSITY;
use crate::state::density::{DensityAction, DensityOptions, DensityValue};
use crate::state::update::sent;
use crate::state::{Action, LayerId, State};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{paint, section};
use crate::ui::{Memory, icons};
use egui::{Rect, Sense, Ui, pos2, vec2};
use std::ops::RangeInclusive;

const TITLE: &str = "Density map";
/// Range of voxel sizes that the field accepts, mm.
const TYPED_MM: RangeInclusive<f64> = 0.05..=50.0;

/// The user's last choice.
#[derive(Clone, Default)]
pub struct Chosen(DensityOptions);

/// `layer`: `None` for the live streamlines. `why`: why they cannot be mapped at present.
pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: Option<LayerId>,
    why: Option<&str>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let (open, clicked) = section::fold(ui, TITLE, memory.is_open(TITLE, false));
    if clicked {
        memory.toggle(TITLE);
    }
    if !open {
        return;
    }
    let known = layer.is_none_or(|id| sent(&state.document, id).is_some());
    let density = &mut memory.forms.density.0;
    if !known && density.value() == DensityValue::Share {
        density.set_value(DensityValue::Count);
    }
    value(ui, density, known);
    let (defaults, voxels) = (DensityOptions::default(), density.voxels);
    let shown = Shown {
        limits: Some(TYPED_MM),
        ..Shown::default()
    };
    parameters::number(
        ui,
        &voxels,
        &defaults.voxels,
        "voxel",
        shown,
        &mut |changed, _| {
            density.voxels = changed;
        },
    );
    // The row of the value replaces these.
    let rest = Rows::AllBut(&["measure", "sent"]);
    let params = density.params.clone();
    parameters::rows(ui, &params, &defaults.params, rest, &mut |changed, _| {
        density.params = changed;
    });
    let options = density.clone();
    let running = state.runtime.jobs.is_running(&[DENSITY]);
    let why = why.or(running.then_some("A map is being computed"));
    let button = Button::plain("Map density")
        .icon(icons::PLUS)
        .disabled(why)
        .hint("Adds the map as a layer, and keeps the live streamlines as another");
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        pos2(row.left(), row.top() + 4.0),
        vec2(button.width(ui), space::BUTTON),
    );
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Density(DensityAction::Map { layer, options }));
    }
}

/// Measure and number sent in one row; `known`: whether the number sent is known.
fn value(ui: &mut Ui, map: &mut DensityOptions, known: bool) {
    let unknown = (!known).then_some("The number of streamlines sent is unknown");
    let now = DensityValue::ALL.iter().position(|&v| v == map.value());
    let help = "Share: fraction of all streamlines sent that pass through the voxel. Count: how many do. Length: \
                mm of streamline in it. A streamline counts once per voxel";
    let why_not = |i: usize| unknown.filter(|_| DensityValue::ALL[i] == DensityValue::Share);
    let labels = DensityValue::ALL.map(DensityValue::label);
    if let Some(i) = segment_row_but(ui, "Value", help, &labels, now.unwrap_or(1), why_not) {
        map.set_value(DensityValue::ALL[i]);
    }
}
