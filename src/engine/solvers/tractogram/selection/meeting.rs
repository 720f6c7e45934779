//! Tests whether streamlines meet regions.

use super::RejectReason;
use crate::data::bounding_chunks::Bounds;
use crate::data::{Region, Role, Shape, Tractogram};
use crate::solvers::curves::regions::Solid;
use crate::solvers::tractogram::cuda::{RegionBounds, RegionRules};
use glam::{DVec3, Vec3};

/// A streamline that was cut where it entered a region ends on its border: rounding to single precision, and to that
/// of a file, puts its last point on either side. A region at most this far beyond counts as met, mm.
const CUT_MM: f64 = 1e-3;

struct BoundedRegion<'a> {
    shape: &'a Shape,
    solid: Solid<'a>,
    /// Bounding box, rounded outwards.
    bounds: Bounds,
}

/// Regions by role.
pub(super) struct RegionsByRole<'a> {
    exclude: Vec<BoundedRegion<'a>>,
    include: Vec<BoundedRegion<'a>>,
    targets: Vec<BoundedRegion<'a>>,
    masks: Vec<BoundedRegion<'a>>,
}

fn world(point: [f32; 3]) -> DVec3 {
    Vec3::from(point).as_dvec3()
}

impl<'a> BoundedRegion<'a> {
    fn new(region: &'a Region) -> Self {
        let solid = Solid::new(&region.shape);
        let (low, high) = solid.bounds();
        Self {
            shape: &region.shape,
            solid,
            bounds: Bounds {
                low: low.to_array().map(|v| (v as f32).next_down()),
                high: high.to_array().map(|v| (v as f32).next_up()),
            },
        }
    }

    fn contains(&self, point: [f32; 3]) -> bool {
        let here = Bounds {
            low: point,
            high: point,
        };
        self.bounds.intersects(&here) && self.solid.contains(world(point))
    }

    /// Whether a segment meets the region. Segments with non-finite coordinates do not.
    fn is_met(&self, from: [f32; 3], to: [f32; 3]) -> bool {
        let is_outside = |a: usize| {
            let (low, high) = (self.bounds.low[a], self.bounds.high[a]);
            (from[a] < low && to[a] < low) || (from[a] > high && to[a] > high)
        };
        if (0..3).any(is_outside) {
            return false;
        }
        let [from, to] = [world(from), world(to)];
        from.is_finite() && to.is_finite() && self.solid.entry_fraction(from, to).is_some()
    }

    fn is_met_by(&self, tractogram: &Tractogram, line: usize) -> bool {
        let points = tractogram.streamline(line);
        let mut near = tractogram
            .pieces()
            .pieces_near(line, points.len(), self.bounds);
        near.any(|piece| match &points[piece] {
            [alone] => self.is_met(*alone, *alone),
            several => several.windows(2).any(|w| self.is_met(w[0], w[1])),
        })
    }

    /// Whether the streamline would enter the region immediately beyond its first or its last point.
    fn is_reached_by(&self, points: &[[f32; 3]]) -> bool {
        let ([first, second, ..], [.., before, last]) = (points, points) else {
            return false;
        };
        let reach = CUT_MM as f32;
        let near = |a: usize, end: [f32; 3]| {
            end[a] >= self.bounds.low[a] - reach && end[a] <= self.bounds.high[a] + reach
        };
        let enters = |from: [f32; 3], end: [f32; 3]| {
            let along = (world(end) - world(from)).normalize_or_zero();
            let beyond = world(end) + along * CUT_MM;
            self.solid.entry_fraction(world(end), beyond).is_some()
        };
        let ends = [(*second, *first), (*before, *last)];
        let mut ends = ends.into_iter();
        ends.any(|(from, end)| (0..3).all(|a| near(a, end)) && enters(from, end))
    }

    fn holds_end_of(&self, tractogram: &Tractogram, line: usize) -> bool {
        let points = tractogram.streamline(line);
        let ends = [points.first(), points.last()];
        ends.into_iter().flatten().any(|p| self.contains(*p)) || self.is_reached_by(points)
    }
}

impl<'a> RegionsByRole<'a> {
    pub(super) fn new(regions: &'a [Region]) -> Self {
        let with_role = |role: Role| {
            let requested = regions.iter().filter(move |r| r.role == role);
            requested.map(BoundedRegion::new).collect()
        };
        Self {
            exclude: with_role(Role::Exclude),
            include: with_role(Role::Include),
            targets: with_role(Role::Target),
            masks: with_role(Role::Mask),
        }
    }

    /// These regions as a card reads them.
    pub(super) fn rules(&self, by_ends: bool) -> RegionRules<'a> {
        let bounded = |regions: &[BoundedRegion<'a>]| {
            let bounded = regions.iter().map(|region| RegionBounds {
                shape: region.shape,
                bounds: region.bounds,
            });
            bounded.collect()
        };
        RegionRules {
            exclude: bounded(&self.exclude),
            include: bounded(&self.include),
            targets: bounded(&self.targets),
            masks: bounded(&self.masks),
            by_ends,
        }
    }

    /// The reason of the first region rule that a streamline fails; `None` if it passes all of them.
    pub(super) fn reject_reason(
        &self,
        tractogram: &Tractogram,
        line: usize,
        by_ends: bool,
    ) -> Option<RejectReason> {
        let meets = |region: &BoundedRegion| match by_ends {
            true => region.holds_end_of(tractogram, line),
            false => {
                region.is_met_by(tractogram, line)
                    || region.is_reached_by(tractogram.streamline(line))
            }
        };
        let inside = |point: &[f32; 3]| self.masks.iter().any(|m| m.contains(*point));
        if self.exclude.iter().any(|p| p.is_met_by(tractogram, line)) {
            Some(RejectReason::TouchedExclude)
        } else if !self.include.iter().all(meets) {
            Some(RejectReason::MissedInclude)
        } else if !self.targets.is_empty() && !self.targets.iter().any(meets) {
            Some(RejectReason::MissedTargets)
        } else if !self.masks.is_empty() && !tractogram.streamline(line).iter().all(inside) {
            Some(RejectReason::LeftMask)
        } else {
            None
        }
    }
}
