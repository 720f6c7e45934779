//! The second phase: conjugate gradients on the weights above 0.

use super::vectors::{add, combine, product};
use super::{Curve, Point, Problem};
use crate::compute::Control;

/// Conjugate steps of a round.
const STEPS: u32 = 20;
/// Points of a round's search at most.
const SEARCH: u32 = 4;
/// Iterations of the first phase between two rounds.
const BETWEEN: u32 = 10;
/// Share of the weights above 0 that may have changed sides in an iteration.
const STEADY: f64 = 0.05;

pub struct Free {
    since: u32,
    /// Grows when rounds do not pay.
    wait: u32,
    direction: Vec<f32>,
    gradient: Vec<f32>,
    scaled: Vec<f32>,
    a_direction: Vec<f32>,
}

impl Free {
    pub fn new(columns: usize, rows: usize) -> Self {
        Self {
            since: 0,
            wait: BETWEEN,
            direction: vec![0.0; columns],
            gradient: vec![0.0; columns],
            scaled: vec![0.0; columns],
            a_direction: vec![0.0; rows],
        }
    }

    /// Whether few weights have come to 0 or left it.
    pub fn is_time(&mut self, before: &[f32], now: &[f32]) -> bool {
        self.since += 1;
        if self.since < self.wait {
            return false;
        }
        let (mut above, mut moved) = (0u64, 0u64);
        for (a, b) in before.iter().zip(now) {
            above += u64::from(*b > 0.0);
            moved += u64::from((*a > 0.0) != (*b > 0.0));
        }
        (moved as f64) < STEADY * above as f64
    }

    /// Returns the iterations that it took, each one A x and one Aᵀ y; the point is never worse after it.
    pub fn round(
        &mut self,
        problem: &Problem,
        h: &[f32],
        now: &mut Point,
        most: u32,
        curve: &Curve,
        control: &Control,
    ) -> u32 {
        self.since = 0;
        let begun = now.objective;
        let lasso = problem.penalty.lasso;
        let intra = problem.operator.shape().intra();
        let mut moved = now.clone();
        let (mut before, mut used) = (0.0, 0);
        while used < STEPS.min(most.saturating_sub(SEARCH)) && !control.is_cancelled() {
            problem.gradient(0.0, &moved, &moved, &mut self.gradient);
            for (i, g) in self.gradient.iter_mut().enumerate() {
                *g += if i < intra { lasso } else { 0.0 };
                // Those at 0 stay there.
                if now.x[i] <= 0.0 {
                    *g = 0.0;
                }
                self.scaled[i] = if h[i] > 0.0 { *g / h[i] } else { 0.0 };
            }
            let slope = product(&self.gradient, &self.scaled);
            if slope <= 0.0 {
                break;
            }
            let keep = if used == 0 {
                0.0
            } else {
                (slope / before) as f32
            };
            before = slope;
            for (d, s) in self.direction.iter_mut().zip(&self.scaled) {
                *d = if used == 0 { -s } else { keep * *d - s };
            }
            problem
                .operator
                .apply(&self.direction, &mut self.a_direction);
            let curvature = product(&self.a_direction, &self.a_direction);
            let fall = -product(&self.gradient, &self.direction);
            if !(curvature > 0.0 && fall > 0.0) {
                break;
            }
            let step = (fall / curvature) as f32;
            add(&mut moved.x, step, &self.direction);
            add(&mut moved.r, step, &self.a_direction);
            used += 1;
            control.advance(1);
        }
        if used == 0 {
            return 0;
        }
        // Along the path to there that is bent at 0.
        let way: &mut Vec<f32> = &mut self.direction;
        combine(way, 1.0, &moved.x, -1.0, &now.x);
        let mut share = 1.0;
        for _ in 0..SEARCH {
            let x = now
                .x
                .iter()
                .zip(way.iter())
                .map(|(x, d)| (x + share * d).max(0.0))
                .collect();
            let found = problem.point(x);
            used += 1;
            if found.objective < now.objective {
                *now = found;
                break;
            }
            share *= 0.4;
        }
        (0..used).for_each(|_| curve.push(now.objective));
        let gain = (begun - now.objective) / begun.max(f64::MIN_POSITIVE);
        self.wait = if gain > 1e-4 {
            BETWEEN
        } else {
            (self.wait * 2).min(1000)
        };
        used
    }
}
