//! Parameters of one compartment of water, in forms: options list those of all compartments.

use super::Params;
use super::model::DIFFUSIVITIES;
use crate::parameters::{Kind, Number, Param, Parameters, Unit, row};

/// Name of the diffusivity of water around fibres, across them.
pub(super) const RADIAL: &str = "Radial";
/// Name of the diffusivity of free water.
pub(super) const BALL: &str = "Ball";

/// Diffusivities of one compartment of each kind, mm²/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WaterParts {
    /// Across fibres, of the water around them.
    pub across: f64,
    /// In all directions, of free water.
    pub free: f64,
}

impl WaterParts {
    /// The compartments with this index, each with the diffusivity of `otherwise` if there is none.
    pub fn at_index(params: &Params, index: usize, otherwise: Self) -> Self {
        let model = &params.model;
        Self {
            across: model
                .extra
                .get(index)
                .map_or(otherwise.across, |z| z.across),
            free: model.free.get(index).copied().unwrap_or(otherwise.free),
        }
    }

    /// The name of a row for the compartment with this index: `Ball`, `Ball 2`.
    pub fn label(key: &str, index: usize) -> String {
        let label = row::<Self>(key).map_or("", |row| row.label);
        match index {
            0 => label.to_owned(),
            index => format!("{label} {}", index + 1),
        }
    }
}

impl Parameters for WaterParts {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Diffusivity of the water around fibres, across them",
            ..Param::new(
                "across",
                RADIAL,
                Kind::Number(Number {
                    unit: Unit::Diffusivity,
                    soft: (0.1, 1.5),
                    hard: DIFFUSIVITIES,
                    ..Number::new(|p| Some(p.across), |p, v| p.across = v.unwrap_or(p.across))
                }),
            )
        },
        Param {
            help: "Diffusivity of free water, in tissue or cerebrospinal fluid",
            ..Param::new(
                "free",
                BALL,
                Kind::Number(Number {
                    unit: Unit::Diffusivity,
                    soft: (1.0, 4.0),
                    hard: DIFFUSIVITIES,
                    ..Number::new(|p| Some(p.free), |p, v| p.free = v.unwrap_or(p.free))
                }),
            )
        },
    ];

    fn defaults() -> Self {
        let none = Self {
            across: 0.0,
            free: 0.0,
        };
        Self::at_index(&Params::defaults_for(2), 0, none)
    }
}
