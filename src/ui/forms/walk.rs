//! Rows of the parameters that streamlines and rays share: steps, limits, integrator.

use super::display::{segment_row, segment_row_but};
use crate::data::Role;
use crate::solvers::curves::{self, Integrator, Interpolation, Match, Params};
use crate::state::{Phase, State};
use crate::ui::icons;
use crate::ui::theme::{self, size};
use crate::ui::widgets::button::{IconButton, checkbox};
use crate::ui::widgets::slider::{Change, Columns, RangeRow, Scale, SliderRow, label};
use crate::ui::widgets::{field, paint};
use egui::{Rect, Ui};

/// What a row calls with changed parameters.
pub type Set<'a> = dyn FnMut(Params, Phase) + 'a;

/// The icon at a head that sets everything back; returns whether it was clicked.
pub fn reset(ui: &mut Ui, place: Rect, usual: bool) -> bool {
    let reset = IconButton::new(icons::RESET, "Reset to defaults");
    let reset = reset.side(24.0).disabled(usual);
    reset.show_right(ui, place).clicked()
}

pub fn step(ui: &mut Ui, params: &Params, usual: &Params, set: &mut Set) {
    let row = SliderRow::new("Step", params.step_mm, 0.1..=2.0)
        .default(usual.step_mm)
        .limits(0.01..=20.0)
        .unit("mm")
        .help("Distance between points");
    if let Some((step_mm, phase)) = row.value(ui) {
        let params = params.clone();
        set(Params { step_mm, ..params }, phase);
    }
}

pub fn angle(ui: &mut Ui, params: &Params, usual: &Params, set: &mut Set) {
    // What it is switched on with where it is off by default.
    let common = usual
        .max_angle_rad
        .or(curves::Params::defaults().max_angle_rad);
    let angle = params.max_angle_rad.or(common).unwrap_or(0.8).to_degrees();
    let row = SliderRow::new("Maximum angle", (angle * 1e6).round() / 1e6, 10.0..=90.0)
        .decimals(0)
        .default(common.unwrap_or(0.8).to_degrees().round())
        .limits(1.0..=180.0)
        .unit("°")
        .switch(params.max_angle_rad.is_some(), "off: any turn is allowed")
        .help("Stops a path that turns more in one step");
    let (max_angle_rad, phase) = match row.show(ui) {
        Some(Change::To(v, phase)) => (Some(v.to_radians()), phase),
        Some(Change::Switched(on)) => (common.filter(|_| on), Phase::Done),
        None => return,
    };
    let params = params.clone();
    set(
        Params {
            max_angle_rad,
            ..params
        },
        phase,
    );
}

/// `off` says what no limit means.
pub fn fa(ui: &mut Ui, params: &Params, usual: &Params, off: &str, set: &mut Set) {
    let common = usual.min_fa.or(curves::Params::defaults().min_fa);
    let fa = params.min_fa.or(common).unwrap_or(0.15);
    let row = SliderRow::new("Stop below FA", fa, 0.0..=0.5)
        .default(common.unwrap_or(0.15))
        .limits(0.0..=1.0)
        .switch(params.min_fa.is_some(), off)
        .help("Stops a path where the tensor has little direction");
    let (min_fa, phase) = match row.show(ui) {
        Some(Change::To(v, phase)) => (Some(v), phase),
        Some(Change::Switched(on)) => (common.filter(|_| on), Phase::Done),
        None => return,
    };
    let params = params.clone();
    set(Params { min_fa, ..params }, phase);
}

pub fn length(ui: &mut Ui, params: &Params, usual: &Params, set: &mut Set) {
    let row = RangeRow {
        name: "Length",
        values: (params.min_length_mm, params.max_length_mm.unwrap_or(500.0)),
        scale: Scale {
            range: 0.0..=500.0,
            logarithmic: false,
            decimals: 0,
        },
        default: &|| (usual.min_length_mm, usual.max_length_mm.unwrap_or(300.0)),
        unit: "mm",
        help: "Shorter paths are discarded and counted; longer ones end there",
        limits: 0.0..=10_000.0,
        waits: false,
    };
    if let Some(((low, high), phase)) = row.show(ui) {
        // Without a limit the upper end stands at the end of the row.
        let no_limit = params.max_length_mm.is_none() && high >= 500.0;
        let changed = Params {
            min_length_mm: low,
            max_length_mm: (!no_limit).then_some(high),
            ..params.clone()
        };
        set(changed, phase);
    }
}

/// `fixed`: why none can be chosen.
pub fn integrator(ui: &mut Ui, params: &Params, fixed: Option<&str>, set: &mut Set) {
    let all = [Integrator::Euler, Integrator::Rk2, Integrator::Rk4];
    let now = all.iter().position(|&i| i == params.integrator);
    let help = "Higher orders follow bends more closely at the same step";
    let words = ["Euler", "RK2", "RK4"];
    if let Some(i) = segment_row_but(ui, "Integrator", help, &words, now.unwrap_or(2), |_| fixed) {
        let integrator = all[i];
        let params = params.clone();
        set(
            Params {
                integrator,
                ..params
            },
            Phase::Done,
        );
    }
}

/// `linear`: why splines cannot be chosen.
pub fn interpolation(ui: &mut Ui, params: &Params, linear: Option<&str>, set: &mut Set) {
    let all = [Interpolation::Trilinear, Interpolation::CubicBSpline];
    let now = all.iter().position(|&i| i == params.interpolation);
    let help = "How tensors are interpolated between voxels";
    let words = ["Trilinear", "Cubic"];
    let why = |i: usize| linear.filter(|_| all[i] == Interpolation::CubicBSpline);
    if let Some(i) = segment_row_but(ui, "Interpolation", help, &words, now.unwrap_or(0), why) {
        let changed = Params {
            interpolation: all[i],
            ..params.clone()
        };
        set(changed, Phase::Done);
    }
}

pub fn random_seed(ui: &mut Ui, params: &Params, set: &mut Set) {
    let columns = Columns::allocate(ui);
    let help = "Same seed, same paths";
    label(ui, columns.label, "Random seed", help);
    let shown = params.random_seed.to_string();
    if let Some(typed) = field::value(ui, columns.field, "Random seed", &shown, "")
        && let Ok(random_seed) = typed.trim().parse()
    {
        let params = params.clone();
        set(
            Params {
                random_seed,
                ..params
            },
            Phase::Done,
        );
    }
}

/// What paths stay within.
pub fn mask(ui: &mut Ui, state: &State) {
    let columns = Columns::allocate(ui);
    let regions = state.document.regions.iter();
    let masks: Vec<&str> = regions
        .filter(|r| r.role == Role::Mask)
        .map(|r| r.name.as_str())
        .collect();
    let within = if masks.is_empty() {
        "fitted voxels".to_owned()
    } else {
        masks.join(", ")
    };
    let help = "Paths stay inside. Give a region the role Mask to change it";
    label(ui, columns.label, "Mask", help);
    let p = theme::palette(ui.style());
    let font = theme::regular(size::LABEL);
    paint::right(ui.painter(), columns.wide, &within, font, p.t1);
}

/// What several targets, and several includes, mean; no row where there are not several.
pub fn rules(ui: &mut Ui, state: &State, params: &Params, set: &mut Set) {
    let several = |role: Role| {
        let mut of = state.document.regions.iter().filter(|r| r.role == role);
        of.nth(1).is_some()
    };
    let rows = [
        (
            Role::Target,
            "Targets",
            params.targets,
            "Any: it ends in the first target it meets. All: it has to meet every one and is not cut",
        ),
        (
            Role::Include,
            "Includes",
            params.includes,
            "Any: one of the include regions is enough. All: it has to pass through every one",
        ),
    ];
    for (role, name, rule, help) in rows {
        let now = usize::from(rule == Match::All);
        if !several(role) {
            continue;
        }
        let Some(i) = segment_row(ui, name, help, &["Any", "All"], now) else {
            continue;
        };
        let rule = [Match::Any, Match::All][i];
        let params = params.clone();
        let params = match role {
            Role::Target => Params {
                targets: rule,
                ..params
            },
            _ => Params {
                includes: rule,
                ..params
            },
        };
        set(params, Phase::Done);
    }
}

pub fn both_ways(ui: &mut Ui, params: &Params, set: &mut Set) {
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    let name = "Both ways from the seed";
    if let Some(both_ways) = checkbox(ui, place, name, params.both_ways) {
        let params = params.clone();
        set(
            Params {
                both_ways,
                ..params
            },
            Phase::Done,
        );
    }
}
