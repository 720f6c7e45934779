//! The appearance of layers: colour maps, transfer functions and style choices stored in sessions.

mod colour_map;
mod transfer;

pub use colour_map::ColourMap;
pub use transfer::{Colours, TABLE, Transfer};

use crate::data::keyed;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interpolation {
    Nearest,
    Linear,
    Cubic,
}

keyed!(Interpolation, serde {
    Nearest = "nearest",
    Linear = "linear",
    Cubic = "cubic",
});

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlyphShape {
    Ellipsoid,
    Superquadric,
}

keyed!(GlyphShape, serde {
    Ellipsoid = "ellipsoid",
    Superquadric = "superquadric",
});

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStyle {
    /// Width in logical pixels.
    Lines { width_px: f32 },
    /// Radius in mm, shaded as a cylinder.
    Tubes { radius_mm: f32 },
}
