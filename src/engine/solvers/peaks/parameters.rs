//! Parameters of a search for peaks, and their defaults.

use crate::parameters::{self, Kind, Limits, Number, Param, ParamError, Parameters};
use serde::{Deserialize, Serialize};

/// Parameters of a search for peaks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Largest number of peaks in a voxel.
    #[serde(rename = "peaks")]
    pub count: usize,
    /// Peaks below this amplitude are left out.
    pub min_amplitude: f64,
    /// Peaks below this share of the voxel's largest are left out.
    pub min_share: f64,
}

impl Params {
    /// Three peaks at most; the table gives the reasons.
    pub fn defaults() -> Self {
        Self {
            count: 3,
            min_amplitude: 0.05,
            min_share: 0.1,
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
            value_name: "N",
            help: "Largest number of peaks in a voxel",
            reason: "more are rarely distinct",
            ..Param::new(
                "peaks",
                "Peaks",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 5.0),
                    hard: Limits::whole(1.0, 10.0),
                    ..Number::new(
                        |p| Some(p.count as f64),
                        |p, v| p.count = v.map_or(p.count, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "X",
            help: "Smallest amplitude of a peak",
            reason: "noise has peaks of this size in grey matter",
            ..Param::new(
                "min-amplitude",
                "Minimum amplitude",
                Kind::Number(Number {
                    decimals: 2,
                    soft: (0.0, 0.5),
                    hard: Limits::between(0.0, 100.0),
                    ..Number::new(
                        |p| Some(p.min_amplitude),
                        |p, v| p.min_amplitude = v.unwrap_or(p.min_amplitude),
                    )
                }),
            )
        },
        Param {
            value_name: "SHARE",
            help: "Smallest amplitude of a peak as a share of the voxel's largest",
            reason: "below it most peaks are spurious at the noise of clinical scans",
            ..Param::new(
                "min-share",
                "Minimum share",
                Kind::Number(Number {
                    ..Number::new(
                        |p| Some(p.min_share),
                        |p, v| p.min_share = v.unwrap_or(p.min_share),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}
