//! Rows of the parameters that streamlines and rays share: steps, limits, integrator.

use super::parameters::{self, Rows, Shown};
use crate::data::Role;
use crate::parameters::Parameters;
use crate::solvers::curves::{Params, SeedingKind, SeedingParts};
use crate::state::State;
use crate::state::track::types::odf::Model;
use crate::ui::icons;
use crate::ui::theme::{self, size};
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::paint;
use crate::ui::widgets::slider::{Columns, label};
use egui::{Rect, Ui};
use std::ops::RangeInclusive;

/// Ranges that the fields accept, narrower than the table's limits.
const TYPED_STEP_MM: RangeInclusive<f64> = 0.01..=20.0;
pub const TYPED_LENGTH_MM: RangeInclusive<f64> = 0.0..=10_000.0;

/// Parameters with a row here or in the panel of streamlines, and the guard against endless curves, which the length
/// determines.
const PLACED: &[&str] = &[
    "seeds",
    "random-seed",
    "step",
    "angle",
    "fa",
    "min-length",
    "max-length",
    "max-steps",
    "integrator",
    "interpolation",
    "targets",
    "includes",
    "one-way",
    "deflect",
    "bootstrap",
];

/// Called by a row with changed parameters.
pub type OnChange<'a> = parameters::OnChange<'a, Params>;

/// Why values cannot be reset.
pub const DEFAULTS_STAND: &str = "All values are at their defaults";

/// The reset icon at a head; returns whether it was clicked.
pub fn reset(ui: &mut Ui, place: Rect, defaults: bool) -> bool {
    let reset = IconButton::new(icons::RESET, "Reset to defaults");
    let reset = reset.side(24.0);
    let reset = reset.disabled(defaults.then_some(DEFAULTS_STAND));
    reset.show_right(ui, place).clicked()
}

/// The row of one parameter of the seeding.
pub fn seeding(ui: &mut Ui, params: &Params, key: &str, set: &mut OnChange) {
    let (parts, defaults) = (SeedingParts::from(params.seeding), SeedingParts::defaults());
    let set: &mut parameters::OnChange<SeedingParts> = &mut |parts, phase| {
        let seeding = parts.into();
        let params = params.clone();
        set(Params { seeding, ..params }, phase);
    };
    if key == "kind" {
        return parameters::rows(ui, &parts, &defaults, Rows::Only(&[key]), set);
    }
    let shown = Shown {
        limits: typed_seeds(parts.kind),
        ..Shown::default()
    };
    parameters::number(ui, &parts, &defaults, key, shown, set);
}

/// The limits of a field of seed points, which accepts less than the table permits.
pub fn typed_seeds(kind: SeedingKind) -> Option<RangeInclusive<f64>> {
    match kind {
        SeedingKind::Random => None,
        SeedingKind::Grid => Some(0.02..=50.0),
        SeedingKind::PerVoxel => Some(1.0..=10_000.0),
    }
}

pub fn step(ui: &mut Ui, params: &Params, defaults: &Params, set: &mut OnChange) {
    let shown = Shown {
        limits: Some(TYPED_STEP_MM),
        ..Shown::default()
    };
    parameters::number(ui, params, defaults, "step", shown, set);
}

pub fn angle(ui: &mut Ui, params: &Params, defaults: &Params, set: &mut OnChange) {
    parameters::rows(ui, params, defaults, Rows::Only(&["angle"]), set);
}

/// `off` is the label of no limit.
pub fn fa(ui: &mut Ui, params: &Params, defaults: &Params, off: &str, set: &mut OnChange) {
    let shown = Shown {
        off: Some(off),
        ..Shown::default()
    };
    parameters::number(ui, params, defaults, "fa", shown, set);
}

pub fn length(ui: &mut Ui, params: &Params, defaults: &Params, set: &mut OnChange) {
    let rows = ("Length", ["min-length", "max-length"]);
    parameters::limits(ui, params, defaults, rows, TYPED_LENGTH_MM, set);
}

/// `fixed`: why no integrator can be chosen.
pub fn integrator(
    ui: &mut Ui,
    params: &Params,
    defaults: &Params,
    fixed: Option<&'static str>,
    set: &mut OnChange,
) {
    parameters::choice(ui, params, defaults, "integrator", |_| fixed, set);
}

/// `linear`: why splines cannot be chosen.
pub fn interpolation(
    ui: &mut Ui,
    params: &Params,
    defaults: &Params,
    linear: Option<&'static str>,
    set: &mut OnChange,
) {
    let why = |i: usize| linear.filter(|_| i == 1);
    parameters::choice(ui, params, defaults, "interpolation", why, set);
}

/// The rest of the table, below the rows that only one kind of curve has.
pub fn rest(ui: &mut Ui, state: &State, params: &Params, defaults: &Params, set: &mut OnChange) {
    parameters::rows(ui, params, defaults, Rows::Only(&["random-seed"]), set);
    mask(ui, state);
    parameters::rows(ui, params, defaults, Rows::Only(&["one-way"]), set);
    parameters::rows(ui, params, defaults, Rows::AllBut(PLACED), set);
}

/// The mask that curves stay within.
pub fn mask(ui: &mut Ui, state: &State) {
    let columns = Columns::allocate(ui);
    let regions = state.document.regions.iter();
    let masks: Vec<&str> = regions
        .filter(|r| r.role == Role::Mask)
        .map(|r| r.name.as_str())
        .collect();
    let within = if masks.is_empty() {
        match state.document.track.kind().model() {
            Model::Tensors => "fitted voxels",
            Model::Distributions => "voxels with fibres",
        }
        .to_owned()
    } else {
        masks.join(", ")
    };
    let help = "Paths stay inside. Give a region the role Mask to change it";
    label(ui, columns.label, "Mask", help);
    let p = theme::palette(ui.style());
    let font = theme::regular(size::LABEL);
    paint::right(ui.painter(), columns.wide, &within, font, p.t1);
}

/// The meaning of several targets and of several includes; no row unless there are several.
pub fn rules<P: Parameters>(
    ui: &mut Ui,
    state: &State,
    params: &P,
    defaults: &P,
    set: &mut parameters::OnChange<P>,
) {
    let several = |role: Role| {
        let mut with_role = state.document.regions.iter().filter(|r| r.role == role);
        with_role.nth(1).is_some()
    };
    for (role, key) in [(Role::Target, "targets"), (Role::Include, "includes")] {
        if several(role) {
            parameters::rows(ui, params, defaults, Rows::Only(&[key]), set);
        }
    }
}
