//! Transfer functions of two values: shapes in the plane of a first and a second value, each with a colour and an
//! opacity.

use crate::data::keyed;
use serde::{Deserialize, Serialize};

/// Form of a region in the plane of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeKind {
    /// All values between two limits of either axis.
    Box,
    /// The largest ellipse within those limits.
    Ellipse,
}

keyed!(ShapeKind, serde {
    Box = "box",
    Ellipse = "ellipse",
});

/// A region of two values with its colour and opacity (Kniss, Kindlmann and Hansen 2002). Positions are shares of the
/// windows of the two values, as in [`Transfer`](super::Transfer).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TransferShape {
    /// Form within the limits.
    pub kind: ShapeKind,
    /// Lower limits of the first and the second value. A box whose limit is exactly 0 has no lower limit.
    pub low: [f32; 2],
    /// Upper limits. A box whose limit is exactly 1 has no upper limit.
    pub high: [f32; 2],
    /// sRGB.
    pub colour: [u8; 3],
    /// Opacity of a layer of the reference thickness, 0..1.
    pub opacity: f32,
    /// Part of the half width over which the opacity rises from 0 at the edge, 0.02..1.
    pub softness: f32,
}

const MAX_OPACITY: f32 = 0.9999;
const NO_LIMIT: f32 = 1e9;

impl TransferShape {
    /// Most shapes of one transfer function.
    pub const MAX_COUNT: usize = 8;
    /// Smallest width of a shape along either axis.
    pub const MIN_WIDTH: f32 = 0.01;
    /// Smallest softness: a sharper edge would show the steps of rays.
    pub const MIN_SOFTNESS: f32 = 0.02;

    /// The shape with valid numbers: ordered, finite limits, and an opacity and a softness within their ranges.
    pub fn sanitized(self) -> Self {
        let or = |v: f32, other: f32| if v.is_finite() { v } else { other };
        let mut shape = self;
        for axis in 0..2 {
            let a = or(self.low[axis], 0.0).clamp(-100.0, 100.0);
            let b = or(self.high[axis], 1.0).clamp(-100.0, 100.0);
            let (low, high) = (a.min(b), a.max(b));
            let short = (Self::MIN_WIDTH - (high - low)).max(0.0);
            (shape.low[axis], shape.high[axis]) = match high >= 1.0 {
                true => (low - short, high),
                false => (low, high + short),
            };
        }
        shape.opacity = or(self.opacity, 0.5).clamp(0.0, 1.0);
        shape.softness = or(self.softness, 0.3).clamp(Self::MIN_SOFTNESS, 1.0);
        shape
    }

    /// Limits and widths of the edges as the shader reads them: low, high, and the widths over which the opacity rises.
    fn edges(&self) -> ([f32; 2], [f32; 2], [f32; 2]) {
        let half = [0, 1].map(|a| 0.5 * (self.high[a] - self.low[a]));
        let rise = half.map(|h| (h * self.softness).max(1e-6));
        if self.kind == ShapeKind::Ellipse {
            return (self.low, self.high, rise);
        }
        let low = self.low.map(|v| if v == 0.0 { -NO_LIMIT } else { v });
        let high = self.high.map(|v| if v == 1.0 { NO_LIMIT } else { v });
        (low, high, rise)
    }

    /// Three texels for the shader: limits; widths of the edges, softness and kind; colour and opacity.
    pub fn texels(&self) -> [[f32; 4]; 3] {
        let (low, high, rise) = self.edges();
        let [r, g, b] = self.colour.map(|c| f32::from(c) / 255.0);
        let is_ellipse = f32::from(u8::from(self.kind == ShapeKind::Ellipse));
        [
            [low[0], low[1], high[0], high[1]],
            [rise[0], rise[1], self.softness, is_ellipse],
            [r, g, b, self.opacity.min(MAX_OPACITY)],
        ]
    }
}
