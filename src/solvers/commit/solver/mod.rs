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
use vectors::{combine, difference_square, dot, square_against};

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

/// A point and A of it.
#[derive(Clone)]
struct Point {
    x: Vec<f32>,
    ax: Vec<f32>,
    objective: f64,
}

impl Problem<'_> {
    fn objective(&self, x: &[f32], ax: &[f32]) -> f64 {
        0.5 * difference_square(ax, self.y) + self.penalty.value(x, self.operator.shape())
    }

    fn point(&self, x: Vec<f32>) -> Point {
        let mut ax = vec![0.0; self.operator.rows()];
        self.operator.apply(&x, &mut ax);
        let objective = self.objective(&x, &ax);
        Point { x, ax, objective }
    }

    /// ∇ of the smooth part at a point whose A x is known.
    fn gradient(&self, ax: &[f32], residual: &mut [f32], g: &mut [f32]) {
        combine(residual, 1.0, ax, -1.0, self.y);
        self.operator.adjoint(residual, g);
    }

    /// |x − prox(x − ∇/h)| / |x| in the metric.
    fn kkt(&self, h: &[f32], x: &[f32], g: &[f32]) -> f64 {
        let mut next = vec![0.0; x.len()];
        self.penalty.step(&mut next, x, g, h, self.operator.shape());
        let moved = square_against(h, &next, x);
        let size = square_against(h, x, &vec![0.0; x.len()]);
        (moved / size.max(f64::MIN_POSITIVE)).sqrt()
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
    let (columns, rows) = (problem.operator.columns(), problem.operator.rows());
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
    let (mut z, mut az) = (now.x.clone(), now.ax.clone());
    let (mut g, mut residual) = (vec![0.0; columns], vec![0.0; rows]);
    let (mut t, mut quiet) = (1.0f64, 0);
    let mut free = free::Free::new(columns, rows);
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
        problem.gradient(&az, &mut residual, &mut g);
        let shape = problem.operator.shape();
        std::mem::swap(&mut before, &mut now);
        let mut growths = 0;
        loop {
            problem.penalty.step(&mut now.x, &z, &g, &h, shape);
            problem.operator.apply(&now.x, &mut now.ax);
            let bound = square_against(&h, &now.x, &z);
            let moved = difference_square(&now.ax, &az);
            // Single precision, and columns that are nearly one.
            if moved <= bound * 1.001 || growths == 8 {
                break;
            }
            let factor = (moved / bound.max(f64::MIN_POSITIVE) * 1.05).min(4.0) as f32;
            h.iter_mut().for_each(|h| *h *= factor);
            growths += 1;
        }
        now.objective = problem.objective(&now.x, &now.ax);
        curve.push(now.objective);
        let step = square_against(&h, &now.x, &z);
        let size = dot(&h, &now.x, &now.x);
        let turned = vectors::turns(&h, &z, &now.x, &before.x);
        let change = (before.objective - now.objective) / now.objective.max(f64::MIN_POSITIVE);
        if turned > 0.0 || change < 0.0 {
            t = 1.0;
        }
        let next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
        let beta = ((t - 1.0) / next) as f32;
        t = next;
        combine(&mut z, 1.0 + beta, &now.x, -beta, &before.x);
        combine(&mut az, 1.0 + beta, &now.ax, -beta, &before.ax);
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
            let used = free.round(
                problem,
                &h,
                &mut now,
                stop.iterations - iterations,
                curve,
                control,
            );
            iterations += used;
            if used > 0 {
                t = 1.0;
                z.copy_from_slice(&now.x);
                az.copy_from_slice(&now.ax);
            }
        }
    };
    problem.gradient(&now.ax, &mut residual, &mut g);
    Solution {
        kkt: problem.kkt(&h, &now.x, &g),
        x: now.x,
        predicted: now.ax,
        objective: now.objective,
        iterations,
        ended,
    }
}
