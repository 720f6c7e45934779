//! Parameters of connectomes.

use crate::parameters::{self, Kind, Limits, Number, Param, ParamError, Parameters, Unit};
use serde::{Deserialize, Serialize};

/// Parameters of a connectome.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Largest distance from an end in the background to the centre of a labelled voxel, mm; 0: no search.
    pub radius_mm: f64,
}

impl Params {
    /// A search within one voxel of a typical scan.
    pub const fn defaults() -> Self {
        Self { radius_mm: 2.0 }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[Param {
        value_name: "MM",
        help: "Assign an end in the background to the nearest label within this distance, mm",
        hint: "An end in the background counts for the nearest label within this distance",
        reason: "streamlines often end a voxel short of the cortex",
        ..Param::new(
            "radius",
            "Search radius",
            Kind::Number(Number {
                unit: Unit::Mm,
                decimals: 1,
                soft: (0.0, 10.0),
                // Farther than any two points of a head.
                hard: Limits::between(0.0, 1000.0),
                ..Number::new(
                    |p| Some(p.radius_mm),
                    |p, v| p.radius_mm = v.unwrap_or(p.radius_mm),
                )
            }),
        )
    }];

    const APPLIES_AFTER_DRAG: bool = true;

    fn defaults() -> Self {
        Self::defaults()
    }
}
