//! The costs of a pathway by the model that they come from, and the costs that the next one need not compute.

use crate::data::DataId;
use crate::solvers::lifted::LiftedPathway;
use crate::solvers::pathway::{JointCosts, Path, Pathway};
use crate::state::pathways::PathwayParams;
use crate::state::pathways::jobs::{PreparedCosts, PreparedLifted};
use crate::state::track::types::odf::Model;
use std::ops::Deref;
use std::sync::Arc;

/// The costs between two regions, which it dereferences to, with the fields that paths are traced in.
#[derive(Clone, Debug)]
pub enum PathwayCosts {
    Tensors(Pathway),
    Distributions(LiftedPathway),
    /// Through distributions, without their fields, which would fill the memory: those of kept pathways.
    Joint(JointCosts),
}

impl Deref for PathwayCosts {
    type Target = JointCosts;

    fn deref(&self) -> &JointCosts {
        match self {
            Self::Tensors(pathway) => pathway,
            Self::Distributions(pathway) => pathway,
            Self::Joint(costs) => costs,
        }
    }
}

impl PathwayCosts {
    /// The pathway through tensors; `None` for other pathways.
    pub fn tensors(&self) -> Option<&Pathway> {
        match self {
            Self::Tensors(pathway) => Some(pathway),
            Self::Distributions(_) | Self::Joint(_) => None,
        }
    }

    /// The pathway through distributions, unless only its costs were kept.
    pub fn distributions(&self) -> Option<&LiftedPathway> {
        match self {
            Self::Distributions(pathway) => Some(pathway),
            Self::Tensors(_) | Self::Joint(_) => None,
        }
    }

    /// The best path between the regions through a place; `None` if there is none, or its fields were not kept.
    pub fn path_through(&self, place: usize) -> Option<Path> {
        match self {
            Self::Tensors(pathway) => pathway.path_through(place),
            Self::Distributions(pathway) => pathway.path_through(place),
            Self::Joint(_) => None,
        }
    }

    /// The costs that a kept pathway needs. Fields in positions and directions are hundreds of megabytes.
    pub fn to_keep(&self) -> Self {
        match self {
            Self::Distributions(pathway) => Self::Joint(pathway.joint.clone()),
            costs => costs.clone(),
        }
    }
}

/// Results that the next pathway of a model need not recompute.
#[derive(Clone, Debug)]
pub enum KnownCosts {
    Tensors(Arc<PreparedCosts>),
    Distributions(Arc<PreparedLifted>),
}

impl KnownCosts {
    pub fn model(&self) -> Model {
        match self {
            Self::Tensors(_) => Model::Tensors,
            Self::Distributions(_) => Model::Distributions,
        }
    }

    /// Whether what does not depend on the ends need not be recomputed for such a pathway.
    pub fn serves(&self, field: DataId, params: &PathwayParams) -> bool {
        match (self, params) {
            (Self::Tensors(known), PathwayParams::Tensors(params)) => known.serves(field, params),
            (Self::Distributions(known), PathwayParams::Distributions(params)) => {
                known.serves(field, params)
            }
            _ => false,
        }
    }

    pub fn tensors(&self) -> Option<&Arc<PreparedCosts>> {
        match self {
            Self::Tensors(known) => Some(known),
            Self::Distributions(_) => None,
        }
    }

    pub fn distributions(&self) -> Option<&Arc<PreparedLifted>> {
        match self {
            Self::Distributions(known) => Some(known),
            Self::Tensors(_) => None,
        }
    }
}
