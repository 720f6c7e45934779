//! Parameters of a spherical deconvolution, and their defaults.

use crate::data::keyed;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Text,
};
use serde::{Deserialize, Serialize};

/// Method of deconvolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// A distribution that is nowhere negative, and amounts of other tissues (Jeurissen 2014).
    Constrained,
    /// A penalty on negative values, one shell, one tissue (Tournier 2007).
    Paper,
}

keyed!(Method, serde {
    Constrained = "constrained",
    Paper = "paper",
});

/// Precision of the voxels' solutions; tables are always computed in double precision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// 32 bits, the faster one on every backend.
    Single,
    /// 64 bits, for comparison.
    Double,
}

keyed!(Precision, serde {
    Single = "single",
    Double = "double",
});

/// Parameters of a deconvolution.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Constraint on negative values.
    pub method: Method,
    /// Highest degree of the harmonics, even; `None` to choose it from the data.
    pub order: Option<usize>,
    /// Precision of the voxels' solutions.
    pub precision: Precision,
    /// Repetitions of the bootstrap of the residuals, for maps of the uncertainty of peaks; `None`: none.
    #[serde(rename = "bootstrap", default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<usize>,
    /// Seed of the signs of the residuals.
    #[serde(default = "first_seed")]
    pub random_seed: u64,
}

fn first_seed() -> u64 {
    1
}

/// The highest order offered: lobes 40° apart are separate in it.
pub const MAX_ORDER: usize = 12;
/// The order used by default where the data do not suffice for [`MAX_ORDER`].
pub const DEFAULT_ORDER: usize = 8;

/// Repetitions when a bootstrap is switched on: five of them lie outside a cone of 95 %.
pub const DEFAULT_REPETITIONS: usize = 100;

impl Params {
    /// Defaults that do not depend on a scan; the table gives their reasons.
    pub fn defaults() -> Self {
        Self {
            method: Method::Constrained,
            order: None,
            precision: Precision::Single,
            repetitions: None,
            random_seed: first_seed(),
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for Params {
    const APPLIES_AFTER_DRAG: bool = true;

    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "METHOD",
            help: "Constraint on the distribution: constrained allows no negative values, paper penalises them in \
                   one shell and one tissue",
            ..Param::new(
                "method",
                "Method",
                Kind::OneOf(&[
                    Choice {
                        key: Method::Constrained.key(),
                        label: "Non-negative",
                        help: "No negative values, any number of shells and tissues (Jeurissen 2014)",
                        is: |p| p.method == Method::Constrained,
                        choose: |p| p.method = Method::Constrained,
                    },
                    Choice {
                        key: Method::Paper.key(),
                        label: "As in the paper",
                        help: "A penalty on negative values, one shell and one tissue (Tournier 2007)",
                        is: |p| p.method == Method::Paper,
                        choose: |p| p.method = Method::Paper,
                    },
                ]),
            )
        },
        Param {
            value_name: "N|off",
            help: "Highest degree of the spherical harmonics (even, 2 to 12; off: chosen automatically). A higher one \
                   separates fibres at smaller angles and needs more directions and less noise",
            default_text: DefaultText::Noted("chosen from the directions and the noise"),
            ..Param::new(
                "order",
                "Order",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (2.0, 12.0),
                    hard: Limits::whole(2.0, 12.0),
                    off: Some("off: chosen from the data"),
                    on: Some(8.0),
                    ..Number::new(
                        |p| p.order.map(|order| order as f64),
                        |p, v| p.order = v.map(|v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "PRECISION",
            help: "Precision of the arithmetic",
            reason: "coefficients of both differ by less than the noise, and single is twice as fast",
            ..Param::new(
                "precision",
                "Precision",
                Kind::OneOf(&[
                    Choice::new(
                        Precision::Single.key(),
                        "Single",
                        |p| p.precision == Precision::Single,
                        |p| p.precision = Precision::Single,
                    ),
                    Choice::new(
                        Precision::Double.key(),
                        "Double",
                        |p| p.precision == Precision::Double,
                        |p| p.precision = Precision::Double,
                    ),
                ]),
            )
        },
        REPETITIONS,
        RANDOM_SEED,
    ];

    fn defaults() -> Self {
        Self::defaults()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        match self.order.filter(|order| order % 2 == 1) {
            None => Ok(()),
            Some(order) => Err(ParamError::Combination {
                found: format!("an order of {order}"),
                expected: "an even number from 2 to 12".to_owned(),
                action: format!("give {} or {}", order - 1, (order + 1).min(MAX_ORDER)),
            }),
        }
    }
}

const REPETITIONS: Param<Params> = Param {
    value_name: "N|off",
    help: "Repeat the deconvolution N times (20 to 10000, or off) with random signs of its residuals (wild bootstrap), \
           for maps of the uncertainty of each peak: cone and peak_dispersion",
    hint: "Uncertainty: repeats the deconvolution with random signs of its residuals (wild bootstrap) and maps how far \
           the peaks move",
    default_text: DefaultText::Omitted,
    ..Param::new(
        "bootstrap",
        "Bootstrap",
        Kind::Number(Number {
            scale: Scale::Logarithmic,
            decimals: 0,
            soft: (20.0, 1_000.0),
            // With fewer than 20, no repetition lies outside a cone of 95 %.
            hard: Limits::whole(20.0, 10_000.0),
            off: Some("off: no maps of uncertainty"),
            on: Some(DEFAULT_REPETITIONS as f64),
            ..Number::new(
                |p| p.repetitions.map(|n| n as f64),
                |p, v| p.repetitions = v.map(|v| v as usize),
            )
        }),
    )
};

const RANDOM_SEED: Param<Params> = Param {
    value_name: "N",
    help: "Seed of the random signs of a bootstrap; the same seed gives the same result",
    unused: |p| p.repetitions.is_none().then_some("no bootstrap requested"),
    ..Param::new(
        "random-seed",
        "Random seed",
        // Double precision would not represent all of them.
        Kind::Text(Text {
            expected: "a whole number from 0",
            short: true,
            get: |p| Some(p.random_seed.to_string()),
            set: |p, text| {
                p.random_seed = text?.parse().ok()?;
                Some(())
            },
            off: None,
        }),
    )
};
