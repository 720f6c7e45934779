//! The inputs of a tensor fit and of its bootstrap.

use crate::data::{DataId, Gradients, Mask, Volume};
use crate::solvers::tensor_fit::{self, Residuals};
use std::sync::{Arc, OnceLock};

/// Everything a fit depends on; a result is used only where its key still matches.
#[derive(Clone, PartialEq, Debug)]
pub struct FitKey {
    /// The scan's image.
    pub scan: DataId,
    /// `None`: the mask is found from the scan itself.
    pub mask: Option<DataId>,
    pub params: tensor_fit::Params,
}

/// Residuals of one fit; the first job that needs them computes them, and they stay with the tensors.
#[derive(Clone, Debug, Default)]
pub struct ResidualCache(pub Arc<OnceLock<Arc<Residuals>>>);

/// Input of bootstrapped streamlines besides the tensors: the scan of the fit.
#[derive(Clone, Debug)]
pub struct BootstrapInput {
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    /// The mask of the fit.
    pub mask: Mask,
    pub params: tensor_fit::Params,
    pub residuals: ResidualCache,
}
