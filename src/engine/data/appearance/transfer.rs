//! Transfer functions: the opacity and colour of values.

use super::colour_map::ColourMap;
use serde::{Deserialize, Serialize};

/// Opacity and colour of values by their position in a window: 0 is its low end, 1 its high end.
///
/// Opacity is a polyline through 2 to 12 points, constant before the first and after the last. It applies to a layer
/// of a reference thickness, so that it does not depend on the sampling of a ray: with opacity α over r mm the
/// extinction is σ = −ln(1 − α) / r, and a path transmits exp(−∫σ ds) (Max 1995, "Optical models for direct volume
/// rendering", eq. 6).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "StoredTransfer")]
pub struct Transfer {
    /// Position in the window and opacity, both in 0..1; the positions never decrease.
    points: Vec<(f32, f32)>,
    /// Colours of the values.
    pub colours: Colours,
}

/// The form stored in session files.
#[derive(Deserialize)]
struct StoredTransfer {
    points: Vec<(f32, f32)>,
    colours: Colours,
}

impl From<StoredTransfer> for Transfer {
    fn from(written: StoredTransfer) -> Self {
        Self::new(&written.points, written.colours)
    }
}

/// Colours of a transfer function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Colours {
    /// A colour map over the window.
    Map(ColourMap),
    /// sRGB.
    Fixed([u8; 3]),
}

/// The largest opacity, which transmits e⁻⁹·² of the light.
const MAX_OPACITY: f32 = 0.9999;
/// Size of the table that the shader reads, as in shaders/volume.wgsl.
pub const TABLE: usize = 1024;

impl Transfer {
    /// Fewest points of the opacity curve.
    pub const MIN_POINTS: usize = 2;
    /// Most points of the opacity curve.
    pub const MAX_POINTS: usize = 12;

    /// Sorts and clamps the points; too few points, or NaN in all of them, become a ramp.
    pub fn new(points: &[(f32, f32)], colours: Colours) -> Self {
        let valid = |p: &&(f32, f32)| p.0.is_finite() && p.1.is_finite();
        let clamped = |p: &(f32, f32)| (p.0.clamp(0.0, 1.0), p.1.clamp(0.0, 1.0));
        let mut points: Vec<_> = points.iter().filter(valid).map(clamped).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.truncate(Self::MAX_POINTS);
        if points.len() < Self::MIN_POINTS {
            points = vec![(0.0, 0.0), (1.0, 0.3)];
        }
        Self { points, colours }
    }

    /// Points of the opacity curve, as (position, opacity), by ascending position.
    pub fn points(&self) -> &[(f32, f32)] {
        &self.points
    }

    /// Opacity that increases with the value: for FA and anatomical images.
    pub fn rising() -> Self {
        Self::new(
            &[(0.0, 0.0), (0.3, 0.0), (0.6, 0.2), (1.0, 0.8)],
            Colours::Map(ColourMap::Grey),
        )
    }

    /// A function that shows only the highest values.
    pub fn high() -> Self {
        Self::new(
            &[(0.0, 0.0), (0.55, 0.0), (0.75, 0.5), (1.0, 0.9)],
            Colours::Map(ColourMap::Grey),
        )
    }

    /// A soft shell around middle values.
    pub fn band() -> Self {
        Self::new(
            &[(0.0, 0.0), (0.35, 0.0), (0.5, 0.4), (0.65, 0.0), (1.0, 0.0)],
            Colours::Map(ColourMap::Viridis),
        )
    }

    /// The function for shares of repetitions, 0 to 1: few are hardly visible.
    pub fn share() -> Self {
        Self::new(
            &[(0.0, 0.0), (0.1, 0.04), (0.3, 0.22), (1.0, 0.7)],
            Colours::Map(ColourMap::Share),
        )
    }

    /// The function for the cost between two regions: the smallest is most opaque, blue; values above the window are
    /// invisible.
    pub fn cost() -> Self {
        Self::new(
            &[
                (0.0, 0.95),
                (0.15, 0.75),
                (0.5, 0.25),
                (0.9, 0.0),
                (1.0, 0.0),
            ],
            Colours::Map(ColourMap::Cost),
        )
    }

    /// Opaque around the middle of a range, with the present colours; all arguments are positions in the window.
    /// Values outside the window are moved to its end, and the range has a small minimum width. Positions up to
    /// `ground`, the background of a scan, stay transparent unless the middle is one of them.
    pub fn around(&self, middle: f32, half: f32, ground: Option<f32>) -> Self {
        const MIN_WIDTH: f32 = 0.01;
        const OPACITY: f32 = 0.6;
        let middle = middle.clamp(0.0, 1.0);
        let half = half.max(MIN_WIDTH);
        let ramp = 0.5 * half;
        let ground = ground.filter(|g| middle > g + MIN_WIDTH);
        let ground = ground.unwrap_or(f32::NEG_INFINITY);
        let points = [
            ((middle - half - ramp).max(ground), 0.0),
            ((middle - half).max(ground + MIN_WIDTH), OPACITY),
            (middle + half, OPACITY),
            (middle + half + ramp, 0.0),
        ];
        // A ramp cut by the window's end keeps its height there.
        let risen =
            |end: f32| ((half + ramp - (end - middle).abs()) / ramp).clamp(0.0, 1.0) * OPACITY;
        let clipped = points.map(|(share, opacity)| match share {
            s if s < 0.0 => (0.0, risen(0.0)),
            s if s > 1.0 => (1.0, risen(1.0)),
            s => (s, opacity),
        });
        Self::new(&clipped, self.colours)
    }

    /// Named presets.
    pub fn presets() -> [(&'static str, Self); 4] {
        [
            ("Rising", Self::rising()),
            ("High values", Self::high()),
            ("Shell", Self::band()),
            ("Cost", Self::cost()),
        ]
    }

    /// Like [`Transfer::presets`], for costs between two regions: blue low, red high, as in the paper. Values
    /// above the window, including places that no path reaches, are invisible.
    pub fn cost_presets() -> [(&'static str, Self); 4] {
        let cost = |points: &[(f32, f32)]| Self::new(points, Colours::Map(ColourMap::Cost));
        [
            ("Cost", Self::cost()),
            (
                "Cheapest only",
                cost(&[(0.0, 0.95), (0.12, 0.8), (0.25, 0.0), (1.0, 0.0)]),
            ),
            ("Even", cost(&[(0.0, 0.2), (0.85, 0.2), (1.0, 0.0)])),
            (
                "Shell",
                cost(&[(0.0, 0.0), (0.3, 0.0), (0.4, 0.5), (0.5, 0.0), (1.0, 0.0)]),
            ),
        ]
    }

    /// Opacity of a layer of the reference thickness; NaN is transparent.
    pub fn opacity(&self, share: f32) -> f32 {
        let after = self.points.iter().position(|p| share < p.0);
        let last = self.points[self.points.len() - 1];
        match after {
            _ if share.is_nan() => 0.0,
            None => last.1,
            Some(0) => self.points[0].1,
            Some(i) => {
                let (a, b) = (self.points[i - 1], self.points[i]);
                a.1 + (b.1 - a.1) * ((share - a.0) / (b.0 - a.0))
            }
        }
    }

    /// sRGB.
    pub fn colour(&self, share: f32) -> [u8; 3] {
        match self.colours {
            Colours::Map(map) => map.at(share),
            Colours::Fixed(colour) => colour,
        }
    }

    /// The function with one more point, and its index; `None` if it has the largest number of points.
    pub fn with_point(&self, share: f32, opacity: f32) -> Option<(Self, usize)> {
        if self.points.len() >= Self::MAX_POINTS || !(share.is_finite() && opacity.is_finite()) {
            return None;
        }
        let share = share.clamp(0.0, 1.0);
        let at = self.points.partition_point(|p| p.0 <= share);
        let mut changed = self.clone();
        changed.points.insert(at, (share, opacity.clamp(0.0, 1.0)));
        Some((changed, at))
    }

    /// The function with a point moved, at most as far as its neighbours.
    pub fn with_moved(&self, point: usize, share: f32, opacity: f32) -> Self {
        let mut changed = self.clone();
        let low = point.checked_sub(1).map_or(0.0, |i| self.points[i].0);
        let high = self.points.get(point + 1).map_or(1.0, |p| p.0);
        if let Some(p) = changed.points.get_mut(point)
            && share.is_finite()
            && opacity.is_finite()
        {
            *p = (share.clamp(low, high), opacity.clamp(0.0, 1.0));
        }
        changed
    }

    /// The function without a point; `None` if no fewer points are possible.
    pub fn without(&self, point: usize) -> Option<Self> {
        let mut changed = self.clone();
        let possible = self.points.len() > Self::MIN_POINTS && point < self.points.len();
        possible.then(|| {
            changed.points.remove(point);
            changed
        })
    }

    /// Two rows of [`TABLE`] texels for equally spaced positions from 0 to 1: extinction (1/mm) times colour and
    /// extinction itself, and the integrals of both from 0.
    pub fn table(&self, reference_mm: f32) -> Vec<[f32; 4]> {
        let reference_mm = f64::from(reference_mm.max(1e-6));
        let at = |share: f64| {
            let opacity = f64::from(self.opacity(share as f32).min(MAX_OPACITY));
            let extinction = -(-opacity).ln_1p() / reference_mm;
            let [r, g, b] = self.colour(share as f32).map(|c| f64::from(c) / 255.0);
            [r, g, b, 1.0].map(|c| c * extinction)
        };
        let step = 1.0 / (TABLE - 1) as f64;
        let (mut points, mut sums) = (Vec::with_capacity(2 * TABLE), Vec::new());
        let (mut sum, mut before) = ([0f64; 4], at(0.0));
        for i in 0..TABLE {
            let here = at(i as f64 * step);
            if i > 0 {
                let middle = at((i as f64 - 0.5) * step);
                for c in 0..4 {
                    // Simpson's rule.
                    sum[c] += step / 6.0 * (before[c] + 4.0 * middle[c] + here[c]);
                }
            }
            points.push(here.map(|v| v as f32));
            sums.push(sum.map(|v| v as f32));
            before = here;
        }
        points.extend(sums);
        points
    }
}
