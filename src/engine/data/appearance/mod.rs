//! How a layer is shown: colour maps, transfer functions and the choices of style that sessions keep.

mod colour_map;
mod transfer;

pub use colour_map::ColourMap;
pub use transfer::{Colours, TABLE, Transfer};

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Interpolation {
    Nearest,
    Linear,
    Cubic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum GlyphShape {
    Ellipsoid,
    Superquadric,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum LineStyle {
    /// Width in logical pixels.
    Lines { width_px: f32 },
    /// Radius in mm, lit as a cylinder.
    Tubes { radius_mm: f32 },
}
