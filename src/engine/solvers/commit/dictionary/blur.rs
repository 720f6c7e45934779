//! A streamline as a tube: copies on a disc across it.
//!
//! One copy lies in the middle, 6 at half the radius and 12 at the radius, with Gaussian weights of σ = half the
//! radius that sum to 1. Copies keep their position in a frame that is transported along the streamline without
//! rotating about it (double reflection: Wang et al. 2008, ACM Trans Graph 27:2).

use glam::DVec3;
use std::f64::consts::TAU;

pub const COPIES: usize = 19;

pub struct Blur {
    /// Positions on the disc, mm, and weights.
    places: [([f64; 2], f64); COPIES],
}

impl Blur {
    pub fn new(radius_mm: f64) -> Self {
        let mut places = [([0.0; 2], 1.0); COPIES];
        for i in 0..18 {
            let (count, ring) = if i < 6 { (6, 0.5) } else { (12, 1.0) };
            let angle = TAU * i as f64 / f64::from(count);
            let r = ring * radius_mm;
            let share = f64::exp(-0.5 * (2.0 * ring) * (2.0 * ring));
            places[i + 1] = ([r * angle.cos(), r * angle.sin()], share);
        }
        let sum: f64 = places.iter().map(|p| p.1).sum();
        places.iter_mut().for_each(|p| p.1 /= sum);
        Self { places }
    }

    /// Makes one copy; returns its weight.
    pub fn copy(&self, line: &[DVec3], copy: usize, out: &mut Vec<DVec3>) -> f64 {
        let ([x, y], weight) = self.places[copy];
        out.clear();
        let mut tangent = DVec3::ZERO;
        let mut across = DVec3::ZERO;
        for i in 0..line.len() {
            let (a, b) = (line[i.saturating_sub(1)], line[(i + 1).min(line.len() - 1)]);
            let next = (b - a).normalize_or_zero();
            if next != DVec3::ZERO {
                across = if tangent == DVec3::ZERO {
                    next.any_orthonormal_vector()
                } else {
                    carried(across, tangent, next, line[i] - line[i.saturating_sub(1)])
                };
                tangent = next;
            }
            out.push(line[i] + across * x + tangent.cross(across) * y);
        }
        weight
    }
}

fn carried(across: DVec3, from: DVec3, to: DVec3, step: DVec3) -> DVec3 {
    let mirror = |v: DVec3, n: DVec3| match n.length_squared() {
        0.0 => v,
        square => v - n * (2.0 * n.dot(v) / square),
    };
    let (across, from) = (mirror(across, step), mirror(from, step));
    let turned = mirror(across, to - from);
    // Rounding errors would accumulate.
    (turned - to * turned.dot(to)).normalize_or_zero()
}
