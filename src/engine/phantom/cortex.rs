//! The cerebrum: its envelope, the fissures between and within the hemispheres, and the folds.
//!
//! The cortex is a ribbon of nearly constant thickness along everything that touches fluid: the envelope, the wall
//! between the hemispheres, the Sylvian fissure over the insula, and sulci. A sulcus is a sheet under a zero line of
//! a pattern on the envelope, down to a varying depth. The pattern combines stripes that follow the constant folds
//! (central sulcus and its neighbours, frontal and temporal gyri, cingulate sulcus) with a band-limited random field
//! that differs between heads and sides.

use super::implicit::{Chain, Surface, bump, hypot, profile, ramp};
use super::waves::Waves;
use crate::data::random::Random;
use glam::DVec3;
use std::f64::consts::PI;

/// The distance between neighbouring sulci is about 0.87 of this (mean spacing of zeros of a random field on a planar
/// section through waves of one length).
const FOLD_MM: f64 = 20.5;

/// Radius over which the edge between the outer and inner walls of the hemispheres is rounded, mm.
const WALL_SEAM_MM: f64 = 5.0;
/// Largest depth of a sulcus, mm.
const DEEPEST_MM: f64 = 21.5;
/// Largest distance of a point of a gyrus from a sulcus, mm.
const CROWN_MM: f64 = 7.0;

#[derive(Clone, Debug)]
pub(super) struct Cortex {
    temporal: Chain,
    parahippocampal: Chain,
    shape: Waves<8>,
    folds: Waves<20>,
    dimples: Waves<16>,
    bend: Waves<8>,
    depth: Waves<8>,
}

/// The cortex near a point of the cerebrum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// Distance to the nearest fluid, mm; positive in tissue.
    pub wall_mm: f64,
    /// Distance to the envelope, mm; positive inside.
    pub depth_mm: f64,
    /// Local thickness of the grey matter ribbon, mm.
    pub ribbon_mm: f64,
    /// Unit vector to the nearest envelope: the direction of fibres into a gyrus.
    pub outward: DVec3,
    /// Unit vector across the nearest sulcus, and how much the local fibres curve around its floor, `0..=1`.
    pub around: DVec3,
    pub u_fibres: f64,
}

/// Lower side of the cerebrum near the midline: `(y, z)`.
const BASE: &[(f64, f64)] = &[
    (-110.0, -16.0),
    (-95.0, -13.0),
    (-70.0, -4.0),
    (-52.0, 3.0),
    (-38.0, 2.0),
    (-26.0, -8.0),
    (-10.0, -13.0),
    (4.0, -16.0),
    (14.0, -21.0),
    (30.0, -25.0),
    (48.0, -22.0),
    (60.0, -14.0),
    (70.0, -4.0),
];

/// Right temporal lobe, lateral and medial parts: x y z radius.
const TEMPORAL: &[[f64; 4]] = &[
    [38.0, 15.0, -31.0, 12.5],
    [44.0, 2.0, -28.0, 16.5],
    [47.5, -20.0, -21.0, 19.5],
    [46.0, -45.0, -9.0, 20.5],
    [38.0, -68.0, 2.0, 20.0],
];
const PARAHIPPOCAMPAL: &[[f64; 4]] = &[
    [27.0, 2.0, -24.0, 9.5],
    [28.0, -18.0, -18.0, 10.5],
    [26.0, -38.0, -8.0, 10.0],
    [20.0, -60.0, 0.0, 10.0],
];

/// Height of the Sylvian fissure.
fn sylvian_height(side: f64, y: f64) -> f64 {
    -2.0 - 0.42 * (y - 2.0) - 0.30 * (42.0 - side).max(0.0) * ramp(-5.0, 14.0, y)
}

impl Cortex {
    pub fn new(random: Random) -> Self {
        Self {
            temporal: Chain::new(TEMPORAL, 6.0),
            parahippocampal: Chain::new(PARAHIPPOCAMPAL, 5.0),
            shape: Waves::new(random.stream(1), 55.0),
            folds: Waves::new(random.stream(2), FOLD_MM),
            dimples: Waves::new(random.stream(4), 13.0),
            bend: Waves::new(random.stream(5), 21.0),
            depth: Waves::new(random.stream(3), 40.0),
        }
    }

    /// The smooth envelope of both hemispheres together.
    pub fn envelope(&self, p: DVec3) -> Surface {
        let side = DVec3::new(p.x.abs(), p.y, p.z);
        let mut s = upper(side);
        s = s.intersection(above_base(side), 9.0);
        if p.z < 30.0 {
            s = self.temporal.joined(side, s, 7.0);
            s = self.parahippocampal.joined(side, s, 7.0);
            // The cerebellum is under the tentorium.
            s = s.intersection(tentorium(side), 8.0);
        }
        if p.x < 0.0 {
            s.normal.x = -s.normal.x;
        }
        if s.distance.abs() > 30.0 {
            return s;
        }
        s.grown(0.7 * self.shape.value(p))
    }

    /// `None` well outside the envelope.
    pub fn at(&self, p: DVec3, envelope: Surface) -> Option<Fold> {
        if envelope.distance > 4.0 {
            return None;
        }
        let sign = if p.x < 0.0 { -1.0 } else { 1.0 };
        let outside = callosal_margin(p.y, p.z);
        let rim = (-envelope.distance).max(0.0);
        let mut x = p.x.abs();
        let mut body = envelope;
        // Wall between the hemispheres, which no fibre crosses; it undulates above the callosum.
        if x < rim + WALL_SEAM_MM + 4.0 {
            let swerve = 1.6 * ramp(4.0, 22.0, outside.distance);
            let wave = self.shape.value(DVec3::new(40.0, 1.7 * p.y, 1.7 * p.z));
            x -= sign * swerve * wave;
            let gap = (-outside.distance).max(0.0);
            let away = hypot(x.abs(), gap).max(1e-9);
            let half_width = 0.6 + 2.2 * (-rim / 4.0).exp();
            let toward = if x < 0.0 { sign } else { -sign };
            let medial = Surface::new(
                half_width - away,
                DVec3::new(toward * x.abs() / away, 0.0, 0.0) - outside.normal * (gap / away),
            );
            body = envelope.intersection(medial, WALL_SEAM_MM);
        }
        let depth = -body.distance;
        if depth < -4.0 {
            return None;
        }
        let outward = body.normal.normalize_or(DVec3::Z);
        // Cortex ends where the corpus callosum begins.
        let callosal = ramp(12.0, 8.0, x.abs()) * ramp(4.5, 1.5, outside.distance);
        let mut wall = depth;
        let mut fold = Fold {
            wall_mm: wall,
            depth_mm: -envelope.distance,
            ribbon_mm: 2.9 - 2.5 * callosal,
            outward: envelope.normal.normalize_or(DVec3::Z),
            around: outward,
            u_fibres: 0.0,
        };
        if depth < DEEPEST_MM + 4.0 {
            let q = p + outward * depth.max(0.0);
            let pattern = self.pattern(q, outside.distance, sign);
            // Where two walls are equally near, the outward direction is undetermined: no sulci there.
            let floor = pattern.floor_mm * ramp(0.5, 0.88, body.normal.length());
            // Sheets converge towards the centre of a convex body, and they are not flat.
            let converge = 1.0 - (depth.max(0.0) / 62.0).min(0.5);
            let bent = pattern.value + 0.55 * ramp(1.0, 14.0, depth) * self.bend.value(p);
            let sheet = |value: f64, slope: DVec3, floor: f64| {
                let slope = slope - slope.dot(outward) * outward;
                let steep = slope.length().max(0.02);
                let below = (depth - floor).max(0.0);
                // The linear estimate is far too large on the crown of a gyrus.
                let aside = (converge * value.abs() / steep).min(CROWN_MM);
                let distance = hypot(aside, below);
                (distance, below, slope / steep)
            };
            let (distance, below, across) = sheet(bent, pattern.slope, floor);
            let half_width = 0.35 + 1.3 * (-depth.max(0.0) / 2.8).exp();
            wall = soft_min(wall, distance - half_width, 2.0);
            // Short association fibres follow the floor of a sulcus.
            fold.around = across.normalize_or(outward);
            fold.u_fibres = bump(distance, 5.0, 2.5) * ramp(0.0, 3.0, below);
            if depth < 11.0 {
                let (value, slope) = self.dimples.at(q);
                let (distance, ..) = sheet(value, slope, floor.min(3.6 + 2.0 * pattern.wander));
                let half_width = 0.9 * (-depth.max(0.0) / 2.0).exp() - 0.2;
                wall = soft_min(wall, distance - half_width, 2.0);
            }
        }
        if x > 16.0 {
            let waver = 2.5 * self.bend.value(p * DVec3::new(0.5 * sign, 0.8, 0.0));
            wall = soft_min(wall, sylvian(DVec3::new(x, p.y, p.z), waver), 1.5);
        }
        fold.wall_mm = wall;
        Some(fold)
    }

    /// The pattern at a point of the envelope.
    fn pattern(&self, q: DVec3, above_callosum: f64, sign: f64) -> Pattern {
        let (noise, noise_slope) = self.folds.at(q);
        let wander = self.depth.value(q);
        let x = q.x * sign;
        let (y, z) = (q.y, q.z);
        let (mut value, mut slope, mut guided) = (0.0, DVec3::ZERO, 0.0);
        let mut stripes = |weight: f64, at_mm: f64, spacing: f64, along: DVec3| {
            let turn = PI / spacing;
            value += weight * (turn * at_mm).sin();
            slope += weight * turn * (turn * at_mm).cos() * along;
            guided += weight;
        };
        // Central sulcus with the hand knob; pre- and postcentral sulci on its sides.
        let knob = 4.0 * bump(z, 56.0, 6.0);
        let behind = -33.0 + 0.50 * (76.0 - z) - knob + 2.5 * wander;
        let central = 0.89 * (y - behind);
        let weight = 1.3 * bump(central, 0.0, 11.0) * ramp(4.0, 18.0, z) * ramp(5.0, 14.0, x);
        if weight > 0.01 {
            stripes(weight, central, 12.5, DVec3::new(0.0, 0.89, 0.445));
        }
        // Superior and inferior frontal sulci: lines of constant angle around the long axis.
        let up = z - 8.0;
        let radius = hypot(x, up).max(1.0);
        let around = DVec3::new(sign * up, 0.0, -x) / radius;
        let weight = ramp(10.0, 24.0, central) * ramp(-12.0, 4.0, z) * ramp(4.0, 10.0, x);
        if weight > 0.01 {
            let angle = x.atan2(up) - 0.45 + 0.16 * wander;
            stripes(0.65 * weight, angle * radius, 0.61 * radius, around);
        }
        // Temporal sulci run parallel to the Sylvian fissure.
        let under = 0.92 * (sylvian_height(x, y) - z) + 1.5 * wander;
        let weight = ramp(-3.0, 6.0, under) * ramp(26.0, 38.0, x) * ramp(-66.0, -46.0, y);
        if weight > 0.01 {
            stripes(0.9 * weight, under, 13.0, DVec3::new(0.0, -0.39, -0.92));
        }
        // Intraparietal sulcus, arching back from the postcentral.
        let weight = ramp(14.0, 26.0, -central) * ramp(18.0, 30.0, z) * ramp(8.0, 14.0, x);
        if weight > 0.01 {
            let angle = x.atan2(up) - 0.62 + 0.16 * wander;
            stripes(0.6 * weight, angle * radius, 0.66 * radius, around);
        }
        // Cingulate sulcus, one gyrus above the corpus callosum.
        let weight = ramp(11.0, 6.0, x) * ramp(-14.0, 0.0, z) * ramp(-52.0, -38.0, y);
        let weight = weight * ramp(28.0, 17.0, above_callosum);
        if weight > 0.01 {
            let at = above_callosum + 1.5 * wander;
            stripes(1.2 * weight, at, 13.5, callosal_margin(y, z).normal);
        }
        let guided = guided.min(1.0);
        // No deeper than the lobe that they cut permits.
        let temporal = ramp(-5.0, 3.0, under) * ramp(22.0, 30.0, x) * ramp(18.0, 8.0, z);
        let limbic = ramp(2.0, -8.0, z) * ramp(30.0, 24.0, x) * ramp(14.0, 4.0, y);
        let room =
            (11.0 + 10.5 * ramp(5.0, 16.0, x) - 9.0 * temporal).min(DEEPEST_MM - 15.5 * limbic);
        let share = 1.0 - 0.62 * guided;
        Pattern {
            value: value + share * noise,
            slope: slope + share * noise_slope,
            floor_mm: (16.5 + 3.0 * guided + 4.5 * wander).clamp(4.0, room),
            wander,
        }
    }
}

/// The pattern of sulci at a point of the envelope.
struct Pattern {
    /// Sulci run along its zero lines.
    value: f64,
    /// Its gradient, per mm.
    slope: DVec3,
    /// Depth of the sulci, mm.
    floor_mm: f64,
    /// A slowly varying random field.
    wander: f64,
}

/// Frontal, parietal and occipital lobes: a superellipsoid of power 5/2, narrower in front.
fn upper(p: DVec3) -> Surface {
    let q = p - DVec3::new(0.0, -16.5, 9.0);
    let along = (q.y / 88.0).clamp(-1.2, 1.2);
    let width = 67.0 * (1.0 - 0.11 * along - 0.03 * along * along);
    let width_rate = 67.0 * (-0.11 - 0.06 * along) / 88.0;
    let height = if q.z > 0.0 { 68.5 } else { 60.0 };
    let scaled = DVec3::new(q.x / width, q.y / 88.0, q.z / height);
    let size = scaled.abs();
    let root = DVec3::new(size.x.sqrt(), size.y.sqrt(), size.z.sqrt());
    let power = (size * size * root).element_sum().max(1e-9);
    let rho = power.powf(0.4);
    // d rho / d q_i = rho^(−3/2) |s_i|^(3/2) sign(s_i) / r_i
    let each = rho / power * (size * root).copysign(scaled);
    let mut gradient = DVec3::new(each.x / width, each.y / 88.0, each.z / height);
    gradient.y -= each.x * scaled.x * width_rate / width;
    let slope = gradient.length().max(1e-6);
    Surface::new((rho - 1.0) / slope, gradient / slope)
}

/// Above the base of the brain; laterally, behind the orbits, the temporal lobe extends below.
fn above_base(p: DVec3) -> Surface {
    let (mut z, mut rate) = (0.0, 0.0);
    for shift in [-5.0, 0.0, 5.0] {
        let (at, slope) = profile(BASE, p.y + shift);
        z += at / 3.0;
        rate += slope / 3.0;
    }
    // The roofs of the orbits indent the frontal lobes from below.
    z += 5.0 * bump(p.x, 27.0, 10.0) * ramp(8.0, 24.0, p.y);
    let aside = (p.x - 19.0).max(0.0);
    let open = |y: f64| ramp(16.0, 0.0, y);
    let drop = 0.06 * aside * aside;
    z -= drop * open(p.y);
    rate -= drop * (open(p.y + 0.5) - open(p.y - 0.5));
    let normal = DVec3::new(-0.12 * aside * open(p.y), rate, -1.0);
    let slope = normal.length();
    Surface::new((z - p.z) / slope, normal / slope)
}

/// Height of the tentorium over the cerebellum, which slopes down to the sides and the back.
pub(super) fn tent_height(side: f64, y: f64) -> f64 {
    3.0 + 0.36 * (y + 52.0).min(0.0) - 0.0125 * side * side
}

/// Above the tentorium; in front of it nothing is cut.
fn tentorium(p: DVec3) -> Surface {
    let height = |y: f64| tent_height(p.x, y) - 60.0 * ramp(-50.0, -34.0, y);
    let rate = height(p.y + 0.5) - height(p.y - 0.5);
    let normal = DVec3::new(-0.025 * p.x, rate, -1.0);
    let slope = normal.length();
    Surface::new((height(p.y) - p.z) / slope, normal / slope)
}

/// Signed distance in the midsagittal plane from the outer border of the corpus callosum and the structures under it;
/// positive outside, where a fissure separates the hemispheres.
pub(super) fn callosal_margin(y: f64, z: f64) -> Surface {
    // In front of and below the genu the fissure extends further back.
    let rho = |y: f64, z: f64| {
        let front = 40.0 - 27.0 * ramp(3.0, -12.0, z);
        let dy = y + 3.5;
        hypot(dy / if dy > 0.0 { front } else { 40.0 }, (z - 3.0) / 26.5)
    };
    const STEP: f64 = 0.25;
    let gradient = DVec3::new(
        0.0,
        rho(y + STEP, z) - rho(y - STEP, z),
        rho(y, z + STEP) - rho(y, z - STEP),
    ) / (2.0 * STEP);
    let slope = gradient.length().max(1e-3);
    Surface::new((rho(y, z) - 1.0) / slope, gradient / slope)
}

/// Distance to the fluid of the Sylvian fissure (mm, negative inside): a sheet from the side of the brain inwards,
/// raised by `waver` mm, and its extension over the insula.
fn sylvian(p: DVec3, waver: f64) -> f64 {
    let height = sylvian_height(p.x, p.y) + waver * ramp(36.0, 48.0, p.x);
    let inner = 38.5 - 17.0 * ramp(6.0, 20.0, p.y) + 5.0 * ramp(-20.0, -38.0, p.y);
    let rise = 0.91 * (p.z - height);
    let overhang = (inner - p.x).max(0.0);
    let past = (p.y - 26.0).max(0.0) + (-38.0 - p.y).max(0.0);
    let sheet = (rise * rise + overhang * overhang + past * past).sqrt();
    let width = 0.4 + 0.7 * bump(p.x, 66.0, 8.0) + 0.6 * ramp(2.0, 14.0, p.y);
    // Over the insula: an oval tilted with the fissure, bulging laterally.
    let (along, up) = (p.y + 1.0, p.z - (height + 3.0));
    let oval = hypot(along / 22.0, 0.91 * up / 13.0);
    let insula = 39.5 - 2.5 * oval * oval + 0.4 * waver;
    let adjacent = 12.0 * (oval - 1.0).max(0.0);
    let spread = hypot(p.x - insula, adjacent);
    (sheet - width).min(spread - 0.7)
}

/// Smooth minimum of two distances.
fn soft_min(a: f64, b: f64, k: f64) -> f64 {
    let h = (0.5 + 0.5 * (b - a) / k).clamp(0.0, 1.0);
    b + h * (a - b) - k * h * (1.0 - h)
}
