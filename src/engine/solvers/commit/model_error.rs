//! Errors of the model of a fit of weights.

use super::cylinder::GammaRadii;
use super::model::{MAX_RADIUS_UM, MIN_RADIUS_UM, MIN_SHAPE};
use crate::data::sentence::{Sentence, option};
use crate::data::text::number;
use crate::solvers::Error;
use std::fmt;

/// A model that is impossible, or that the scan does not support: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelError {
    /// A diffusivity, mm²/s.
    Diffusivity(f64),
    /// Diffusivities of the Zeppelin, mm²/s.
    Zeppelin {
        across: f64,
        along: f64,
    },
    /// A radius of cylinders, µm.
    Radius(f64),
    Radii(GammaRadii),
    /// The density model together with other compartments.
    DensityAlone,
    NoRadius,
    NoShell,
    /// The scan does not determine a part of the model; the clause states which.
    Undetermined(String),
    NoTiming,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diffusivity(d) => write!(
                f,
                "A diffusivity is {} mm²/s, expected above 0 and at most 0.01; water in tissue has \
                 about 0.0017",
                number(*d)
            ),
            Self::Zeppelin { across, along } => write!(
                f,
                "The Zeppelin's diffusivity across is {across} mm²/s and along {along}, expected less across"
            ),
            Self::Radius(um) => write!(
                f,
                "A radius is {} µm, expected {MIN_RADIUS_UM} to {MAX_RADIUS_UM}; axons have 0.2 to 5",
                number(*um)
            ),
            Self::Radii(radii) => write!(
                f,
                "A distribution of radii has shape {} and scale {} µm, expected a shape of at least \
                 {MIN_SHAPE}, a scale of at least {MIN_RADIUS_UM} µm and a mean of at most {MAX_RADIUS_UM} µm; \
                 axons have a mean of 0.2 to 5",
                number(radii.shape),
                number(radii.scale_um)
            ),
            Self::DensityAlone => f.write_str(
                "The density model has one number in each voxel, expected no other compartments; \
                 leave Zeppelin and Ball out",
            ),
            Self::NoRadius => f.write_str("Found no radius, expected at least one; name one"),
            Self::NoShell => f.write_str(
                "The scan has no volume with a diffusion weighting, expected at least one shell; choose \
                 another scan",
            ),
            Self::Undetermined(what) => write!(
                f,
                "{what}; leave Ball out, or force the model{}",
                option(f, "force-model")
            ),
            Self::NoTiming => f.write_str(
                "Cylinders need the gradients' timing, and it is not known: give δ and Δ of the protocol, \
                 or a scheme file, or choose sticks",
            ),
        }
    }
}

impl std::error::Error for ModelError {}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
