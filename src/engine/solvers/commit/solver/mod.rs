//! min over x ≥ 0 of ½ |A x − y|² + λ |x_f|₁ + Σ_g λ_g |x_g|₂.
//!
//! *Steps.* Accelerated proximal gradients (Beck and Teboulle 2009, SIAM J Imaging Sci 2:183) in the metric of a
//! diagonal h, with restarts where the step turns against the momentum (O'Donoghue and Candès 2015, Found Comput Math
//! 15:715). A x̂ of the extrapolated point is a combination of two known products, so that an iteration costs one A x
//! and one Aᵀ y. h_i = (AᵀA w)_i / w_i majorises a matrix without negative entries for any w > 0 (separable
//! surrogates: Erdogan and Fessler 1999, Phys Med Biol 44:2835); responses are positive except for what the cut at
//! degree 12 omits, and each step is checked: where |A (x⁺ − x̂)|² exceeds Σ h (x⁺ − x̂)², h grows. Steps in which
//! overlapping columns change against one another stay far below this bound; where they stay below half of it, h
//! shrinks by a tenth, so that the next step is longer.
//!
//! Two refinements were measured and left out. Rounds of conjugate gradients on the positive weights (Moré and Toraldo
//! 1991, SIAM J Optim 1:93) cost the momentum: a refit at the size of `bench commit --case thesis` needed 1600
//! iterations for the objective that it reaches after 800 without them, and bundles of nearly equal streamlines gained
//! nothing. A metric with a block for the columns of each streamline follows the same course as h, although cylinders
//! of different radii are nearly equal: the streamlines that share voxels limit the steps.
//!
//! *Stop.* Single steps say little: after a restart the momentum is gone, and several consecutive steps are short far
//! from the minimum. The fall of the objective is measured over [`CONVERGENCE_WINDOW`] and extrapolated at the rate at
//! which it slows down: with many nearly equal streamlines the objective falls slowly for long, and a criterion of a
//! small fall alone left such fits six tolerances above the minimum. Columns of cylinders of four radii are nearly
//! equal in each streamline, and their objective falls more slowly than geometrically: such fits end 4 to 13
//! tolerances above the minimum.
//!
//! All sums are the same bits at any number of threads, and so are the results; on graphics cards, threads add in any
//! order, so a repeated fit gives the same objective and weights up to rounding.
//!
//! [`solve_by_fista`] is the method of other programs, for comparison: the same steps with one length and without
//! restarts.

mod cpu;
mod engine;
mod penalty;
mod vectors;

pub use engine::{EndPoint, Engine, StepMeasures};
pub use penalty::{Group, Penalty};
pub(super) use vectors::norm;

use super::cuda::Vectors;
use super::operator::Operator;
use crate::compute::Control;
use crate::data::keyed;
use crate::solvers::Error;
use cpu::Cpu;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// Iterations over which the fall of the objective is judged.
pub const CONVERGENCE_WINDOW: usize = 50;

/// h shrinks where a step stays below this share of its bound …
const SLACK: f64 = 0.5;
/// … to this share of itself.
const SHRINK: f64 = 0.9;

/// Stopping criteria; the first that holds ends the fit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// Largest number of iterations.
    pub iterations: u32,
    /// Relative fall of the objective over the last [`CONVERGENCE_WINDOW`] plus the fall expected after them; 0:
    /// never.
    pub objective: f64,
    /// |x − max(0, x − h⁻¹ ∇)| / |x|, in the metric h; 0: never.
    pub kkt: f64,
    /// An objective reached by another solver; 0: none.
    pub target: f64,
}

impl Stop {
    /// Sets the tolerance of the objective's fall, and a tenth of it for the KKT residual, which is the weaker
    /// criterion where columns are nearly equal.
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self {
            objective: tolerance,
            kkt: 0.1 * tolerance,
            ..self
        }
    }
}

/// Criterion that ended a fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The relative fall of the objective is at most [`Stop::objective`].
    Objective,
    /// The residual of the optimality conditions is at most [`Stop::kkt`].
    Kkt,
    /// The objective has reached [`Stop::target`].
    Target,
    /// [`Stop::iterations`] have been run.
    Iterations,
    /// Stopped by the user; the last weights are returned.
    Cancelled,
}

keyed!(Ended, serde {
    Objective = "objective",
    Kkt = "kkt",
    Target = "target",
    Iterations = "iterations",
    Cancelled = "cancelled",
});

/// The objective after each iteration, shared with observers.
#[derive(Clone, Debug, Default)]
pub struct Curve(Arc<Mutex<Vec<f64>>>);

impl Curve {
    fn push(&self, value: f64) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(value);
    }

    /// Continues a curve.
    pub fn continuing(values: &[f64]) -> Self {
        Self(Arc::new(Mutex::new(values.to_vec())))
    }

    /// Number of completed iterations; 0 before the first.
    pub fn iterations(&self) -> usize {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.len().saturating_sub(1)
    }

    /// Values from the start on.
    pub fn values(&self) -> Vec<f64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Solution of a problem, and how it was reached.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Unknowns, all at least 0, in the operator's layout.
    pub x: Vec<f32>,
    /// A x.
    pub predicted: Vec<f32>,
    /// Value of the minimised function at x, penalty included.
    pub objective: f64,
    /// Iterations that were run.
    pub iterations: u32,
    /// The residual that [`Stop::kkt`] limits, at x.
    pub kkt: f64,
    /// Criterion that ended the iterations.
    pub ended: Ended,
}

/// Diagonal metric h of the proximal steps; one serves all fits with the same operator.
#[derive(Clone, Debug)]
pub struct Metric {
    h: Vec<f32>,
}

impl Metric {
    /// Computes h from A; an error if the backend fails.
    pub fn new(operator: &Operator) -> Result<Self, Error> {
        let w: Vec<f32> = operator
            .squares()
            .iter()
            .map(|s| if *s > 0.0 { 1.0 / s.sqrt() } else { 0.0 })
            .collect();
        let mut y = vec![0.0; operator.rows()];
        let mut h = vec![0.0; operator.columns()];
        operator.apply(&w, &mut y)?;
        operator.adjoint(&y, &mut h)?;
        for (h, w) in h.iter_mut().zip(&w) {
            *h = if *w > 0.0 { *h / w } else { 0.0 };
        }
        Ok(Self { h })
    }

    /// One number for all columns, |A|²: a lower estimate by powers of AᵀA, which converge soon because nearly all
    /// entries are positive, plus one percent.
    pub fn uniform(operator: &Operator) -> Result<Self, Error> {
        const POWERS: usize = 50;
        let is_used = operator.squares().iter().map(|s| *s > 0.0);
        let mut x: Vec<f32> = is_used.clone().map(|t| f32::from(u8::from(t))).collect();
        let mut y = vec![0.0; operator.rows()];
        let mut largest_norm = 0.0;
        for _ in 0..POWERS {
            let size = norm(&x).max(f64::MIN_POSITIVE);
            x.iter_mut()
                .for_each(|v| *v = (f64::from(*v) / size) as f32);
            operator.apply(&x, &mut y)?;
            operator.adjoint(&y, &mut x)?;
            largest_norm = norm(&x);
        }
        let h = (1.01 * largest_norm) as f32;
        Ok(Self {
            h: is_used.map(|t| if t { h } else { 0.0 }).collect(),
        })
    }
}

/// How steps are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Restarts, and steps whose length follows the curvature.
    Own,
    /// Steps of one length, without restarts.
    Plain,
}

/// Input of the solver.
pub struct Problem<'a> {
    /// A.
    pub operator: &'a Operator,
    /// Diagonal h of the proximal steps.
    pub metric: &'a Metric,
    /// Measured values, one per row of A.
    pub y: &'a [f32],
    /// Penalty on the weights of streamlines.
    pub penalty: &'a Penalty,
    /// Streamlines that stay at 0.
    pub without: Option<&'a [bool]>,
}

/// Starts at zero or at known weights; values that are negative, or must be 0, are set to 0 first.
pub fn solve(
    problem: &Problem,
    start: Option<&[f32]>,
    stop: &Stop,
    curve: &Curve,
    control: &Control,
) -> Result<Solution, Error> {
    solve_by(Method::Own, problem, start, stop, curve, control)
}

/// Starts at zero and uses accelerated proximal gradients alone (FISTA with a constant step, as published), in the
/// problem's metric, which should be [`Metric::uniform`]. A baseline for other solvers.
pub fn solve_by_fista(
    problem: &Problem,
    stop: &Stop,
    curve: &Curve,
    control: &Control,
) -> Result<Solution, Error> {
    solve_by(Method::Plain, problem, None, stop, curve, control)
}

fn solve_by(
    method: Method,
    problem: &Problem,
    start: Option<&[f32]>,
    stop: &Stop,
    curve: &Curve,
    control: &Control,
) -> Result<Solution, Error> {
    let columns = problem.operator.columns();
    let mut h = problem.metric.h.clone();
    if let Some(without) = problem.without {
        let atoms = problem.operator.shape().atoms;
        for (streamline, _) in without.iter().enumerate().filter(|(_, w)| **w) {
            h[streamline * atoms..(streamline + 1) * atoms].fill(0.0);
        }
    }
    let mut x = vec![0.0f32; columns];
    if let Some(start) = start {
        for ((x, s), h) in x.iter_mut().zip(start).zip(&h) {
            *x = if *h > 0.0 && *s > 0.0 { *s } else { 0.0 };
        }
    }
    control.begin_up_to("Fitting weights", u64::from(stop.iterations));
    match problem.operator.on_cards() {
        Some(cards) => {
            let vectors = Vectors::new(cards, problem.y, problem.penalty, &h, &x)?;
            run(vectors, method, stop, curve, control)
        }
        None => run(Cpu::new(problem, h, x), method, stop, curve, control),
    }
}

/// How far the objective fell over the last [`CONVERGENCE_WINDOW`] and will fall after them, if each further
/// [`CONVERGENCE_WINDOW`] fall by the same factor as these relative to those before. `None`: too few iterations.
fn remaining_decrease(reached: &[f64]) -> Option<f64> {
    /// The slowest fall that can be distinguished from rest.
    const SLOWEST: f64 = 0.98;
    let last = reached.len().checked_sub(1)?;
    let middle = last.checked_sub(CONVERGENCE_WINDOW)?;
    let first = middle.saturating_sub(CONVERGENCE_WINDOW);
    // At the limit of single precision the objective rises as often as it falls.
    let [before, now] = [(first, middle), (middle, last)].map(|(a, b)| reached[a] - reached[b]);
    let rate = match before > 0.0 {
        true => (now / before).clamp(0.0, SLOWEST),
        false => 0.0,
    };
    Some(now / (1.0 - rate))
}

fn run(
    mut engine: impl Engine,
    method: Method,
    stop: &Stop,
    curve: &Curve,
    control: &Control,
) -> Result<Solution, Error> {
    let mut objective = engine.begin()?;
    curve.push(objective);
    let mut reached = vec![objective];
    let (mut t, mut beta) = (1.0f64, 0.0f32);
    let mut iterations = 0;
    // The remaining share of the metric's h.
    let mut left = 1.0f64;
    let ended = loop {
        if control.is_cancelled() {
            break Ended::Cancelled;
        }
        if iterations >= stop.iterations {
            break Ended::Iterations;
        }
        if objective <= stop.target && stop.target > 0.0 {
            break Ended::Target;
        }
        iterations += 1;
        control.advance(1);
        let mut progress = engine.step(beta)?;
        // The margin covers single precision and nearly equal columns.
        if progress.moved > progress.step * 1.001 + f64::from(f32::EPSILON) * objective {
            let factor =
                (progress.moved / progress.step.max(f64::MIN_POSITIVE) * 1.05).min(4.0) as f32;
            engine.scale_metric(factor)?;
            left *= f64::from(factor);
            if progress.objective > objective {
                // Repeat from the last point with a shorter step.
                engine.undo_step()?;
                (t, beta) = (1.0, 0.0);
                curve.push(objective);
                reached.push(objective);
                continue;
            }
            progress.size *= f64::from(factor);
        }
        curve.push(progress.objective);
        let change = (objective - progress.objective) / progress.objective.max(f64::MIN_POSITIVE);
        objective = progress.objective;
        reached.push(objective);
        if method == Method::Own && (progress.turned > 0.0 || change < 0.0) {
            t = 1.0;
        }
        let next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
        beta = ((t - 1.0) / next) as f32;
        t = next;
        engine.extrapolate(beta)?;
        // In the original metric, whatever h has become.
        if stop.kkt > 0.0 && left * progress.step.sqrt() <= stop.kkt * progress.size.sqrt() {
            break Ended::Kkt;
        }
        if method == Method::Own && progress.moved < SLACK * progress.step {
            engine.scale_metric(SHRINK as f32)?;
            left *= SHRINK;
        }
        if stop.objective > 0.0
            && let Some(fall) = remaining_decrease(&reached)
            && fall < stop.objective * objective
        {
            break Ended::Objective;
        }
    };
    engine.scale_metric((1.0 / left) as f32)?;
    let last = engine.finish()?;
    Ok(Solution {
        x: last.x,
        predicted: last.predicted,
        kkt: last.kkt,
        objective,
        iterations,
        ended,
    })
}
