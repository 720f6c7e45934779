//! Simple convex sets that enclose objects, and lower bounds on the distance between two of them.

use crate::data::segment::nearest_on_segment;
use glam::DVec3;

/// Part of a ball between two parallel planes.
#[derive(Clone, Copy, Debug)]
pub struct Disc {
    centre: DVec3,
    /// Radius of the ball.
    reach: f64,
    /// The point midway between the planes, beside the ball's centre.
    middle: DVec3,
    normal: DVec3,
    /// Half the distance between the planes; infinite where there are none.
    thickness: f64,
}

impl Disc {
    /// `slab`: unit normal n, and c and t in |n · (x − centre) + c| ≤ t.
    pub fn new(centre: DVec3, reach: f64, slab: Option<(DVec3, f64, f64)>) -> Self {
        let (normal, off, thickness) = slab.unwrap_or((DVec3::X, 0.0, f64::INFINITY));
        Self {
            centre,
            reach,
            middle: centre - off * normal,
            normal,
            thickness,
        }
    }

    /// The largest u · x in the disc.
    fn support(&self, u: DVec3) -> f64 {
        let ball = u.dot(self.centre) + self.reach;
        let along = u.dot(self.normal);
        let across = (1.0 - along * along).max(0.0).sqrt();
        // 0 · ∞ is NaN.
        let thick = if along == 0.0 {
            0.0
        } else {
            along.abs() * self.thickness
        };
        ball.min(u.dot(self.middle) + thick + across * self.reach)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Hull {
    Segment([DVec3; 2]),
    Disc(Disc),
}

impl Hull {
    pub fn reach(&self) -> f64 {
        match self {
            Self::Segment([a, b]) => 0.5 * a.distance(*b),
            Self::Disc(disc) => disc.reach,
        }
    }

    fn support(&self, u: DVec3) -> f64 {
        match self {
            Self::Segment([a, b]) => u.dot(*a).max(u.dot(*b)),
            Self::Disc(disc) => disc.support(u),
        }
    }

    /// A lower bound on the distance between the sets: along any direction the sets are at least as far apart as
    /// their projections. The error is of second order in the disc's size where the direction is that of the shortest
    /// distance.
    pub fn min_distance(&self, disc: &Disc) -> f64 {
        let along = |to: DVec3, from: DVec3| {
            let u = (to - from).try_normalize();
            u.map_or(0.0, |u| -self.support(-u) - disc.support(u))
        };
        let (near, centre) = match self {
            Self::Segment(segment) => (
                nearest_on_segment(*segment, disc.middle),
                nearest_on_segment(*segment, disc.centre),
            ),
            Self::Disc(own) => (own.middle, own.centre),
        };
        let both = along(near, disc.middle).max(along(centre, disc.centre));
        both.max(0.0)
    }
}
