//! The appearance of layers: colour maps, transfer functions and style choices stored in sessions.

mod colour_map;
mod transfer;

pub use colour_map::ColourMap;
pub use transfer::{Colours, TABLE, Transfer};

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    Nearest,
    Linear,
    Cubic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GlyphShape {
    Ellipsoid,
    Superquadric,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStyle {
    /// Width in logical pixels.
    Lines { width_px: f32 },
    /// Radius in mm, shaded as a cylinder.
    Tubes { radius_mm: f32 },
}
