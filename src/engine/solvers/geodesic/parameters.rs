//! Parameters of rays, and their defaults.

use super::composite::{
    DirectionParts, SharpeningParts, cut_text, directions_text, read_cut, read_directions,
    read_sharpening, sharpening_text,
};
use super::{Cut, Directions, Form, Precision, Sharpening};
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Switch, Text,
};
use crate::solvers::curves::{self, Integrator, Seeding};
use serde::{Deserialize, Serialize};

/// Parameters of rays in a given metric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Seeds, steps, integrator and stop reasons, as for streamlines. The FA is that of the tensors before
    /// sharpening; length and step limits apply to each half. With `both_ways`, every ray continues behind its seed
    /// with −p, which gives one curve through the seed.
    pub curves: curves::Params,
    /// Form of the geodesic equations.
    pub form: Form,
    /// Initial directions at each seed.
    pub directions: Directions,
    /// One point in this many steps is kept, as is the last.
    pub keep_every: usize,
    /// Stops rays that circle on the spot.
    pub loop_guard: bool,
    /// A point, world mm, to which one ray leads from each seed, in place of rays in all directions.
    #[serde(default)]
    pub through: Option<[f64; 3]>,
}

impl Params {
    /// Many rays in a wide cone around the principal direction: most of them miss. The FA stop is off: geodesics
    /// continue where streamlines lose the fibre.
    pub fn defaults() -> Self {
        Self {
            curves: curves::Params {
                // The most accurate for its cost with linear interpolation.
                integrator: Integrator::Rk2,
                seeding: Seeding::Random { count: 400 },
                max_angle_rad: None,
                min_fa: None,
                both_ways: false,
                ..curves::Params::defaults()
            },
            form: Form::Hamiltonian,
            directions: DirectionParts::defaults().into(),
            keep_every: 1,
            loop_guard: true,
            through: None,
        }
    }

    /// Number of rays that each seed starts.
    pub fn rays_per_seed(&self) -> usize {
        match self.through {
            Some(_) => 1,
            None => self.directions.count(),
        }
    }

    /// Checks the values by their tables.
    pub fn check(&self) -> Result<(), ParamError> {
        let params = self.clone();
        let rays = Rays {
            params,
            ..Rays::defaults()
        };
        parameters::check(&rays)
    }
}

/// How tensors are converted to the metric of rays.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RayMetricParams {
    /// Change of the tensors' anisotropy.
    #[serde(rename = "sharpen")]
    pub sharpening: Sharpening,
    /// Storage of the records.
    pub precision: Precision,
}

impl RayMetricParams {
    /// Whether eigenvalues differ by more than half precision resolves.
    pub fn is_too_coarse(&self) -> bool {
        let strong = match self.sharpening {
            Sharpening::Power { alpha } => alpha >= 3.0,
            Sharpening::Paper { power, .. } => power >= 3,
        };
        strong && self.precision == Precision::Half
    }
}

/// How geodesic rays are traced and which of them are kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Rays {
    /// Sharpening and precision, which determine the metric.
    pub metric: RayMetricParams,
    /// Seeds, directions and integration.
    pub params: Params,
    /// Rule by the connectivity measure, applied after tracing.
    pub cut: Cut,
}

impl Rays {
    /// Sharpened tensors in single precision, and the strongest rays.
    pub fn defaults() -> Self {
        Self {
            metric: RayMetricParams {
                sharpening: DEFAULT_SHARPENING,
                // Half precision suffices for plain tensors. At α = 6 eigenvalues differ by 10⁴, more than its 11
                // bits resolve; kernels are as fast with either.
                precision: Precision::Single,
            },
            params: Params::defaults(),
            cut: DEFAULT_CUT,
        }
    }

    /// Number of rays, if it does not depend on the size of the seed area.
    pub fn count(&self) -> Option<usize> {
        match self.params.curves.seeding {
            Seeding::Random { count } => Some(count.saturating_mul(self.params.rays_per_seed())),
            Seeding::Grid { .. } | Seeding::PerVoxel { .. } => None,
        }
    }
}

/// Parameters specific to rays; those of all curves have their own table ([`curves::Params`]).
impl Parameters for Rays {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "FAN",
            help: "Directions of the rays of each seed: principal, sphere:N, cone:N,DEGREES (half angle), \
                   icosphere:LEVEL or towards:X,Y,Z",
            default_text: DefaultText::Listed,
            unused: |p| p.params.through.map(|_| "rays go through a point"),
            ..Param::new(
                "directions",
                "Directions",
                Kind::Text(Text {
                    expected: "principal, sphere:N, cone:N,DEGREES, icosphere:LEVEL or towards:X,Y,Z",
                    short: false,
                    get: |p| Some(directions_text(p.params.directions)),
                    set: |p, text| {
                        p.params.directions = read_directions(text?)?;
                        Some(())
                    },
                    off: None,
                }),
            )
        },
        Param {
            value_name: "X,Y,Z",
            help: "Trace one ray from each seed to this point, world mm, by Newton's method on the direction in which it \
                   leaves the seed; targets have no effect, and seeds without such a ray are counted as missed",
            hint: "One ray from each seed ends at this point. Newton's method starts in the direction of the cheapest \
                   path. Targets have no effect",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "through",
                "Through a point",
                Kind::Text(Text {
                    expected: "X,Y,Z in mm",
                    short: false,
                    get: |p| p.params.through.map(point_text),
                    set: |p, text| {
                        p.params.through = match text {
                            Some(text) => Some(read_point(text)?),
                            None => None,
                        };
                        Some(())
                    },
                    off: Some("off: rays in all directions"),
                }),
            )
        },
        Param {
            value_name: "HOW",
            help: "power:ALPHA (keeps the volume; 1 is the plain tensor, whose rays mostly miss real \
                   fibres), or paper:N,FA as in the papers (an integer power below an FA)",
            default_text: DefaultText::Listed,
            ..Param::new(
                "sharpen",
                "Sharpen",
                Kind::Text(Text {
                    expected: "power:ALPHA or paper:N,FA",
                    short: false,
                    get: |p| Some(sharpening_text(p.metric.sharpening)),
                    set: |p, text| {
                        p.metric.sharpening = read_sharpening(text?)?;
                        Some(())
                    },
                    off: None,
                }),
            )
        },
        Param {
            value_name: "PRECISION",
            help: "Stored tensors: f32, or f16, which rounds to 11 bits (too coarse for sharpening by 3 or more)",
            hint: "Precision of the stored tensors: half rounds to 11 bits, too coarse for an α or n of 3 or more",
            ..Param::new(
                "precision",
                "Precision",
                Kind::OneOf(&[
                    Choice::new(
                        Precision::Half.key(),
                        "Half",
                        |p| p.metric.precision == Precision::Half,
                        |p| p.metric.precision = Precision::Half,
                    ),
                    Choice::new(
                        Precision::Single.key(),
                        "Single",
                        |p| p.metric.precision == Precision::Single,
                        |p| p.metric.precision = Precision::Single,
                    ),
                ]),
            )
        },
        Param {
            value_name: "N",
            help: "Keep one point every N steps, and the last",
            default_text: DefaultText::Listed,
            ..Param::new(
                "keep-every",
                "Keep one point in",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 20.0),
                    hard: Limits::whole(1.0, 1e8),
                    ..Number::new(
                        |p| Some(p.params.keep_every as f64),
                        |p, v| p.params.keep_every = v.map_or(p.params.keep_every, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Also follow each ray backwards from its seed; limits of length and steps apply to each half",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "both-ways",
                "Both ways from the seed",
                Kind::Switch(Switch {
                    flag: true,
                    labels: None,
                    get: |p| p.params.curves.both_ways,
                    set: |p, v| p.params.curves.both_ways = v,
                }),
            )
        },
        Param {
            help: "Do not stop rays that loop in place",
            hint: "A ray that returns to an earlier point ends there",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "no-loop-guard",
                "Stop rays that circle",
                Kind::Switch(Switch {
                    flag: false,
                    labels: None,
                    get: |p| p.params.loop_guard,
                    set: |p, v| p.params.loop_guard = v,
                }),
            )
        },
        Param {
            value_name: "FORM",
            help: "Equations: hamiltonian, or christoffel as in the papers, whose steps, length limit and loop \
                   guard are in units of its parameter instead of mm",
            hint: "Hamiltonian: the gradient of the interpolated tensors themselves. Christoffel: symbols from four \
                   interpolated fields, held during a step (van Aart et al. 2011). Its steps are steps of the \
                   parameter: where the metric changes fast they grow, a ray can exceed the length limit, and it \
                   ends where a step would skip voxels",
            default_text: DefaultText::Implied,
            ..Param::new(
                "form",
                "Equations",
                Kind::OneOf(&[
                    Choice::new(
                        Form::Hamiltonian.key(),
                        "Hamiltonian",
                        |p| p.params.form == Form::Hamiltonian,
                        |p| p.params.form = Form::Hamiltonian,
                    ),
                    Choice::new(
                        Form::Christoffel.key(),
                        "Christoffel",
                        |p| p.params.form == Form::Christoffel,
                        |p| p.params.form = Form::Christoffel,
                    ),
                ]),
            )
        },
        Param {
            value_name: "CUT",
            help: "Keep rays with at least this measure, the strongest top:N or top:P% of those that pass the regions, \
                   or all",
            default_text: DefaultText::Listed,
            ..Param::new(
                "cut",
                "Keep",
                Kind::Text(Text {
                    expected: "a measure above 0 such as 1.2, top:N, top:P% (up to 100) or all",
                    short: false,
                    get: |p| Some(cut_text(p.cut)),
                    set: |p, text| {
                        p.cut = read_cut(text?)?;
                        Some(())
                    },
                    off: None,
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        self.params.curves.check()?;
        let directions = DirectionParts::from(self.params.directions);
        parameters::check(&directions).map_err(|e| e.in_option("directions"))?;
        self.metric.sharpening.check()?;
        match self.params.form {
            Form::Hamiltonian => self.params.curves.check_reach(),
            // This form steps in a parameter of the curve, not in mm.
            Form::Christoffel => Ok(()),
        }
    }
}

impl Sharpening {
    /// Checks the values by the table of their parts.
    pub fn check(self) -> Result<(), ParamError> {
        parameters::check(&SharpeningParts::from(self)).map_err(|e| e.in_option("sharpen"))
    }
}

/// `-24,-18,8`
fn point_text(point: [f64; 3]) -> String {
    point.map(parameters::number_text).join(",")
}

/// Three finite numbers separated by commas.
fn read_point(text: &str) -> Option<[f64; 3]> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let point: [f64; 3] = numbers?.try_into().ok()?;
    point.iter().all(|c| c.is_finite()).then_some(point)
}

/// Measured on a real scan (1 b = 0 and 32 directions, 1.75 × 1.75 × 2.5 mm) between seven pairs of regions of genu,
/// splenium, corticospinal tracts and inferior longitudinal fasciculus: of the strongest tenth of the rays, 39 % ran
/// with the streamlines of the same regions at α = 1, 64 % at 3, 76 % at 6 and 64 % at 8.
pub const DEFAULT_ALPHA: f64 = 6.0;

/// The metric of rays.
pub const DEFAULT_SHARPENING: Sharpening = Sharpening::Power {
    alpha: DEFAULT_ALPHA,
};

/// Between those regions 20 % of all rays ran with the streamlines at α = 1 and 39 % at 6: half of the rays that pass
/// are false, mostly the weaker half.
pub const DEFAULT_CUT: Cut = Cut::TopShare(0.1);
