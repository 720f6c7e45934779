//! Transfer functions of two values: shapes in the plane of a first and a second value, each with a colour and an
//! opacity; a third value may limit them (Kniss, Kindlmann and Hansen 2002; Lefohn and others 2004).

use crate::data::keyed;
use serde::{Deserialize, Serialize};

/// Form of a region in the plane of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeKind {
    /// All values between two limits of either axis.
    Box,
    /// The largest ellipse within those limits.
    Ellipse,
    /// A trapezoid within those limits whose lower side is the narrower one (Kniss, Kindlmann and Hansen 2002).
    Trapezoid,
}

impl ShapeKind {
    /// All forms, in the order of choices.
    pub const ALL: [Self; 3] = [Self::Box, Self::Ellipse, Self::Trapezoid];

    /// The label of the form in the window.
    pub fn label(self) -> &'static str {
        match self {
            Self::Box => "Box",
            Self::Ellipse => "Ellipse",
            Self::Trapezoid => "Trapezoid",
        }
    }

    /// The number of the form in the shader.
    fn number(self) -> f32 {
        match self {
            Self::Box => 0.0,
            Self::Ellipse => 1.0,
            Self::Trapezoid => 2.0,
        }
    }
}

keyed!(ShapeKind, serde {
    Box = "box",
    Ellipse = "ellipse",
    Trapezoid = "trapezoid",
});

/// A region of two values with its colour and opacity (Kniss, Kindlmann and Hansen 2002). Positions are shares of the
/// windows of the two values, as in [`Transfer`](super::Transfer).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TransferShape {
    /// Form within the limits.
    pub kind: ShapeKind,
    /// Lower limits of the first and the second value. A box whose limit is exactly 0 has no lower limit there, and a
    /// trapezoid none of the second value.
    pub low: [f32; 2],
    /// Upper limits, with the same rule for exactly 1.
    pub high: [f32; 2],
    /// sRGB.
    pub colour: [u8; 3],
    /// Opacity of a layer of the reference thickness, 0..1.
    pub opacity: f32,
    /// Part of the half width over which the opacity rises from 0 at the edge, 0.02..1.
    pub softness: f32,
    /// Width of a trapezoid's lower side relative to the upper one, 0..1; 0 makes a triangle.
    #[serde(default = "TransferShape::default_foot")]
    pub foot: f32,
    /// Limits of the third value, as shares of its window; there is no limit at an end that is exactly 0 or 1.
    #[serde(
        default = "TransferShape::default_third",
        skip_serializing_if = "TransferShape::is_default_third"
    )]
    pub third: [f32; 2],
}

const MAX_OPACITY: f32 = 0.9999;
const NO_LIMIT: f32 = 1e9;

impl TransferShape {
    /// Most shapes of one transfer function.
    pub const MAX_COUNT: usize = 8;
    /// Smallest width of a shape along either axis.
    pub const MIN_WIDTH: f32 = 0.01;
    /// Default of [`TransferShape::foot`].
    pub const FOOT: f32 = 0.25;
    /// Smallest softness: a sharper edge would show the steps of rays.
    pub const MIN_SOFTNESS: f32 = 0.02;

    fn default_foot() -> f32 {
        Self::FOOT
    }

    /// Limits of the third value that limit nothing.
    pub const NO_THIRD: [f32; 2] = [0.0, 1.0];

    fn default_third() -> [f32; 2] {
        Self::NO_THIRD
    }

    fn is_default_third(third: &[f32; 2]) -> bool {
        *third == Self::NO_THIRD
    }

    /// Whether the third value limits the shape.
    pub fn has_third(&self) -> bool {
        self.third != Self::NO_THIRD
    }

    /// Ordered, finite limits that are wide enough.
    fn valid_limits(a: f32, b: f32) -> (f32, f32) {
        let or = |v: f32, other: f32| if v.is_finite() { v } else { other };
        let a = or(a, 0.0).clamp(-100.0, 100.0);
        let b = or(b, 1.0).clamp(-100.0, 100.0);
        let (low, high) = (a.min(b), a.max(b));
        let short = (Self::MIN_WIDTH - (high - low)).max(0.0);
        match high >= 1.0 {
            true => (low - short, high),
            false => (low, high + short),
        }
    }

    /// Finite limits of the third value. An open end has no order with the limit at the other one, which may lie beyond
    /// the window: there, sorting would turn “at least 1.3” into “from 1 to 1.3”.
    fn valid_third([low, high]: [f32; 2]) -> [f32; 2] {
        let or = |v: f32, other: f32| if v.is_finite() { v } else { other };
        let (low, high) = (or(low, 0.0), or(high, 1.0));
        match low == 0.0 || high == 1.0 {
            true => [low, high].map(|v| v.clamp(-100.0, 100.0)),
            false => Self::valid_limits(low, high).into(),
        }
    }

    /// The shape with valid numbers: ordered, finite limits, and an opacity and a softness within their ranges.
    pub fn sanitized(self) -> Self {
        let or = |v: f32, other: f32| if v.is_finite() { v } else { other };
        let mut shape = self;
        for axis in 0..2 {
            (shape.low[axis], shape.high[axis]) =
                Self::valid_limits(self.low[axis], self.high[axis]);
        }
        shape.third = Self::valid_third(self.third);
        shape.opacity = or(self.opacity, 0.5).clamp(0.0, 1.0);
        shape.softness = or(self.softness, 0.3).clamp(Self::MIN_SOFTNESS, 1.0);
        shape.foot = or(self.foot, Self::FOOT).clamp(0.0, 1.0);
        shape
    }

    /// Limits and widths of the edges as the shader reads them: low, high, and the widths over which the opacity rises.
    fn edges(&self) -> ([f32; 2], [f32; 2], [f32; 2]) {
        let half = [0, 1].map(|a| 0.5 * (self.high[a] - self.low[a]));
        let rise = half.map(|h| (h * self.softness).max(1e-6));
        let (mut low, mut high) = (self.low, self.high);
        for axis in 0..2 {
            if self.is_open(axis, 0.0) {
                low[axis] = -NO_LIMIT;
            }
            if self.is_open(axis, 1.0) {
                high[axis] = NO_LIMIT;
            }
        }
        (low, high, rise)
    }

    /// Whether the shape has no limit along an axis where it reaches this end of the window exactly.
    fn is_open(&self, axis: usize, end: f32) -> bool {
        let reached = if end == 0.0 { self.low } else { self.high };
        let may_be_open = match self.kind {
            ShapeKind::Box => true,
            ShapeKind::Ellipse => false,
            ShapeKind::Trapezoid => axis == 1,
        };
        may_be_open && reached[axis] == end
    }

    /// The shape with the same limits of the third value after its window changed from `old` to `new`. Open ends stay open.
    pub fn in_third_window(self, old: (f32, f32), new: (f32, f32)) -> Self {
        let [low, high] = self.third;
        let third = [
            if low == 0.0 {
                low
            } else {
                share_in(low, old, new)
            },
            if high == 1.0 {
                high
            } else {
                share_in(high, old, new)
            },
        ];
        Self { third, ..self }.sanitized()
    }

    /// The shape whose limits are the same second values after their window changed from `old` to `new`. Open ends stay
    /// open.
    pub fn in_window(self, old: (f32, f32), new: (f32, f32)) -> Self {
        let mut shape = self;
        if !self.is_open(1, 0.0) {
            shape.low[1] = share_in(self.low[1], old, new);
        }
        if !self.is_open(1, 1.0) {
            shape.high[1] = share_in(self.high[1], old, new);
        }
        shape.sanitized()
    }

    /// The limits of the third value, given the values at the ends of its window; `None` if it limits nothing. An end
    /// without a limit is infinite.
    pub fn third_limits(&self, window: (f32, f32)) -> Option<(f32, f32)> {
        let [low, high] = self.third;
        let low = match low == 0.0 {
            true => f32::NEG_INFINITY,
            false => value_at(low, window),
        };
        let high = match high == 1.0 {
            true => f32::INFINITY,
            false => value_at(high, window),
        };
        self.has_third().then_some((low, high))
    }

    /// The limits of the third value as the shader reads them: low, high, the width over which the opacity rises, and 1
    /// if there are any.
    fn third_texel(&self) -> [f32; 4] {
        let [low, high] = self.third;
        // A limit beyond an open end has the width of its distance from that end.
        let width = (high - low).abs().max(Self::MIN_WIDTH);
        let rise = (0.5 * width * self.softness).max(1e-6);
        [
            if low == 0.0 { -NO_LIMIT } else { low },
            if high == 1.0 { NO_LIMIT } else { high },
            rise,
            f32::from(u8::from(self.has_third())),
        ]
    }

    /// Number of texels of a shape.
    pub const TEXELS: usize = 5;

    /// The shape for the shader: limits; widths of the edges, softness and kind; colour and opacity; of a trapezoid, the
    /// width of the lower side, and the second values at both ends of the slanted sides; limits of the third value.
    pub fn texels(&self) -> [[f32; 4]; Self::TEXELS] {
        let (low, high, rise) = self.edges();
        let [r, g, b] = self.colour.map(|c| f32::from(c) / 255.0);
        [
            [low[0], low[1], high[0], high[1]],
            [rise[0], rise[1], self.softness, self.kind.number()],
            [r, g, b, self.opacity.min(MAX_OPACITY)],
            [self.foot, self.low[1], self.high[1], 0.0],
            self.third_texel(),
        ]
    }
}

/// The share of another window at which its value is that at a share of a window.
fn share_in(share: f32, old: (f32, f32), new: (f32, f32)) -> f32 {
    (value_at(share, old) - new.0) / (new.1 - new.0)
}

/// The value at a share of a window; at its ends exactly theirs, so that limits there stay open.
pub fn value_at(share: f32, (low, high): (f32, f32)) -> f32 {
    match share {
        0.0 => low,
        1.0 => high,
        share => low + share * (high - low),
    }
}
