//! Joins the halves of each seed and determines its outcome.

use super::follow::StreamlineHalves;
use super::job::StartableSeeds;
use crate::data::tractogram::length_mm;
use crate::solvers::curves::collect::{JoinedCurves, MISSED_EVERY};
use crate::solvers::curves::half_queue::{halves_per_start, split_total};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::{SeedOutcome, StopReason};
use rayon::prelude::*;
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
struct End<'a> {
    /// Index of its first point, and number of remaining points.
    first: usize,
    steps: u32,
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

    fn has_met(&self, gate: usize) -> bool {
        self.met[gate] <= self.steps
    }

    fn points<'b>(&self, halves: &'b StreamlineHalves) -> &'b [[f32; 3]] {
        &halves.points[self.first..self.first + self.steps as usize]
    }
}

/// A streamline before its points are examined.
struct Plan<'a> {
    forward: End<'a>,
    backward: End<'a>,
    /// A streamline with outcome kept may still turn out too short.
    outcome: SeedOutcome,
}

impl Limits {
    /// `first` is the index of the forward half.
    fn plan<'a>(
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
        Plan {
            forward,
            backward,
            outcome,
        }
    }

    /// An upper bound on the length of this many steps, however coordinates and sums are rounded.
    fn longest_mm(&self, steps: f32) -> f32 {
        steps * (1.01 * self.step_mm + 1e-4)
    }

    /// Number of points, forward and backward, that [`JoinedCurves::add_streamlines`] will request for one
    /// streamline.
    pub fn requested_points(
        &self,
        seed: u32,
        halves: &StreamlineHalves,
        first: usize,
        gates: &RegionTests,
    ) -> [u32; 2] {
        let plan = self.plan(halves, first, gates);
        match plan.outcome {
            SeedOutcome::Kept => {}
            SeedOutcome::MissedTargets if is_shown(seed) => {}
            _ => return [0, 0],
        }
        [plan.forward.steps, plan.backward.steps]
    }
}

/// Whether a streamline that missed the targets is kept for display: determined by the seed's index, so that the
/// choice does not depend on the others.
fn is_shown(seed: u32) -> bool {
    (seed as usize).is_multiple_of(MISSED_EVERY)
}

/// All streamlines of these starts, in parts that threads share. Needs the backend's threads installed.
pub fn all(
    started: &StartableSeeds,
    halves: &StreamlineHalves,
    gates: &RegionTests,
    limits: &Limits,
) -> Vec<JoinedCurves> {
    const PART: usize = 1024;
    let parts = started.seeds.len().div_ceil(PART).max(1);
    let part = |i: usize| {
        let mut joined = JoinedCurves::new(gates);
        if i == 0 {
            joined.no_start(started.no_start);
        }
        let range = i * PART..started.seeds.len().min((i + 1) * PART);
        joined.add_streamlines(started, range, halves, gates, limits);
        joined
    };
    (0..parts).into_par_iter().map(part).collect()
}

impl JoinedCurves {
    /// Adds the streamlines of some of the started seeds; `halves` are those of all of them.
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
            self.add_streamline(started.seeds[i], started.starts[i].at, halves, plan, limits);
        }
        // Vectors grow by doubling; thousands of parts would otherwise waste as much memory again.
        self.kept.points.shrink_to_fit();
        self.missed.points.shrink_to_fit();
    }

    fn add_streamline(
        &mut self,
        seed: u32,
        at: [f32; 3],
        halves: &StreamlineHalves,
        plan: Plan,
        limits: &Limits,
    ) {
        // The backward half comes first and is followed from its end to the seed.
        let (mut head, mut tail) = (plan.backward, plan.forward);
        self.stops[tail.reason as usize] += 1;
        self.stops[head.reason as usize] += 1;
        // A streamline that reached a target ends in it; with targets at both ends, in the first named one.
        let last = |end: &End| end.target.unwrap_or(u32::MAX);
        if last(&head) < last(&tail) {
            std::mem::swap(&mut head, &mut tail);
        }
        let lines = match plan.outcome {
            SeedOutcome::Kept => &mut self.kept,
            SeedOutcome::MissedTargets if is_shown(seed) => &mut self.missed,
            other => {
                self.seed_outcomes[other as usize] += 1;
                return;
            }
        };
        let begin = lines.points.len();
        lines.points.extend(head.points(halves).iter().rev());
        lines.points.push(at);
        lines.points.extend(tail.points(halves));
        let points = &lines.points[begin..];
        let is_short = points.len() < 2 || (length_mm(points) as f32) < limits.min_length_mm;
        let outcome = if plan.outcome == SeedOutcome::Kept && is_short {
            SeedOutcome::TooShort
        } else {
            plan.outcome
        };
        self.seed_outcomes[outcome as usize] += 1;
        if points.len() < 2 || outcome == SeedOutcome::TooShort {
            lines.points.truncate(begin);
            return;
        }
        lines.lengths.push(points.len() as u32);
        lines.stops.push([head.reason, tail.reason]);
        lines.seeds.push(seed);
        lines.targets.push(last(&tail));
        if outcome == SeedOutcome::Kept {
            self.reached([head.target, tail.target]);
        }
    }
}
