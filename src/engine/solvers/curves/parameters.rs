//! Parameters of curves, and the defaults of tracking.

use super::StopReason;
use super::composite::{check_parts, read_deflection, read_seeding, seeding_text};
use crate::data::keyed;
use crate::data::text::{large_count, number};
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch,
    Text, Unit, number_text,
};
use serde::{Deserialize, Serialize};

/// Scheme of one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integrator {
    /// First order: one evaluation of the direction.
    Euler,
    /// Midpoint rule.
    Rk2,
    /// Classical method of fourth order: four evaluations.
    Rk4,
}

keyed!(Integrator, serde {
    Euler = "euler",
    Rk2 = "rk2",
    Rk4 = "rk4",
});

/// How tensors (never eigenvectors) are interpolated between voxel centres.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interpolation {
    /// Linear along each axis, from the eight surrounding voxels.
    Trilinear,
    /// Interpolating cubic B-spline (prefiltered).
    CubicBSpline,
}

keyed!(Interpolation, serde {
    Trilinear = "trilinear",
    CubicBSpline = "cubic",
});

/// Distribution of seed points over the seed area: the union of the seed regions, or, without any, all voxels of the
/// field's mask.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seeding {
    /// This many points in all, uniform in the seed area.
    Random {
        /// Seeds in total.
        count: usize,
    },
    /// A regular world-axis grid with this spacing, mm.
    Grid {
        /// Distance between neighbouring seeds along each axis, mm.
        spacing_mm: f64,
    },
    /// This many random points in each voxel of the field whose centre is in the seed area.
    PerVoxel {
        /// Seeds in each voxel.
        count: usize,
    },
}

/// Parameters of streamlines through tensors and of rays.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Scheme of one step.
    pub integrator: Integrator,
    /// Interpolation of the tensors between voxel centres.
    pub interpolation: Interpolation,
    /// Placement of seed points.
    #[serde(rename = "seeds")]
    pub seeding: Seeding,
    /// Seed of the counter-based generator; each streamline uses its own index.
    pub random_seed: u64,
    /// Length of a step, mm.
    pub step_mm: f64,
    /// Largest turn in one step, radians; `None` switches the test off.
    #[serde(rename = "angle_rad")]
    pub max_angle_rad: Option<f64>,
    /// Stops where the interpolated tensor's FA is lower; `None` switches the test off.
    #[serde(rename = "fa")]
    pub min_fa: Option<f64>,
    /// Shorter streamlines are dropped and counted.
    pub min_length_mm: f64,
    /// Streamlines stop at this length over both halves; `None` switches the limit off.
    pub max_length_mm: Option<f64>,
    /// Hard cap on steps per half.
    pub max_steps: usize,
    /// Whether one target suffices. With all, none cuts, and every one must be met.
    #[serde(default = "Match::any")]
    pub targets: Match,
    /// Whether one include region suffices.
    #[serde(default = "Match::all")]
    pub includes: Match,
    /// Follows both senses from the seed; otherwise only the one with positive z (then y, then x).
    pub both_ways: bool,
    /// `None`: along the principal direction.
    #[serde(rename = "deflect", default, skip_serializing_if = "Option::is_none")]
    pub deflection: Option<Deflection>,
    /// Repetitions of the wild bootstrap, all from the same seeds; `None`: the fitted tensors.
    #[serde(rename = "bootstrap", default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<usize>,
}

/// How strongly the tensor deflects the direction of the previous step; applied with Euler steps.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Deflection {
    /// Share of the principal direction, 0..=1; at 1 it is the only part.
    pub f: f64,
    /// Share, 0..=1, of the deflected direction in the rest; the remainder continues straight.
    pub g: f64,
}

impl Deflection {
    /// Mostly the tensor's own deflection, a little of the principal direction: stays on course where fibres cross,
    /// yet turns with a bundle (the middle of the range that Lazar et al. 2003 tried).
    pub fn defaults() -> Self {
        Self { f: 0.3, g: 0.7 }
    }
}

/// The FA below which streamlines stop.
const DEFAULT_MIN_FA: f64 = 0.15;

/// Repetitions of a bootstrap when it is switched on: determines shares of one in ten to ±0.04.
pub const DEFAULT_REPETITIONS: usize = 50;

impl Params {
    /// Values that suit most scans.
    pub fn defaults() -> Self {
        Self {
            integrator: Integrator::Rk4,
            interpolation: Interpolation::Trilinear,
            seeding: Seeding::Random { count: 2_000 },
            random_seed: 1,
            step_mm: 0.5,
            max_angle_rad: Some(45f64.to_radians()),
            min_fa: Some(DEFAULT_MIN_FA),
            min_length_mm: 30.0,
            max_length_mm: Some(300.0),
            max_steps: 10_000,
            // Natural for the roles: reach one of the targets, pass through all of the includes.
            targets: Match::Any,
            includes: Match::All,
            both_ways: true,
            deflection: None,
            repetitions: None,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }

    pub(in crate::solvers) fn step_limit(&self) -> StepLimit {
        // A small margin keeps 300 mm at 600 steps of 0.5 mm despite rounding.
        let in_length = |mm: f64| (mm / self.step_mm * (1.0 + 1e-9)).min(u32::MAX.into()) as u32;
        let in_length = self.max_length_mm.map_or(u32::MAX, in_length);
        let max_steps = u32::try_from(self.max_steps).unwrap_or(u32::MAX);
        StepLimit {
            steps: max_steps.min(in_length),
            at_max: if in_length <= max_steps {
                StopReason::MaxLength
            } else {
                StopReason::MaxSteps
            },
            in_length,
        }
    }

    /// Cosine of the largest turn per step; below -1 if there is no limit.
    pub(in crate::solvers) fn min_cos(&self) -> f32 {
        self.max_angle_rad.map_or(-2.0, |angle| angle.cos() as f32)
    }

    /// Checks that the permitted steps reach the minimum length.
    pub fn check_reach(&self) -> Result<(), ParamError> {
        let halves = if self.both_ways { 2.0 } else { 1.0 };
        let longest = halves * self.max_steps as f64 * self.step_mm;
        if longest >= self.min_length_mm {
            return Ok(());
        }
        Err(ParamError::Combination {
            found: format!(
                "that {} steps of {} mm end before the minimum length",
                large_count(self.max_steps as f64),
                number(self.step_mm)
            ),
            expected: format!("at least {} mm", number(self.min_length_mm)),
            action: "take longer steps or more of them, or lower that length".to_owned(),
        })
    }
}

/// How many of several regions with one role must be met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Match {
    /// At least one of the regions.
    Any,
    /// Every one of the regions.
    All,
}

keyed!(Match, serde {
    Any = "any",
    All = "all",
});

impl Match {
    fn any() -> Self {
        Self::Any
    }

    fn all() -> Self {
        Self::All
    }
}

/// `off` applies to curves of both kinds; forms name one of them.
const CROSS_LOW_FA: &str = "off: curves cross low FA";

/// The help of a command lists its defaults, which differ between rays and streamlines.
impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "HOW",
            help: "Seed points: random:N (N in total), grid:MM or per-voxel:N",
            default_text: DefaultText::Listed,
            ..Param::new(
                "seeds",
                "Seed points",
                Kind::Text(Text {
                    expected: "random:N, grid:MM or per-voxel:N with N a whole number and MM a length, each above 0",
                    short: false,
                    get: |p| Some(seeding_text(p.seeding)),
                    set: |p, text| {
                        p.seeding = read_seeding(text?)?;
                        Some(())
                    },
                    off: None,
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Seed of the random numbers; the same seed gives the same result",
            hint: "Same seed, same paths",
            default_text: DefaultText::Listed,
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
        },
        Param {
            value_name: "MM",
            help: "Step size, mm",
            hint: "Distance between points",
            default_text: DefaultText::Listed,
            ..Param::new(
                "step",
                "Step",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    soft: (0.1, 2.0),
                    // In single precision a shorter step does not move a point.
                    hard: Limits::between(1e-7, f64::INFINITY),
                    ..Number::new(
                        |p| Some(p.step_mm),
                        |p, v| p.step_mm = v.unwrap_or(p.step_mm),
                    )
                }),
            )
        },
        Param {
            value_name: "DEG|off",
            help: "Largest turn in one step, degrees, or off",
            hint: "Stops a path that turns more in one step",
            default_text: DefaultText::Listed,
            ..Param::new(
                "angle",
                "Maximum angle",
                Kind::Number(Number {
                    unit: Unit::Degrees,
                    decimals: 0,
                    soft: (10.0, 90.0),
                    hard: Limits::above(0.0, 180.0),
                    off: Some("off: any turn is allowed"),
                    on: Some(45.0),
                    ..Number::new(|p| p.max_angle_rad, |p, v| p.max_angle_rad = v)
                }),
            )
        },
        Param {
            value_name: "FA|off",
            help: "Stop below this FA, or off",
            hint: "Stops a path where the anisotropy is low",
            default_text: DefaultText::Listed,
            ..Param::new(
                "fa",
                "Stop below FA",
                Kind::Number(Number {
                    soft: (0.0, 0.5),
                    off: Some(CROSS_LOW_FA),
                    on: Some(DEFAULT_MIN_FA),
                    ..Number::new(|p| p.min_fa, |p, v| p.min_fa = v)
                }),
            )
        },
        Param {
            value_name: "MM",
            help: "Discard curves shorter than this, mm",
            hint: "Shorter paths are discarded and counted; longer ones end there",
            default_text: DefaultText::Listed,
            ..Param::new(
                "min-length",
                "Minimum length",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 0,
                    soft: (0.0, 500.0),
                    hard: Limits::between(0.0, f64::INFINITY),
                    ..Number::new(
                        |p| Some(p.min_length_mm),
                        |p, v| p.min_length_mm = v.unwrap_or(p.min_length_mm),
                    )
                }),
            )
        },
        Param {
            value_name: "MM|off",
            help: "Stop curves at this length, mm, or off",
            default_text: DefaultText::Listed,
            ..Param::new(
                "max-length",
                "Maximum length",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 0,
                    soft: (0.0, 500.0),
                    hard: Limits::above(0.0, f64::INFINITY),
                    off: Some("off: no limit"),
                    ..Number::new(|p| p.max_length_mm, |p, v| p.max_length_mm = v)
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Stop each half of a curve after N steps",
            reason: "a guard: the length limit ends a streamline long before",
            default_text: DefaultText::Listed,
            ..Param::new(
                "max-steps",
                "Step limit",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (100.0, 100_000.0),
                    hard: Limits::whole(1.0, 1e8),
                    ..Number::new(
                        |p| Some(p.max_steps as f64),
                        |p, v| p.max_steps = v.map_or(p.max_steps, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "INTEGRATOR",
            help: "Integration scheme; rk2 is the midpoint rule",
            hint: "Higher orders follow bends more closely at the same step",
            default_text: DefaultText::Listed,
            ..Param::new(
                "integrator",
                "Integrator",
                Kind::OneOf(&[
                    Choice::new(
                        Integrator::Euler.key(),
                        "Euler",
                        |p| p.integrator == Integrator::Euler,
                        |p| p.integrator = Integrator::Euler,
                    ),
                    Choice::new(
                        Integrator::Rk2.key(),
                        "RK2",
                        |p| p.integrator == Integrator::Rk2,
                        |p| p.integrator = Integrator::Rk2,
                    ),
                    Choice::new(
                        Integrator::Rk4.key(),
                        "RK4",
                        |p| p.integrator == Integrator::Rk4,
                        |p| p.integrator = Integrator::Rk4,
                    ),
                ]),
            )
        },
        Param {
            value_name: "INTERPOLATION",
            help: "Interpolation of tensors between voxels",
            hint: "How tensors are interpolated between voxels",
            default_text: DefaultText::Listed,
            ..Param::new(
                "interpolation",
                "Interpolation",
                Kind::OneOf(&[
                    Choice::new(
                        Interpolation::Trilinear.key(),
                        "Trilinear",
                        |p| p.interpolation == Interpolation::Trilinear,
                        |p| p.interpolation = Interpolation::Trilinear,
                    ),
                    Choice::new(
                        Interpolation::CubicBSpline.key(),
                        "Cubic",
                        |p| p.interpolation == Interpolation::CubicBSpline,
                        |p| p.interpolation = Interpolation::CubicBSpline,
                    ),
                ]),
            )
        },
        Param {
            value_name: "TARGETS",
            help: "Whether one target is enough or all must be reached",
            hint: "Any: it ends in the first target it meets. All: it must meet every one and is not cut",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "targets",
                "Targets",
                Kind::OneOf(&[
                    Choice::new(
                        Match::Any.key(),
                        "Any",
                        |p| p.targets == Match::Any,
                        |p| p.targets = Match::Any,
                    ),
                    Choice::new(
                        Match::All.key(),
                        "All",
                        |p| p.targets == Match::All,
                        |p| p.targets = Match::All,
                    ),
                ]),
            )
        },
        Param {
            value_name: "INCLUDES",
            help: "Whether one include region is enough or all must be passed",
            hint: "Any: one of the include regions is enough. All: it must pass through every one",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "includes",
                "Includes",
                Kind::OneOf(&[
                    Choice::new(
                        Match::Any.key(),
                        "Any",
                        |p| p.includes == Match::Any,
                        |p| p.includes = Match::Any,
                    ),
                    Choice::new(
                        Match::All.key(),
                        "All",
                        |p| p.includes == Match::All,
                        |p| p.includes = Match::All,
                    ),
                ]),
            )
        },
        Param {
            value_name: "F,G",
            help: "Tensor deflection (TEND) instead of the principal direction: f is the weight of the \
                   principal direction, and g the weight of the deflected direction in the rest; each from 0 \
                   to 1. Takes Euler steps",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "deflect",
                "Deflection",
                Kind::Text(Text {
                    expected: "F,G with each from 0 to 1, as in 0.3,0.7",
                    short: false,
                    get: |p| {
                        let Deflection { f, g } = p.deflection?;
                        Some(format!("{},{}", number_text(f), number_text(g)))
                    },
                    set: |p, text| {
                        p.deflection = match text {
                            Some(text) => Some(read_deflection(text)?),
                            None => None,
                        };
                        Some(())
                    },
                    off: Some("off: along the principal direction"),
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Probabilistic tracking: track from each seed N times, each time through tensors from a wild \
                   bootstrap of the fit's residuals",
            hint: "Probabilistic: tracks from every seed several times, each time through tensors refitted with \
                   random signs of the residuals (wild bootstrap)",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "bootstrap",
                "Bootstrap",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (1.0, 1_000.0),
                    // `f32` represents these counts exactly; more repetitions would take too long.
                    hard: Limits::whole(1.0, 100_000.0),
                    off: Some("off: deterministic"),
                    on: Some(DEFAULT_REPETITIONS as f64),
                    ..Number::new(
                        |p| p.repetitions.map(|n| n as f64),
                        |p, v| p.repetitions = v.map(|v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Follow only one direction from each seed",
            hint: "Paths leave the seed in both directions",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "one-way",
                "Both ways from the seed",
                Kind::Switch(Switch {
                    flag: false,
                    labels: None,
                    get: |p| p.both_ways,
                    set: |p, v| p.both_ways = v,
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        check_parts(self)?;
        check_lengths(self.min_length_mm, self.max_length_mm)?;
        if self.deflection.is_some() && self.integrator != Integrator::Euler {
            return Err(ParamError::Combination {
                found: format!(
                    "deflection with the integrator {}",
                    format!("{:?}", self.integrator).to_uppercase()
                ),
                expected: "Euler, since its steps are straight".to_owned(),
                action: "choose Euler".to_owned(),
            });
        }
        Ok(())
    }
}

/// Checks that the lengths allow a streamline.
pub(in crate::solvers) fn check_lengths(
    min_mm: f64,
    max_mm: Option<f64>,
) -> Result<(), ParamError> {
    match max_mm {
        Some(max) if min_mm > max => Err(ParamError::Combination {
            found: format!("the minimum length {} mm", number(min_mm)),
            expected: format!("a number up to the maximum length, {} mm", number(max)),
            action: "lower the minimum or raise the maximum".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The largest number of steps per half.
pub(in crate::solvers) struct StepLimit {
    pub steps: u32,
    /// The stop reason at this limit.
    pub at_max: StopReason,
    /// The limit that follows from the length alone.
    pub in_length: u32,
}
