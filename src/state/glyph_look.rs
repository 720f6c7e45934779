//! How tensors are shown as glyphs in the 3-D view.

use crate::render::draw_list::GlyphShape;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct GlyphLook {
    pub shown: bool,
    pub shape: GlyphShape,
    /// Longest axis over a voxel's edge.
    pub size: f32,
    /// One voxel in so many, along each axis of a slice.
    pub every: usize,
}

impl Default for GlyphLook {
    fn default() -> Self {
        Self {
            shown: false,
            shape: GlyphShape::Ellipsoid,
            size: 0.9,
            every: 1,
        }
    }
}

impl GlyphLook {
    pub const SIZES: std::ops::RangeInclusive<f64> = 0.05..=10.0;
    pub const MOST_APART: usize = 16;

    /// Within what can be drawn, whatever a file says.
    pub fn sound(self) -> Self {
        let (low, high) = (*Self::SIZES.start() as f32, *Self::SIZES.end() as f32);
        Self {
            size: match self.size.is_finite() {
                true => self.size.clamp(low, high),
                false => Self::default().size,
            },
            every: self.every.clamp(1, Self::MOST_APART),
            ..self
        }
    }
}
