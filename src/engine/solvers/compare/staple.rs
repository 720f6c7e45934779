//! The consensus of several masks, and the sensitivity and specificity of each: STAPLE.

use super::Error;
use super::error::InputError;
use super::masks::{PIECE, Patterns, aligned, claim, patterns_of};
use crate::compute::{Backend, Cancelled, Control, memory, zeroed};
use crate::data::{Mask, Volume};
use rayon::prelude::*;
use std::sync::Arc;

/// Sensitivity and specificity at which the iteration starts.
const START: f64 = 0.999_99;
/// Largest change of a sensitivity or specificity at which the iteration ends.
const TOLERANCE: f64 = 1e-10;
/// Largest number of iterations; tens are usual.
const MAX_ITERATIONS: usize = 10_000;

/// The consensus of several masks.
#[derive(Clone, Debug)]
pub struct Consensus {
    /// Probability of each voxel to belong to the structure, 0..=1, on the grid of the first mask.
    pub probability: Volume,
    /// Probability of each mask to contain a voxel of the structure, p.
    pub sensitivity: Vec<f64>,
    /// Probability of each mask to leave out a voxel outside the structure, q.
    pub specificity: Vec<f64>,
    /// Prior probability γ of a voxel to belong to the structure: the mean of all decisions.
    pub prior: f64,
    /// Number of iterations.
    pub iterations: usize,
    /// Whether the iteration ended by itself, and not at its limit.
    pub converged: bool,
}

/// Estimates the consensus of 2 to [`MAX_MASKS`](super::MAX_MASKS) masks. Of a mask `within`, only decisions about its
/// voxels count, and the probability of all others is 0.
pub fn staple(
    masks: &[Mask],
    within: Option<&Mask>,
    backend: &Backend,
    control: &Control,
) -> Result<Consensus, Error> {
    let masks = aligned(masks)?;
    let within = within.map(|within| {
        let within = within.on_whole_grid().in_the_order_of(&masks[0].grid);
        within.ok_or(InputError::WithinGrid)
    });
    let within = within.transpose()?;
    if let Some(within) = &within {
        let decides = |mask: &Mask| {
            let both = mask.inside.iter().zip(within.inside.iter());
            both.into_iter().any(|(a, b)| *a != 0 && *b != 0)
        };
        if !masks.iter().any(decides) {
            return Err(InputError::NothingWithin.into());
        }
    }
    let voxels = masks[0].inside.len();
    memory::claim_for::<f32>("The consensus", voxels, 1)?;
    backend.install(|| {
        claim(&masks)?;
        let patterns = Patterns::new(&masks, within.as_ref(), control)?;
        let estimate = Estimate::new(&patterns, masks.len(), control)?;
        let mut table = vec![0f32; 1 << masks.len()];
        for ((pattern, _), weight) in patterns.counts.iter().zip(&estimate.weights) {
            table[*pattern as usize] = *weight as f32;
        }
        let mut values = zeroed::<f32>(voxels);
        let pieces = Arc::get_mut(&mut values).expect("made here and not shared yet");
        let pieces = pieces.par_chunks_mut(PIECE).enumerate();
        pieces.try_for_each(|(number, values)| {
            control.check()?;
            let mut patterns = vec![0; values.len()];
            let first = number * PIECE;
            patterns_of(&masks, first..first + values.len(), &mut patterns);
            for (number, (value, pattern)) in values.iter_mut().zip(patterns).enumerate() {
                let counts = within
                    .as_ref()
                    .is_none_or(|m| m.inside[first + number] != 0);
                *value = if counts { table[pattern as usize] } else { 0.0 };
            }
            Ok::<(), Cancelled>(())
        })?;
        Ok(Consensus {
            probability: Volume::scalar(masks[0].grid.clone(), values),
            sensitivity: estimate.sensitivity,
            specificity: estimate.specificity,
            prior: estimate.prior,
            iterations: estimate.iterations,
            converged: estimate.converged,
        })
    })
}

/// The state of the iteration.
struct Estimate {
    prior: f64,
    sensitivity: Vec<f64>,
    specificity: Vec<f64>,
    /// Probability of the voxels of each pattern to belong to the structure.
    weights: Vec<f64>,
    iterations: usize,
    converged: bool,
}

impl Estimate {
    fn new(patterns: &Patterns, masks: usize, control: &Control) -> Result<Self, Cancelled> {
        let voxels: u64 = patterns.counts.iter().map(|(_, count)| count).sum();
        let decisions = patterns.counts.iter();
        let decisions = decisions.map(|(p, count)| u64::from(p.count_ones()) * count);
        let mut estimate = Self {
            prior: decisions.sum::<u64>() as f64 / (voxels as f64 * masks as f64),
            sensitivity: vec![START; masks],
            specificity: vec![START; masks],
            weights: vec![0.0; patterns.counts.len()],
            iterations: 0,
            converged: false,
        };
        while !estimate.converged && estimate.iterations < MAX_ITERATIONS {
            control.check()?;
            estimate.expect(patterns);
            estimate.converged = estimate.maximise(patterns) <= TOLERANCE;
            estimate.iterations += 1;
        }
        // The probabilities of the final estimate.
        estimate.expect(patterns);
        Ok(estimate)
    }

    fn expect(&mut self, patterns: &Patterns) {
        for ((pattern, _), weight) in patterns.counts.iter().zip(&mut self.weights) {
            let (mut inside, mut outside) = (self.prior, 1.0 - self.prior);
            let rates = self.sensitivity.iter().zip(&self.specificity);
            for (mask, (p, q)) in rates.enumerate() {
                let decides = pattern >> mask & 1 == 1;
                inside *= if decides { *p } else { 1.0 - p };
                outside *= if decides { 1.0 - q } else { *q };
            }
            // Neither is possible if both products underflow: nothing is known beyond the prior.
            *weight = match inside + outside > 0.0 {
                true => inside / (inside + outside),
                false => self.prior,
            };
        }
    }

    /// Returns the largest change.
    fn maximise(&mut self, patterns: &Patterns) -> f64 {
        let sum = |counts: &dyn Fn(u32) -> bool, weight: &dyn Fn(f64) -> f64| -> f64 {
            let weighted = patterns.counts.iter().zip(&self.weights);
            let chosen = weighted.filter(|((pattern, _), _)| counts(*pattern));
            chosen.map(|((_, n), w)| *n as f64 * weight(*w)).sum()
        };
        let (is_structure, is_other) = (|w: f64| w, |w: f64| 1.0 - w);
        let totals = [sum(&|_| true, &is_structure), sum(&|_| true, &is_other)];
        // Without a voxel of a kind, no decision about that kind was wrong.
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        let rates = |mask: usize| {
            let within = sum(&|pattern| pattern >> mask & 1 == 1, &is_structure);
            let without = sum(&|pattern| pattern >> mask & 1 == 0, &is_other);
            (share(within, totals[0]), share(without, totals[1]))
        };
        let (sensitivity, specificity): (Vec<f64>, Vec<f64>) =
            (0..self.sensitivity.len()).map(rates).unzip();
        let before = self.sensitivity.iter().chain(&self.specificity);
        let after = sensitivity.iter().chain(&specificity);
        let change = before
            .zip(after)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        (self.sensitivity, self.specificity) = (sensitivity, specificity);
        change
    }
}
