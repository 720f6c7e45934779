//! The vectors of a fit in memory, on all threads.

use super::Problem;
use super::engine::{EndPoint, Engine, StepMeasures};
use super::vectors::{Lanes8, Residual, add, combine, product, sums};
use crate::compute::simd::dispatch;
use crate::solvers::Error;

/// A point x and its residual r = A x − y.
#[derive(Clone, Default)]
struct Point {
    x: Vec<f32>,
    r: Vec<f32>,
    /// |r|, or more.
    norm: f64,
}

pub struct Cpu<'a> {
    problem: &'a Problem<'a>,
    h: Vec<f32>,
    now: Point,
    before: Point,
    z: Vec<f32>,
    g: Vec<f32>,
    round: Round,
}

/// Vectors of the second phase; empty before it.
#[derive(Default)]
struct Round {
    /// The point reached, later the trial point.
    moved: Point,
    /// The last step, later the search direction.
    direction: Vec<f32>,
    a_direction: Vec<f32>,
    /// |A d| of the direction d.
    norm: f64,
}

impl<'a> Cpu<'a> {
    pub fn new(problem: &'a Problem<'a>, h: Vec<f32>, x: Vec<f32>) -> Self {
        let r = vec![0.0; problem.operator.rows()];
        let now = Point { x, r, norm: 0.0 };
        Self {
            problem,
            h,
            before: now.clone(),
            z: now.x.clone(),
            g: vec![0.0; now.x.len()],
            now,
            round: Round::default(),
        }
    }
}

impl Problem<'_> {
    fn objective(&self, square: f64, x: &[f32]) -> f64 {
        0.5 * square + self.penalty.value(x, self.operator.shape())
    }

    /// Computes the residual of a point from its x; returns its objective.
    fn evaluate_point(&self, point: &mut Point) -> Result<f64, Error> {
        let Point { x, r, norm } = point;
        let [square, _] = self.operator.apply_with(x, r, &|from, ax, r| {
            let mut sum = Lanes8::default();
            for ((r, ax), y) in r.iter_mut().zip(ax).zip(&self.y[from..]) {
                *r = ax - y;
            }
            sum.add(r);
            [sum.total(), 0.0]
        })?;
        *norm = square.sqrt();
        Ok(self.objective(square, x))
    }

    /// ∇ of the smooth part at (1 + β) now − β before.
    fn gradient(&self, beta: f32, now: &Point, before: &Point, g: &mut [f32]) -> Result<(), Error> {
        self.operator.adjoint_of(
            &|from, to| {
                let both = now.r[from..].iter().zip(&before.r[from..]);
                for (to, (now, before)) in to.iter_mut().zip(both) {
                    *to = now + beta * (now - before);
                }
            },
            now.norm + f64::from(beta) * (now.norm + before.norm),
            g,
        )
    }

    /// Computes the residual of the next point from its x, in place of that of the point before the last; returns the
    /// objective and |A (next − z)|² with z = (1 + β) last − β (the one before).
    fn residual(&self, beta: f32, last: &Point, next: &mut Point) -> Result<[f64; 2], Error> {
        let Point { x, r, norm } = next;
        let [square, moved] = self.operator.apply_with(x, r, &|from, ax, r| {
            let range = from..from + r.len();
            dispatch(Residual {
                ax,
                y: &self.y[range.clone()],
                last: &last.r[range],
                beta,
                r,
            })
        })?;
        *norm = square.sqrt();
        Ok([self.objective(square, x), moved])
    }

    /// |x − prox(x − ∇/h)| / |x| in the metric.
    fn kkt(&self, h: &[f32], x: &[f32], g: &[f32]) -> f64 {
        let mut next = vec![0.0; x.len()];
        self.penalty.step(&mut next, x, g, h, self.operator.shape());
        let [moved, size] = sums([h, &next, x], |[h, next, x]| {
            [h * (next - x).powi(2), h * x * x]
        });
        (moved / size.max(f64::MIN_POSITIVE)).sqrt()
    }
}

impl Engine for Cpu<'_> {
    fn begin(&mut self) -> Result<f64, Error> {
        let objective = self.problem.evaluate_point(&mut self.now)?;
        self.before.r.copy_from_slice(&self.now.r);
        self.before.norm = self.now.norm;
        Ok(objective)
    }

    fn step(&mut self, beta: f32) -> Result<StepMeasures, Error> {
        let problem = self.problem;
        problem.gradient(beta, &self.now, &self.before, &mut self.g)?;
        // The slot of the point before the last is free.
        std::mem::swap(&mut self.before, &mut self.now);
        let (h, z, now) = (&self.h, &self.z, &mut self.now);
        let shape = problem.operator.shape();
        problem.penalty.step(&mut now.x, z, &self.g, h, shape);
        let [objective, moved] = problem.residual(beta, &self.before, now)?;
        let all = [h.as_slice(), z, &now.x, &self.before.x];
        let [step, size, turned] = sums(all, |[h, z, x, before]| {
            let back = h * (z - x);
            [back * (z - x), h * x * x, back * (x - before)]
        });
        Ok(StepMeasures {
            objective,
            moved,
            step,
            size,
            turned,
        })
    }

    fn count_positive(&mut self) -> (u64, u64) {
        let (mut above, mut moved) = (0, 0);
        for (a, b) in self.before.x.iter().zip(&self.now.x) {
            above += u64::from(*b > 0.0);
            moved += u64::from((*a > 0.0) != (*b > 0.0));
        }
        (above, moved)
    }

    fn scale_metric(&mut self, factor: f32) -> Result<(), Error> {
        self.h.iter_mut().for_each(|h| *h *= factor);
        Ok(())
    }

    fn undo_step(&mut self) -> Result<(), Error> {
        std::mem::swap(&mut self.before, &mut self.now);
        self.before.x.copy_from_slice(&self.now.x);
        self.before.r.copy_from_slice(&self.now.r);
        self.before.norm = self.now.norm;
        self.extrapolate(0.0)
    }

    fn extrapolate(&mut self, beta: f32) -> Result<(), Error> {
        combine(&mut self.z, 1.0 + beta, &self.now.x, -beta, &self.before.x);
        Ok(())
    }

    fn begin_round(&mut self) -> Result<(), Error> {
        let (round, now) = (&mut self.round, &self.now);
        round.moved.x.clone_from(&now.x);
        round.moved.r.clone_from(&now.r);
        round.moved.norm = now.norm;
        round.direction.resize(now.x.len(), 0.0);
        round.a_direction.resize(now.r.len(), 0.0);
        Ok(())
    }

    fn scaled_gradient_square(&mut self) -> Result<f64, Error> {
        let (problem, moved) = (self.problem, &self.round.moved);
        problem.gradient(0.0, moved, moved, &mut self.g)?;
        let lasso = problem.penalty.lasso;
        let intra = problem.operator.shape().intra();
        let mut slope = 0.0;
        for (i, g) in self.g.iter_mut().enumerate() {
            *g += if i < intra { lasso } else { 0.0 };
            // Weights at 0 stay there.
            if self.now.x[i] <= 0.0 {
                *g = 0.0;
            }
            if self.h[i] > 0.0 {
                slope += f64::from(*g) * f64::from(*g / self.h[i]);
            }
        }
        Ok(slope)
    }

    fn update_direction(&mut self, keep: f32) -> Result<[f64; 2], Error> {
        let Round {
            direction,
            a_direction,
            norm,
            ..
        } = &mut self.round;
        for (d, (g, h)) in direction.iter_mut().zip(self.g.iter().zip(&self.h)) {
            let scaled = if *h > 0.0 { g / h } else { 0.0 };
            *d = keep * *d - scaled;
        }
        let operator = self.problem.operator;
        let [square, _] = operator.apply_with(direction, a_direction, &|_, ax, kept| {
            let mut sum = Lanes8::default();
            sum.add(ax);
            kept.copy_from_slice(ax);
            [sum.total(), 0.0]
        })?;
        *norm = square.sqrt();
        Ok([square, -product(&self.g, direction)])
    }

    fn move_along_direction(&mut self, step: f32) -> Result<(), Error> {
        let round = &mut self.round;
        add(&mut round.moved.x, step, &round.direction);
        add(&mut round.moved.r, step, &round.a_direction);
        round.moved.norm += f64::from(step).abs() * round.norm;
        Ok(())
    }

    fn begin_search(&mut self) -> Result<(), Error> {
        let Round {
            moved, direction, ..
        } = &mut self.round;
        combine(direction, 1.0, &moved.x, -1.0, &self.now.x);
        Ok(())
    }

    fn evaluate_at(&mut self, share: f32) -> Result<f64, Error> {
        let Round {
            moved, direction, ..
        } = &mut self.round;
        let along = self.now.x.iter().zip(direction.iter());
        for (to, (x, d)) in moved.x.iter_mut().zip(along) {
            *to = (x + share * d).max(0.0);
        }
        self.problem.evaluate_point(moved)
    }

    fn accept_trial_point(&mut self) {
        std::mem::swap(&mut self.now, &mut self.round.moved);
    }

    fn finish(mut self) -> Result<EndPoint, Error> {
        self.problem
            .gradient(0.0, &self.now, &self.now, &mut self.g)?;
        let kkt = self.problem.kkt(&self.h, &self.now.x, &self.g);
        let mut predicted = self.now.r;
        predicted
            .iter_mut()
            .zip(self.problem.y)
            .for_each(|(r, y)| *r += y);
        Ok(EndPoint {
            x: self.now.x,
            predicted,
            kkt,
        })
    }
}
