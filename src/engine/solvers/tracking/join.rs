//! Joins the halves of each seed and determines its outcome.

use super::follow::StreamlineHalves;
use super::job::StartableSeeds;
use crate::data::tractogram::length_of;
use crate::solvers::curves::collect::{JoinedCurves, MISSED_EVERY};
use crate::solvers::curves::half_queue::{halves_per_start, split_total};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::{SeedOutcome, StopReason};
use std::ops::Range;

/// Parameters used by joining.
#[derive(Clone, Copy)]
pub struct Limits {
    pub both_ways: bool,
    pub min_length_mm: f32,
    /// Largest number of steps of both halves together.
    pub max_steps: u32,
    pub step_mm: f32,
}

/// A half after the length limit is applied.
pub struct End<'a> {
    /// Index of the half; `None` for the seed, at which a streamline that is followed one way begins.
    half: Option<usize>,
    /// Index of its first point, and number of remaining points.
    first: usize,
    pub steps: u32,
    reason: StopReason,
    target: Option<u32>,
    met: &'a [u32],
}

impl<'a> End<'a> {
    /// Keeps at most `steps`; later events are discarded.
    fn new(halves: &'a StreamlineHalves, index: usize, steps: u32) -> Self {
        let half = halves.halves[index];
        let kept = half.steps.min(steps);
        Self {
            half: Some(index),
            first: half.first,
            steps: kept,
            reason: if kept < half.steps {
                StopReason::MaxLength
            } else {
                half.reason
            },
            target: half.target.filter(|_| kept == half.steps),
            met: halves.regions_met(index),
        }
    }

    /// The target in which it ended; with no target, a number larger than any.
    fn last_target(&self) -> u32 {
        self.target.unwrap_or(u32::MAX)
    }

    fn has_met(&self, gate: usize) -> bool {
        self.met[gate] <= self.steps
    }

    /// Index of the half; 0 for an end without points that is none.
    pub fn index(&self) -> usize {
        self.half.unwrap_or_default()
    }

    fn points<'b>(&self, halves: &'b StreamlineHalves) -> &'b [[f32; 3]] {
        &halves.points[self.first..self.first + self.steps as usize]
    }
}

/// A streamline before its points are examined: it runs from the end of the head to its seed to the end of the tail.
pub struct Plan<'a> {
    pub head: End<'a>,
    pub tail: End<'a>,
    /// A streamline with outcome kept may still turn out too short.
    outcome: SeedOutcome,
}

impl Plan<'_> {
    fn count(&self) -> u32 {
        self.head.steps + 1 + self.tail.steps
    }

    /// Whether the streamline is kept if it is long enough.
    pub fn may_be_kept(&self) -> bool {
        self.outcome == SeedOutcome::Kept && self.count() > 1
    }
}

impl Limits {
    /// `first` is the index of the forward half.
    pub fn plan<'a>(
        &self,
        halves: &'a StreamlineHalves,
        first: usize,
        gates: &RegionTests,
    ) -> Plan<'a> {
        let steps = |i: usize| halves.halves[i].steps;
        let (forward, backward) = if self.both_ways {
            let [forward, backward] = split_total(steps(first), steps(first + 1), self.max_steps);
            (
                End::new(halves, first, forward),
                End::new(halves, first + 1, backward),
            )
        } else {
            let forward = End::new(halves, first, self.max_steps);
            // Without a backward half the streamline starts at the seed.
            let seed = End {
                half: None,
                first: 0,
                steps: 0,
                reason: StopReason::Seed,
                target: None,
                met: forward.met,
            };
            (forward, seed)
        };
        let reached = backward.target.or(forward.target).is_some();
        let outcome = gates.outcome(reached, |gate| {
            backward.has_met(gate) || forward.has_met(gate)
        });
        let steps = forward.steps as f32 + backward.steps as f32;
        let outcome = if outcome == SeedOutcome::Kept && self.longest_mm(steps) < self.min_length_mm
        {
            SeedOutcome::TooShort
        } else {
            outcome
        };
        // The backward half comes first and is followed from its end to the seed.
        let (mut head, mut tail) = (backward, forward);
        // A streamline that reached a target ends in it; with targets at both ends, in the first named one.
        if head.last_target() < tail.last_target() {
            std::mem::swap(&mut head, &mut tail);
        }
        Plan {
            head,
            tail,
            outcome,
        }
    }

    /// An upper bound on the length of this many steps, however coordinates and sums are rounded.
    fn longest_mm(&self, steps: f32) -> f32 {
        steps * (1.01 * self.step_mm + 1e-4)
    }
}

/// Whether a streamline that missed the targets is kept for display: determined by the seed's index, so that the
/// choice does not depend on the others.
fn is_shown(seed: u32) -> bool {
    (seed as usize).is_multiple_of(MISSED_EVERY)
}

impl JoinedCurves {
    /// Adds the streamlines of some of the started seeds with their points; `halves` are those of all of them.
    pub fn add_streamlines(
        &mut self,
        started: &StartableSeeds,
        range: Range<usize>,
        halves: &StreamlineHalves,
        gates: &RegionTests,
        limits: &Limits,
    ) {
        let per_start = halves_per_start(limits.both_ways);
        for i in range {
            let followed = &halves.halves[i * per_start..(i + 1) * per_start];
            self.steps += followed.iter().map(|h| u64::from(h.steps)).sum::<u64>();
            let plan = limits.plan(halves, i * per_start, gates);
            let (head, tail) = (plan.head.points(halves), plan.tail.points(halves));
            let points = head.iter().rev();
            let points = points.chain([&started.starts[i].at]).chain(tail);
            let is_short = || (length_of(points.clone().copied()) as f32) < limits.min_length_mm;
            let is_short = plan.may_be_kept() && is_short();
            let Some(missed) = self.count_streamline(started.seeds[i], &plan, is_short) else {
                continue;
            };
            let lines = match missed {
                true => &mut self.missed,
                false => &mut self.kept,
            };
            lines.points.extend(points);
        }
        // Vectors grow by doubling; thousands of parts would otherwise waste as much memory again.
        self.kept.points.shrink_to_fit();
        self.missed.points.shrink_to_fit();
    }

    /// Counts a streamline and adds everything except its points to the lines. Returns whether it missed the targets;
    /// `None` unless it is kept, or shown among those that missed them. `is_short`: whether its length lies below the
    /// smallest one.
    pub fn count_streamline(&mut self, seed: u32, plan: &Plan, is_short: bool) -> Option<bool> {
        let Plan { head, tail, .. } = plan;
        self.stops[tail.reason as usize] += 1;
        self.stops[head.reason as usize] += 1;
        let is_point = plan.count() < 2;
        let outcome = match plan.outcome {
            SeedOutcome::Kept if is_point || is_short => SeedOutcome::TooShort,
            other => other,
        };
        self.seed_outcomes[outcome as usize] += 1;
        let missed = outcome == SeedOutcome::MissedTargets;
        let lines = match outcome {
            SeedOutcome::Kept => &mut self.kept,
            SeedOutcome::MissedTargets if is_shown(seed) && !is_point => &mut self.missed,
            _ => return None,
        };
        lines.lengths.push(plan.count());
        lines.stops.push([head.reason, tail.reason]);
        lines.seeds.push(seed);
        lines.targets.push(tail.last_target());
        if !missed {
            self.reached([head.target, tail.target]);
        }
        Some(missed)
    }
}
