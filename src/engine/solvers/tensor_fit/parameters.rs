//! What a fit depends on, and the values it starts with.

use crate::data::Gradients;
use crate::data::gradients::Weighting;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Method {
    /// Ordinary least squares on log signal.
    Ols,
    /// OLS, then one solve with weights from its predicted signal's square (as DIPY's WLS).
    Wls,
    /// WLS, then `iterations` more solves with weights from the predicted signal.
    Iwls { iterations: u32 },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    pub method: Method,
    /// Volumes with b inside this range (s/mm², inclusive) take part; b = 0 volumes always do.
    #[serde(with = "range")]
    pub b_range_s_per_mm2: (f64, f64),
    /// Eigenvalues below this are raised to it, mm²/s; 1e-8..=1e-3.
    pub min_eigenvalue_mm2_per_s: f64,
}

impl Params {
    /// WLS with two reweighted solves is the field's common choice (Veraart et al. 2013).
    pub fn defaults() -> Self {
        Self {
            method: Method::Iwls { iterations: 2 },
            b_range_s_per_mm2: (0.0, f64::INFINITY),
            // 0.01 × 10⁻³ mm²/s: a hundredth of tissue, so that FA of a repaired voxel stays below 1.
            min_eigenvalue_mm2_per_s: 1e-5,
        }
    }

    /// Above b = 1500 s/mm² log signal bends away from the tensor model (kurtosis): such volumes are
    /// left out wherever the lower ones determine tensors well by themselves.
    pub fn default_b_range(gradients: &Gradients) -> (f64, f64) {
        const LINEAR_UP_TO: f64 = 1550.0;
        // Six solve for a tensor but leave noise as it is; twice the seven unknowns average it.
        const WELL: usize = 15;
        const AT_LEAST: usize = 6;
        let weighted =
            (0..gradients.len()).filter(|&v| gradients.weighting(v) == Weighting::Diffusion);
        let (low, high): (Vec<usize>, Vec<usize>) =
            weighted.partition(|&v| gradients.b_s_per_mm2[v] <= LINEAR_UP_TO);
        // A few low volumes beside many high ones are there for other models than the tensor: without
        // the high ones the noise would weigh more than the curvature.
        if low.len() >= WELL || (low.len() >= AT_LEAST && low.len() >= high.len()) {
            (0.0, LINEAR_UP_TO)
        } else {
            (0.0, f64::INFINITY)
        }
    }

    /// For a scan with these gradients.
    pub fn defaults_for(gradients: Option<&Gradients>) -> Self {
        let defaults = Self::defaults();
        Self {
            b_range_s_per_mm2: gradients.map_or(defaults.b_range_s_per_mm2, Self::default_b_range),
            ..defaults
        }
    }
}

/// Text formats such as JSON know no infinity: an end that is open is nothing there.
mod range {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(range: &(f64, f64), to: S) -> Result<S::Ok, S::Error> {
        let high = Some(range.1).filter(|v| v.is_finite());
        (range.0, high).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(f64, f64), D::Error> {
        let (low, high) = <(f64, Option<f64>)>::deserialize(from)?;
        Ok((low, high.unwrap_or(f64::INFINITY)))
    }
}
