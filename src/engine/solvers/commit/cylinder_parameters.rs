//! Parameters of cylinders: their distribution of radii, and the timing of the gradients.

use super::DEFAULT_GAMMA;
use super::cylinder::{GammaRadii, TIMES_MS, Timing};
use super::model::{MAX_RADIUS_UM, MIN_RADIUS_UM, MIN_SHAPE};
use crate::parameters::{Kind, Limits, Number, Param, ParamError, Parameters, Unit, number_text};

/// An option has both numbers in one text: `2,0.5`.
impl Parameters for GammaRadii {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Shape of the gamma distribution of radii",
            ..Param::new(
                "shape",
                "Shape",
                Kind::Number(Number {
                    soft: (0.5, 10.0),
                    hard: Limits::between(MIN_SHAPE, f64::INFINITY),
                    ..Number::new(|p| Some(p.shape), |p, v| p.shape = v.unwrap_or(p.shape))
                }),
            )
        },
        Param {
            help: "Scale of the gamma distribution: the mean radius is shape × scale",
            ..Param::new(
                "scale",
                "Scale",
                Kind::Number(Number {
                    unit: Unit::Um,
                    soft: (0.05, 2.0),
                    hard: Limits::between(MIN_RADIUS_UM, f64::INFINITY),
                    ..Number::new(
                        |p| Some(p.scale_um),
                        |p, v| p.scale_um = v.unwrap_or(p.scale_um),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        DEFAULT_GAMMA
    }

    fn check_together(&self) -> Result<(), ParamError> {
        let mean_um = self.shape * self.scale_um;
        match mean_um <= MAX_RADIUS_UM {
            true => Ok(()),
            false => Err(ParamError::Combination {
                found: format!("a mean radius of {} µm", number_text(mean_um)),
                expected: format!("at most {MAX_RADIUS_UM} µm"),
                action: "lower the shape or the scale".to_owned(),
            }),
        }
    }
}

/// Only for the window and the check: options also accept seconds.
impl Parameters for Timing {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Length of a gradient pulse",
            ..Param::new(
                "pulse",
                "Pulse δ",
                Kind::Number(Number {
                    unit: Unit::Ms,
                    decimals: 1,
                    soft: (1.0, 80.0),
                    hard: TIMES_MS,
                    ..Number::new(
                        |p| Some(p.pulse_ms),
                        |p, v| p.pulse_ms = v.unwrap_or(p.pulse_ms),
                    )
                }),
            )
        },
        Param {
            help: "From the start of the first pulse to the start of the second",
            ..Param::new(
                "between",
                "Between Δ",
                Kind::Number(Number {
                    unit: Unit::Ms,
                    decimals: 1,
                    soft: (5.0, 150.0),
                    hard: TIMES_MS,
                    ..Number::new(
                        |p| Some(p.between_ms),
                        |p, v| p.between_ms = v.unwrap_or(p.between_ms),
                    )
                }),
            )
        },
    ];

    /// A scanner with strong gradients, for when nothing is known.
    fn defaults() -> Self {
        Self {
            pulse_ms: 20.0,
            between_ms: 40.0,
        }
    }

    fn check_together(&self) -> Result<(), ParamError> {
        match self.pulse_ms <= self.between_ms {
            true => Ok(()),
            false => Err(ParamError::Combination {
                found: "a pulse that is longer than the time between the pulses".to_owned(),
                expected: "δ of at most Δ".to_owned(),
                action: "take both from the scan's protocol".to_owned(),
            }),
        }
    }
}
