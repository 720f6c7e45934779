//! Parameters of rays that hold several values in one option: their text, and tables of their parts.
//!
//! Forms show the parts in separate rows; options and JSON use one text. A part keeps its value while another kind is
//! selected; each part's row alone defines its limits.

use super::{Cut, DEFAULT_ALPHA, Directions, MAX_DIRECTIONS, Sharpening};
use crate::parameters::{
    Choice, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch, Unit, number_text,
};

/// Directions by parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DirectionParts {
    /// Selects which of the fields below have an effect.
    pub kind: DirectionKind,
    /// Number of directions in a cone or a sphere.
    pub count: usize,
    /// Half the opening angle of a cone, radians.
    pub half_angle_rad: f64,
    /// Subdivision level of an icosphere.
    pub level: usize,
    /// The single direction in world axes.
    pub towards: [f64; 3],
}

/// How directions are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectionKind {
    /// [`Directions::Cone`].
    Cone,
    /// [`Directions::Sphere`].
    Sphere,
    /// [`Directions::Icosphere`].
    Icosphere,
    /// [`Directions::Principal`].
    Principal,
    /// [`Directions::Towards`].
    Towards,
}

impl DirectionParts {
    /// Takes the parts from these directions; the others are unchanged.
    #[must_use]
    pub fn with_directions(mut self, directions: Directions) -> Self {
        self.kind = match directions {
            Directions::Cone {
                count,
                half_angle_rad,
            } => {
                (self.count, self.half_angle_rad) = (count, half_angle_rad);
                DirectionKind::Cone
            }
            Directions::Sphere { count } => {
                self.count = count;
                DirectionKind::Sphere
            }
            Directions::Icosphere { level } => {
                self.level = level;
                DirectionKind::Icosphere
            }
            Directions::Principal => DirectionKind::Principal,
            Directions::Towards { direction } => {
                self.towards = direction;
                DirectionKind::Towards
            }
        };
        self
    }
}

impl From<Directions> for DirectionParts {
    fn from(directions: Directions) -> Self {
        Self::defaults().with_directions(directions)
    }
}

impl From<DirectionParts> for Directions {
    fn from(parts: DirectionParts) -> Self {
        match parts.kind {
            DirectionKind::Cone => Self::Cone {
                count: parts.count,
                half_angle_rad: parts.half_angle_rad,
            },
            DirectionKind::Sphere => Self::Sphere { count: parts.count },
            DirectionKind::Icosphere => Self::Icosphere { level: parts.level },
            DirectionKind::Principal => Self::Principal,
            DirectionKind::Towards => Self::Towards {
                direction: parts.towards,
            },
        }
    }
}

impl Parameters for DirectionParts {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Directions in which rays leave a seed point",
            ..Param::new(
                "kind",
                "Directions",
                Kind::OneOf(&[
                    Choice::new(
                        "cone",
                        "Cone",
                        |p| p.kind == DirectionKind::Cone,
                        |p| p.kind = DirectionKind::Cone,
                    ),
                    Choice::new(
                        "sphere",
                        "Sphere",
                        |p| p.kind == DirectionKind::Sphere,
                        |p| p.kind = DirectionKind::Sphere,
                    ),
                    Choice::new(
                        "icosphere",
                        "Icosphere",
                        |p| p.kind == DirectionKind::Icosphere,
                        |p| p.kind = DirectionKind::Icosphere,
                    ),
                    Choice::new(
                        "principal",
                        "Main direction",
                        |p| p.kind == DirectionKind::Principal,
                        |p| p.kind = DirectionKind::Principal,
                    ),
                    Choice::new(
                        "towards",
                        "One direction",
                        |p| p.kind == DirectionKind::Towards,
                        |p| p.kind = DirectionKind::Towards,
                    ),
                ]),
            )
        },
        Param {
            help: "Cone around the main direction at the seed; shown as a fan",
            unused: |p| (p.kind != DirectionKind::Cone).then_some("of a cone only"),
            ..Param::new(
                "half-angle",
                "Opening angle",
                Kind::Number(Number {
                    unit: Unit::Degrees,
                    decimals: 0,
                    soft: (1.0, 90.0),
                    hard: Limits::above(0.0, 180.0),
                    ..Number::new(
                        |p| Some(p.half_angle_rad),
                        |p, v| p.half_angle_rad = v.unwrap_or(p.half_angle_rad),
                    )
                }),
            )
        },
        Param {
            help: "Directions per fan; the total number of rays does not change",
            unused: |p| match p.kind {
                DirectionKind::Cone | DirectionKind::Sphere => None,
                DirectionKind::Icosphere => Some("by subdivisions"),
                DirectionKind::Principal | DirectionKind::Towards => Some("one"),
            },
            ..Param::new(
                "count",
                "Rays per seed point",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (2.0, 500.0),
                    hard: Limits::whole(1.0, MAX_DIRECTIONS as f64),
                    ..Number::new(
                        |p| Some(p.count as f64),
                        |p, v| p.count = v.map_or(p.count, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Subdivision of the icosahedron: 12, 42, 162, 642 or 2562 directions",
            unused: |p| (p.kind != DirectionKind::Icosphere).then_some("of an icosphere only"),
            ..Param::new(
                "level",
                "Subdivisions",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (0.0, 4.0),
                    // Level 6 has 40 962 directions; level 7 exceeds the limit.
                    hard: Limits::whole(0.0, 6.0),
                    ..Number::new(
                        |p| Some(p.level as f64),
                        |p, v| p.level = v.map_or(p.level, |v| v as usize),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self {
            kind: DirectionKind::Cone,
            count: 20,
            half_angle_rad: std::f64::consts::FRAC_PI_4,
            level: 1,
            towards: [1.0, 0.0, 0.0],
        }
    }

    fn check_together(&self) -> Result<(), ParamError> {
        let direction = self.towards;
        let is_direction =
            direction.iter().all(|c| c.is_finite()) && direction.iter().any(|c| *c != 0.0);
        match self.kind == DirectionKind::Towards && !is_direction {
            false => Ok(()),
            true => Err(ParamError::Combination {
                found: format!("the direction {direction:?}"),
                expected: "three numbers that are not all 0".to_owned(),
                action: "choose for example 1,0,0".to_owned(),
            }),
        }
    }
}

/// Text such as `cone:20,45`.
pub(super) fn directions_text(directions: Directions) -> String {
    match directions {
        Directions::Principal => "principal".to_owned(),
        Directions::Towards {
            direction: [x, y, z],
        } => format!("towards:{x},{y},{z}"),
        Directions::Sphere { count } => format!("sphere:{count}"),
        Directions::Cone {
            count,
            half_angle_rad,
        } => format!("cone:{count},{}", Unit::Degrees.written(half_angle_rad)),
        Directions::Icosphere { level } => format!("icosphere:{level}"),
    }
}

/// Finite numbers separated by commas.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let parsed: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    parsed.filter(|n| n.iter().all(|v: &f64| v.is_finite()))
}

/// Parses such a text, even with values beyond the limits, which the check reports.
pub(super) fn read_directions(text: &str) -> Option<Directions> {
    let whole = |n: f64| (n >= 0.0 && n.fract() == 0.0).then_some(n as usize);
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match (kind, numbers(rest).as_deref()) {
        ("principal", _) if text == "principal" => Some(Directions::Principal),
        ("sphere", Some(&[n])) => whole(n).map(|count| Directions::Sphere { count }),
        ("cone", Some(&[n, degrees])) => whole(n).map(|count| Directions::Cone {
            count,
            half_angle_rad: Unit::Degrees.read(degrees),
        }),
        ("icosphere", Some(&[n])) => whole(n).map(|level| Directions::Icosphere { level }),
        ("towards", Some(&[x, y, z])) => Some(Directions::Towards {
            direction: [x, y, z],
        }),
        _ => None,
    }
}

/// Sharpening by parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharpeningParts {
    /// Whether to sharpen only tensors of low FA.
    pub low_fa_only: bool,
    /// The exponent for all tensors.
    pub alpha: f64,
    /// The integer exponent for tensors below the FA.
    pub power: u32,
    /// The FA threshold.
    pub below_fa: f64,
}

impl SharpeningParts {
    /// Takes the parts from this sharpening; the others are unchanged.
    #[must_use]
    pub fn with(mut self, sharpening: Sharpening) -> Self {
        self.low_fa_only = match sharpening {
            Sharpening::Power { alpha } => {
                self.alpha = alpha;
                false
            }
            Sharpening::Paper { power, below_fa } => {
                (self.power, self.below_fa) = (power, below_fa);
                true
            }
        };
        self
    }
}

impl From<Sharpening> for SharpeningParts {
    fn from(sharpening: Sharpening) -> Self {
        Self::defaults().with(sharpening)
    }
}

impl From<SharpeningParts> for Sharpening {
    fn from(parts: SharpeningParts) -> Self {
        match parts.low_fa_only {
            false => Self::Power { alpha: parts.alpha },
            true => Self::Paper {
                power: parts.power,
                below_fa: parts.below_fa,
            },
        }
    }
}

/// Why a parameter of low FA has no effect.
fn all_are(parts: &SharpeningParts) -> Option<&'static str> {
    (!parts.low_fa_only).then_some("all are sharpened")
}

/// The end of the slider; higher values may be typed.
const SHARPEST: f64 = 6.0;

impl Parameters for SharpeningParts {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "All: a real power α of every tensor, its volume preserved. Low FA: an integer power n of \
                   tensors below an FA, the others as they are (van Aart et al. 2010)",
            ..Param::new(
                "low-fa-only",
                "Sharpen",
                Kind::Switch(Switch {
                    flag: true,
                    labels: Some(["All", "Low FA only"]),
                    get: |p| p.low_fa_only,
                    set: |p, v| p.low_fa_only = v,
                }),
            )
        },
        Param {
            help: "1 is the plain tensor, whose rays mostly miss real fibres; higher values follow the \
                   principal directions more closely",
            reason: "the best of those tried on a real scan",
            unused: |p| p.low_fa_only.then_some("only low FA is sharpened"),
            ..Param::new(
                "alpha",
                "Sharpening α",
                Kind::Number(Number {
                    decimals: 1,
                    soft: (1.0, SHARPEST),
                    hard: Limits::above(0.0, Sharpening::MAX_POWER),
                    ..Number::new(|p| Some(p.alpha), |p, v| p.alpha = v.unwrap_or(p.alpha))
                }),
            )
        },
        Param {
            help: "Integer power of the tensor where the FA is below the threshold",
            unused: all_are,
            ..Param::new(
                "power",
                "Sharpening n",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, SHARPEST),
                    hard: Limits::whole(1.0, Sharpening::MAX_POWER),
                    ..Number::new(
                        |p| Some(f64::from(p.power)),
                        |p, v| p.power = v.map_or(p.power, |v| v as u32),
                    )
                }),
            )
        },
        Param {
            help: "Tensors with a higher FA stay as they are",
            unused: all_are,
            ..Param::new(
                "below-fa",
                "Sharpen below FA",
                Kind::Number(Number::new(
                    |p| Some(p.below_fa),
                    |p, v| p.below_fa = v.unwrap_or(p.below_fa),
                )),
            )
        },
    ];

    fn defaults() -> Self {
        Self {
            low_fa_only: false,
            alpha: DEFAULT_ALPHA,
            power: 2,
            below_fa: 0.5,
        }
    }
}

/// `power:6` or `paper:2,0.5`.
pub(super) fn sharpening_text(sharpening: Sharpening) -> String {
    match sharpening {
        Sharpening::Power { alpha } => format!("power:{}", number_text(alpha)),
        Sharpening::Paper { power, below_fa } => format!("paper:{power},{}", number_text(below_fa)),
    }
}

/// Parses such a text, even with values beyond the limits, which the check reports.
pub(super) fn read_sharpening(text: &str) -> Option<Sharpening> {
    let (kind, rest) = text.split_once(':')?;
    match (kind, numbers(rest)?.as_slice()) {
        ("power", &[alpha]) => Some(Sharpening::Power { alpha }),
        ("paper", &[power, below_fa]) if power >= 0.0 && power.fract() == 0.0 => {
            let power = power as u32;
            Some(Sharpening::Paper { power, below_fa })
        }
        _ => None,
    }
}

/// `all`, `1.2`, `top:100` or `top:10%`.
pub(super) fn cut_text(cut: Cut) -> String {
    match cut {
        Cut::All => "all".to_owned(),
        Cut::AtLeast(threshold) => threshold.to_string(),
        Cut::Top(count) => format!("top:{count}"),
        // Without the trailing digits that a change of unit leaves.
        Cut::TopShare(share) => format!("top:{}%", (100.0 * share * 1e9).round() / 1e9),
    }
}

/// Parses such a text.
pub(super) fn read_cut(text: &str) -> Option<Cut> {
    match text.strip_prefix("top:") {
        None if text == "all" => Some(Cut::All),
        Some(rest) => match rest.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.parse::<f64>().ok();
                let percent = percent.filter(|percent| Cut::PERCENTAGES.contains(*percent));
                percent.map(|percent| Cut::TopShare(percent / 100.0))
            }
            None => {
                let count = rest.parse::<usize>().ok();
                let count = count.filter(|count| Cut::COUNTS.contains(*count as f64));
                count.map(Cut::Top)
            }
        },
        None => {
            let threshold = text.parse::<f32>().ok();
            threshold
                .filter(|l| l.is_finite() && *l > 0.0)
                .map(Cut::AtLeast)
        }
    }
}
