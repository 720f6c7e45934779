//! Controls that streamlines have and rays have not: deflection and the bootstrap.

use super::super::display::segment_row;
use super::super::walk::Set;
use crate::solvers::curves::{self, Deflection, Integrator, Params};
use crate::state::{Phase, State};
use crate::ui::widgets::rows;
use crate::ui::widgets::slider::{Change, SliderRow};
use egui::Ui;

const ON_CPU: &str = "Computed on the CPU";

/// How often the tensors are fitted again.
pub fn bootstrap(ui: &mut Ui, state: &State, params: &Params, set: &mut Set) {
    let repetitions = params.repetitions.unwrap_or(curves::DEFAULT_REPETITIONS);
    let row = SliderRow::new("Bootstrap", repetitions as f64, 1.0..=1_000.0)
        .logarithmic()
        .decimals(0)
        .default(curves::DEFAULT_REPETITIONS as f64)
        .limits(1.0..=100_000.0)
        .switch(params.repetitions.is_some(), "off: deterministic")
        .help(
            "Probabilistic: tracks from every seed several times, each time through tensors refitted with \
             random signs of the residuals (wild bootstrap)",
        );
    let (repetitions, phase) = match row.show(ui) {
        Some(Change::To(v, phase)) => (Some(v as usize), phase),
        Some(Change::Switched(on)) => (on.then_some(repetitions), Phase::Done),
        None => return hint(ui, state, params),
    };
    let changed = Params {
        repetitions,
        ..params.clone()
    };
    set(changed, phase);
    hint(ui, state, params);
}

/// What a bootstrap wants, or where it runs.
fn hint(ui: &mut Ui, state: &State, params: &Params) {
    if params.repetitions.is_some() && state.document.resample().is_none() {
        rows::hint(ui, "Needs the scan that the tensors were fitted from");
    } else if params.repetitions.is_some() && state.session.is_on_card() {
        rows::hint(ui, ON_CPU);
    }
}

/// Whether the tensor turns the last direction, or gives its own.
pub fn deflection(ui: &mut Ui, state: &State, params: &Params, set: &mut Set) {
    let help = "Principal: along the main direction of the tensor. Deflected (TEND): the tensor deflects the \
                previous direction, which holds the course through planar tensors and crossings";
    let now = usize::from(params.deflection.is_some());
    if let Some(i) = segment_row(ui, "Direction", help, &["Principal", "Deflected"], now) {
        let deflected = i == 1;
        let changed = Params {
            deflection: deflected.then(curves::Deflection::defaults),
            integrator: match deflected {
                true => Integrator::Euler,
                false => curves::Params::defaults().integrator,
            },
            ..params.clone()
        };
        if i != now {
            set(changed, Phase::Done);
        }
    }
    let Some(deflection) = params.deflection else {
        return;
    };
    let usual = curves::Deflection::defaults();
    let row = |name, value, usual, help| {
        SliderRow::new(name, value, 0.0..=1.0)
            .default(usual)
            .limits(0.0..=1.0)
            .help(help)
    };
    let f = row(
        "Principal f",
        deflection.f,
        usual.f,
        "Share of the tensor's main direction in each step; 1 is tracking without deflection",
    );
    let f = f
        .value(ui)
        .map(|(f, phase)| (Deflection { f, ..deflection }, phase));
    let g = row(
        "Deflected g",
        deflection.g,
        usual.g,
        "Share of the deflected direction in the remainder; the rest continues straight",
    );
    let g = g
        .value(ui)
        .map(|(g, phase)| (Deflection { g, ..deflection }, phase));
    if let Some((deflection, phase)) = f.or(g) {
        let changed = Params {
            deflection: Some(deflection),
            ..params.clone()
        };
        set(changed, phase);
    }
    if state.session.is_on_card() {
        rows::hint(ui, ON_CPU);
    }
}
