//! Parameters of the metric.

use crate::data::keyed;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, used,
};
use serde::{Deserialize, Serialize};

/// How the cost is derived from the tensor: [`super`] has the equations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// G = D⁻¹.
    Inverse,
    /// W is the tensor raised to the power α with its determinant preserved.
    Sharpened,
    /// The limit α → 0.
    Isotropic,
    /// G = |D| D⁻¹.
    Adjugate,
}

keyed!(Cost, serde {
    Inverse = "inverse",
    Sharpened = "sharpened",
    Isotropic = "isotropic",
    Adjugate = "adjugate",
});

/// Parameters of the metric: together with the tensors they determine the cost of a path.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// How the cost is derived from the tensor.
    pub cost: Cost,
    /// The exponent α of [`Cost::Sharpened`].
    pub alpha: f64,
}

impl Params {
    /// The sharpened metric of Jeong et al. 2007.
    pub const fn defaults() -> Self {
        Self {
            cost: Cost::Sharpened,
            alpha: 3.0,
        }
    }

    /// The inverse of the tensor raised to the power α.
    pub const fn sharpened(alpha: f64) -> Self {
        Self {
            cost: Cost::Sharpened,
            alpha,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "metric",
            value_name: "METRIC",
            label: "Metric",
            help: "Metric that gives the cost of a path",
            reason: "as in Jeong et al. 2007",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: Cost::Sharpened.key(),
                    label: "Sharpened",
                    help: "The inverse of the tensor raised to the power alpha, with its volume kept",
                    is: |p| p.cost == Cost::Sharpened,
                    choose: |p| p.cost = Cost::Sharpened,
                },
                Choice {
                    key: Cost::Inverse.key(),
                    label: "Inverse",
                    help: "The inverse of the tensor",
                    is: |p| p.cost == Cost::Inverse,
                    choose: |p| p.cost = Cost::Inverse,
                },
                Choice {
                    key: Cost::Adjugate.key(),
                    label: "Adjugate",
                    help: "The tensor's adjugate",
                    is: |p| p.cost == Cost::Adjugate,
                    choose: |p| p.cost = Cost::Adjugate,
                },
                Choice {
                    key: Cost::Isotropic.key(),
                    label: "Isotropic",
                    help: "Equal in all directions",
                    is: |p| p.cost == Cost::Isotropic,
                    choose: |p| p.cost = Cost::Isotropic,
                },
            ]),
            unused: used,
        },
        Param {
            key: "alpha",
            value_name: "X",
            label: "Sharpening α",
            help: "How strongly the sharpened metric penalises travel across fibres: its exponent",
            reason: "as in Jeong et al. 2007",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                decimals: 1,
                soft: (1.0, 6.0),
                // Higher powers only sharpen what `MAX_ANISOTROPY` limits anyway.
                hard: Limits::above(0.0, 16.0),
                ..Number::new(|p| Some(p.alpha), |p, v| p.alpha = v.unwrap_or(p.alpha))
            }),
            unused: |p| (p.cost != Cost::Sharpened).then_some("only the sharpened metric has it"),
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}
