//! Parameters of an alignment.

use crate::parameters::{DefaultText, Kind, Param, Parameters, Switch};
use glam::DAffine3;
use serde::{Deserialize, Serialize};

/// The start of an alignment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Initial transform of the moving image in world space, mm.
    pub from: DAffine3,
    /// Also start from other positions.
    pub wide: bool,
}

impl Params {
    /// Begins with this transform and at other positions.
    pub fn defaults_from(from: DAffine3) -> Self {
        Self { from, wide: true }
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[Param {
        help: "Start only from the present position of the images",
        reason: "scanners place heads differently",
        default_text: DefaultText::Omitted,
        ..Param::new(
            "near",
            "Also start from other positions",
            Kind::Switch(Switch {
                flag: false,
                labels: None,
                get: |p| p.wide,
                set: |p, v| p.wide = v,
            }),
        )
    }];

    fn defaults() -> Self {
        Self::defaults_from(DAffine3::IDENTITY)
    }
}
