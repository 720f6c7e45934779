//! Parameters of streamlines through distributions and peaks, and their defaults.

use crate::data::keyed;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch,
    Text, Unit,
};
use crate::solvers::curves::{
    Match, Seeding, check_lengths, check_seeding, read_seeding, seeding_text,
};
use serde::{Deserialize, Serialize};

/// How a streamline continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Arcs, drawn by the amplitudes along them.
    Probabilistic,
    /// The lobe or peak nearest to the last direction.
    Deterministic,
}

keyed!(Method, serde {
    Probabilistic = "probabilistic",
    Deterministic = "deterministic",
});

/// Parameters of streamlines through distributions and peaks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Rule for the next direction.
    pub method: Method,
    /// Placement of seed points; not used at the interface.
    #[serde(rename = "seeds")]
    pub seeding: Seeding,
    /// Seeds where grey and white matter meet, instead of all voxels; they leave into white matter.
    #[serde(rename = "seed_interface")]
    pub at_interface: bool,
    /// This many streamlines that are kept; `None`: those of all seeds.
    pub select: Option<usize>,
    /// Seed of the counter-based generator; each streamline uses its own index.
    pub random_seed: u64,
    /// Length of a step or arc, mm.
    pub step_mm: f64,
    /// Largest angle between the directions before and after a step, radians.
    #[serde(rename = "angle_rad")]
    pub max_angle_rad: f64,
    /// Smallest amplitude, in the unit of the distributions or the length of peaks.
    #[serde(rename = "cutoff")]
    pub min_amplitude: f64,
    /// Amplitudes per arc.
    pub samples: usize,
    /// Least length of a kept streamline, mm.
    pub min_length_mm: f64,
    /// `None` switches the limit off.
    pub max_length_mm: Option<f64>,
    /// Whether a half that ends where no tissue allows it goes back and tries again.
    pub back_track: bool,
    /// Whether one target suffices. With all, none cuts, and every one must be met.
    pub targets: Match,
    /// Whether one include region suffices.
    pub includes: Match,
    /// Repetitions of the bootstrap of the deconvolution, each with random numbers of its own; `None`: the
    /// distributions themselves.
    #[serde(rename = "bootstrap", default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<usize>,
    /// Follows both senses from the seed; otherwise only the one with positive z (then y, then x).
    pub both_ways: bool,
}

/// Repetitions when a bootstrap is switched on.
const DEFAULT_REPETITIONS: usize = 50;

/// Voxels of scans whose sizes are not known yet, mm.
const TYPICAL_VOXEL_MM: f64 = 2.0;

impl Params {
    /// Defaults of the probabilistic method without tissues, for voxels of a typical size.
    pub fn defaults() -> Self {
        Self::defaults_for(Method::Probabilistic, TYPICAL_VOXEL_MM, false)
    }

    /// The defaults of a method for voxels of this size. Tissues end streamlines where fibres end, so that a lower
    /// amplitude and a shorter length are allowed with them.
    pub fn defaults_for(method: Method, voxel_mm: f64, with_tissues: bool) -> Self {
        let rounded = |mm: f64| (1e3 * mm).round() * 1e-3;
        Self {
            method,
            seeding: Seeding::Random { count: 10_000 },
            at_interface: false,
            select: None,
            random_seed: 1,
            step_mm: rounded(0.5 * voxel_mm),
            max_angle_rad: match method {
                Method::Probabilistic => 45f64.to_radians(),
                Method::Deterministic => 60f64.to_radians(),
            },
            min_amplitude: if with_tissues { 0.05 } else { 0.1 },
            samples: 3,
            min_length_mm: rounded(if with_tissues { 2.0 } else { 5.0 } * voxel_mm),
            max_length_mm: Some(250.0),
            back_track: true,
            targets: Match::Any,
            includes: Match::All,
            repetitions: None,
            both_ways: true,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

/// Why values of arcs have no effect.
fn only_arcs(params: &Params) -> Option<&'static str> {
    (params.method == Method::Deterministic).then_some("deterministic draws no arcs")
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        METHOD,
        SEEDS,
        Param {
            help: "Seed where cortical grey and white matter meet, into white matter; needs tissues",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "seed-interface",
                "Seeds at the interface",
                Kind::Switch(Switch {
                    flag: true,
                    labels: None,
                    get: |p| p.at_interface,
                    set: |p, v| p.at_interface = v,
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Track until N streamlines are kept, with at most 1000 seeds for each; these are the first N in \
                   the order of the seeds, on any number of threads",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "select",
                "Number to keep",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (100.0, 1_000_000.0),
                    hard: Limits::whole(1.0, 16_000_000.0),
                    off: Some("off: those of all seeds"),
                    on: Some(10_000.0),
                    ..Number::new(
                        |p| p.select.map(|n| n as f64),
                        |p, v| p.select = v.map(|v| v as usize),
                    )
                }),
            )
        },
        RANDOM_SEED,
        Param {
            value_name: "MM",
            help: "Step size, mm",
            default_text: DefaultText::Noted("half a voxel"),
            ..Param::new(
                "step",
                "Step",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    soft: (0.1, 2.0),
                    hard: Limits::between(1e-3, 100.0),
                    ..Number::new(
                        |p| Some(p.step_mm),
                        |p, v| p.step_mm = v.unwrap_or(p.step_mm),
                    )
                }),
            )
        },
        Param {
            value_name: "DEG",
            help: "Largest angle between the directions before and after a step, degrees",
            default_text: DefaultText::Noted("45; deterministic: 60"),
            ..Param::new(
                "angle",
                "Maximum angle",
                Kind::Number(Number {
                    unit: Unit::Degrees,
                    decimals: 0,
                    soft: (10.0, 90.0),
                    hard: Limits::above(0.0, 90.0),
                    ..Number::new(
                        |p| Some(p.max_angle_rad),
                        |p, v| p.max_angle_rad = v.unwrap_or(p.max_angle_rad),
                    )
                }),
            )
        },
        Param {
            value_name: "X",
            help: "Smallest amplitude, in the unit of the response of white matter",
            default_text: DefaultText::Noted("0.1; with tissues: 0.05"),
            ..Param::new(
                "cutoff",
                "Minimum amplitude",
                Kind::Number(Number {
                    soft: (0.0, 0.5),
                    hard: Limits::above(0.0, 100.0),
                    ..Number::new(
                        |p| Some(p.min_amplitude),
                        |p, v| p.min_amplitude = v.unwrap_or(p.min_amplitude),
                    )
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Amplitudes along an arc",
            reason: "further samples change the distribution of steps by less than its spread",
            unused: only_arcs,
            ..Param::new(
                "samples",
                "Samples per arc",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 8.0),
                    hard: Limits::whole(1.0, 8.0),
                    ..Number::new(
                        |p| Some(p.samples as f64),
                        |p, v| p.samples = v.map_or(p.samples, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "MM",
            help: "Discard curves shorter than this, mm",
            hint: "Shorter streamlines are discarded and counted; longer ones end there",
            default_text: DefaultText::Noted("five voxels, with tissues two"),
            ..Param::new(
                "min-length",
                "Minimum length",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 0,
                    soft: (0.0, 500.0),
                    hard: Limits::between(0.0, 10_000.0),
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
            reason: "longer than any bundle of a brain",
            ..Param::new(
                "max-length",
                "Maximum length",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 0,
                    soft: (0.0, 500.0),
                    hard: Limits::above(0.0, 10_000.0),
                    off: Some("off: no limit"),
                    ..Number::new(|p| p.max_length_mm, |p, v| p.max_length_mm = v)
                }),
            )
        },
        Param {
            help: "Do not go back and try again where tissues do not allow an end",
            default_text: DefaultText::Omitted,
            unused: only_arcs,
            ..Param::new(
                "no-back-track",
                "Go back at ends",
                Kind::Switch(Switch {
                    flag: false,
                    labels: None,
                    get: |p| p.back_track,
                    set: |p, v| p.back_track = v,
                }),
            )
        },
        TARGETS,
        INCLUDES,
        REPETITIONS,
        Param {
            help: "Follow only one direction from each seed",
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
        check_lengths(self.min_length_mm, self.max_length_mm)?;
        check_seeding(self.seeding)?;
        if let (Some(repetitions), Some(select)) = (self.repetitions, self.select)
            && select < repetitions
        {
            return Err(ParamError::Combination {
                found: format!("a bootstrap of {repetitions} with {select} streamlines to keep"),
                expected: "at least one streamline for each repetition".to_owned(),
                action: "keep more streamlines or lower the repetitions".to_owned(),
            });
        }
        if self.at_interface && !matches!(self.seeding, Seeding::Random { .. }) {
            return Err(ParamError::Combination {
                found: format!("seeds {} at the interface", seeding_text(self.seeding)),
                expected: "random:N".to_owned(),
                action: "choose random seeds".to_owned(),
            });
        }
        Ok(())
    }
}

const METHOD: Param<Params> = Param {
    value_name: "METHOD",
    help: "How streamlines continue",
    default_text: DefaultText::Noted("probabilistic; along peaks: deterministic"),
    ..Param::new(
        "method",
        "Method",
        Kind::OneOf(&[
            Choice {
                key: Method::Probabilistic.key(),
                label: "Probabilistic",
                help: "Arcs drawn by the amplitudes along them, 32 candidates a step (after Tournier 2010)",
                is: |p| p.method == Method::Probabilistic,
                choose: |p| p.method = Method::Probabilistic,
            },
            Choice {
                key: Method::Deterministic.key(),
                label: "Deterministic",
                help: "Along the lobe or peak nearest to the last direction",
                is: |p| p.method == Method::Deterministic,
                choose: |p| p.method = Method::Deterministic,
            },
        ]),
    )
};

const SEEDS: Param<Params> = Param {
    value_name: "HOW",
    help: "Seed points: random:N (N in total), grid:MM or per-voxel:N",
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
};

const RANDOM_SEED: Param<Params> = Param {
    value_name: "N",
    help: "Seed of the random numbers; the same seed gives the same result",
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

const TARGETS: Param<Params> = Param {
    value_name: "TARGETS",
    help: "Whether one target is enough or all must be reached",
    default_text: DefaultText::Omitted,
    ..Param::new(
        "targets",
        "Targets",
        Kind::OneOf(&[
            Choice::new(
                "any",
                "Any",
                |p| p.targets == Match::Any,
                |p| p.targets = Match::Any,
            ),
            Choice::new(
                "all",
                "All",
                |p| p.targets == Match::All,
                |p| p.targets = Match::All,
            ),
        ]),
    )
};

const REPETITIONS: Param<Params> = Param {
    value_name: "N",
    help: "Track in N repetitions of the deconvolution with random signs of its residuals (wild bootstrap), each time \
           from as many seeds, or for an equal share of the streamlines to keep; not in peaks",
    hint: "Uncertainty by noise: tracks in several repetitions of the deconvolution with random signs of its residuals \
           (wild bootstrap), each time from as many seeds",
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
            off: Some("off: one deconvolution"),
            on: Some(DEFAULT_REPETITIONS as f64),
            ..Number::new(
                |p| p.repetitions.map(|n| n as f64),
                |p, v| p.repetitions = v.map(|v| v as usize),
            )
        }),
    )
};

const INCLUDES: Param<Params> = Param {
    value_name: "INCLUDES",
    help: "Whether one include region is enough or all must be passed",
    default_text: DefaultText::Omitted,
    ..Param::new(
        "includes",
        "Includes",
        Kind::OneOf(&[
            Choice::new(
                "any",
                "Any",
                |p| p.includes == Match::Any,
                |p| p.includes = Match::Any,
            ),
            Choice::new(
                "all",
                "All",
                |p| p.includes == Match::All,
                |p| p.includes = Match::All,
            ),
        ]),
    )
};
