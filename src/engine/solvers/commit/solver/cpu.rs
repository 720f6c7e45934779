//! The vectors of a fit in memory, on all threads.

use super::Problem;
use super::engine::{EndPoint, Engine, StepMeasures};
use super::vectors::{Lanes8, Residual, combine, sums};
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
