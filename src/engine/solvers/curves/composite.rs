//! Parameters of curves that hold several values in one option: their text, and tables of their parts.
//!
//! Forms show the parts in separate rows; options and JSON use one text. A part keeps its value while another kind is
//! selected; each part's row alone defines its limits.

use super::{Deflection, MAX_SEEDS, Params, Seeding};
use crate::parameters::{
    Choice, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch, Unit, check, used,
};

/// Seeding by parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SeedingParts {
    /// Selects which of the fields below has an effect.
    pub kind: SeedingKind,
    /// Number of random seed points.
    pub count: usize,
    /// Spacing of the grid of seed points, mm.
    pub spacing_mm: f64,
    /// Number of seed points in each voxel.
    pub per_voxel: usize,
}

/// How seed points are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeedingKind {
    /// [`Seeding::Random`].
    Random,
    /// [`Seeding::Grid`].
    Grid,
    /// [`Seeding::PerVoxel`].
    PerVoxel,
}

impl SeedingKind {
    /// Key of the row that has an effect.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Random => "count",
            Self::Grid => "spacing",
            Self::PerVoxel => "per-voxel",
        }
    }
}

impl From<Seeding> for SeedingParts {
    fn from(seeding: Seeding) -> Self {
        let mut parts = Self::defaults();
        match seeding {
            Seeding::Random { count } => (parts.kind, parts.count) = (SeedingKind::Random, count),
            Seeding::Grid { spacing_mm } => {
                (parts.kind, parts.spacing_mm) = (SeedingKind::Grid, spacing_mm);
            }
            Seeding::PerVoxel { count } => {
                (parts.kind, parts.per_voxel) = (SeedingKind::PerVoxel, count);
            }
        }
        parts
    }
}

impl From<SeedingParts> for Seeding {
    fn from(parts: SeedingParts) -> Self {
        match parts.kind {
            SeedingKind::Random => Self::Random { count: parts.count },
            SeedingKind::Grid => Self::Grid {
                spacing_mm: parts.spacing_mm,
            },
            SeedingKind::PerVoxel => Self::PerVoxel {
                count: parts.per_voxel,
            },
        }
    }
}

impl Parameters for SeedingParts {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "How seed points are distributed over the seed",
            ..Param::new(
                "kind",
                "Seed points",
                Kind::OneOf(&[
                    Choice::new(
                        "random",
                        "At random",
                        |p| p.kind == SeedingKind::Random,
                        |p| p.kind = SeedingKind::Random,
                    ),
                    Choice::new(
                        "grid",
                        "On a grid",
                        |p| p.kind == SeedingKind::Grid,
                        |p| p.kind = SeedingKind::Grid,
                    ),
                    Choice::new(
                        "per-voxel",
                        "Per voxel",
                        |p| p.kind == SeedingKind::PerVoxel,
                        |p| p.kind = SeedingKind::PerVoxel,
                    ),
                ]),
            )
        },
        Param {
            help: "Number of seed points, drawn at random in the seed",
            unused: |p| (p.kind != SeedingKind::Random).then_some("seed points are not at random"),
            ..Param::new(
                "count",
                "Streamlines",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (100.0, 1e6),
                    hard: Limits::whole(1.0, MAX_SEEDS as f64),
                    ..Number::new(
                        |p| Some(p.count as f64),
                        |p, v| p.count = v.map_or(p.count, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Distance between seed points",
            unused: |p| (p.kind != SeedingKind::Grid).then_some("seed points are not on a grid"),
            ..Param::new(
                "spacing",
                "Seed spacing",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    soft: (0.1, 5.0),
                    hard: Limits::above(0.0, f64::INFINITY),
                    ..Number::new(
                        |p| Some(p.spacing_mm),
                        |p, v| p.spacing_mm = v.unwrap_or(p.spacing_mm),
                    )
                }),
            )
        },
        Param {
            help: "Random points in each voxel of the seed",
            unused: |p| {
                (p.kind != SeedingKind::PerVoxel).then_some("seed points are not per voxel")
            },
            ..Param::new(
                "per-voxel",
                "Seeds per voxel",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 64.0),
                    hard: Limits::whole(1.0, MAX_SEEDS as f64),
                    ..Number::new(
                        |p| Some(p.per_voxel as f64),
                        |p, v| p.per_voxel = v.map_or(p.per_voxel, |v| v as usize),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self {
            kind: SeedingKind::Random,
            count: 2_000,
            spacing_mm: 1.0,
            per_voxel: 4,
        }
    }
}

/// `random:2000`, `grid:1.5` or `per-voxel:4`.
pub(in crate::solvers) fn seeding_text(seeding: Seeding) -> String {
    match seeding {
        Seeding::Random { count } => format!("random:{count}"),
        Seeding::Grid { spacing_mm } => format!("grid:{spacing_mm}"),
        Seeding::PerVoxel { count } => format!("per-voxel:{count}"),
    }
}

/// Parses such a text, even with values beyond the limits, which the check reports.
pub(in crate::solvers) fn read_seeding(text: &str) -> Option<Seeding> {
    let (kind, number) = text.split_once(':')?;
    match kind {
        "random" => number.parse().ok().map(|count| Seeding::Random { count }),
        "per-voxel" => number.parse().ok().map(|count| Seeding::PerVoxel { count }),
        "grid" => {
            let spacing_mm = number.parse().ok();
            spacing_mm.map(|spacing_mm| Seeding::Grid { spacing_mm })
        }
        _ => None,
    }
}

/// Deflection by parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DeflectionParts {
    /// Whether the other fields have an effect.
    pub deflected: bool,
    /// Shares, retained while there is no deflection.
    pub shares: Deflection,
}

impl From<Option<Deflection>> for DeflectionParts {
    fn from(deflection: Option<Deflection>) -> Self {
        Self {
            deflected: deflection.is_some(),
            shares: deflection.unwrap_or(Deflection::defaults()),
        }
    }
}

impl From<DeflectionParts> for Option<Deflection> {
    fn from(parts: DeflectionParts) -> Self {
        parts.deflected.then_some(parts.shares)
    }
}

/// Why a share has no effect.
fn principal(parts: &DeflectionParts) -> Option<&'static str> {
    (!parts.deflected).then_some("directions are not deflected")
}

impl Parameters for DeflectionParts {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Principal: along the main direction of the tensor. Deflected (TEND): the tensor deflects the \
                   previous direction, which holds the course through planar tensors and crossings",
            unused: used,
            ..Param::new(
                "deflected",
                "Direction",
                Kind::Switch(Switch {
                    flag: true,
                    labels: Some(["Principal", "Deflected"]),
                    get: |p| p.deflected,
                    set: |p, v| p.deflected = v,
                }),
            )
        },
        Param {
            help: "Share of the tensor's main direction in each step; 1 is tracking without deflection",
            unused: principal,
            ..Param::new(
                "f",
                "Principal f",
                Kind::Number(Number::new(
                    |p| Some(p.shares.f),
                    |p, v| p.shares.f = v.unwrap_or(p.shares.f),
                )),
            )
        },
        Param {
            help: "Share of the deflected direction in the remainder; the rest continues straight",
            unused: principal,
            ..Param::new(
                "g",
                "Deflected g",
                Kind::Number(Number::new(
                    |p| Some(p.shares.g),
                    |p, v| p.shares.g = v.unwrap_or(p.shares.g),
                )),
            )
        },
    ];

    fn defaults() -> Self {
        None.into()
    }
}

/// `0.3,0.7`.
pub(super) fn read_deflection(text: &str) -> Option<Deflection> {
    let (f, g) = text.split_once(',')?;
    let (f, g) = (f.trim().parse().ok()?, g.trim().parse().ok()?);
    Some(Deflection { f, g })
}

/// Checks the number or the spacing of seed points.
pub fn check_seeding(seeding: Seeding) -> Result<(), ParamError> {
    check(&SeedingParts::from(seeding)).map_err(|e| e.in_option("seeds"))
}

/// Checks the parts of composite values.
pub(super) fn check_parts(params: &Params) -> Result<(), ParamError> {
    check_seeding(params.seeding)?;
    check(&DeflectionParts::from(params.deflection)).map_err(|e| e.in_option("deflect"))
}
