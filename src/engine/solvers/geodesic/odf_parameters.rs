//! Parameters of the speed of rays in distributions, and their defaults.

use super::{Directions, Rays};
use crate::parameters::{self, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters};
use serde::{Deserialize, Serialize};

/// Default directions of rays in distributions: a narrow cone, because a fast bundle refracts oblique rays out of it.
pub const LOBE_DIRECTIONS: Directions = Directions::Cone {
    count: 20,
    half_angle_rad: 5.0 * std::f64::consts::PI / 180.0,
};

/// Keys of the rows of [`Rays`] and of [`curves::Params`](crate::solvers::curves::Params) that only rays in tensors have.
pub const TENSORS_ONLY: [&str; 6] = [
    "fa",
    "interpolation",
    "sharpen",
    "precision",
    "form",
    "through",
];

impl Rays {
    /// The defaults in distributions, where the rows of [`TENSORS_ONLY`] have no effect.
    pub fn lobe_defaults() -> Self {
        let mut rays = Self::defaults();
        rays.params.directions = LOBE_DIRECTIONS;
        rays
    }
}

/// How the amplitude f of a lobe becomes a speed: w = (floor + max(0, f) / reference)^exponent.
///
/// The table limits the values to those useful for fibres. Rays themselves follow any positive speed: with f = uᵀGu,
/// which is a series of order 2, no floor and the exponent −½, they are the geodesics of the metric G.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OdfSpeed {
    /// Exponent a.
    #[serde(rename = "speed_exponent")]
    pub exponent: f64,
    /// Offset δ, which to the power of the exponent is the speed where there is no fibre.
    #[serde(rename = "speed_floor")]
    pub floor: f64,
    /// Amplitude f_ref; `None`: the typical one of white matter.
    #[serde(
        rename = "speed_reference",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub reference: Option<f64>,
    /// Rays end where the amplitude of their lobe is lower; `None`: nowhere.
    #[serde(rename = "cutoff", default, skip_serializing_if = "Option::is_none")]
    pub min_amplitude: Option<f64>,
}

impl OdfSpeed {
    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for OdfSpeed {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "A",
            help: "Exponent of the speed along a lobe; higher values keep rays closer to the middle of their lobe",
            reason: "keeps more rays in their bundle through crossings than 1",
            ..Param::new(
                "speed-exponent",
                "Speed exponent",
                Kind::Number(Number {
                    decimals: 2,
                    soft: (0.25, 4.0),
                    hard: Limits::between(0.01, 8.0),
                    ..Number::new(
                        |p| Some(p.exponent),
                        |p, v| p.exponent = v.unwrap_or(p.exponent),
                    )
                }),
            )
        },
        Param {
            value_name: "D",
            help: "Offset D of the speed (D + amplitude / reference)^A; lower values make it more expensive to leave the \
                   fibres",
            ..Param::new(
                "speed-floor",
                "Speed offset",
                Kind::Number(Number {
                    decimals: 3,
                    soft: (0.005, 1.0),
                    hard: Limits::between(1e-4, 100.0),
                    ..Number::new(|p| Some(p.floor), |p, v| p.floor = v.unwrap_or(p.floor))
                }),
            )
        },
        Param {
            value_name: "X|off",
            help: "Amplitude that counts as 1 in the speed, in the unit of the response of white matter",
            default_text: DefaultText::Noted("the median of the largest peaks of white matter"),
            ..Param::new(
                "speed-reference",
                "Reference",
                Kind::Number(Number {
                    soft: (0.05, 2.0),
                    hard: Limits::above(0.0, 1e6),
                    off: Some("off: median of peaks"),
                    on: Some(0.5),
                    ..Number::new(|p| p.reference, |p, v| p.reference = v)
                }),
            )
        },
        Param {
            value_name: "X|off",
            help: "Stop rays where the amplitude of their lobe is below this, or off",
            default_text: DefaultText::Noted("off"),
            ..Param::new(
                "cutoff",
                "Amplitude limit",
                Kind::Number(Number {
                    soft: (0.0, 0.5),
                    hard: Limits::above(0.0, 100.0),
                    off: Some("off: no limit"),
                    on: Some(0.1),
                    ..Number::new(|p| p.min_amplitude, |p, v| p.min_amplitude = v)
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self {
            exponent: 2.0,
            floor: 0.03,
            reference: None,
            min_amplitude: None,
        }
    }
}
