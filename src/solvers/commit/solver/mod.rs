//! min over x ≥ 0 of ½ |A x − y|² + λ |x_f|₁ + Σ_g λ_g |x_g|₂.
//!
//! *First phase.* Accelerated proximal gradients (Beck and Teboulle 2009, SIAM J Imaging Sci 2:183) in the
//! metric of a diagonal h, with restarts where the step turns against the momentum (O'Donoghue and Candès
//! 2015, Found Comput Math 15:715). A x̂ of the extrapolated point is a sum of two known ones, so that an
//! iteration costs one A x and one Aᵀ y. h_i = (AᵀA w)_i / w_i majorises a matrix without negative entries
//! for any w > 0 (separable surrogates: Erdogan and Fessler 1999, Phys Med Biol 44:2835); responses are
//! positive but for what degree 12 leaves out, and each step is checked: where |A (x⁺ − x̂)|² is above
//! Σ h (x⁺ − x̂)², h grows.
//!
//! *Second phase*, without groups: conjugate gradients for the weights above 0 alone, preconditioned by h, and
//! a search along the path that is bent at 0 (Moré and Toraldo 1991, SIAM J Optim 1:93). It starts once the
//! set of zeros changes little, and every round ends with steps of the first, which let weights in and out.

mod free;
mod penalty;
mod vectors;

pub use penalty::{Group, Penalty};

use super::operator::Operator;
use crate::compute::Control;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use vectors::{LANES, Lanes8, combine, dot, square_against};

/// When it is good enough; the first that holds ends it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stop {
    pub iterations: u32,
    /// Change of the objective in one iteration, relative to it; 0: never.
    pub objective: f64,
    /// |x − max(0, x − h⁻¹ ∇)| / |x|, in the metric h; 0: never.
    pub kkt: f64,
    /// An objective that was reached elsewhere; 0: none.
    pub target: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ended {
    Objective,
    Kkt,
    Target,
    Iterations,
    /// Somebody stopped it; the last weights stand.
    Cancelled,
}

/// The objective after each iteration, for whoever watches.
#[derive(Clone, Debug, Default)]
pub struct Curve(Arc<Mutex<Vec<f64>>>);

impl Curve {
    fn push(&self, value: f64) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(value);
    }

    /// From the start's on.
    pub fn values(&self) -> Vec<f64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[derive(Clone, Debug)]
pub struct Solution {
    pub x: Vec<f32>,
    /// A x.
    pub predicted: Vec<f32>,
    pub objective: f64,
    pub iterations: u32,
    /// What [`Stop::kkt`] is about, at x.
    pub kkt: f64,
    pub ended: Ended,
}

/// What stays the same between fits on one operator.
#[derive(Clone, Debug)]
pub struct Metric {
    h: Vec<f32>,
}

impl Metric {
    pub fn new(operator: &Operator) -> Self {
        let w: Vec<f32> = operator
            .squares()
            .iter()
            .map(|s| if *s > 0.0 { 1.0 / s.sqrt() } else { 0.0 })
            .collect();
        let mut y = vec![0.0; operator.rows()];
        let mut h = vec![0.0; operator.columns()];
        operator.apply(&w, &mut y);
        operator.adjoint(&y, &mut h);
        for (h, w) in h.iter_mut().zip(&w) {
            *h = if *w > 0.0 { *h / w } else { 0.0 };
        }
        Self { h }
    }
}

pub struct Problem<'a> {
    pub operator: &'a Operator,
    pub metric: &'a Metric,
    pub y: &'a [f32],
    pub penalty: &'a Penalty,
    /// Streamlines that stay at 0.
    pub without: Option<&'a [bool]>,
}

/// A point, and A x − y of it.
#[derive(Clone)]
struct Point {
    x: Vec<f32>,
    r: Vec<f32>,
    objective: f64,
}

impl Problem<'_> {
    fn objective(&self, square: f64, x: &[f32]) -> f64 {
        0.5 * square + self.penalty.value(x, self.operator.shape())
    }

    fn point(&self, x: Vec<f32>) -> Point {
        let mut r = vec![0.0; self.operator.rows()];
        let [square, _] = self.operator.apply_with(&x, &mut r, &|from, ax, r| {
            let mut sum = Lanes8::default();
            for ((r, ax), y) in r.iter_mut().zip(ax).zip(&self.y[from..]) {
                *r = ax - y;
            }
            sum.add(r);
            [sum.total(), 0.0]
        });
        let objective = self.objective(square, &x);
        Point { x, r, objective }
    }

    /// ∇ of the smooth part at the point (1 + β) now − β before.
    fn gradient(&self, beta: f32, now: &Point, before: &Point, g: &mut [f32]) {
        self.operator.adjoint_of(
            &|from, to| {
                let both = now.r[from..].iter().zip(&before.r[from..]);
                for (to, (now, before)) in to.iter_mut().zip(both) {
                    *to = now + beta * (now - before);
                }
            },
            g,
        );
    }

    /// Gives the next point the residual of its x, over that of the point before the last: |A (next − z)|²
    /// with z = (1 + β) last − β (the one before).
    fn residual(&self, beta: f32, last: &Point, next: &mut Point) -> f64 {
        let Point { x, r, .. } = next;
        let [square, moved] = self.operator.apply_with(x, r, &|from, ax, r| {
            let (mut square, mut moved) = (Lanes8::default(), Lanes8::default());
            let n = r.len();
            let (y, last) = (&self.y[from..from + n], &last.r[from..from + n]);
            let mut away = [0f32; LANES];
            let whole = n - n % LANES;
            for at in (0..whole).step_by(LANES) {
                for lane in 0..LANES {
                    let i = at + lane;
                    let z = last[i] + beta * (last[i] - r[i]);
                    r[i] = ax[i] - y[i];
                    away[lane] = r[i] - z;
                }
                square.add(&r[at..at + LANES]);
                moved.add(&away);
            }
            for i in whole..n {
                let z = last[i] + beta * (last[i] - r[i]);
                r[i] = ax[i] - y[i];
                square.add(&r[i..=i]);
                moved.add(&[r[i] - z]);
            }
            [square.total(), moved.total()]
        });
        next.objective = self.objective(square, &next.x);
        moved
    }

    /// |x − prox(x − ∇/h)| / |x| in the metric.
    fn kkt(&self, h: &[f32], x: &[f32], g: &[f32]) -> f64 {
        let mut next = vec![0.0; x.len()];
        self.penalty.step(&mut next, x, g, h, self.operator.shape());
        let moved = square_against(h, &next, x);
        (moved / dot(h, x, x).max(f64::MIN_POSITIVE)).sqrt()
    }
}

/// From zero, or from weights that are known; what is below 0 or may not be above it is set to 0 first.
pub fn solve(
    problem: &Problem,
    start: Option<&[f32]>,
    stop: &Stop,
    curve: &Curve,
    control: &Control,
) -> Solution {
    let columns = problem.operator.columns();
    let mut h = problem.metric.h.clone();
    if let Some(without) = problem.without {
        let atoms = problem.operator.shape().atoms;
        for (fibre, _) in without.iter().enumerate().filter(|(_, w)| **w) {
            h[fibre * atoms..(fibre + 1) * atoms].fill(0.0);
        }
    }
    let mut x = vec![0.0f32; columns];
    if let Some(start) = start {
        for ((x, s), h) in x.iter_mut().zip(start).zip(&h) {
            *x = if *h > 0.0 && *s > 0.0 { *s } else { 0.0 };
        }
    }
    control.begin("Fitting weights", u64::from(stop.iterations));
    let mut now = problem.point(x);
    let mut before = now.clone();
    curve.push(now.objective);
    let (mut z, mut g) = (now.x.clone(), vec![0.0; columns]);
    let (mut t, mut beta, mut quiet) = (1.0f64, 0.0f32, 0);
    let mut free = free::Free::new(columns, problem.operator.rows());
    let mut iterations = 0;
    let ended = loop {
        if control.is_cancelled() {
            break Ended::Cancelled;
        }
        if iterations >= stop.iterations {
            break Ended::Iterations;
        }
        if now.objective <= stop.target && stop.target > 0.0 {
            break Ended::Target;
        }
        iterations += 1;
        control.advance(1);
        problem.gradient(beta, &now, &before, &mut g);
        // The point before the last makes room.
        std::mem::swap(&mut before, &mut now);
        let shape = problem.operator.shape();
        problem.penalty.step(&mut now.x, &z, &g, &h, shape);
        let moved = problem.residual(beta, &before, &mut now);
        let step = square_against(&h, &now.x, &z);
        // Single precision, and columns that are nearly one.
        if moved > step * 1.001 + f64::from(f32::EPSILON) * before.objective {
            let factor = (moved / step.max(f64::MIN_POSITIVE) * 1.05).min(4.0) as f32;
            h.iter_mut().for_each(|h| *h *= factor);
            if now.objective > before.objective {
                // From the last point again, with a shorter step.
                std::mem::swap(&mut before, &mut now);
                before.x.copy_from_slice(&now.x);
                before.r.copy_from_slice(&now.r);
                z.copy_from_slice(&now.x);
                (t, beta) = (1.0, 0.0);
                curve.push(now.objective);
                continue;
            }
        }
        curve.push(now.objective);
        let size = dot(&h, &now.x, &now.x);
        let turned = vectors::turns(&h, &z, &now.x, &before.x);
        let change = (before.objective - now.objective) / now.objective.max(f64::MIN_POSITIVE);
        if turned > 0.0 || change < 0.0 {
            t = 1.0;
        }
        let next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
        beta = ((t - 1.0) / next) as f32;
        t = next;
        combine(&mut z, 1.0 + beta, &now.x, -beta, &before.x);
        if stop.kkt > 0.0 && step.sqrt() <= stop.kkt * size.sqrt() {
            break Ended::Kkt;
        }
        // Momentum makes single iterations stand still.
        quiet = if change.abs() < stop.objective {
            quiet + 1
        } else {
            0
        };
        if quiet >= 3 {
            break Ended::Objective;
        }
        if problem.penalty.groups.is_empty() && free.is_time(&before.x, &now.x) {
            let most = stop.iterations - iterations;
            let used = free.round(problem, &h, &mut now, most, curve, control);
            iterations += used;
            if used > 0 {
                (t, beta) = (1.0, 0.0);
                z.copy_from_slice(&now.x);
            }
        }
    };
    problem.gradient(0.0, &now, &now, &mut g);
    let mut predicted = now.r;
    predicted
        .iter_mut()
        .zip(problem.y)
        .for_each(|(r, y)| *r += y);
    Solution {
        kkt: problem.kkt(&h, &now.x, &g),
        x: now.x,
        predicted,
        objective: now.objective,
        iterations,
        ended,
    }
}
