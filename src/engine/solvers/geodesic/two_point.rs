//! Rays between two points, by Newton's method on the direction and the length with which a ray leaves the first.
//!
//! The unknown is one vector: its direction is that of the ray at the first point, its length that of the ray. The ray
//! of a guess is integrated in double precision by the classical Runge-Kutta method of fourth order with steps of equal
//! Euclidean length; the distance of its end from the second point is the residual. Differences of three neighbouring
//! rays give the derivative. A step of Newton's method is shortened until the residual falls. The distance of the end of
//! the ray found from a geodesic through both points is of fourth order in the step where the metric is smooth, and the
//! iterations converge quadratically except where neighbouring rays meet again (conjugate points), where the method
//! refuses.

use glam::{DMat3, DVec3};

/// Largest number of steps of Newton's method.
const MAX_ITERATIONS: usize = 25;
/// The shortest part of a step of Newton's method that is tried.
const SHORTEST: f64 = 1.0 / 32.0;
/// Difference between neighbouring rays, relative to the length of a ray: between the rounding error of the integration
/// and its curvature.
const DIFFERENCE: f64 = 1e-6;
/// Fewest steps of a ray.
const MIN_STEPS: usize = 16;
/// Most steps of a ray; longer guesses take longer steps.
const MAX_STEPS: usize = 20_000;

/// A field of tensors D in the world, whose inverse is the metric.
pub trait Medium: Sync {
    /// D and its derivatives along x, y and z, per mm.
    fn tensor(&self, at: DVec3) -> (DMat3, [DMat3; 3]);
}

/// How exact a ray is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    /// Longest step, mm.
    pub step_mm: f64,
    /// Largest distance of the end from its point, mm.
    pub end_mm: f64,
}

/// A ray that joins two points.
#[derive(Clone, PartialEq, Debug)]
pub struct Connection {
    /// World mm, from the first point to the second, at equal distances along the ray.
    pub points: Vec<DVec3>,
    /// Riemannian length from the first point to each point.
    pub riemann: Vec<f64>,
    /// Length of the ray, mm.
    pub length_mm: f64,
    /// Direction in which it leaves the first point.
    pub direction: DVec3,
    /// Distance of the end from the second point after each iteration, mm; the first is that of the guess.
    pub misses_mm: Vec<f64>,
}

/// Newton's method did not find a ray.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NotConnected {
    /// Distance of the end of the best ray from its point, mm; infinity if no ray could be followed.
    pub miss_mm: f64,
}

/// Position, momentum with pᵀDp = 1, and Riemannian length.
#[derive(Clone, Copy)]
struct Point {
    x: DVec3,
    p: DVec3,
    riemann: f64,
}

impl Point {
    /// Rates per mm.
    fn rate(&self, medium: &dyn Medium) -> Self {
        let (d, derivatives) = medium.tensor(self.x);
        let velocity = d * self.p;
        let per_mm = 1.0 / velocity.length();
        let slope = derivatives.map(|change| -0.5 * self.p.dot(change * self.p) * per_mm);
        Self {
            x: velocity * per_mm,
            p: DVec3::from_array(slope),
            riemann: self.p.dot(velocity).max(0.0).sqrt() * per_mm,
        }
    }

    fn moved(&self, rate: &Self, by: f64) -> Self {
        Self {
            x: self.x + rate.x * by,
            p: self.p + rate.p * by,
            riemann: self.riemann + rate.riemann * by,
        }
    }

    /// A step of the classical Runge-Kutta method.
    fn step(&self, medium: &dyn Medium, mm: f64) -> Self {
        let a = self.rate(medium);
        let b = self.moved(&a, 0.5 * mm).rate(medium);
        let c = self.moved(&b, 0.5 * mm).rate(medium);
        let d = self.moved(&c, mm).rate(medium);
        let mean = Self {
            x: (a.x + d.x + (b.x + c.x) * 2.0) / 6.0,
            p: (a.p + d.p + (b.p + c.p) * 2.0) / 6.0,
            riemann: (a.riemann + d.riemann + (b.riemann + c.riemann) * 2.0) / 6.0,
        };
        self.moved(&mean, mm)
    }
}

/// The beginning of a ray in a direction; `None` where D is not positive definite.
fn begin(medium: &dyn Medium, from: DVec3, direction: DVec3) -> Option<Point> {
    let (d, _) = medium.tensor(from);
    let p = d.inverse() * direction;
    let square = p.dot(direction);
    let start = Point {
        x: from,
        p: p / square.sqrt(),
        riemann: 0.0,
    };
    (square > 0.0 && start.p.is_finite()).then_some(start)
}

/// The points of a ray with this initial vector, or its end only; `None` if it leaves the finite numbers.
fn follow(
    medium: &dyn Medium,
    from: DVec3,
    vector: DVec3,
    steps: usize,
    mut visit: impl FnMut(&Point),
) -> Option<Point> {
    let length_mm = vector.length();
    let mut point = begin(medium, from, vector / length_mm)?;
    visit(&point);
    for _ in 0..steps {
        point = point.step(medium, length_mm / steps as f64);
        visit(&point);
    }
    (point.x.is_finite() && point.riemann.is_finite()).then_some(point)
}

fn steps_of(length_mm: f64, step_mm: f64) -> usize {
    let steps = (length_mm / step_mm).ceil();
    (steps.min(MAX_STEPS as f64) as usize).max(MIN_STEPS)
}

/// The ray from the first point to the second whose initial vector is nearest to a guess, which is the direction of the
/// ray times its length.
pub fn connect(
    medium: &dyn Medium,
    [from, to]: [DVec3; 2],
    guess: DVec3,
    accuracy: Accuracy,
) -> Result<Connection, NotConnected> {
    let mut misses_mm = Vec::new();
    let mut vector = guess;
    let mut steps = steps_of(guess.length(), accuracy.step_mm);
    vector = newton(
        medium,
        [from, to],
        (vector, steps),
        accuracy,
        &mut misses_mm,
    )?;
    let needed = steps_of(vector.length(), accuracy.step_mm);
    // The ray found is much longer than the guess.
    if needed as f64 > 1.2 * steps as f64 {
        steps = needed;
        vector = newton(
            medium,
            [from, to],
            (vector, steps),
            accuracy,
            &mut misses_mm,
        )?;
    }
    let (mut points, mut riemann) = (Vec::with_capacity(steps + 1), Vec::with_capacity(steps + 1));
    let keep = |point: &Point| {
        points.push(point.x);
        riemann.push(point.riemann);
    };
    if follow(medium, from, vector, steps, keep).is_none() {
        return Err(NotConnected {
            miss_mm: f64::INFINITY,
        });
    }
    Ok(Connection {
        points,
        riemann,
        length_mm: vector.length(),
        direction: vector.normalize(),
        misses_mm,
    })
}

fn newton(
    medium: &dyn Medium,
    [from, to]: [DVec3; 2],
    (mut vector, steps): (DVec3, usize),
    accuracy: Accuracy,
    misses_mm: &mut Vec<f64>,
) -> Result<DVec3, NotConnected> {
    let end = |vector: DVec3| follow(medium, from, vector, steps, |_| {}).map(|point| point.x - to);
    let nothing = NotConnected {
        miss_mm: f64::INFINITY,
    };
    let usable = |vector: DVec3| vector.is_finite() && vector.length() > 0.0;
    if !usable(vector) {
        return Err(nothing);
    }
    let mut residual = end(vector).ok_or(nothing)?;
    misses_mm.push(residual.length());
    for _ in 0..MAX_ITERATIONS {
        let miss_mm = residual.length();
        if miss_mm <= accuracy.end_mm {
            return Ok(vector);
        }
        let failed = NotConnected { miss_mm };
        let offset_mm = DIFFERENCE * vector.length();
        let column = |axis: DVec3| Some((end(vector + axis * offset_mm)? - residual) / offset_mm);
        let columns = [column(DVec3::X), column(DVec3::Y), column(DVec3::Z)];
        let [Some(x), Some(y), Some(z)] = columns else {
            return Err(failed);
        };
        let change = -(DMat3::from_cols(x, y, z).inverse() * residual);
        if !change.is_finite() {
            return Err(failed);
        }
        // The derivative does not describe rays that are much longer or leave on the other side.
        let limit = 0.5 * vector.length();
        let mut part = (limit / change.length()).min(1.0);
        let next = loop {
            let tried = vector + change * part;
            let reached = usable(tried).then(|| end(tried)).flatten();
            if let Some(tried_residual) = reached
                && tried_residual.length() < (1.0 - 0.1 * part) * miss_mm
            {
                break (tried, tried_residual);
            }
            part *= 0.5;
            if part < SHORTEST {
                return Err(failed);
            }
        };
        (vector, residual) = next;
        misses_mm.push(residual.length());
    }
    match residual.length() {
        miss_mm if miss_mm <= accuracy.end_mm => Ok(vector),
        miss_mm => Err(NotConnected { miss_mm }),
    }
}
