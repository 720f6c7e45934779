//! Residuals for bootstrapped streamlines.

use crate::compute::{Backend, Control};
use crate::solvers::Error;
use crate::solvers::csd;
use crate::solvers::tensor_fit::{self, Residuals};
use crate::state::tensors::jobs::fod::shares_of_curves;
use crate::state::tensors::types::BootstrapInput;
use crate::state::tensors::types::fods::FodBootstrapInput;
use std::sync::Arc;

/// The residuals of a fit, from its cache if known; `memory`: free bytes.
pub fn residuals(
    input: &BootstrapInput,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Arc<Residuals>, Error> {
    let cache = &input.residuals.0;
    // After a card has failed, the CPU does not use what is there.
    let is_usable =
        |known: &&Arc<Residuals>| !known.is_on_card() || backend.accelerator().is_some();
    if let Some(residuals) = cache.get().filter(is_usable) {
        return Ok(residuals.clone());
    }
    let computed = tensor_fit::residuals(
        &input.dwi,
        &input.gradients,
        &input.mask,
        &input.params,
        memory,
        backend,
        control,
    )?;
    let computed = Arc::new(computed);
    // Only the first ones are kept.
    let _ = cache.set(computed.clone());
    Ok(computed)
}

/// The residuals of a deconvolution, from its cache if known, for this number of repetitions, whose share of the progress
/// is left for them.
pub fn fod_residuals(
    input: &FodBootstrapInput,
    repetitions: Option<usize>,
    backend: &Backend,
    control: &Control,
) -> Result<Arc<csd::Residuals>, Error> {
    if let Some(residuals) = input.residuals.get() {
        return Ok(residuals.clone());
    }
    control.plan_from(0.0, &shares_of_curves(repetitions.unwrap_or(1)));
    let computed = csd::residuals(
        &input.dwi,
        &input.gradients,
        &input.mask,
        &input.responses,
        &input.params,
        backend,
        control,
    )?;
    Ok(input.residuals.get_or_init(|| Arc::new(computed)).clone())
}
