//! Parameters of a tensor fit, and their defaults.

use super::design::Selection;
use crate::data::Gradients;
use crate::data::gradients::Weighting;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Text,
    Unit, used,
};
use serde::{Deserialize, Serialize};

/// Weighting of the logarithmic least squares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Ordinary least squares on log signal.
    Ols,
    /// OLS, then one solve with weights from the square of its predicted signal (as DIPY's WLS).
    Wls,
    /// WLS, then `iterations` more solves with weights from the predicted signal.
    Iwls {
        /// Number of further solves.
        iterations: u32,
    },
}

/// Reweighted solves in [`Method::Iwls`].
const DEFAULT_ITERATIONS: u32 = 2;

/// Parameters of a tensor fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Weighting of the least squares.
    pub method: Method,
    /// Volumes with b in this range (s/mm², inclusive) are used; b = 0 volumes always are.
    #[serde(with = "range")]
    pub b_range_s_per_mm2: (f64, f64),
    /// Eigenvalues below this are raised to it, mm²/s; 1e-8..=1e-3.
    pub min_eigenvalue_mm2_per_s: f64,
}

impl Params {
    /// WLS with two reweighted solves is the common choice in the field (Veraart et al. 2013).
    pub fn defaults() -> Self {
        Self {
            method: Method::Iwls {
                iterations: DEFAULT_ITERATIONS,
            },
            b_range_s_per_mm2: (0.0, f64::INFINITY),
            // 0.01 × 10⁻³ mm²/s: a hundredth of the value in tissue, so that the FA of a repaired voxel stays below
            // 1.
            min_eigenvalue_mm2_per_s: 1e-5,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }

    /// Above b = 1500 s/mm² the log signal deviates from the tensor model (kurtosis): such volumes are left out if
    /// the lower ones determine tensors well.
    pub fn default_b_range(gradients: &Gradients) -> (f64, f64) {
        const LINEAR_UP_TO: f64 = 1550.0;
        // Six determine a tensor but do not reduce noise; twice the seven unknowns average it.
        const WELL_DETERMINED: usize = 15;
        const MIN_VALUES: usize = 6;
        let weighted =
            (0..gradients.len()).filter(|&v| gradients.weighting(v) == Weighting::Diffusion);
        let (low, high): (Vec<usize>, Vec<usize>) =
            weighted.partition(|&v| gradients.b_s_per_mm2[v] <= LINEAR_UP_TO);
        // A few low volumes among many high ones serve other models than the tensor: without the high ones, noise
        // would matter more than the curvature.
        if low.len() >= WELL_DETERMINED || (low.len() >= MIN_VALUES && low.len() >= high.len()) {
            (0.0, LINEAR_UP_TO)
        } else {
            (0.0, f64::INFINITY)
        }
    }

    /// Number of volumes that a fit with these parameters uses.
    pub fn used_volumes(&self, gradients: &Gradients) -> usize {
        Selection::new(gradients, self.b_range_s_per_mm2).used.len()
    }

    /// Defaults for a scan with these gradients.
    pub fn defaults_for(gradients: Option<&Gradients>) -> Self {
        let defaults = Self::defaults();
        Self {
            b_range_s_per_mm2: gradients.map_or(defaults.b_range_s_per_mm2, Self::default_b_range),
            ..defaults
        }
    }
}

impl Parameters for Params {
    const APPLIES_AFTER_DRAG: bool = true;

    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "method",
            value_name: "METHOD",
            label: "Method",
            help: "Fit of the tensors to the logarithm of the signal; weights make noisy volumes count less",
            reason: "the field's common choice (Veraart et al. 2013)",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: "ols",
                    label: "Ordinary least squares",
                    help: "All volumes with equal weight",
                    is: |p| p.method == Method::Ols,
                    choose: |p| p.method = Method::Ols,
                },
                Choice {
                    key: "wls",
                    label: "Weighted",
                    help: "Weighted by the signal that an ordinary fit predicts",
                    is: |p| p.method == Method::Wls,
                    choose: |p| p.method = Method::Wls,
                },
                Choice {
                    key: "iwls",
                    label: "Reweighted",
                    help: "Weighted, then reweighted by what each fit predicts",
                    is: |p| matches!(p.method, Method::Iwls { .. }),
                    choose: |p| {
                        p.method = Method::Iwls {
                            iterations: DEFAULT_ITERATIONS,
                        }
                    },
                },
            ]),
            unused: used,
        },
        Param {
            key: "iterations",
            value_name: "N",
            label: "Iterations",
            help: "Number of reweighted solves, with weights from the predicted signal",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                decimals: 0,
                soft: (1.0, 10.0),
                // Converged long before; the limit keeps a work item short enough to cancel.
                hard: Limits::whole(1.0, 50.0),
                ..Number::new(
                    |p| match p.method {
                        Method::Iwls { iterations } => Some(f64::from(iterations)),
                        Method::Ols | Method::Wls => Some(f64::from(DEFAULT_ITERATIONS)),
                    },
                    |p, v| {
                        if let (Method::Iwls { iterations }, Some(v)) = (&mut p.method, v) {
                            *iterations = v as u32;
                        }
                    },
                )
            }),
            unused: |p| {
                let iwls = matches!(p.method, Method::Iwls { .. });
                (!iwls).then_some("only for reweighted fits")
            },
        },
        Param {
            key: "b-range",
            value_name: "LOW..HIGH",
            label: "b range",
            help: "Range of b-values to fit, s/mm²; b = 0 is always included",
            reason: "above it the logarithm of the signal bends away from the tensor model",
            hint: "",
            default_text: DefaultText::Noted("up to 1550 if there are enough such volumes"),
            kind: Kind::Text(Text {
                expected: "LOW..HIGH in s/mm², the lower end first, as in 0..1550",
                short: false,
                get: |p| {
                    Some(format!(
                        "{}..{}",
                        p.b_range_s_per_mm2.0, p.b_range_s_per_mm2.1
                    ))
                },
                set: |p, text| {
                    let (low, high) = text?.split_once("..")?;
                    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
                    let range: (f64, f64) = (low, high);
                    p.b_range_s_per_mm2 = (low >= 0.0 && low <= high).then_some(range)?;
                    Some(())
                },
                off: None,
            }),
            unused: used,
        },
        Param {
            key: "min-eigenvalue",
            value_name: "X",
            label: "Minimum eigenvalue",
            help: "Eigenvalues below this are raised to it, mm²/s",
            reason: "a hundredth of tissue's, so that the FA of a repaired voxel stays below 1",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                unit: Unit::Diffusivity,
                scale: Scale::Logarithmic,
                decimals: 4,
                soft: (1e-3, 0.1),
                // Below 1e-8 mm²/s single precision cannot keep a tensor positive definite.
                hard: Limits::between(1e-5, 1.0),
                ..Number::new(
                    |p| Some(p.min_eigenvalue_mm2_per_s),
                    |p, v| p.min_eigenvalue_mm2_per_s = v.unwrap_or(p.min_eigenvalue_mm2_per_s),
                )
            }),
            unused: used,
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        let (low, high) = self.b_range_s_per_mm2;
        // NaN fails the test.
        match low <= high {
            true => Ok(()),
            false => Err(ParamError::Combination {
                found: format!("an empty b range from {low} to {high} s/mm²"),
                expected: "the smaller value first".to_owned(),
                action: "exchange them".to_owned(),
            }),
        }
    }
}

/// Text formats such as JSON have no infinity: an open end is stored as null.
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
