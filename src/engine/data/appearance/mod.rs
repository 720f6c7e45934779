//! The appearance of layers: colour maps, transfer functions and style choices stored in sessions.

mod colour_map;
mod shapes;
mod transfer;

pub use colour_map::ColourMap;
pub use shapes::{ShapeKind, TransferShape, value_at};
pub use transfer::{Colours, TABLE, Transfer};

use crate::data::keyed;
use serde::{Deserialize, Serialize};

/// Interpolation of displayed voxels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interpolation {
    /// Value of the nearest voxel centre.
    Nearest,
    /// Trilinear.
    Linear,
    /// Cubic B-spline.
    Cubic,
}

keyed!(Interpolation, serde {
    Nearest = "nearest",
    Linear = "linear",
    Cubic = "cubic",
});

/// Shape of tensor glyphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlyphShape {
    /// Axes in proportion to the eigenvalues.
    Ellipsoid,
    /// Edges show which eigenvalues are equal (Kindlmann 2004).
    Superquadric,
}

keyed!(GlyphShape, serde {
    Ellipsoid = "ellipsoid",
    Superquadric = "superquadric",
});

/// Form in which streamlines are drawn.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStyle {
    /// Width in logical pixels.
    Lines {
        /// Width in logical pixels.
        width_px: f32,
    },
    /// Radius in mm, shaded as a cylinder.
    Tubes {
        /// Radius, world mm.
        radius_mm: f32,
    },
}
