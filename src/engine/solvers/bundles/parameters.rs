//! Parameters of clusters, and of bundles recognised by labels.

use crate::parameters::{self, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Unit};
use serde::{Deserialize, Serialize};

/// Parameters of a clustering.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// A streamline joins a cluster whose centroid is nearer than this, mm.
    pub threshold_mm: f64,
    /// Number of points by which streamlines are compared.
    pub points: usize,
    /// Clusters with fewer streamlines are dropped.
    pub min_size: usize,
}

impl Params {
    /// The paper's values, without the smallest clusters.
    pub const fn defaults() -> Self {
        Self {
            threshold_mm: 10.0,
            points: 12,
            min_size: 10,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "MM",
            help: "Largest mean distance of a streamline from the centroid of its cluster, mm",
            hint: "A streamline joins the nearest cluster if the mean distance of corresponding points is below this",
            reason: "common for whole brains (Garyfallidis et al. 2012)",
            ..Param::new(
                "threshold",
                "Threshold",
                Kind::Number(Number {
                    unit: Unit::Mm,
                    decimals: 1,
                    soft: (2.0, 40.0),
                    // Below, each streamline is a cluster of its own; above, all of a head are one.
                    hard: Limits::between(0.1, 1000.0),
                    ..Number::new(
                        |p| Some(p.threshold_mm),
                        |p, v| p.threshold_mm = v.unwrap_or(p.threshold_mm),
                    )
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Number of points along each streamline that are compared",
            hint: "Number of points, equally spaced along each streamline, that are compared",
            reason: "as in the paper (Garyfallidis et al. 2012)",
            ..Param::new(
                "points",
                "Points",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (4.0, 40.0),
                    hard: Limits::whole(2.0, 1000.0),
                    ..Number::new(
                        |p| Some(p.points as f64),
                        |p, v| p.points = v.map_or(p.points, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Drop clusters with fewer streamlines than this; their streamlines stay, in no cluster",
            hint: "Streamlines of smaller clusters stay, but in no group",
            reason: "smaller clusters are mostly single streamlines that went astray",
            ..Param::new(
                "min-size",
                "Smallest cluster",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 1000.0),
                    scale: Scale::Logarithmic,
                    hard: Limits::whole(1.0, 1e9),
                    ..Number::new(
                        |p| Some(p.min_size as f64),
                        |p, v| p.min_size = v.map_or(p.min_size, |v| v as usize),
                    )
                }),
            )
        },
    ];

    const APPLIES_AFTER_DRAG: bool = true;

    fn defaults() -> Self {
        Self::defaults()
    }
}

/// Parameters of bundles recognised by labels.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecognitionParams {
    /// Largest distance from an end to the centre of a voxel of a label in which it lies, mm; 0: only its own voxel.
    pub radius_mm: f64,
}

impl RecognitionParams {
    /// A search within one voxel of a typical scan.
    pub const fn defaults() -> Self {
        Self { radius_mm: 2.0 }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for RecognitionParams {
    const TABLE: &'static [Param<Self>] = &[Param {
        value_name: "MM",
        help: "With --labels: largest distance of an end from the centre of a voxel of the label in which it counts as \
               lying, mm",
        hint: "An end lies in a label if it is in one of its voxels, or at most this far from the centre of one",
        reason: "streamlines often end a voxel short of the cortex",
        ..Param::new(
            "radius",
            "End radius",
            Kind::Number(Number {
                unit: Unit::Mm,
                decimals: 1,
                soft: (0.0, 10.0),
                // Larger balls hold many structures, and take long.
                hard: Limits::between(0.0, 50.0),
                ..Number::new(
                    |p| Some(p.radius_mm),
                    |p, v| p.radius_mm = v.unwrap_or(p.radius_mm),
                )
            }),
        )
    }];

    const APPLIES_AFTER_DRAG: bool = true;

    fn defaults() -> Self {
        Self::defaults()
    }
}
