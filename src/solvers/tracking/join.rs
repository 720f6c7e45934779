//! Joins the halves of each seed and decides its fate.

use super::follow::{Half, Halves};
use super::gather::Joined;
use super::regions::Gates;
use super::{Fate, StopReason};
use glam::Vec3;

/// One in so many of the streamlines that missed the targets is kept to be shown: by the seed's
/// index, so that the choice does not depend on the others.
pub const MISSED_EVERY: usize = 7;

/// What joining needs to know of the parameters.
#[derive(Clone, Copy)]
pub struct Limits {
    pub both_ways: bool,
    pub min_length_mm: f32,
    /// Steps of both halves together.
    pub max_steps: u32,
}

/// A half after the length limit.
struct End<'a> {
    points: &'a [[f32; 3]],
    reason: StopReason,
    target: Option<u32>,
    met: &'a [u32],
}

impl<'a> End<'a> {
    /// Keeps at most `steps`; what came later did not happen.
    fn new(halves: &'a Halves, index: usize, steps: u32) -> Self {
        let Half {
            first,
            steps: all,
            reason,
            target,
        } = halves.halves[index];
        let kept = all.min(steps);
        Self {
            points: &halves.points[first..first + kept as usize],
            reason: if kept < all {
                StopReason::MaxLength
            } else {
                reason
            },
            target: target.filter(|_| kept == all),
            met: halves.met(index),
        }
    }

    fn meets(&self, gate: usize) -> bool {
        self.met[gate] as usize <= self.points.len()
    }
}

/// Steps each of two halves may keep of a total: the longer gives way first, so that neither sense
/// is favoured.
fn share(forward: u32, backward: u32, total: u32) -> [u32; 2] {
    if forward.saturating_add(backward) <= total {
        return [forward, backward];
    }
    let half = total / 2;
    if forward <= half {
        [forward, total - forward]
    } else if backward <= half {
        [total - backward, backward]
    } else {
        [half, half]
    }
}

impl Joined {
    /// Adds the streamline of one seed; `first` is the index of its forward half.
    pub fn add_streamline(
        &mut self,
        seed: u32,
        at: [f32; 3],
        halves: &Halves,
        first: usize,
        gates: &Gates,
        limits: &Limits,
    ) {
        let steps = |i: usize| halves.halves[i].steps;
        let (mut tail, head) = if limits.both_ways {
            let [forward, backward] = share(steps(first), steps(first + 1), limits.max_steps);
            self.steps += u64::from(steps(first)) + u64::from(steps(first + 1));
            (
                End::new(halves, first, forward),
                Some(End::new(halves, first + 1, backward)),
            )
        } else {
            self.steps += u64::from(steps(first));
            (End::new(halves, first, limits.max_steps), None)
        };
        // The backward half comes first and is walked from its end to the seed; without one the
        // streamline starts at the seed.
        let seed_end = End {
            points: &[],
            reason: StopReason::Seed,
            target: None,
            met: tail.met,
        };
        let mut head = head.unwrap_or(seed_end);
        self.stops[tail.reason as usize] += 1;
        self.stops[head.reason as usize] += 1;

        let reached = head.target.or(tail.target).is_some();
        let fate = gates.fate(reached, |gate| head.meets(gate) || tail.meets(gate));
        // A streamline that reached a target ends in it; with one at both ends, in the first named.
        let last = |end: &End| end.target.unwrap_or(u32::MAX);
        if last(&head) < last(&tail) {
            std::mem::swap(&mut head, &mut tail);
        }
        let lines = match fate {
            Fate::Kept => &mut self.kept,
            Fate::MissedTargets if (seed as usize).is_multiple_of(MISSED_EVERY) => &mut self.missed,
            other => {
                self.fates[other as usize] += 1;
                return;
            }
        };
        let begin = lines.points.len();
        lines.points.extend(head.points.iter().rev());
        lines.points.push(at);
        lines.points.extend(tail.points);
        let points = &lines.points[begin..];
        let short = points.len() < 2 || length_mm(points) < limits.min_length_mm;
        let fate = if fate == Fate::Kept && short {
            Fate::TooShort
        } else {
            fate
        };
        self.fates[fate as usize] += 1;
        if points.len() < 2 || fate == Fate::TooShort {
            lines.points.truncate(begin);
            return;
        }
        lines.lengths.push(points.len() as u32);
        lines.stops.push([head.reason, tail.reason]);
        lines.seeds.push(seed);
        lines.targets.push(last(&tail));
        if fate == Fate::Kept {
            self.reached([head.target, tail.target]);
        }
    }
}

/// As [`crate::data::Tractogram::length_mm`].
fn length_mm(points: &[[f32; 3]]) -> f32 {
    let length = |w: &[[f32; 3]]| Vec3::from(w[0]).distance(Vec3::from(w[1]));
    points.windows(2).map(length).sum()
}
