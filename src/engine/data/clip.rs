//! Planes and boxes that hide a part of space.

use crate::data::Shape;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A plane or a box.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipShape {
    /// Its inside is the side that the normal points away from: normal · point ≤ offset.
    Plane {
        /// Unit vector.
        normal: DVec3,
        /// Distance from the origin of the world along the normal, mm.
        offset_mm: f64,
    },
    /// Edges along the world axes, mm.
    Box {
        /// Lowest corner.
        low: DVec3,
        /// Highest corner.
        high: DVec3,
    },
}

/// A plane or a box that hides everything on one side of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clip {
    /// Its border.
    pub shape: ClipShape,
    /// Whether it hides its inside, not its outside.
    pub hides_inside: bool,
}

impl ClipShape {
    /// Smallest edge of a box, mm.
    pub const MIN_EDGE_MM: f64 = 0.1;
    /// Largest coordinate, mm.
    pub const FARTHEST_MM: f64 = 1e5;

    /// The plane through a point.
    pub fn plane_through(point: DVec3, normal: DVec3) -> Option<Self> {
        let normal = normal.try_normalize()?;
        let offset_mm = normal.dot(point);
        Self::Plane { normal, offset_mm }.valid()
    }

    /// The box around a region with a margin; of a mask, around its voxels.
    pub fn around(region: &Shape, margin_mm: f64) -> Option<Self> {
        let (low, high) = match region {
            Shape::Mask(mask) => mask.bounds_inside()?,
            shape => shape.bounds(),
        };
        // A negative margin ends in the middle.
        let middle = (low + high) * 0.5;
        Self::Box {
            low: (low - margin_mm).min(middle),
            high: (high + margin_mm).max(middle),
        }
        .valid()
    }

    /// A form that can be drawn and stored: a unit normal, corners in order, distances within
    /// [`Self::FARTHEST_MM`]; `None` for NaN, or a plane without a normal.
    pub fn valid(self) -> Option<Self> {
        let limit = |mm: f64| mm.clamp(-Self::FARTHEST_MM, Self::FARTHEST_MM);
        match self {
            Self::Plane { normal, offset_mm } => {
                let normal = normal.try_normalize().filter(|n| n.is_finite())?;
                let offset_mm = limit(offset_mm);
                (!offset_mm.is_nan()).then_some(Self::Plane { normal, offset_mm })
            }
            Self::Box { low, high } => {
                // The smaller of a number and NaN may be the number.
                if low.is_nan() || high.is_nan() {
                    return None;
                }
                let (low, high) = (low.map(limit), high.map(limit));
                let (low, high) = (low.min(high), low.max(high));
                let high = high.max(low + Self::MIN_EDGE_MM);
                Some(Self::Box { low, high })
            }
        }
    }

    /// Whether a point lies inside; the border belongs to the inside.
    pub fn contains(&self, point: DVec3) -> bool {
        match self {
            Self::Plane { normal, offset_mm } => normal.dot(point) <= *offset_mm,
            Self::Box { low, high } => point.cmpge(*low).all() && point.cmple(*high).all(),
        }
    }

    /// The part of the line `from + t · along` that lies inside, as a range of t; empty ranges descend.
    fn span(&self, from: DVec3, along: DVec3) -> (f64, f64) {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        let below = |value: f64, rate: f64| match () {
            _ if rate.abs() > 1e-12 && rate > 0.0 => (all.0, -value / rate),
            _ if rate.abs() > 1e-12 => (-value / rate, all.1),
            _ if value <= 0.0 => all,
            _ => (all.1, all.0),
        };
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.min(b.1));
        match self {
            Self::Plane { normal, offset_mm } => {
                below(normal.dot(from) - offset_mm, normal.dot(along))
            }
            Self::Box { low, high } => (0..3).fold(all, |span, axis| {
                let upper = below(from[axis] - high[axis], along[axis]);
                let lower = below(low[axis] - from[axis], -along[axis]);
                both(span, both(upper, lower))
            }),
        }
    }
}

/// The part of a box that lies within bounds, as its lowest and highest corner; the whole box if no part does.
pub fn box_within(edges: (DVec3, DVec3), bounds: (DVec3, DVec3)) -> (DVec3, DVec3) {
    let (low, high) = (edges.0.max(bounds.0), edges.1.min(bounds.1));
    match low.cmple(high).all() {
        true => (low, high),
        false => edges,
    }
}

impl Clip {
    /// Whether a point stays visible.
    pub fn keeps(&self, point: DVec3) -> bool {
        self.shape.contains(point) != self.hides_inside
    }
}

/// Whether all of these clips keep a point.
pub fn keep(clips: &[Clip], point: DVec3) -> bool {
    clips.iter().all(|clip| clip.keeps(point))
}

/// The parts of the line `from + t · along`, with t within a range, that all clips keep: ranges of t, ascending.
pub fn kept_parts(
    clips: &[Clip],
    (from, along): (DVec3, DVec3),
    range: (f64, f64),
) -> Vec<(f64, f64)> {
    let mut parts = vec![range];
    for clip in clips {
        let (enters, leaves) = clip.shape.span(from, along);
        let is_met = enters <= leaves;
        let one = |(a, b): (f64, f64)| -> [(f64, f64); 2] {
            match (clip.hides_inside, is_met) {
                (false, _) => [(a.max(enters), b.min(leaves)), (1.0, 0.0)],
                (true, true) => [(a, b.min(enters)), (a.max(leaves), b)],
                (true, false) => [(a, b), (1.0, 0.0)],
            }
        };
        let cut = parts.iter().flat_map(|part| one(*part));
        parts = cut.filter(|(a, b)| a <= b).collect();
    }
    parts
}
