//! Display of tensors as glyphs.

use crate::data::appearance::GlyphShape;
use crate::data::keyed;
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

impl GlyphLook {
    pub const SIZES: std::ops::RangeInclusive<f64> = 0.05..=10.0;
    pub const MAX_INTERVAL: usize = 16;

    /// Limited to what can be drawn, whatever a file contains.
    pub fn sanitized(self) -> Self {
        let (low, high) = (*Self::SIZES.start() as f32, *Self::SIZES.end() as f32);
        Self {
            size: match self.size.is_finite() {
                true => self.size.clamp(low, high),
                false => Self::default().size,
            },
            every: self.every.clamp(1, Self::MAX_INTERVAL),
            ..self
        }
    }
}
