//! Paths back to the region of a lifted field.

use super::segments::points_before;
use super::{LiftedField, Prepared, UNREACHED};
use crate::solvers::metric::Places;
use crate::solvers::pathway::Path;
use glam::DVec3;
use std::collections::HashMap;

/// Distance between the points of a smoothed path, voxels.
const POINTS: f64 = 0.5;
/// Half the lengths over which a path is averaged, in edges of a cube as large as a voxel, and the number of passes. Wide
/// windows remove the corners of the grid; narrow ones keep to a thin or curved bundle. Without any, the path keeps to its
/// states: where no bundle joins the regions, averaging leads it off the lobes that it follows in turn.
const HALF_WINDOWS: [f64; 6] = [0.0, 0.5, 1.0, 1.5, 2.5, 4.0];
const PASSES: usize = 3;
/// A vertex counts as the origin of a value if it reproduces it within this relative difference.
const ATTAINED: f64 = 1e-4;

/// Places from a given one to one of the region: the chain of states from which its value was computed. Where several
/// states contributed, each is visited in proportion to its share, so that the chain follows the characteristic.
pub fn states(field: &LiftedField, place: usize, direction: usize) -> Option<Vec<u32>> {
    let prepared = &field.prepared;
    let segments = &prepared.segments;
    let (mut place, mut direction) = (place, direction);
    let mut value = field.value(direction, place);
    if !(value < UNREACHED) {
        return None;
    }
    let mut chain = vec![place as u32];
    // Shares that were not visited yet, by direction and step.
    let mut unvisited: HashMap<(usize, [i32; 3]), f64> = HashMap::new();
    while value > 0.0 {
        let stencil = &prepared.stencils[direction];
        let costs = |d: usize, p: usize| 0.5 * (prepared.cost(direction, p) + prepared.cost(d, p));
        // Start of a step from another direction, and the mean C along it.
        let before = |step: [i32; 3], d: usize| {
            let Some(line) = segments.line_of(step) else {
                return Some((place, costs(d, place)));
            };
            let from = segments.before(place as u32, &line)? as usize;
            let ends = 0.5 * (prepared.cost(direction, place) + prepared.cost(d, from));
            let inner = line.between.iter();
            let inner = inner.map(|by| costs(d, segments.passed(place as u32, *by)));
            Some((from, line.mean(ends, inner)))
        };
        let vertices = stencil.vertices.iter().filter_map(|v| {
            let (from, mean) = before(v.step, v.from)?;
            let start = field.value(v.from, from);
            (start < value).then(|| (f64::from(start) + f64::from(mean) * v.cost, from, v.from))
        });
        let vertex = vertices.min_by(|a, b| a.0.total_cmp(&b.0));
        let steps = stencil.steps.iter().filter_map(|s| {
            let (from, mean) = before(s.step, direction)?;
            Some((s.weight / f64::from(mean * mean), from, direction, s.step))
        });
        let turns = stencil.turns.iter().map(|t| {
            let mean = costs(t.from, place);
            (t.weight / f64::from(mean * mean), place, t.from, [0; 3])
        });
        let terms: Vec<_> = steps
            .chain(turns)
            .map(|(w, from, d, step)| (w * f64::from(value - field.value(d, from)), from, d, step))
            .filter(|term| term.0 > 0.0)
            .collect();
        let by_vertex = vertex.filter(|v| v.0 <= f64::from(value) * (1.0 + ATTAINED));
        let sum: f64 = terms.iter().map(|t| t.0).sum();
        (place, direction) = match by_vertex {
            Some((_, from, d)) => (from, d),
            None => {
                for (share, _, d, step) in &terms {
                    *unvisited.entry((*d, *step)).or_default() += share / sum;
                }
                let share = |t: &&(f64, usize, usize, [i32; 3])| unvisited[&(t.2, t.3)];
                let next = terms.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
                let (_, from, d, step) = *next;
                *unvisited.entry((d, step)).or_default() -= 1.0;
                if d != direction {
                    unvisited.clear();
                }
                (from, d)
            }
        };
        value = field.value(direction, place);
        if chain.last() != Some(&(place as u32)) {
            chain.push(place as u32);
        }
    }
    Some(chain)
}

/// The cheapest of several paths along a chain of places. Their points lie at equal distances and are averaged along
/// the chain over different lengths. The ends stay where they are, and no point leaves the mask.
pub fn smoothed(prepared: &Prepared, chain: &[u32]) -> Path {
    let places = &prepared.places;
    let world = |place: &u32| {
        let voxel = places.voxel(*place as usize).map(|v| v as f64);
        places.grid.world(DVec3::from_array(voxel))
    };
    let corners: Vec<DVec3> = chain.iter().map(world).collect();
    let mut raw = resampled(&corners, POINTS * places.grid.spacing().min_element());
    // The straight line of a long step may cross the corner of a voxel that the step does not pass.
    let passed: Vec<DVec3> = line_voxels(prepared, chain).iter().map(world).collect();
    for point in raw.iter_mut().filter(|point| !is_inside(places, **point)) {
        let nearer = |a: &&DVec3, b: &&DVec3| {
            let [a, b] = [a, b].map(|c| c.distance_squared(*point));
            a.total_cmp(&b)
        };
        if let Some(centre) = passed.iter().min_by(nearer) {
            *point = *centre;
        }
    }
    let paths = HALF_WINDOWS.map(|half| prepared.path(smooth(places, &raw, half)));
    let [first, others @ ..] = paths;
    let cheaper = |a: Path, b: Path| {
        if b.total_cost() < a.total_cost() {
            b
        } else {
            a
        }
    };
    others.into_iter().fold(first, cheaper)
}

fn smooth(places: &Places, raw: &[DVec3], half_window: f64) -> Vec<DVec3> {
    let grid = &places.grid;
    let edge = grid.world_from_voxel.matrix3.determinant().abs().cbrt();
    let points = POINTS * grid.spacing().min_element();
    let half = (half_window * edge / points).round() as usize;
    let mut points = raw.to_vec();
    for _ in 0..PASSES {
        points = averaged(&points, half);
    }
    for (point, raw) in points.iter_mut().zip(raw) {
        if !is_inside(places, *point) {
            *point = *raw;
        }
    }
    points
}

fn is_inside(places: &Places, at: DVec3) -> bool {
    let voxel = places.grid.voxel_at(at).round().to_array();
    places.place_of(voxel.map(|c| c as i64)).is_some()
}

/// The places of a chain and those that its steps pass.
fn line_voxels(prepared: &Prepared, chain: &[u32]) -> Vec<u32> {
    let places = &prepared.places;
    let mut all = chain.to_vec();
    for pair in chain.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|place| places.voxel(place as usize));
        // Either may be the end of the step, which decides how its voxels are rounded.
        for (end, start) in [(from, to), (to, from)] {
            let step = [0, 1, 2].map(|a| (end[a] - start[a]) as i32);
            let voxels = points_before(step).map(|by| [0, 1, 2].map(|a| end[a] + i64::from(by[a])));
            all.extend(voxels.filter_map(|v| places.place_of(v)).map(|p| p as u32));
        }
    }
    all
}

/// Points at equal distances of at most `step` along a line through points.
fn resampled(corners: &[DVec3], step: f64) -> Vec<DVec3> {
    let lengths: Vec<f64> = corners.windows(2).map(|p| p[0].distance(p[1])).collect();
    let total: f64 = lengths.iter().sum();
    let count = (total / step).ceil() as usize;
    let (Some(first), Some(last)) = (corners.first(), corners.last()) else {
        return Vec::new();
    };
    let mut points = vec![*first];
    let (mut at, mut before) = (0, 0.0);
    for i in 1..count {
        let along = total * i as f64 / count as f64;
        while at + 1 < lengths.len() && before + lengths[at] < along {
            before += lengths[at];
            at += 1;
        }
        let share = (along - before) / lengths[at].max(f64::MIN_POSITIVE);
        points.push(corners[at].lerp(corners[at + 1], share.min(1.0)));
    }
    if count > 0 {
        points.push(*last);
    }
    points
}

/// The mean of each point and up to `half` on either side, as many on both.
fn averaged(points: &[DVec3], half: usize) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO];
    for point in points {
        sums.push(sums[sums.len() - 1] + *point);
    }
    let n = points.len();
    let mean = |i: usize| {
        let reach = half.min(i).min(n - 1 - i);
        (sums[i + reach + 1] - sums[i - reach]) / (2 * reach + 1) as f64
    };
    (0..n).map(mean).collect()
}
