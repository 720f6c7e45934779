//! Parameters of profiles along a bundle.

use super::profile::Sense;
use crate::parameters::{self, Kind, Limits, Number, Param, ParamError, Parameters, Switch};
use serde::{Deserialize, Serialize};

/// Parameters of a profile along a bundle.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProfileParams {
    /// Number of points to which every streamline is resampled.
    pub nodes: usize,
    /// The end of the bundle at which it starts.
    pub sense: Sense,
}

impl ProfileParams {
    /// A common number for bundles of the brain.
    pub const fn defaults() -> Self {
        Self {
            nodes: 100,
            sense: Sense::AsIs,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for ProfileParams {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "N",
            help: "Number of nodes along the bundle",
            hint: "Number of nodes, equally spaced along each streamline",
            reason: "common for bundles of the brain (Yeatman et al. 2012)",
            ..Param::new(
                "nodes",
                "Nodes",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (10.0, 200.0),
                    hard: Limits::whole(2.0, 1000.0),
                    ..Number::new(
                        |p| Some(p.nodes as f64),
                        |p, v| p.nodes = v.map_or(p.nodes, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Start at the other end",
            ..Param::new(
                "reverse",
                "Direction",
                Kind::Switch(Switch {
                    flag: true,
                    labels: Some(["As it is", "Reversed"]),
                    get: |p| p.sense == Sense::Turned,
                    set: |p, v| {
                        p.sense = match v {
                            true => Sense::Turned,
                            false => Sense::AsIs,
                        }
                    },
                }),
            )
        },
    ];

    const APPLIES_AFTER_DRAG: bool = true;

    fn defaults() -> Self {
        Self::defaults()
    }
}
