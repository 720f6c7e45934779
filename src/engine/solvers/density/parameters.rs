//! Parameters of density maps: what is counted, and on which voxels.

use super::Error;
use crate::data::keyed;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch,
    Unit,
};
use serde::{Deserialize, Serialize};

/// The quantity that is summed in each voxel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Number of streamlines that cross the voxel.
    Visits,
    /// Length of streamlines in the voxel, mm.
    Length,
}

keyed!(Measure, serde {
    Visits = "visits",
    Length = "length",
});

/// Parameters of a density map.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// The quantity that is summed in each voxel.
    pub measure: Measure,
    /// Number of streamlines sent, by which values are divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Three frames, by direction, instead of one.
    pub by_direction: bool,
}

impl Params {
    /// Counts of visits.
    pub const fn defaults() -> Self {
        Self {
            measure: Measure::Visits,
            sent: None,
            by_direction: false,
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
            value_name: "MEASURE",
            help: "Number of streamlines that pass through each voxel, or their length in it, mm",
            default_text: DefaultText::Implied,
            ..Param::new(
                "measure",
                "Measure",
                Kind::OneOf(&[
                    Choice::new(
                        Measure::Visits.key(),
                        "Visits",
                        |p| p.measure == Measure::Visits,
                        |p| p.measure = Measure::Visits,
                    ),
                    Choice::new(
                        Measure::Length.key(),
                        "Length",
                        |p| p.measure == Measure::Length,
                        |p| p.measure = Measure::Length,
                    ),
                ]),
            )
        },
        Param {
            value_name: "N",
            help: "Divide by this number of streamlines sent",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "sent",
                "Streamlines sent",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (1.0, 1e6),
                    hard: Limits::whole(1.0, f64::INFINITY),
                    off: Some("off: counts"),
                    ..Number::new(
                        |p| p.sent.map(|n| n as f64),
                        |p, v| p.sent = v.map(|v| v as u64),
                    )
                }),
            )
        },
        Param {
            help: "Write three volumes, one for each direction",
            hint: "Red: left–right, green: front–back, blue: up–down",
            default_text: DefaultText::Omitted,
            ..Param::new(
                "by-direction",
                "Colours",
                Kind::Switch(Switch {
                    flag: true,
                    labels: Some(["By value", "By direction"]),
                    get: |p| p.by_direction,
                    set: |p, v| p.by_direction = v,
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}

/// The voxels of a map; a separate table, because a map on given voxels has none.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Voxels {
    /// Edge of cubes, mm; `None`: the voxels of the template or the streamline file.
    pub edge_mm: Option<f64>,
}

impl Voxels {
    /// Returns an error for an invalid edge.
    pub(super) fn check_edge(edge_mm: f64) -> Result<(), Error> {
        let edge_mm = Some(edge_mm);
        Ok(parameters::check(&Self { edge_mm })?)
    }
}

impl Parameters for Voxels {
    const TABLE: &'static [Param<Self>] = &[Param {
        value_name: "MM",
        help: "Use cubic voxels with this edge instead, mm: in the box of the template, or around the \
               streamlines if there is none",
        hint: "Smaller than the scan's: a super-resolved track-density image",
        default_text: DefaultText::Omitted,
        ..Param::new(
            "voxel",
            "Voxel size",
            Kind::Number(Number {
                unit: Unit::Mm,
                soft: (0.25, 4.0),
                hard: Limits::between(1e-3, 1e3),
                off: Some("off: the image's voxels"),
                // Half of a typical scan's voxel edge.
                on: Some(1.0),
                ..Number::new(|p| p.edge_mm, |p, v| p.edge_mm = v)
            }),
        )
    }];

    fn defaults() -> Self {
        Self::default()
    }
}
