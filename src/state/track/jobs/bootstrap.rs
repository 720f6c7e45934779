//! Residuals for bootstrapped streamlines.

use crate::compute::{Backend, Control};
use crate::solvers::Error;
use crate::solvers::tensor_fit::{self, Residuals};
use crate::state::tensors::types::BootstrapInput;
use std::sync::Arc;

/// The residuals of a fit, from its cache if known; `memory`: free bytes.
pub fn residuals(
    input: &BootstrapInput,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Arc<Residuals>, Error> {
    let cache = &input.residuals.0;
    if let Some(residuals) = cache.get() {
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
    Ok(cache.get_or_init(|| Arc::new(computed)).clone())
}
