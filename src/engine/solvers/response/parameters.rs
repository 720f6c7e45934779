//! Parameters of the estimation of response functions, and their defaults.

use crate::parameters::{self, Kind, Limits, Number, Param, ParamError, Parameters, Unit};
use serde::{Deserialize, Serialize};

/// Parameters of an estimation of response functions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Highest degree of the harmonics of white matter's response, even.
    #[serde(rename = "response_order")]
    pub order: usize,
    /// Layers of voxels removed from the mask.
    pub erode: usize,
    /// Voxels with a larger fractional anisotropy are white matter.
    #[serde(rename = "white_fa")]
    pub fa: f64,
    /// Share of the voxels of white matter in which its response is measured.
    pub single_fibre_share: f64,
    /// Share of the voxels of grey matter in which its response is measured.
    pub grey_share: f64,
    /// Share of the voxels of fluid in which its response is measured.
    pub csf_share: f64,
    /// Number of single-fibre voxels of the algorithm for one shell.
    #[serde(rename = "single_fibre_voxels")]
    pub voxels: usize,
}

impl Params {
    /// Defaults for any scan; the table gives their reasons.
    pub fn defaults() -> Self {
        Self {
            order: 12,
            erode: 3,
            fa: 0.2,
            single_fibre_share: 0.005,
            grey_share: 0.02,
            csf_share: 0.1,
            voxels: 300,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

/// A share from 0 to 1, shown in percent.
macro_rules! share {
    ($key:literal, $label:literal, $help:literal, $field:ident) => {
        Param {
            value_name: "SHARE",
            help: $help,
            ..Param::new(
                $key,
                $label,
                Kind::Number(Number {
                    unit: Unit::Percent,
                    decimals: 1,
                    soft: (0.1, 20.0),
                    hard: Limits::above(0.0, 100.0),
                    ..Number::new(|p| Some(p.$field), |p, v| p.$field = v.unwrap_or(p.$field))
                }),
            )
        }
    };
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "N",
            help: "Highest degree of the harmonics of white matter's response, even",
            reason: "the highest order of a deconvolution",
            ..Param::new(
                "response-order",
                "Response order",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (4.0, 12.0),
                    hard: Limits::whole(2.0, 12.0),
                    ..Number::new(
                        |p| Some(p.order as f64),
                        |p, v| p.order = v.map_or(p.order, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "N",
            help: "Layers of voxels removed from the mask, where the skull and the air are near",
            ..Param::new(
                "erode",
                "Layers removed",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (0.0, 6.0),
                    hard: Limits::whole(0.0, 20.0),
                    ..Number::new(
                        |p| Some(p.erode as f64),
                        |p, v| p.erode = v.map_or(p.erode, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "FA",
            help: "Fractional anisotropy above which a voxel is white matter",
            ..Param::new(
                "white-fa",
                "FA of white matter",
                Kind::Number(Number::new(|p| Some(p.fa), |p, v| p.fa = v.unwrap_or(p.fa))),
            )
        },
        share!(
            "single-fibre-share",
            "White matter share",
            "Share of white matter's voxels in which its response is measured",
            single_fibre_share
        ),
        share!(
            "grey-share",
            "Grey matter share",
            "Share of grey matter's voxels in which its response is measured",
            grey_share
        ),
        share!(
            "csf-share",
            "CSF share",
            "Share of the voxels of CSF in which its response is measured",
            csf_share
        ),
        Param {
            value_name: "N",
            help: "Number of single-fibre voxels of the algorithm for one shell",
            ..Param::new(
                "single-fibre-voxels",
                "Single-fibre voxels",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (100.0, 1000.0),
                    hard: Limits::whole(10.0, 100_000.0),
                    ..Number::new(
                        |p| Some(p.voxels as f64),
                        |p, v| p.voxels = v.map_or(p.voxels, |v| v as usize),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        match self.order % 2 {
            0 => Ok(()),
            _ => Err(ParamError::Combination {
                found: format!("an order of {} for the response", self.order),
                expected: "an even number from 2 to 12".to_owned(),
                action: format!("give {}", self.order - 1),
            }),
        }
    }
}
