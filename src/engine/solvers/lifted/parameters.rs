//! Parameters of a lifted pathway besides distributions and regions, and their defaults.

use super::directions::DirectionSet;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Unit,
    used,
};
use crate::solvers::pathway::{self, costly_row};
use serde::{Deserialize, Serialize};

/// Parameters of a lifted pathway.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// β, mm per radian: turning by one radian costs as much as this length along a fibre.
    #[serde(rename = "curvature_price")]
    pub curvature_price_mm: f64,
    /// Directions of the lifted grid.
    pub directions: DirectionSet,
    /// δ: speed where there is no fibre, as a fraction of that along one.
    pub background_speed: f64,
    /// Voxels whose largest amplitude is below this are closed to paths.
    pub min_amplitude: f64,
    /// Factor of the cost in costly regions, at least 1.
    pub costly_factor: f64,
}

/// Smallest relative decrease of a value that is propagated.
pub const TOLERANCE: f32 = 1e-5;

impl Params {
    /// Values at which paths keep to their bundle through crossings at 45, 60 and 90 degrees.
    pub const fn defaults() -> Self {
        Self {
            curvature_price_mm: 12.0,
            directions: DirectionSet::Lattice98,
            background_speed: 0.03,
            min_amplitude: 0.1,
            costly_factor: pathway::Params::default_costly_factor(),
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }

    /// The parameters with defaults in place of invalid values, whatever a file contains.
    pub fn sanitized(&self) -> Self {
        parameters::sanitized(self)
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "curvature-price",
            value_name: "MM",
            label: "Price of a turn",
            help: "Price of a turn of one radian, given as the length along a fibre (mm) that costs the same; higher \
                   values keep paths straighter through crossings",
            reason: "at this price paths stay in their bundle through crossings at 60 and 90 degrees; if turns are \
                     almost free, they switch to the other bundle wherever that is shorter",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                unit: Unit::Mm,
                scale: Scale::Logarithmic,
                soft: (1.0, 50.0),
                hard: Limits::between(0.01, 1000.0),
                ..Number::new(
                    |p| Some(p.curvature_price_mm),
                    |p, v| p.curvature_price_mm = v.unwrap_or(p.curvature_price_mm),
                )
            }),
            unused: used,
        },
        Param {
            key: "directions",
            value_name: "DIRECTIONS",
            label: "Path directions",
            help: "Directions in which a path may run",
            reason: "with this set, paths stayed in their bundle in all tested crossings at 60 and 90 degrees, and in 22 \
                     of 24 at 45 degrees; with 162 directions, which overestimate the price of turns more, in none of \
                     the latter",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: DirectionSet::Icosphere42.key(),
                    label: "42",
                    help: "32° apart, for a preview",
                    is: |p| p.directions == DirectionSet::Icosphere42,
                    choose: |p| p.directions = DirectionSet::Icosphere42,
                },
                Choice {
                    key: DirectionSet::Lattice98.key(),
                    label: "98",
                    help: "Directions of the steps to voxels at most two away; straight paths along them have their \
                           exact cost",
                    is: |p| p.directions == DirectionSet::Lattice98,
                    choose: |p| p.directions = DirectionSet::Lattice98,
                },
                Choice {
                    key: DirectionSet::Icosphere162.key(),
                    label: "162",
                    help: "16° apart; takes three times as long as 98",
                    is: |p| p.directions == DirectionSet::Icosphere162,
                    choose: |p| p.directions = DirectionSet::Icosphere162,
                },
            ]),
            unused: used,
        },
        Param {
            key: "background-speed",
            value_name: "X",
            label: "Speed off fibres",
            help: "Speed where no fibre runs in the direction of the path, as a fraction of the speed along fibres",
            reason: "leaving a fibre costs about 30 times as much per mm as following it",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                scale: Scale::Logarithmic,
                decimals: 3,
                soft: (0.003, 0.3),
                hard: Limits::between(1e-4, 1.0),
                ..Number::new(
                    |p| Some(p.background_speed),
                    |p, v| p.background_speed = v.unwrap_or(p.background_speed),
                )
            }),
            unused: used,
        },
        Param {
            key: "min-amplitude",
            value_name: "AMPLITUDE",
            label: "Domain amplitude ≥",
            help: "Paths run only where the largest lobe reaches this amplitude, and inside mask regions, if there are \
                   any",
            reason: "lower values let paths through grey matter and CSF",
            hint: "",
            default_text: DefaultText::Noted("{}, without --within"),
            kind: Kind::Number(Number {
                decimals: 3,
                soft: (0.0, 0.5),
                hard: Limits::between(0.0, 100.0),
                ..Number::new(
                    |p| Some(p.min_amplitude),
                    |p, v| p.min_amplitude = v.unwrap_or(p.min_amplitude),
                )
            }),
            unused: used,
        },
        costly_row(
            |p| Some(p.costly_factor),
            |p, v| p.costly_factor = v.unwrap_or(p.costly_factor),
        ),
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}
