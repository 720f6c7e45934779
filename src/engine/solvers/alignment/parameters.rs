//! Parameters of an alignment.

use crate::parameters::{DefaultText, Kind, Param, Parameters, Switch};
use glam::DAffine3;
use serde::{Deserialize, Serialize};

/// The start of an alignment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Initial transform of the moving image in world space, mm.
    pub from: DAffine3,
    /// Whether to begin at other positions, too.
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
        help: "Begin only from where the images lie",
        reason: "scanners place heads differently",
        default_text: DefaultText::Omitted,
        ..Param::new(
            "near",
            "Begin from other places, too",
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
