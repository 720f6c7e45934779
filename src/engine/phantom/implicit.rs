//! Implicit solids: signed distance (mm, negative inside) and unit outward normal, and operations that join them.
//! Distances are first-order: exact on the surface, accurate to a few percent near it.

use glam::DVec3;

#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// mm, negative inside.
    pub distance: f64,
    /// Gradient of the distance; approximately a unit vector.
    pub normal: DVec3,
}

impl Surface {
    pub fn new(distance: f64, normal: DVec3) -> Self {
        Self { distance, normal }
    }

    /// Enlarged by `by` mm.
    pub fn grown(self, by: f64) -> Self {
        Self::new(self.distance - by, self.normal)
    }

    /// Union with a seam rounded over about `k` mm: the polynomial smooth minimum (Quilez 2013). Its gradient is the
    /// mean of the gradients with the same weights.
    pub fn union(self, other: Self, k: f64) -> Self {
        let h = (0.5 + 0.5 * (other.distance - self.distance) / k).clamp(0.0, 1.0);
        Self {
            distance: other.distance + h * (self.distance - other.distance) - k * h * (1.0 - h),
            normal: other.normal.lerp(self.normal, h),
        }
    }

    pub fn flipped(self) -> Self {
        Self::new(-self.distance, -self.normal)
    }

    /// Intersection with a rounded edge.
    pub fn intersection(self, other: Self, k: f64) -> Self {
        self.flipped().union(other.flipped(), k).flipped()
    }

    /// The difference: this solid without `other`.
    pub fn without(self, other: Self, k: f64) -> Self {
        self.intersection(other.flipped(), k)
    }
}

pub fn ellipsoid(p: DVec3, centre: DVec3, radii: DVec3) -> Surface {
    let q = (p - centre) / radii;
    let rho = q.length().max(1e-9);
    let gradient = q / radii / rho;
    let slope = gradient.length().max(1e-9);
    Surface::new((rho - 1.0) / slope, gradient / slope)
}

/// An ellipsoid rotated about the vertical axis by `turn` radians (front end towards −x if positive).
pub fn turned_ellipsoid(p: DVec3, centre: DVec3, radii: DVec3, turn: f64) -> Surface {
    let (sin, cos) = turn.sin_cos();
    let q = p - centre;
    let local = DVec3::new(cos * q.x + sin * q.y, -sin * q.x + cos * q.y, q.z);
    let s = ellipsoid(local, DVec3::ZERO, radii);
    let n = s.normal;
    Surface::new(
        s.distance,
        DVec3::new(cos * n.x - sin * n.y, sin * n.x + cos * n.y, n.z),
    )
}

/// Union of balls along a line with a radius that changes linearly from `ra` to `rb`.
pub fn cone(p: DVec3, a: DVec3, ra: f64, b: DVec3, rb: f64) -> Surface {
    let ab = b - a;
    let t = ((p - a).dot(ab) / ab.length_squared()).clamp(0.0, 1.0);
    let away = p - (a + t * ab);
    let length = away.length().max(1e-9);
    Surface::new(length - (ra + t * (rb - ra)), away / length)
}

/// Smooth union of cones through points, with a bounding box.
#[derive(Clone, Debug)]
pub struct Chain {
    points: Vec<(DVec3, f64)>,
    low: DVec3,
    high: DVec3,
    k: f64,
}

impl Chain {
    /// Points are `(x, y, z, radius)`; seams are rounded over `k` mm.
    pub fn new(points: &[[f64; 4]], k: f64) -> Self {
        let points: Vec<(DVec3, f64)> = points
            .iter()
            .map(|p| (DVec3::new(p[0], p[1], p[2]), p[3]))
            .collect();
        // Rounding a seam fills in at most k / 4.
        let reach = |r: f64| r + 0.25 * k;
        let low = points
            .iter()
            .fold(DVec3::INFINITY, |m, p| m.min(p.0 - reach(p.1)));
        let high = points
            .iter()
            .fold(DVec3::NEG_INFINITY, |m, p| m.max(p.0 + reach(p.1)));
        Self {
            points,
            low,
            high,
            k,
        }
    }

    pub fn surface(&self, p: DVec3) -> Surface {
        let segment = |i: usize| {
            let ((a, ra), (b, rb)) = (self.points[i], self.points[i + 1]);
            cone(p, a, ra, b, rb)
        };
        (1..self.points.len() - 1).fold(segment(0), |joined, i| joined.union(segment(i), self.k))
    }

    /// A lower bound on the distance from the chain, mm.
    fn at_least(&self, p: DVec3) -> f64 {
        outside_box(p, self.low, self.high)
    }

    /// Signed distance, exact up to `reach` mm; otherwise a lower bound above `reach`.
    pub fn distance(&self, p: DVec3, reach: f64) -> f64 {
        let bound = self.at_least(p);
        if bound > reach {
            bound
        } else {
            self.surface(p).distance
        }
    }

    /// Smooth union with another surface; cheap if the chain is far behind it.
    pub fn joined(&self, p: DVec3, other: Surface, k: f64) -> Surface {
        if self.at_least(p) > other.distance + k {
            other
        } else {
            other.union(self.surface(p), k)
        }
    }
}

/// Distance from a box, 0 inside.
pub fn outside_box(p: DVec3, low: DVec3, high: DVec3) -> f64 {
    (low - p).max(p - high).max(DVec3::ZERO).length()
}

/// √(x² + y²); faster than the library's function, which guards against overflow.
pub fn hypot(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// 0 below `low`, 1 above `high`, smooth in between.
pub fn ramp(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A bump of height 1 at `centre` with standard deviation `width`.
pub fn bump(x: f64, centre: f64, width: f64) -> f64 {
    let t = (x - centre) / width;
    (-0.5 * t * t).exp()
}

/// Piecewise linear through `(x, y)` in ascending x, constant outside.
pub fn profile(points: &[(f64, f64)], x: f64) -> (f64, f64) {
    let last = points.len() - 1;
    if x <= points[0].0 {
        return (points[0].1, 0.0);
    }
    for w in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (w[0], w[1]);
        if x < x1 {
            let slope = (y1 - y0) / (x1 - x0);
            return (y0 + slope * (x - x0), slope);
        }
    }
    (points[last].1, 0.0)
}

/// Fraction of a sample of width `footprint` mm inside a surface at signed distance `d`.
pub fn cover(d: f64, footprint: f64) -> f64 {
    (0.5 - d / footprint).clamp(0.0, 1.0)
}
