//! Everything that a pathway depends on.

use crate::data::{DataId, Region};
use crate::parameters::ParamError;
use crate::solvers::lifted::{self, LEAST_EXCESS};
use crate::solvers::pathway::Params;
use crate::state::core::live::LiveKey;
use crate::state::pathways::result::PathwayResult;
use crate::state::track::types::odf::Model;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The model of a pathway's costs, with its parameters. A session has a member of its own for each model.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathwayParams {
    #[serde(rename = "params")]
    Tensors(Params),
    #[serde(rename = "lifted")]
    Distributions(lifted::Params),
}

impl PathwayParams {
    pub fn model(&self) -> Model {
        match self {
            Self::Tensors(_) => Model::Tensors,
            Self::Distributions(_) => Model::Distributions,
        }
    }

    /// The parameters of a pathway through tensors; `None` for other pathways.
    pub fn tensors(&self) -> Option<&Params> {
        match self {
            Self::Tensors(params) => Some(params),
            Self::Distributions(_) => None,
        }
    }

    /// Checks the values by their tables.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            Self::Tensors(params) => params.check(),
            Self::Distributions(params) => params.check(),
        }
    }
}

/// Everything a pathway depends on.
#[derive(Clone, Debug)]
pub struct PathwayKey {
    /// The tensors or the distributions.
    pub field: DataId,
    pub regions: Vec<Region>,
    pub params: PathwayParams,
    /// Excess costs are needed up to this share of the least cost; `None`: all are known.
    pub max_excess: Option<f64>,
}

impl PathwayKey {
    /// The key of a pathway of a width, which limits how far costs through distributions are computed.
    pub fn new(field: DataId, regions: Vec<Region>, params: PathwayParams, epsilon: f64) -> Self {
        let max_excess = match params {
            PathwayParams::Tensors(_) => None,
            PathwayParams::Distributions(_) => Some(epsilon.max(LEAST_EXCESS)),
        };
        Self {
            field,
            regions,
            params,
            max_excess,
        }
    }

    pub fn from_result(result: &PathwayResult) -> Self {
        result.key.clone()
    }

    /// The key of its comparison with random pairs, which does not depend on how far costs are known.
    pub fn for_comparison(result: &PathwayResult) -> Self {
        Self {
            max_excess: None,
            ..result.key.clone()
        }
    }
}

impl LiveKey for PathwayKey {
    fn stands_in_for(&self, requested: &Self) -> bool {
        self.field == requested.field
    }
}

impl PartialEq for PathwayKey {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Region, &Region)| a.role == b.role && Arc::ptr_eq(&a.shape, &b.shape);
        self.field == other.field
            && self.params == other.params
            && self.max_excess == other.max_excess
            && self.regions.len() == other.regions.len()
            && self.regions.iter().zip(&other.regions).all(same)
    }
}

/// A voxel at the pointer, with the image that contains it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HoverKey {
    pub pathway: DataId,
    pub voxel: [usize; 3],
}

impl LiveKey for HoverKey {}
