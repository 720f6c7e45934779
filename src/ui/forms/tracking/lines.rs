//! Controls of streamlines that rays do not have: deflection and the bootstrap.

use super::super::curve_parameters::OnChange;
use super::super::parameters::{self, Rows};
use crate::parameters::Parameters as _;
use crate::solvers::curves::{DeflectionParts, Integrator, Params};
use crate::state::State;
use crate::ui::widgets::rows;
use egui::Ui;

/// The number of bootstrap fits of the tensors.
pub fn bootstrap(
    ui: &mut Ui,
    state: &State,
    params: &Params,
    defaults: &Params,
    set: &mut OnChange,
) {
    parameters::rows(ui, params, defaults, Rows::Only(&["bootstrap"]), set);
    hint(ui, state, params);
}

/// The requirements of a bootstrap.
fn hint(ui: &mut Ui, state: &State, params: &Params) {
    if params.repetitions.is_some() && state.document.resample().is_none() {
        rows::hint(ui, "Needs the scan that the tensors were fitted from");
    }
}

/// Whether the tensor deflects the last direction or replaces it.
pub fn deflection(ui: &mut Ui, params: &Params, set: &mut OnChange) {
    let (parts, defaults) = (
        DeflectionParts::from(params.deflection),
        DeflectionParts::defaults(),
    );
    let rows = match parts.deflected {
        true => Rows::AllBut(&[]),
        false => Rows::Only(&["deflected"]),
    };
    parameters::rows(ui, &parts, &defaults, rows, &mut |changed, phase| {
        let integrator = match (parts.deflected, changed.deflected) {
            (false, true) => Integrator::Euler,
            (true, false) => Params::defaults().integrator,
            _ => params.integrator,
        };
        let deflection = changed.into();
        let changed = Params {
            deflection,
            integrator,
            ..params.clone()
        };
        set(changed, phase);
    });
}
