//! The second phase: conjugate gradients on the positive weights.

use super::Curve;
use super::engine::Engine;
use crate::compute::Control;
use crate::solvers::Error;

/// Conjugate-gradient steps per round.
const STEPS: u32 = 20;
/// Largest number of trial points in a round's search.
const SEARCH: u32 = 4;
/// Iterations of the first phase between two rounds.
const BETWEEN: u32 = 10;
/// Largest share of the positive weights that may reach or leave 0 in an iteration.
const MAX_CHANGING_SHARE: f64 = 0.05;

pub struct SecondPhase {
    since: u32,
    /// Grows when rounds do not pay off.
    wait: u32,
}

impl SecondPhase {
    pub fn new() -> Self {
        Self {
            since: 0,
            wait: BETWEEN,
        }
    }

    /// Whether few weights have reached or left 0.
    pub fn should_begin(&mut self, engine: &mut impl Engine) -> bool {
        self.since += 1;
        if self.since < self.wait {
            return false;
        }
        let (above, moved) = engine.count_positive();
        (moved as f64) < MAX_CHANGING_SHARE * above as f64
    }

    /// Returns the number of iterations, each one A x and one Aᵀ y; the point is never worse afterwards. Ends where
    /// the objective would fall below the stop's target if no weight had become negative.
    pub fn run_round(
        &mut self,
        engine: &mut impl Engine,
        objective: &mut f64,
        target: f64,
        max_iterations: u32,
        curve: &Curve,
        control: &Control,
    ) -> Result<u32, Error> {
        self.since = 0;
        let start_objective = *objective;
        engine.begin_round()?;
        let (mut before, mut used) = (0.0, 0);
        let mut unbent = start_objective;
        let steps = STEPS.min(max_iterations.saturating_sub(SEARCH));
        while used < steps && unbent > target && !control.is_cancelled() {
            let slope = engine.scaled_gradient_square()?;
            if slope <= 0.0 {
                break;
            }
            let keep = if used == 0 { 0.0 } else { slope / before };
            before = slope;
            let [curvature, fall] = engine.update_direction(keep as f32)?;
            if !(curvature > 0.0 && fall > 0.0) {
                break;
            }
            engine.move_along_direction((fall / curvature) as f32)?;
            unbent -= 0.5 * fall * fall / curvature;
            used += 1;
            control.advance(1);
        }
        if used == 0 {
            return Ok(0);
        }
        // Along the path to that point, projected at 0.
        engine.begin_search()?;
        let mut share = 1.0;
        for _ in 0..SEARCH {
            let trial_objective = engine.evaluate_at(share)?;
            used += 1;
            if trial_objective < *objective {
                *objective = trial_objective;
                engine.accept_trial_point();
                break;
            }
            share *= 0.4;
        }
        (0..used).for_each(|_| curve.push(*objective));
        let gain = (start_objective - *objective) / start_objective.max(f64::MIN_POSITIVE);
        self.wait = if gain > 1e-4 {
            BETWEEN
        } else {
            (self.wait * 2).min(1000)
        };
        Ok(used)
    }
}
