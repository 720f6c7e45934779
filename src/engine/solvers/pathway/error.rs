//! Errors of the inputs of a pathway.

use super::domain::Measure;
use super::random_pairs::MAX_PAIRS;
use crate::data::Role;
use crate::data::sentence::{Sentence, option};
use crate::data::text::count;
use crate::solvers::Error;
use std::fmt;

/// Regions, a mask or fields that no path joins: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// There is no region with this role.
    NoRegion(Role),
    /// The measure is too low in the whole mask.
    TooLow {
        measure: Measure,
        highest: f32,
        min_value: f64,
    },
    /// Mask and exclude regions leave no voxel.
    NothingLeft(Measure),
    EmptyMask(Measure),
    /// Mask or exclude regions leave no voxel of the region; `place` states where it lies.
    Blocked {
        region: String,
        place: String,
    },
    /// The measure is too low in the region.
    TooLowInRegion {
        measure: Measure,
        region: String,
        highest: f32,
        min_value: f64,
    },
    /// Fields of two regions on different metrics.
    OtherMetric([String; 2]),
    NotConnected {
        from: String,
        to: String,
    },
    Overlap([String; 2]),
    /// An exported image has other sizes than the grid.
    Texels {
        texels: [u32; 3],
        voxels: [u32; 3],
    },
    RandomPairs(usize),
}

impl Measure {
    fn subject(self) -> &'static str {
        match self {
            Self::Fa => "The FA",
            Self::Amplitude => "The largest amplitude",
        }
    }

    /// Label of the parameter that limits it.
    fn limit(self) -> &'static str {
        match self {
            Self::Fa => "Domain FA",
            Self::Amplitude => "Domain amplitude",
        }
    }

    fn option(self) -> &'static str {
        match self {
            Self::Fa => "min-fa",
            Self::Amplitude => "min-amplitude",
        }
    }

    /// Name of the data that a voxel has if the measure has a value there.
    fn model(self) -> &'static str {
        match self {
            Self::Fa => "tensor",
            Self::Amplitude => "distribution",
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRegion(role) => write!(
                f,
                "Found no {0}, expected at least one; place a {0} region",
                role.name().to_lowercase()
            ),
            Self::TooLow {
                measure,
                highest,
                min_value,
            } => write!(
                f,
                "{} in the mask is at most {highest:.3}, expected at least {min_value} in one voxel; lower {}{}",
                measure.subject(),
                measure.limit(),
                option(f, measure.option())
            ),
            Self::NothingLeft(measure) => write!(
                f,
                "Mask and exclude regions leave no voxel with a {}, expected at least one; move, enlarge or \
                 remove one",
                measure.model()
            ),
            Self::EmptyMask(measure) => write!(
                f,
                "The mask holds no voxel with a {}, expected at least one; choose another mask or \
                 fit again",
                measure.model()
            ),
            Self::Blocked { region, place } => write!(
                f,
                "Region “{region}” lies {place}, expected at least one voxel that paths may use; move one of them"
            ),
            Self::TooLowInRegion {
                measure,
                region,
                highest,
                min_value,
            } => write!(
                f,
                "{} in region “{region}” is at most {highest:.3}, expected at least {min_value} in one voxel; move it \
                 or lower {}{}",
                measure.subject(),
                measure.limit(),
                option(f, measure.option())
            ),
            Self::OtherMetric([a, b]) => write!(
                f,
                "The cost fields of “{a}” and “{b}” come from different metrics; solve both again"
            ),
            Self::NotConnected { from, to } => write!(
                f,
                "No path: region “{to}” is not connected to “{from}” inside the mask; widen the mask or move a \
                 region"
            ),
            Self::Overlap([a, b]) => write!(
                f,
                "Regions “{a}” and “{b}” overlap, expected no common voxel; move one"
            ),
            Self::Texels { texels, voxels } => write!(
                f,
                "An image of {texels:?} texels was exported for {voxels:?} voxels"
            ),
            Self::RandomPairs(pairs) => write!(
                f,
                "Found {} random pairs, expected at most {}; choose for example 200",
                count(*pairs as u64),
                count(MAX_PAIRS as u64)
            ),
        }
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
