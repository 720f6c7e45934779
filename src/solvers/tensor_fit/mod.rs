//! Diffusion tensors from a diffusion-weighted scan.

use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, TensorField, Volume};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Method {
    /// Ordinary least squares on log signal.
    Ols,
    /// Weights from the measured signal's square, one solve (as DIPY's WLS: from the OLS fit).
    Wls,
    /// WLS, then `iterations` more solves with weights from the predicted signal.
    Iwls { iterations: u32 },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    pub method: Method,
    /// Volumes with b inside this range (s/mm², inclusive) take part; b = 0 volumes always do.
    pub b_range_s_per_mm2: (f64, f64),
    /// Eigenvalues below this are raised to it, mm²/s.
    pub min_eigenvalue_mm2_per_s: f64,
}

#[derive(Clone, Debug)]
pub struct Output {
    pub field: TensorField,
    /// Estimated signal without diffusion weighting, in the scan's units.
    pub s0: Volume,
    /// Voxels whose tensor was not positive definite and was repaired by eigenvalue clamping.
    pub repaired: Mask,
    /// Volumes left out because they have b > 50 but no direction.
    pub without_direction: Vec<usize>,
    /// Volumes left out because their b is outside the chosen range.
    pub outside_range: Vec<usize>,
    /// Voxels of the mask with too few positive finite samples for a fit: outside the field.
    pub unfitted: usize,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    Cancelled,
    /// One sentence: found, expected, what to do.
    Input(String),
}

/// Scalar and colour maps of a tensor field; 0 outside its mask.
#[derive(Clone, Debug)]
pub struct Maps {
    /// Fractional anisotropy, 0..1.
    pub fa: Volume,
    /// Mean, axial and radial diffusivity, mm²/s.
    pub md: Volume,
    pub ad: Volume,
    pub rd: Volume,
    /// abs(principal direction) in world axes times FA, as red (x), green (y), blue (z).
    pub dec: Volume,
    /// Principal direction, 3 frames (kind `Scalar`), world axes, sign arbitrary.
    pub direction: Volume,
}

pub fn fit(
    _dwi: &Volume,
    _gradients: &Gradients,
    _mask: &Mask,
    _params: &Params,
    _backend: &Backend,
    _control: &Control,
) -> Result<Output, Error> {
    Err(Error::Cancelled)
}

pub fn maps(_field: &TensorField, _backend: &Backend, _control: &Control) -> Result<Maps, Error> {
    Err(Error::Cancelled)
}

/// Brain mask of a scan: mean of the b = 0 volumes, median filter, Otsu threshold, largest
/// component, holes filled.
pub fn brain_mask(
    _dwi: &Volume,
    _gradients: &Gradients,
    _backend: &Backend,
    _control: &Control,
) -> Result<Mask, Error> {
    Err(Error::Cancelled)
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("")
    }
}
