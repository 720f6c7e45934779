//! Display of tensors as glyphs.

use crate::data::appearance::GlyphShape;
use crate::data::keyed;
use crate::parameters::{Kind, Limits, Number, Param, Parameters, shortest_f64};
use serde::{Deserialize, Serialize};

/// The tensors that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlyphPlace {
    /// Tensors on the slices of the 3-D view, only there.
    Scene,
    /// Tensors on the slices of the 3-D view and in the slice views.
    Slices,
    /// Tensors within the pathways, in the 3-D view.
    Pathways,
}

keyed!(GlyphPlace, serde {
    Scene = "scene",
    Slices = "slices",
    Pathways = "pathways",
});

impl GlyphPlace {
    pub const ALL: [Self; 3] = [Self::Scene, Self::Slices, Self::Pathways];

    pub fn name(self) -> &'static str {
        match self {
            Self::Scene => "Slices of the 3-D view",
            Self::Slices => "Slices of all views",
            Self::Pathways => "Within pathways",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct GlyphLook {
    pub shown: bool,
    pub place: GlyphPlace,
    pub shape: GlyphShape,
    /// Length of the longest axis relative to a voxel's edge.
    pub size: f32,
    /// One voxel in this many, along each axis.
    pub every: usize,
}

impl Default for GlyphLook {
    fn default() -> Self {
        Self {
            shown: false,
            place: GlyphPlace::Scene,
            shape: GlyphShape::Ellipsoid,
            size: 0.9,
            every: 1,
        }
    }
}

/// Only for the window. The limits are those of what can be drawn.
impl Parameters for GlyphLook {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Longest axis divided by the edge of a voxel",
            ..Param::new(
                "size",
                "Glyph size",
                Kind::Number(Number {
                    soft: (0.3, 2.0),
                    hard: Limits::between(0.05, 10.0),
                    ..Number::new(
                        |p| Some(shortest_f64(p.size)),
                        |p, v| p.size = v.map_or(p.size, |v| v as f32),
                    )
                }),
            )
        },
        Param {
            help: "Along each axis",
            ..Param::new(
                "every",
                "One voxel in",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 8.0),
                    hard: Limits::whole(1.0, 16.0),
                    ..Number::new(
                        |p| Some(p.every as f64),
                        |p, v| p.every = v.map_or(p.every, |v| v as usize),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::default()
    }
}
