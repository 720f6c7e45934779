//! What bootstrapped streamlines need beside the tensors: the scan that they were fitted from.

use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Volume};
use crate::solvers::Error;
use crate::solvers::tensor_fit::{self, Residuals};
use std::sync::{Arc, OnceLock};

/// Residuals of one fit; made by the first job that needs them, kept with the tensors.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<OnceLock<Arc<Residuals>>>);

#[derive(Clone, Debug)]
pub struct Resample {
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    /// Of the fit.
    pub mask: Mask,
    pub params: tensor_fit::Params,
    pub kept: Kept,
}

impl Resample {
    /// `memory`: bytes that are free.
    pub fn residuals(
        &self,
        memory: Option<u64>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Arc<Residuals>, Error> {
        if let Some(residuals) = self.kept.0.get() {
            return Ok(residuals.clone());
        }
        let made = tensor_fit::residuals(
            &self.dwi,
            &self.gradients,
            &self.mask,
            &self.params,
            memory,
            backend,
            control,
        )?;
        Ok(self.kept.0.get_or_init(|| Arc::new(made)).clone())
    }
}
