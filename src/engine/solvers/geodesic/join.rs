//! Joins the halves of each ray, determines its outcome, and collects tractograms.

use super::half_ray::{RayHalf, RayHalves, connectivity_measure};
use crate::solvers::curves::collect::{JoinedCurves, MISSED_EVERY};
use crate::solvers::curves::half_queue::halves_per_start;
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::{Params, SeedOutcome, StopReason};

/// Whether to show a ray that missed the targets: determined by its number, so that the choice does not depend on the
/// others, and scattered, so that no direction of the fan is preferred.
fn is_shown(ray: usize) -> bool {
    let scattered = (ray as u64).wrapping_mul(crate::data::random::GOLDEN) >> 32;
    scattered.is_multiple_of(MISSED_EVERY as u64)
}

/// A ray by its numbers.
#[derive(Clone, Copy)]
pub struct Ray {
    /// Number among all rays, and number of its seed.
    pub number: usize,
    pub seed: u32,
    /// The seed point, world mm.
    pub at: [f32; 3],
}

/// Input of joining besides the halves.
pub struct JoinRules<'a> {
    pub region_tests: &'a RegionTests<'a>,
    pub both_ways: bool,
    pub min_length_mm: f32,
}

impl<'a> JoinRules<'a> {
    pub fn new(region_tests: &'a RegionTests<'a>, walk: &Params) -> Self {
        Self {
            region_tests,
            both_ways: walk.both_ways,
            min_length_mm: walk.min_length_mm as f32,
        }
    }
}

impl JoinRules<'_> {
    fn outcome(&self, head: &RayHalf, tail: &RayHalf) -> SeedOutcome {
        let reached = head.target.or(tail.target).is_some();
        let met = head.met | tail.met;
        let outcome = self
            .region_tests
            .outcome(reached, |gate| met >> gate & 1 == 1);
        let length_mm = head.length_mm + tail.length_mm;
        let is_short = head.count + tail.count == 0 || length_mm < self.min_length_mm;
        if outcome == SeedOutcome::Kept && is_short {
            SeedOutcome::TooShort
        } else {
            outcome
        }
    }
}

/// The end at the seed of a ray followed one way.
fn seed_end(tail: &RayHalf) -> RayHalf {
    RayHalf {
        count: 0,
        steps: 0,
        length_mm: 0.0,
        riemann: 0.0,
        reason: StopReason::Seed,
        target: None,
        ..*tail
    }
}

/// The halves of a ray that is kept, or shown among those that missed: it runs from the end of the head to its seed
/// to the end of the tail.
pub struct Ends {
    pub missed: bool,
    pub head: RayHalf,
    pub tail: RayHalf,
}

impl JoinedCurves {
    /// Counts ray number `ray` of seed point `seed`, the forward half first; also adds everything except its points
    /// to the lines, unless these are not requested.
    pub fn count_ray(
        &mut self,
        (ray, seed): (usize, u32),
        halves: &[RayHalf],
        rules: &JoinRules,
    ) -> Option<Ends> {
        let mut tail = *halves.first()?;
        let mut head = halves.get(1).copied().unwrap_or(seed_end(&tail));
        self.steps += u64::from(tail.steps) + u64::from(head.steps);
        self.stops[tail.reason as usize] += 1;
        self.stops[head.reason as usize] += 1;
        let outcome = rules.outcome(&head, &tail);
        // A ray that reached a target ends in it; with targets at both ends, in the first named one.
        let last = |half: &RayHalf| half.target.unwrap_or(u32::MAX);
        if last(&head) < last(&tail) {
            std::mem::swap(&mut head, &mut tail);
        }
        let length_mm = head.length_mm + tail.length_mm;
        self.seed_outcomes[outcome as usize] += 1;
        let shown = is_shown(ray) && head.count + tail.count > 0;
        let missed = outcome == SeedOutcome::MissedTargets;
        let lines = match outcome {
            SeedOutcome::Kept => &mut self.kept,
            SeedOutcome::MissedTargets if shown => &mut self.missed,
            _ => return None,
        };
        lines.lengths.push(head.count + 1 + tail.count);
        lines.stops.push([head.reason, tail.reason]);
        lines.seeds.push(seed);
        lines.targets.push(last(&tail));
        lines.measures.push(connectivity_measure([
            length_mm,
            head.riemann + tail.riemann,
        ]));
        if !missed {
            self.reached([head.target, tail.target]);
        }
        Some(Ends { missed, head, tail })
    }

    /// Adds ray number `ray` of seed point `seed` at `at`; `first` is the index of its forward half.
    pub fn add_ray(
        &mut self,
        ray: (usize, u32),
        at: [f32; 3],
        halves: &RayHalves,
        first: usize,
        rules: &JoinRules,
    ) {
        let per_start = halves_per_start(rules.both_ways);
        let pair = &halves.halves[first..first + per_start];
        let Some(Ends { missed, head, tail }) = self.count_ray(ray, pair, rules) else {
            return;
        };
        let lines = if missed {
            &mut self.missed
        } else {
            &mut self.kept
        };
        let points = |half: &RayHalf| half.first..half.first + half.count as usize;
        // At the seed point the measure is that of its neighbour.
        let near_seed = if tail.count > 0 { &tail } else { &head };
        lines
            .points
            .extend(halves.points[points(&head)].iter().rev());
        lines.points.push(at);
        lines.points.extend(&halves.points[points(&tail)]);
        lines.along.extend(halves.along[points(&head)].iter().rev());
        lines.along.push(halves.along[near_seed.first]);
        lines.along.extend(&halves.along[points(&tail)]);
    }
}
