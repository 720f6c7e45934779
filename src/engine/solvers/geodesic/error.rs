//! Errors of the inputs of rays.

use super::MAX_REGIONS;
use crate::data::Sentence;
use crate::data::text::counted;
use crate::parameters::ParamError;
use crate::solvers::Error;
use crate::solvers::curves::{self, Interpolation, MAX_SEEDS};
use std::fmt;

/// A ray metric, regions or parameters with which no rays can be traced: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    Curves(curves::InputError),
    Parameters(ParamError),
    /// The papers' form with cubic B-splines.
    SplinesInPapersForm,
    /// Rays are to be tested against this many regions.
    TooManyRegions(usize),
    /// A ray metric that was prepared for another interpolation.
    Interpolation {
        prepared: Interpolation,
        requested: Interpolation,
    },
    TooManyRays {
        seeds: usize,
        directions: usize,
    },
    /// The point through which rays should go, world mm, has no tensor.
    PointOutside([f64; 3]),
    /// Newton's method found no ray from any of these seeds; the distance of the nearest end, if a ray could be
    /// followed.
    NotThrough {
        seeds: u64,
        nearest_mm: Option<f64>,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Curves(error) => error.fmt(f),
            Self::Parameters(error) => error.fmt(f),
            Self::SplinesInPapersForm => f.write_str(
                "The papers' form supports only linear interpolation, found cubic B-splines; choose linear \
                 interpolation or the Hamiltonian form",
            ),
            Self::TooManyRegions(regions) => write!(
                f,
                "There are {regions} target, include, exclude and terminate regions, expected at most \
                 {MAX_REGIONS}; join some in one mask"
            ),
            Self::Interpolation {
                prepared,
                requested,
            } => write!(
                f,
                "The ray metric was prepared for {prepared:?} interpolation, expected {requested:?}; prepare it again"
            ),
            Self::PointOutside([x, y, z]) => write!(
                f,
                "The point {x:.1}, {y:.1}, {z:.1} mm lies outside the fitted voxels, expected one inside; move it"
            ),
            Self::NotThrough { seeds, nearest_mm } => {
                let seeds = counted(usize::try_from(*seeds).unwrap_or(usize::MAX), "seed");
                let nearest = match nearest_mm {
                    Some(mm) => format!("the nearest ends {mm:.1} mm from it"),
                    None => "all end before it".to_owned(),
                };
                write!(
                    f,
                    "Newton's method found no ray from {seeds} to the point ({nearest}), expected one that ends there; \
                     choose a point nearer to the seeds or along their fibres, or sharpen the tensors less"
                )
            }
            Self::TooManyRays { seeds, directions } => {
                let rays = seeds.saturating_mul(*directions);
                write!(
                    f,
                    "{seeds} seeds with {directions} directions are {rays} rays, expected at most {MAX_SEEDS}; \
                     ask for fewer"
                )
            }
        }
    }
}

impl std::error::Error for InputError {}

impl From<curves::InputError> for InputError {
    fn from(error: curves::InputError) -> Self {
        Self::Curves(error)
    }
}

impl From<ParamError> for InputError {
    fn from(error: ParamError) -> Self {
        Self::Parameters(error)
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
