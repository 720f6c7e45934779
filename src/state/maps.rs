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

/// In a map's name, and after its values.
pub fn words(params: &Params) -> (&'static str, &'static str) {
    let (what, unit) = match (params.measure, params.sent) {
        (Measure::Visits, Some(_)) => ("visits", "of those sent"),
        (Measure::Visits, None) => ("density", "streamlines"),
        (Measure::Length, _) => ("length", "mm"),
    };
    (what, if params.by_direction { "" } else { unit })
}
