//! Paths along characteristics, and their costs.

use crate::data::Grid;
use crate::data::segment::nearest_on_segment;
use crate::solvers::eikonal::{CostField, simplex};
use crate::solvers::metric::{Metric, Places, norm};
use glam::{DVec3, Vec3};
use std::collections::HashMap;
use std::ops::Range;

/// Length of a step in voxels, along its longest axis.
const STEP: f64 = 0.25;
/// After this many steps without a lower voxel the path continues from the centre of its voxel.
const MAX_STALLED_STEPS: usize = 12;

/// A path in world mm, with the cost up to each point.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// Points from one region to the other, world mm.
    pub points: Vec<DVec3>,
    /// Cost from the first point to each point, ascending.
    pub cost: Vec<f64>,
    /// Length from the first point to each point, mm.
    pub length_mm: Vec<f64>,
}

impl Path {
    /// A path with the costs of a metric.
    pub fn new(metric: &Metric, points: Vec<DVec3>) -> Self {
        let turn = metric.grid.voxel_from_world.matrix3;
        Self::charged(metric, points, |place, way| {
            place.map_or(0.0, |p| norm(&metric.cost[p], turn * way))
        })
    }

    /// The course of a streamline, without costs.
    pub fn of_streamline(points: &[[f32; 3]]) -> Self {
        let points = points.iter().map(|point| Vec3::from(*point).as_dvec3());
        let points: Vec<DVec3> = points.collect();
        let mut length_mm = vec![0.0];
        for pair in points.windows(2) {
            length_mm.push(length_mm[length_mm.len() - 1] + pair[0].distance(pair[1]));
        }
        Self {
            cost: vec![0.0; length_mm.len()],
            points,
            length_mm,
        }
    }

    /// A path whose segments, in their order, cost what a function of place and displacement (world mm) returns. The
    /// place is that of the segment's midpoint, or of one of its ends if that lies outside the mask; `None` if all do.
    pub fn charged(
        places: &Places,
        points: Vec<DVec3>,
        mut cost_of: impl FnMut(Option<usize>, DVec3) -> f64,
    ) -> Self {
        let (mut cost, mut length_mm) = (vec![0.0], vec![0.0]);
        for pair in points.windows(2) {
            let way = pair[1] - pair[0];
            let place = [0.5, 0.0, 1.0].into_iter().find_map(|t| {
                let at = places.grid.voxel_at(pair[0] + way * t).round();
                places.place_of(at.to_array().map(|c| c as i64))
            });
            cost.push(cost[cost.len() - 1] + cost_of(place, way));
            length_mm.push(length_mm[length_mm.len() - 1] + way.length());
        }
        Self {
            points,
            cost,
            length_mm,
        }
    }

    /// The points as a streamline has them, in single precision.
    pub fn streamline(&self) -> impl Iterator<Item = [f32; 3]> {
        self.points.iter().map(|point| point.as_vec3().to_array())
    }

    /// The point at a distance from the first point along the path, mm; the last point beyond it, `None` without any.
    pub fn point_at(&self, mm: f64) -> Option<DVec3> {
        let next = self.length_mm.partition_point(|length| *length < mm);
        let (Some(to), Some(before)) = (self.points.get(next), next.checked_sub(1)) else {
            return if next == 0 {
                self.points.first()
            } else {
                self.points.last()
            }
            .copied();
        };
        let [from_mm, to_mm] = [before, next].map(|i| self.length_mm[i]);
        Some(self.points[before].lerp(*to, (mm - from_mm) / (to_mm - from_mm)))
    }

    /// The point of the path nearest to a point; `None` without any.
    pub fn nearest_point(&self, to: DVec3) -> Option<DVec3> {
        let on = |pair: &[DVec3]| nearest_on_segment([pair[0], pair[1]], to);
        let all = self.points.first().copied().into_iter();
        let all = all.chain(self.points.windows(2).map(on));
        all.min_by(|a, b| a.distance_squared(to).total_cmp(&b.distance_squared(to)))
    }

    /// This path with a point in each voxel that it crosses. Near its source, the path itself is one straight segment.
    pub fn subdivided(&self, metric: &Metric) -> Self {
        Self::new(metric, self.subdivided_points(&metric.grid))
    }

    /// The points of this path, and further ones so that there is one in each voxel of a grid that it crosses.
    pub fn subdivided_points(&self, grid: &Grid) -> Vec<DVec3> {
        let mut points: Vec<DVec3> = self.points.first().copied().into_iter().collect();
        for pair in self.points.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|at| grid.voxel_at(at));
            let voxels = (to - from).abs().max_element();
            let parts = if voxels > 1.0 {
                (voxels / STEP).ceil()
            } else {
                1.0
            };
            let part = |i: usize| pair[0].lerp(pair[1], i as f64 / parts);
            points.extend((1..=parts as usize).map(part));
        }
        points
    }

    /// Cost of the whole path; 0 for an empty one.
    pub fn total_cost(&self) -> f64 {
        self.cost.last().copied().unwrap_or(0.0)
    }

    /// Length of the whole path, mm; 0 for an empty one.
    pub fn total_mm(&self) -> f64 {
        self.length_mm.last().copied().unwrap_or(0.0)
    }

    /// Mean cost per mm of the whole path; 0 for an empty one.
    pub fn mean_cost_per_mm(&self) -> f64 {
        let last = self.points.len().saturating_sub(1);
        self.cost_per_mm_between(0, last)
    }

    /// Mean cost per mm from one point to a later one, by their indices; 0 without these points.
    pub fn cost_per_mm_between(&self, from: usize, to: usize) -> f64 {
        let difference = |values: &[f64]| Some(values.get(to)? - values.get(from)?);
        let [cost, mm] = [&self.cost, &self.length_mm].map(|values| difference(values));
        cost.unwrap_or(0.0) / mm.unwrap_or(0.0).max(f64::MIN_POSITIVE)
    }

    /// Cost per mm from each point to the next.
    pub fn cost_per_mm(&self) -> Vec<f64> {
        let ends = 1..self.points.len();
        ends.map(|end| self.cost_per_mm_between(end - 1, end))
            .collect()
    }

    /// The range from the first to the last point that is farther than `near_mm` from the ends (`in_end`); empty if
    /// the path hardly leaves them.
    pub fn between(&self, near_mm: f64, in_end: impl Fn(DVec3) -> bool) -> Range<usize> {
        // Offsets from the point in the directions of its 26 neighbours.
        let steps =
            (0..27).map(|i| DVec3::new(f64::from(i % 3), f64::from(i / 3 % 3), f64::from(i / 9)));
        let around: Vec<DVec3> = steps
            .map(|s| (s - 1.0).normalize_or_zero() * near_mm)
            .collect();
        let away = |at: &DVec3| !around.iter().any(|step| in_end(*at + *step));
        let first = self.points.iter().position(away);
        let last = self.points.iter().rposition(away);
        match (first, last) {
            (Some(first), Some(last)) => first..last + 1,
            _ => 0..0,
        }
    }

    /// The stretch of this length with the highest cost per mm within a range of points, as a range of points; the
    /// whole range if it is shorter.
    pub fn weakest(&self, stretch_mm: f64, within: Range<usize>) -> Range<usize> {
        let n = within.end.min(self.points.len());
        let mut best = (f64::NEG_INFINITY, within.start.min(n)..n);
        let mut end = best.1.start;
        for start in best.1.clone() {
            while end < n && self.length_mm[end] - self.length_mm[start] < stretch_mm {
                end += 1;
            }
            if end == n {
                break;
            }
            let rate = self.cost_per_mm_between(start, end);
            if rate > best.0 {
                best = (rate, start..end + 1);
            }
        }
        best.1
    }
}

/// The best path between the regions of two cost fields of one metric through a place; `None` if there is none.
pub(super) fn path_through([first, second]: [&CostField; 2], place: usize) -> Option<Path> {
    let mut points = trace(first, place)?;
    points.reverse();
    points.extend(trace(second, place)?.into_iter().skip(1));
    Some(Path::new(&first.prepared.metric, points))
}

/// World points from the centre of a voxel to the region of a cost field; `None` if no path leads there.
pub fn trace(field: &CostField, place: usize) -> Option<Vec<DVec3>> {
    field.values.get(place).filter(|v| v.is_finite())?;
    let metric = &field.prepared.metric;
    let mut walk = Walk {
        field,
        metric,
        directions: HashMap::new(),
    };
    let centre = |place: usize| DVec3::from_array(metric.voxel(place).map(|c| c as f64));
    let mut at = centre(place);
    let mut points = vec![at];
    let (mut here, mut lowest, mut waited) = (place, f32::INFINITY, 0);
    loop {
        if let Some(from) = walk.source_of(here) {
            if points.last() != Some(&centre(from)) {
                points.push(centre(from));
            }
            break;
        }
        let value = field.values[here];
        if value < lowest {
            (lowest, waited) = (value, 0);
        } else {
            waited += 1;
        }
        let next = walk.step(at, here).filter(|_| waited < MAX_STALLED_STEPS);
        (at, here) = match next {
            Some(next) => next,
            // Descends from voxel to voxel until the path is lower than before.
            None => {
                loop {
                    here = walk.lowest_corner(here)?;
                    points.push(centre(here));
                    if field.values[here] < lowest || walk.source_of(here).is_some() {
                        break;
                    }
                }
                waited = 0;
                (centre(here), here)
            }
        };
        if points.last() != Some(&at) {
            points.push(at);
        }
    }
    Some(points.into_iter().map(|p| metric.grid.world(p)).collect())
}

struct Walk<'a> {
    field: &'a CostField,
    metric: &'a Metric,
    /// Directions towards the source at the places visited so far, longest component 1.
    directions: HashMap<usize, Option<DVec3>>,
}

impl Walk<'_> {
    /// The voxel of the region where the path ends, if the value of this place was known from the start.
    fn source_of(&self, place: usize) -> Option<usize> {
        let seed = self.field.source.seed(place)?;
        (seed.value <= self.field.values[place]).then_some(seed.start_voxel as usize)
    }

    fn direction(&mut self, place: usize) -> Option<DVec3> {
        if let Some(known) = self.directions.get(&place) {
            return *known;
        }
        let way = match self.source_of(place) {
            Some(from) => {
                let way = [self.metric.voxel(from), self.metric.voxel(place)];
                let [to, at] = way.map(|v| DVec3::from_array(v.map(|c| c as f64)));
                Some(to - at)
            }
            None => simplex(self.field, place).map(|s| s.direction),
        };
        let longest = |d: DVec3| d.abs().max_element();
        let way = way.filter(|d| longest(*d) > 0.0).map(|d| d / longest(d));
        self.directions.insert(place, way);
        way
    }

    /// A step along the directions at the surrounding voxels; `None` if it would leave the mask.
    fn step(&mut self, at: DVec3, here: usize) -> Option<(DVec3, usize)> {
        let low = at.floor();
        let part = at - low;
        let mut sum = DVec3::ZERO;
        for corner in 0..8 {
            let bit = |a: usize| (corner >> a & 1) as f64;
            let share: f64 = (0..3)
                .map(|a| {
                    if corner >> a & 1 == 1 {
                        part[a]
                    } else {
                        1.0 - part[a]
                    }
                })
                .product();
            if share <= 0.0 {
                continue;
            }
            let voxel = (low + DVec3::new(bit(0), bit(1), bit(2))).to_array();
            let place = self.metric.place_of(voxel.map(|c| c as i64));
            let reached = place.filter(|&p| self.field.values[p].is_finite());
            if let Some(direction) = reached.and_then(|p| self.direction(p)) {
                sum += direction * share;
            }
        }
        let longest = sum.abs().max_element();
        if !(longest > 0.0) {
            return None;
        }
        let next = at + sum * (STEP / longest);
        let voxel = next.round().to_array().map(|c| c as i64);
        let place = self.metric.place_of(voxel)?;
        let from = self.metric.voxel(here);
        let moved = [0, 1, 2].map(|a| voxel[a] - from[a]);
        let fine = self.field.values[place].is_finite()
            && (place == here || self.metric.is_step_open(from, moved));
        fine.then_some((next, place))
    }

    /// The lowest corner of the active simplex.
    fn lowest_corner(&self, place: usize) -> Option<usize> {
        let values = &self.field.values;
        let active = simplex(self.field, place)?;
        let corners = active.corners().iter();
        let (lowest, _) = *corners.min_by(|a, b| values[a.0].total_cmp(&values[b.0]))?;
        (values[lowest] < values[place]).then_some(lowest)
    }
}
