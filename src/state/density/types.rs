//! What is asked of a density map.

use crate::solvers::density::{Measure, Params};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Streamlines that pass a voxel, of those that were sent.
    Share,
    /// Streamlines that pass a voxel.
    Count,
    /// Their length in it, mm.
    Length,
}

impl Value {
    pub const ALL: [Self; 3] = [Self::Share, Self::Count, Self::Length];

    pub fn measure(self) -> Measure {
        match self {
            Self::Share | Self::Count => Measure::Visits,
            Self::Length => Measure::Length,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wanted {
    pub value: Value,
    /// Edge of cubes, mm; `None`: the image's voxels.
    pub voxel_mm: Option<f64>,
    pub by_direction: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            value: Value::Count,
            voxel_mm: None,
            by_direction: false,
        }
    }
}

/// What a map is called, the unit of its values and what they are multiplied by before they are told.
pub fn words(params: &Params) -> (&'static str, &'static str, f32) {
    let (what, unit, scale) = match (params.measure, params.sent) {
        (Measure::Visits, Some(_)) => ("Visits", "%", 100.0),
        (Measure::Visits, None) => ("Density", "", 1.0),
        (Measure::Length, _) => ("Length", "mm", 1.0),
    };
    match params.by_direction {
        true => (what, "", 1.0),
        false => (what, unit, scale),
    }
}
