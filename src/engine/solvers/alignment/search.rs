//! Maximises a function of six numbers by line searches (Powell 1964, Comput J 7:155).

use crate::compute::{Cancelled, Control};
use glam::{DAffine3, DQuat, DVec3};

/// A rigid transform about a given centre.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rigid {
    /// mm.
    pub shift: DVec3,
    /// Axis times angle, radians.
    pub turn: DVec3,
}

/// Distance of the edge of a head from its centre, mm.
const HEAD_MM: f64 = 70.0;
const SIZE: usize = 6;
type Point = [f64; SIZE];

impl Rigid {
    pub fn about(&self, centre: DVec3) -> DAffine3 {
        let turn = DAffine3::from_quat(DQuat::from_scaled_axis(self.turn));
        DAffine3::from_translation(centre + self.shift) * turn * DAffine3::from_translation(-centre)
    }

    /// A translation of `mm`, and a rotation that moves the edge of a head by as much.
    pub fn unit_step(mm: f64) -> Self {
        Self {
            shift: DVec3::splat(mm),
            turn: DVec3::splat(mm / HEAD_MM),
        }
    }

    fn numbers(&self) -> Point {
        let (s, t) = (self.shift, self.turn);
        [s.x, s.y, s.z, t.x, t.y, t.z]
    }

    fn from_numbers([a, b, c, x, y, z]: Point) -> Self {
        Self {
            shift: DVec3::new(a, b, c),
            turn: DVec3::new(x, y, z),
        }
    }
}

pub struct SearchResult {
    pub transform: Rigid,
    pub value: f64,
    pub evaluations: usize,
}

/// The position of the maximum near `from`; `unit` is a step with a noticeable effect.
pub fn powell(
    from: Rigid,
    unit: Rigid,
    value: &impl Fn(&Rigid) -> f64,
    control: &Control,
) -> Result<SearchResult, Cancelled> {
    /// Largest number of rounds over all directions.
    const ROUNDS: usize = 12;
    /// Another round follows if the last one moved by at least this many units.
    const MIN_MOVE: f64 = 0.02;
    let scale = unit.numbers();
    let mut search = PowellSearch {
        value: &|p: &Point| {
            let scaled: Point = std::array::from_fn(|i| p[i] * scale[i]);
            value(&Rigid::from_numbers(scaled))
        },
        evaluations: 0,
    };
    let start = from.numbers();
    let mut at: Point = std::array::from_fn(|i| start[i] / scale[i]);
    let mut best = search.at(&at);
    let mut directions: [Point; SIZE] =
        std::array::from_fn(|i| std::array::from_fn(|k| f64::from(u8::from(i == k))));
    for _ in 0..ROUNDS {
        let (before, first) = (at, best);
        let mut steepest = (0, 0.0);
        for (i, direction) in directions.iter().enumerate() {
            control.check()?;
            let gained = best;
            (at, best) = search.line(at, best, direction);
            if best - gained > steepest.1 {
                steepest = (i, best - gained);
            }
        }
        let moved: Point = std::array::from_fn(|i| at[i] - before[i]);
        let length = moved.iter().map(|m| m * m).sum::<f64>().sqrt();
        if length < MIN_MOVE {
            break;
        }
        // The direction of the whole round replaces the one with the largest gain, if continuing in it still gains
        // (Press et al., Numerical Recipes, section 10.7).
        let beyond: Point = std::array::from_fn(|i| 2.0 * at[i] - before[i]);
        let further = search.at(&beyond);
        if further > first {
            let bend =
                2.0 * (first - 2.0 * best + further).abs() * (best - first - steepest.1).powi(2);
            if bend < steepest.1 * (further - first).powi(2) {
                let along: Point = moved.map(|m| m / length);
                (at, best) = search.line(at, best, &along);
                directions[steepest.0] = directions[SIZE - 1];
                directions[SIZE - 1] = along;
            }
        }
    }
    Ok(SearchResult {
        transform: Rigid::from_numbers(std::array::from_fn(|i| at[i] * scale[i])),
        value: best,
        evaluations: search.evaluations,
    })
}

struct PowellSearch<'a> {
    value: &'a dyn Fn(&Point) -> f64,
    evaluations: usize,
}

impl PowellSearch<'_> {
    fn at(&mut self, point: &Point) -> f64 {
        self.evaluations += 1;
        (self.value)(point)
    }

    /// The maximum along a line: brackets it with three points, then fits parabolas through the best three.
    fn line(&mut self, from: Point, value: f64, along: &Point) -> (Point, f64) {
        const STEP: f64 = 0.5;
        const DOUBLINGS: usize = 5;
        const PARABOLAS: usize = 4;
        /// A line is not searched below this resolution, units.
        const CLOSE: f64 = 0.01;
        let point = |t: f64| -> Point { std::array::from_fn(|i| from[i] + t * along[i]) };
        let mut points = vec![(0.0, value)];
        for t in [-STEP, STEP] {
            let v = self.at(&point(t));
            points.push((t, v));
        }
        let best = |points: &[(f64, f64)]| {
            let largest = points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
            largest.unwrap_or((0.0, value))
        };
        for _ in 0..DOUBLINGS {
            let (t, _) = best(&points);
            let outer = points.iter().map(|p| p.0.abs()).fold(0.0, f64::max);
            // Bracketed: a lower value lies on either side.
            if points.iter().any(|p| p.0 < t) && points.iter().any(|p| p.0 > t) {
                break;
            }
            let next = t.signum() * 2.0 * outer;
            let v = self.at(&point(next));
            points.push((next, v));
        }
        for _ in 0..PARABOLAS {
            let (t, v) = best(&points);
            let below = points
                .iter()
                .filter(|p| p.0 < t)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let above = points
                .iter()
                .filter(|p| p.0 > t)
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let (Some(&(a, fa)), Some(&(b, fb))) = (below, above) else {
                break;
            };
            let (p, q) = ((t - a) * (v - fb), (t - b) * (v - fa));
            let (num, den) = ((t - a) * p - (t - b) * q, p - q);
            let vertex = t - 0.5 * num / den;
            let inside = vertex > a && vertex < b && (vertex - t).abs() > 1e-3 * (b - a);
            // Otherwise in the larger part.
            let next = if inside {
                vertex
            } else if b - t > t - a {
                t + 0.38 * (b - t)
            } else {
                t - 0.38 * (t - a)
            };
            if b - a < CLOSE || (next - t).abs() < 0.5 * CLOSE {
                break;
            }
            let value = self.at(&point(next));
            points.push((next, value));
        }
        let (t, v) = best(&points);
        (point(t), v)
    }
}
