//! Parameters of a density map, as in the form, and the action that maps.

use crate::parameters::Parameters as _;
use crate::solvers::density::{Measure, Params, Voxels};
use crate::state::core::layer::LayerId;

/// The value of a map: the measure, and whether it is divided by the number of streamlines sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DensityValue {
    /// Streamlines that pass a voxel, as a fraction of those sent.
    Share,
    /// Streamlines that pass a voxel.
    Count,
    /// Their length in the voxel, mm.
    Length,
}

impl DensityValue {
    pub const ALL: [Self; 3] = [Self::Share, Self::Count, Self::Length];

    pub fn label(self) -> &'static str {
        match self {
            Self::Share => "Share",
            Self::Count => "Count",
            Self::Length => "Length",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct DensityOptions {
    /// The number sent is filled in when the map is requested.
    pub params: Params,
    /// Whether to divide by the number sent.
    pub share: bool,
    pub voxels: Voxels,
}

impl Default for DensityOptions {
    fn default() -> Self {
        Self {
            params: Params::defaults(),
            share: false,
            voxels: Voxels::defaults(),
        }
    }
}

impl DensityOptions {
    pub fn value(&self) -> DensityValue {
        match (self.params.measure, self.share) {
            (Measure::Visits, true) => DensityValue::Share,
            (Measure::Visits, false) => DensityValue::Count,
            (Measure::Length, _) => DensityValue::Length,
        }
    }

    pub fn set_value(&mut self, value: DensityValue) {
        self.share = value == DensityValue::Share;
        self.params.measure = match value {
            DensityValue::Share | DensityValue::Count => Measure::Visits,
            DensityValue::Length => Measure::Length,
        };
    }
}

/// Density maps.
#[derive(Clone, Debug)]
pub enum DensityAction {
    /// Maps the density of a layer's streamlines, or of the live ones, which are kept as a layer, too.
    Map {
        layer: Option<LayerId>,
        options: DensityOptions,
    },
}

/// The name of a map, the unit of its values, and the factor from stored to displayed values.
pub fn quantity(params: &Params) -> (&'static str, &'static str, f32) {
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
