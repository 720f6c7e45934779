//! The cerebrum: its envelope, the fissures between and within the hemispheres, and the folds.
//!
//! The cortex is a ribbon of even thickness along everything that touches fluid: the envelope, the
//! wall between the hemispheres, the Sylvian fissure over the insula, and sulci. A sulcus is a
//! sheet under a zero line of a pattern on the envelope, down to a depth that varies. The pattern
//! mixes stripes that follow the constant folds (central sulcus and its neighbours, frontal and
//! temporal gyri, cingulate sulcus) with a band-limited random field that differs between heads
//! and sides.

use super::implicit::{Surface, bump, chain, profile, ramp};
use super::random::Random;
use super::waves::Waves;
use glam::DVec3;
use std::f64::consts::PI;

/// Distance between neighbouring sulci is about 0.87 of this (mean spacing of zeros of a random
/// field on a plane cut through waves of one length).
const FOLD_MM: f64 = 22.0;

#[derive(Clone, Debug)]
pub(super) struct Cortex {
    shape: Waves<12>,
    folds: Waves<24>,
    depth: Waves<12>,
}

/// The cortex as seen from a point of the cerebrum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// Distance to the nearest fluid, mm; positive in tissue.
    pub wall_mm: f64,
    /// Distance to the envelope, mm; positive inside.
    pub depth_mm: f64,
    /// Thickness of the grey ribbon here, mm.
    pub ribbon_mm: f64,
    /// Unit vector to the nearest envelope: the way of fibres into a gyrus.
    pub outward: DVec3,
    /// Across the nearest sulcus (unit), and how much fibres here go around its floor, `0..=1`.
    pub around: DVec3,
    pub u_fibres: f64,
}

/// Under side of the cerebrum near the midline: `(y, z)`.
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

/// Right temporal lobe, lateral and medial part: x y z radius.
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
            shape: Waves::new(random.stream(1), 55.0),
            folds: Waves::new(random.stream(2), FOLD_MM),
            depth: Waves::new(random.stream(3), 40.0),
        }
    }

    /// The smooth envelope of both hemispheres together.
    pub fn envelope(&self, p: DVec3) -> Surface {
        let side = DVec3::new(p.x.abs(), p.y, p.z);
        let mut s = upper(side);
        s = s.intersection(above_base(side), 9.0);
        if p.z < 30.0 {
            s = s.union(chain(side, TEMPORAL, 6.0), 7.0);
            s = s.union(chain(side, PARAHIPPOCAMPAL, 5.0), 7.0);
            // Under the tentorium is the cerebellum.
            s = s.intersection(tentorium(side), 8.0);
        }
        if p.x < 0.0 {
            s.normal.x = -s.normal.x;
        }
        let (value, _) = if s.distance.abs() < 30.0 {
            self.shape.at(p)
        } else {
            (0.0, DVec3::ZERO)
        };
        s.grown(0.9 * value)
    }

    /// `None` well outside the envelope.
    pub fn at(&self, p: DVec3, envelope: Surface) -> Option<Fold> {
        if envelope.distance > 4.0 {
            return None;
        }
        let x = p.x.abs();
        let sign = if p.x < 0.0 { -1.0 } else { 1.0 };
        // Wall between the hemispheres, where nothing crosses.
        let outside = callosal_margin(p.y, p.z);
        let gap = (-outside.distance).max(0.0);
        let away = x.hypot(gap).max(1e-9);
        let rim = (-envelope.distance).max(0.0);
        let half_width = 0.6 + 2.4 * (-rim / 5.0).exp();
        let medial = Surface::new(
            half_width - away,
            DVec3::new(-sign * x / away, 0.0, 0.0) - outside.normal * (gap / away),
        );
        let body = envelope.intersection(medial, 5.0);
        let depth = -body.distance;
        let outward = body.normal.normalize_or(DVec3::Z);
        let mut wall = depth;
        let mut fold = Fold {
            wall_mm: wall,
            depth_mm: depth,
            ribbon_mm: 2.7,
            outward,
            around: outward,
            u_fibres: 0.0,
        };
        if depth < -4.0 {
            return None;
        }
        if depth < 27.0 {
            let q = p + outward * depth.max(0.0);
            let (pattern, slope, floor) = self.pattern(q, outside.distance, sign);
            let slope = slope - slope.dot(outward) * outward;
            // Sheets run together towards the middle of a convex body.
            let converge = 1.0 - (depth.max(0.0) / 60.0).min(0.5);
            let steep = slope.length().max(0.015);
            let aside = converge * pattern.abs() / steep;
            let below = (depth - floor).max(0.0);
            let sheet = aside.hypot(below);
            let half_width = 0.30 + 1.5 * (-depth.max(0.0) / 2.6).exp();
            wall = soft_min(wall, sheet - half_width, 2.2);
            fold.around = (slope / steep).normalize_or(outward);
            // Short association fibres line the floor of a sulcus.
            fold.u_fibres = bump(sheet, 4.5, 2.0) * ramp(0.0, 3.0, below);
        }
        if x > 16.0 {
            wall = soft_min(wall, sylvian(DVec3::new(x, p.y, p.z)), 1.5);
        }
        fold.wall_mm = wall;
        Some(fold)
    }

    /// The pattern whose zero lines are sulci, its gradient (per mm), and how deep they go (mm),
    /// at a point of the envelope.
    fn pattern(&self, q: DVec3, above_callosum: f64, sign: f64) -> (f64, DVec3, f64) {
        let (noise, noise_slope) = self.folds.at(q);
        let (wander, _) = self.depth.at(q);
        let x = q.x * sign;
        let (y, z) = (q.y, q.z);
        let (mut value, mut slope, mut guided) = (0.0, DVec3::ZERO, 0.0);
        let mut stripes = |weight: f64, at_mm: f64, spacing: f64, along: DVec3| {
            let turn = PI / spacing;
            value += weight * (turn * at_mm).sin();
            slope += weight * turn * (turn * at_mm).cos() * along;
            guided += weight;
        };
        // Central sulcus with the knob of the hand area; pre- and postcentral on its sides.
        let knob = 4.0 * bump(z, 56.0, 6.0);
        let behind = -33.0 + 0.50 * (76.0 - z) - knob + 2.0 * wander;
        let central = 0.89 * (y - behind);
        let weight = 1.3 * bump(central, 0.0, 12.0) * ramp(4.0, 18.0, z) * ramp(5.0, 14.0, x);
        if weight > 0.01 {
            stripes(weight, central, 12.5, DVec3::new(0.0, 0.89, 0.445));
        }
        // Superior and inferior frontal sulci: lines of constant angle about the long axis.
        let weight = ramp(10.0, 24.0, central) * ramp(-12.0, 4.0, z) * ramp(4.0, 10.0, x);
        if weight > 0.01 {
            let up = z - 8.0;
            let radius = x.hypot(up).max(1.0);
            let angle = x.atan2(up) - 0.45 + 0.10 * wander;
            let along = DVec3::new(sign * up, 0.0, -x) / radius;
            stripes(0.9 * weight, angle * radius, 0.61 * radius, along);
        }
        // Temporal sulci run beside the Sylvian fissure.
        let under = 0.92 * (sylvian_height(x, y) - z) + 1.2 * wander;
        let weight = ramp(-3.0, 6.0, under) * ramp(26.0, 38.0, x) * ramp(-66.0, -46.0, y);
        if weight > 0.01 {
            stripes(1.1 * weight, under, 13.0, DVec3::new(0.0, -0.39, -0.92));
        }
        // Intraparietal sulcus, arching back from the postcentral.
        let weight = ramp(14.0, 26.0, -central) * ramp(18.0, 30.0, z) * ramp(8.0, 14.0, x);
        if weight > 0.01 {
            let radius = x.hypot(z - 8.0).max(1.0);
            let angle = x.atan2(z - 8.0) - 0.62 + 0.12 * wander;
            let along = DVec3::new(sign * (z - 8.0), 0.0, -x) / radius;
            stripes(0.8 * weight, angle * radius, 0.66 * radius, along);
        }
        // Cingulate sulcus, one gyrus above the corpus callosum.
        let weight = ramp(11.0, 6.0, x) * ramp(-14.0, 0.0, z) * ramp(-52.0, -38.0, y);
        if weight > 0.01 {
            let at = above_callosum + 1.0 * wander;
            let m = callosal_margin(y, z).normal;
            stripes(1.2 * weight, at, 13.5, m);
        }
        let share = 1.0 - 0.72 * guided.min(1.0);
        value += share * noise;
        slope += share * noise_slope;
        let floor = (11.5 + 4.5 * guided.min(1.0) + 4.5 * wander).clamp(2.5, 20.0);
        (value, slope, floor)
    }
}

/// Frontal, parietal and occipital lobes: a superellipsoid, narrower in front.
fn upper(p: DVec3) -> Surface {
    const POWER: f64 = 2.35;
    let centre = DVec3::new(0.0, -16.5, 9.0);
    let q = p - centre;
    let along = (q.y / 88.0).clamp(-1.2, 1.2);
    let width = 67.5 * (1.0 - 0.11 * along - 0.03 * along * along);
    let width_rate = 67.5 * (-0.11 - 0.06 * along) / 88.0;
    let height = if q.z > 0.0 { 69.0 } else { 60.0 };
    let scaled = DVec3::new(q.x / width, q.y / 88.0, q.z / height);
    let power = scaled.abs().powf(POWER);
    let rho = power.element_sum().max(1e-9).powf(1.0 / POWER);
    // d rho / d q_i = rho^(1 − P) |s_i|^(P − 1) sign(s_i) / r_i
    let each = rho.powf(1.0 - POWER) * scaled.abs().powf(POWER - 1.0) * scaled.signum();
    let mut gradient = DVec3::new(each.x / width, each.y / 88.0, each.z / height);
    gradient.y -= each.x * scaled.x * width_rate / width;
    let slope = gradient.length().max(1e-6);
    Surface::new((rho - 1.0) / slope, gradient / slope)
}

fn above_base(p: DVec3) -> Surface {
    let (mut z, mut rate) = (0.0, 0.0);
    for shift in [-5.0, 0.0, 5.0] {
        let (at, slope) = profile(BASE, p.y + shift);
        z += at / 3.0;
        rate += slope / 3.0;
    }
    // The roofs of the orbits press the frontal lobes up.
    let orbit = 5.0 * bump(p.x, 27.0, 10.0) * ramp(8.0, 24.0, p.y);
    let slope = (1.0 + rate * rate).sqrt();
    Surface::new(
        (z + orbit - p.z) / slope,
        DVec3::new(0.0, rate, -1.0) / slope,
    )
}

/// Height of the tent over the cerebellum, which slopes down to the sides and the back.
pub(super) fn tent_height(side: f64, y: f64) -> f64 {
    3.0 + 0.36 * (y + 52.0).min(0.0) - 0.0125 * side * side
}

/// Above the tent; in front of it nothing is cut.
fn tentorium(p: DVec3) -> Surface {
    let height = |y: f64| tent_height(p.x, y) - 60.0 * ramp(-50.0, -34.0, y);
    let rate = height(p.y + 0.5) - height(p.y - 0.5);
    let normal = DVec3::new(-0.025 * p.x, rate, -1.0);
    let slope = normal.length();
    Surface::new((height(p.y) - p.z) / slope, normal / slope)
}

/// Signed distance in the midsagittal plane from the outer border of the corpus callosum and what
/// lies under it; positive outside, where a fissure parts the hemispheres.
pub(super) fn callosal_margin(y: f64, z: f64) -> Surface {
    let centre_y = -3.5;
    // In front and below the genu the fissure reaches further back.
    let front = 40.0 - 27.0 * ramp(1.0, -9.0, z);
    let (dy, dz) = (y - centre_y, z - 3.0);
    let (ry, rz) = (if dy > 0.0 { front } else { 40.0 }, 26.5);
    let rho = (dy / ry).hypot(dz / rz).max(1e-6);
    let gradient = DVec3::new(0.0, dy / (ry * ry), dz / (rz * rz)) / rho;
    let slope = gradient.length().max(1e-6);
    Surface::new((rho - 1.0) / slope, gradient / slope)
}

/// Distance to the fluid of the Sylvian fissure (mm, negative in it): a sheet from the side of the
/// brain inwards, and its spread over the insula.
fn sylvian(p: DVec3) -> f64 {
    let height = sylvian_height(p.x, p.y);
    let inner = 38.5 - 17.0 * ramp(6.0, 20.0, p.y) + 5.0 * ramp(-20.0, -38.0, p.y);
    let rise = 0.91 * (p.z - height);
    let short = (inner - p.x).max(0.0);
    let past = (p.y - 26.0).max(0.0) + (-38.0 - p.y).max(0.0);
    let sheet = (rise * rise + short * short + past * past).sqrt();
    let width = 0.5 + 0.8 * bump(p.x, 66.0, 8.0) + 0.9 * ramp(2.0, 14.0, p.y);
    let insula = 38.5 - 0.004 * (p.y * p.y);
    let across = p.x - insula;
    let over = (0.91 * (p.z - (height + 4.0).max(-40.0)).abs() - 10.5).max(0.0);
    let along = (p.y - 20.0).max(0.0) + (-22.0 - p.y).max(0.0);
    let spread = (across * across + over * over + along * along).sqrt();
    (sheet - width).min(spread - 0.8)
}

/// Smooth minimum of two distances.
fn soft_min(a: f64, b: f64, k: f64) -> f64 {
    let h = (0.5 + 0.5 * (b - a) / k).clamp(0.0, 1.0);
    b + h * (a - b) - k * h * (1.0 - h)
}
