//! The grey values in which a surface grows, as options and as rows of the form.
//!
//! They have a table of their own because their defaults come from a sample of the image, and because the window shows
//! them in the unit of the image.

use super::Params;
use crate::parameters::{DefaultText, Kind, Limits, Number, Param, Parameters, shortest_f64};

/// Target and tolerance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TargetParts {
    /// T, grey value of the structure.
    pub target: f32,
    /// ε, the distance from T at which the speed turns inwards.
    pub tolerance: f32,
}

impl From<&Params> for TargetParts {
    fn from(params: &Params) -> Self {
        Self {
            target: params.target,
            tolerance: params.tolerance,
        }
    }
}

impl Parameters for TargetParts {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "V",
            help: "Grey value of the structure",
            hint: "Grows where the value is within ε of this; hold P and drag on a slice to sample it",
            default_text: DefaultText::Listed,
            ..Param::new(
                "target",
                "Target T",
                Kind::Number(Number {
                    hard: Limits::between(f64::NEG_INFINITY, f64::INFINITY),
                    ..Number::new(
                        |p| Some(shortest_f64(p.target)),
                        |p, v| p.target = v.map_or(p.target, |v| v as f32),
                    )
                }),
            )
        },
        Param {
            value_name: "V",
            help: "Largest difference of a value from the target",
            hint: "Largest difference from T; a sample sets it to a little under half of the contrast to the values \
                   just outside, without reaching the background",
            default_text: DefaultText::Listed,
            ..Param::new(
                "tolerance",
                "Tolerance ε",
                Kind::Number(Number {
                    hard: Limits::above(0.0, f64::INFINITY),
                    ..Number::new(
                        |p| Some(shortest_f64(p.tolerance)),
                        |p, v| p.tolerance = v.map_or(p.tolerance, |v| v as f32),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        (&Params::defaults()).into()
    }
}
