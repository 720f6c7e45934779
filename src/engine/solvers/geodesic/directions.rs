//! The fan of directions at a seed point.

use super::Directions;
use glam::DVec3;
use std::collections::HashMap;

impl Directions {
    /// Number of directions; saturates.
    pub fn count(self) -> usize {
        match self {
            Self::Principal | Self::Towards { .. } => 1,
            Self::Sphere { count } | Self::Cone { count, .. } => count,
            Self::Icosphere { level } if level < 16 => 10 * (1 << (2 * level)) + 2,
            Self::Icosphere { .. } => usize::MAX,
        }
    }

    /// Whether the directions depend on the axis of [`Self::fan`].
    pub fn depend_on_axis(self) -> bool {
        matches!(self, Self::Principal | Self::Cone { .. })
    }

    /// Unit directions around `axis` (a unit vector; the principal direction at the seed), world axes. `both_ways`:
    /// each will also be followed backwards.
    pub fn fan(self, both_ways: bool, axis: DVec3) -> Vec<DVec3> {
        match self {
            Self::Principal => vec![axis],
            Self::Towards { direction } => {
                // Scaled by the largest component first, to avoid overflow and underflow of the squares.
                let direction = DVec3::from_array(direction);
                vec![(direction / direction.abs().max_element()).normalize()]
            }
            // Equal for every seed.
            Self::Sphere { count } => fibonacci(count, 1.0, -1.0),
            Self::Cone {
                count,
                half_angle_rad,
            } => {
                let (across, along) = axis.any_orthonormal_pair();
                let ahead = if both_ways { count } else { count.div_ceil(2) };
                let cap = |n: usize, sign: f64| {
                    let points = fibonacci(n, 1.0, half_angle_rad.cos());
                    points
                        .into_iter()
                        .map(move |p| (p.x * across + p.y * along + p.z * axis).normalize() * sign)
                };
                cap(ahead, 1.0).chain(cap(count - ahead, -1.0)).collect()
            }
            Self::Icosphere { level } => icosphere(level),
        }
    }

    /// Like [`Self::fan`], around the peaks of a distribution (unit vectors, the largest first): successive directions of a
    /// cone lie around successive peaks. A cone and the principal direction need a peak; without one they have no direction.
    pub fn fan_of_peaks(self, both_ways: bool, peaks: &[DVec3]) -> Vec<DVec3> {
        let axes: Vec<DVec3> = peaks.iter().map(|peak| upward(*peak)).collect();
        match (self, axes.first()) {
            (Self::Principal | Self::Cone { .. }, None) => Vec::new(),
            (Self::Cone { .. }, Some(_)) => {
                let fans = axes.iter().map(|axis| self.fan(both_ways, *axis));
                let fans: Vec<Vec<DVec3>> = fans.collect();
                let count = fans[0].len();
                (0..count).map(|i| fans[i % fans.len()][i]).collect()
            }
            (_, axis) => self.fan(both_ways, axis.copied().unwrap_or(DVec3::Z)),
        }
    }
}

/// The sense of an axis with positive z, then y, then x.
fn upward(v: DVec3) -> DVec3 {
    let up = v.z > 0.0 || (v.z == 0.0 && (v.y > 0.0 || (v.y == 0.0 && v.x >= 0.0)));
    if up { v } else { -v }
}

/// `count` points of equal area on the sphere between two heights (Swinbank and Purser 2006), each rotated by the
/// golden angle relative to the last.
fn fibonacci(count: usize, top: f64, bottom: f64) -> Vec<DVec3> {
    let golden_angle = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let point = |i: usize| {
        let z = top - (top - bottom) * (i as f64 + 0.5) / count as f64;
        let (sin, cos) = (golden_angle * i as f64).sin_cos();
        let across = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(across * cos, across * sin, z)
    };
    (0..count).map(point).collect()
}

fn icosphere(level: usize) -> Vec<DVec3> {
    let golden = 0.5 * (1.0 + 5f64.sqrt());
    let mut corners = Vec::new();
    for (a, b) in [
        (1.0, golden),
        (1.0, -golden),
        (-1.0, golden),
        (-1.0, -golden),
    ] {
        corners.push(DVec3::new(0.0, a, b).normalize());
        corners.push(DVec3::new(a, b, 0.0).normalize());
        corners.push(DVec3::new(b, 0.0, a).normalize());
    }
    // Neighbours are nearer than any others.
    let near = |a: usize, b: usize| corners[a].dot(corners[b]) > 0.4;
    let mut faces = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b) && near(b, c) && near(a, c) {
                    faces.push([a, b, c]);
                }
            }
        }
    }
    for _ in 0..level {
        let mut middles: HashMap<(usize, usize), usize> = HashMap::new();
        let mut middle = |a: usize, b: usize| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                corners.push((corners[a] + corners[b]).normalize());
                corners.len() - 1
            })
        };
        let mut finer = Vec::with_capacity(4 * faces.len());
        for [a, b, c] in faces {
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        faces = finer;
    }
    corners
}
