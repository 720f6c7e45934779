//! One streamline: its start, its halves with back-tracking, and its outcome.

use super::interface::InterfaceSeeds;
use super::lattice::Lattice;
use super::model::{Model, Position, moved};
use super::tissue_rules::{Passed, TissueEffect, TissueRules};
use crate::data::random::Random;
use crate::data::tractogram::length_mm;
use crate::solvers::curves::collect::{CurvePart, JoinedCurves, MISSED_EVERY};
use crate::solvers::curves::half_queue::split_total;
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::seeding::Seeds;
use crate::solvers::curves::{NoStart, SeedOutcome, StopReason};

/// Attempts from one point before a streamline goes back by one step more.
const TRIES_PER_LENGTH: usize = 3;
/// Attempts of a half in all: a guard, since each of them may get farther than the one before.
const MAX_ATTEMPTS: u64 = 300;

/// Numbers of random streams of a streamline, apart from those of its halves.
const START_STREAM: u64 = 0;

/// Where streamlines start.
pub enum SeedPoints<'a> {
    Anywhere(Seeds<'a>),
    Interface(InterfaceSeeds<'a>),
}

/// Shared by all streamlines of a run, whatever follows them.
pub struct Conditions<'a> {
    pub tissues: Option<&'a TissueRules>,
    pub gates: &'a RegionTests<'a>,
    pub seeds: &'a SeedPoints<'a>,
    pub random: Random,
    pub both_ways: bool,
    pub goes_back: bool,
    /// Largest number of steps of both halves.
    pub max_steps: u32,
    pub step_mm: f32,
    pub min_length_mm: f32,
}

/// Follows streamlines on the CPU.
pub struct Tracker<'a> {
    pub model: &'a dyn Model,
    pub conditions: &'a Conditions<'a>,
}

/// A seed at which a streamline may start if there is a direction.
pub struct SeedPoint {
    pub at: [f32; 3],
    pub inwards: Option<[f32; 3]>,
    pub passed: Passed,
    /// The end at the seed itself, if a streamline leaves in one sense only.
    pub end: Option<StopReason>,
}

/// A seed that starts.
struct Start {
    position: Position,
    passed: Passed,
    /// The end at the seed itself, if a streamline leaves in one sense only.
    end: Option<StopReason>,
}

/// One half, from the seed outwards.
#[derive(Default)]
struct Half {
    /// Points after the seed, with the direction and the tissues passed at each.
    points: Vec<Position>,
    passed: Vec<Passed>,
    /// For each gate the number of points at which it was first met; `u32::MAX` if never.
    met: Vec<u32>,
}

/// How a half ended.
#[derive(Clone, Copy)]
pub struct HalfEnd {
    pub reason: StopReason,
    pub target: Option<u32>,
    pub is_kept: bool,
}

impl HalfEnd {
    pub fn at_seed(reason: StopReason) -> Self {
        Self {
            reason,
            target: None,
            is_kept: true,
        }
    }

    /// Targets precede other ends, and the first named one the others.
    pub fn order(&self) -> u32 {
        self.target.unwrap_or(u32::MAX)
    }
}

impl Conditions<'_> {
    /// The seed of the streamline with this number, or why none starts there.
    pub fn seed(&self, id: u64, lattice: &Lattice) -> Result<SeedPoint, NoStart> {
        let (at, inwards) = match self.seeds {
            SeedPoints::Anywhere(seeds) => (seeds.point(id as usize), None),
            SeedPoints::Interface(seeds) => {
                let seed = seeds.seed(id).ok_or(NoStart::OffInterface)?;
                (seed.at, Some(seed.inwards))
            }
        };
        if !lattice.contains(lattice.voxel(at)) {
            return Err(NoStart::OutsideVolume);
        }
        if !self.gates.allows(at) {
            return Err(NoStart::OutsideRegions);
        }
        let passed = match self.tissues {
            Some(rules) => rules.at_seed(at, inwards.is_some())?,
            None => Passed::default(),
        };
        let end = self
            .tissues
            .and_then(|_| TissueRules::ends_at_seed(&passed));
        Ok(SeedPoint {
            at,
            inwards,
            passed,
            end,
        })
    }

    /// The outcome of a streamline whose halves ended like this, regardless of its length.
    pub fn outcome(&self, ends: &[HalfEnd; 2], meets: impl Fn(usize) -> bool) -> SeedOutcome {
        match ends.iter().find(|end| !end.is_kept) {
            Some(end) if end.reason == StopReason::EnteredCsf => SeedOutcome::EndsInCsf,
            Some(_) => SeedOutcome::EndsInWhite,
            None => {
                let reached = ends.iter().any(|end| end.target.is_some());
                self.gates.outcome(reached, meets)
            }
        }
    }
}

impl Half {
    fn cut_to(&mut self, points: usize) {
        self.points.truncate(points);
        self.passed.truncate(points);
        for met in &mut self.met {
            if *met != u32::MAX && *met as usize > points {
                *met = u32::MAX;
            }
        }
    }
}

impl Tracker<'_> {
    /// Tracks the streamline with this number, and adds it or its outcome.
    pub fn add_streamline(&self, id: u64, joined: &mut JoinedCurves) {
        let numbers = self.conditions.random.stream(id);
        let start = match self.start(id, numbers) {
            Ok(start) => start,
            Err(reason) => return joined.no_start_because(reason),
        };
        let (inside, cut) = self.conditions.gates.gates_containing(start.position.at);
        let met_at_seed: Vec<u32> = inside
            .iter()
            .map(|inside| if *inside { 0 } else { u32::MAX })
            .collect();
        let new_half = || Half {
            met: met_at_seed.clone(),
            ..Half::default()
        };
        let (mut forward, mut backward) = (new_half(), new_half());
        let cut_at_seed = cut.map(|(reason, target)| HalfEnd {
            reason,
            target,
            is_kept: true,
        });
        let follow = |half: &mut Half, sense: f32, number: u64, max_steps: u32| match cut_at_seed {
            Some(end) => end,
            None => self.follow(&start, sense, numbers, number, max_steps, half),
        };
        let tail = follow(&mut forward, 1.0, 0, self.conditions.max_steps);
        let at_seed = HalfEnd::at_seed(start.end.unwrap_or(StopReason::Seed));
        let mut ends = [at_seed, tail];
        joined.steps += forward.points.len() as u64;
        let has_backward = self.conditions.both_ways && start.end.is_none();
        if tail.is_kept && has_backward {
            ends[0] = follow(&mut backward, -1.0, 1, self.conditions.max_steps);
            joined.steps += backward.points.len() as u64;
            let steps = [&forward, &backward].map(|half| half.points.len() as u32);
            let shares = split_total(steps[0], steps[1], self.conditions.max_steps);
            self.shorten(&mut forward, shares[0], &mut ends[1]);
            self.shorten(&mut backward, shares[1], &mut ends[0]);
        }
        joined.stops[ends[1].reason as usize] += 1;
        if tail.is_kept {
            joined.stops[ends[0].reason as usize] += 1;
        }
        self.join(id, &start, [backward, forward], ends, joined);
    }

    /// Applies the length limit of both halves to one of them; later events are discarded.
    fn shorten(&self, half: &mut Half, max_steps: u32, end: &mut HalfEnd) {
        let max_steps = max_steps as usize;
        if half.points.len() <= max_steps || max_steps == 0 {
            return;
        }
        half.cut_to(max_steps);
        *end = self.stopped(
            half.points[max_steps - 1],
            StopReason::MaxLength,
            &half.passed[max_steps - 1],
        );
    }

    fn start(&self, id: u64, numbers: Random) -> Result<Start, NoStart> {
        let seed = self.conditions.seed(id, self.model.lattice())?;
        let numbers = numbers.stream(START_STREAM);
        let along = self.model.start(seed.at, seed.inwards, numbers);
        let along = along.ok_or(NoStart::LowAmplitude)?;
        Ok(Start {
            position: Position { at: seed.at, along },
            passed: seed.passed,
            end: seed.end,
        })
    }

    /// Follows a half from the seed; where the tissue rejects its end, it goes back by one, two, three … steps and
    /// tries with other random numbers, three times each.
    fn follow(
        &self,
        start: &Start,
        sense: f32,
        numbers: Random,
        number: u64,
        max_steps: u32,
        half: &mut Half,
    ) -> HalfEnd {
        let seed = Position {
            at: start.position.at,
            along: start.position.along.map(|c| sense * c),
        };
        let (mut longest, mut back, mut tries) = (0, 1, 0);
        for attempt in 0.. {
            let stream = numbers.stream(1 + 2 * attempt + number);
            let end = self.attempt(seed, start.passed, stream, max_steps, half);
            let too_long = matches!(end.reason, StopReason::MaxLength | StopReason::MaxSteps);
            if end.is_kept || !self.conditions.goes_back || too_long || attempt + 1 >= MAX_ATTEMPTS
            {
                return end;
            }
            let reached = half.points.len();
            if reached > longest {
                (longest, back, tries) = (reached, 1, 0);
            } else if tries == TRIES_PER_LENGTH {
                (back, tries) = (back + 1, 0);
            }
            tries += 1;
            if back > longest {
                return end;
            }
            half.cut_to(longest - back);
        }
        unreachable!("the last attempt returns")
    }

    /// Continues a half from its last point until it ends.
    fn attempt(
        &self,
        seed: Position,
        passed: Passed,
        numbers: Random,
        max_steps: u32,
        half: &mut Half,
    ) -> HalfEnd {
        let mut position = half.points.last().copied().unwrap_or(seed);
        let mut passed = half.passed.last().copied().unwrap_or(passed);
        loop {
            let step = half.points.len();
            if step as u32 >= max_steps {
                return self.stopped(position, StopReason::MaxLength, &passed);
            }
            let next = match self.model.advance(position, numbers.stream(step as u64)) {
                Ok(next) => next,
                Err(reason) => match self.last_step(position, reason, &passed) {
                    Some(next) => next,
                    None => {
                        let reason = self.named(position, reason);
                        return self.stopped(position, reason, &passed);
                    }
                },
            };
            let lattice = self.model.lattice();
            if !lattice.contains(lattice.voxel(next.at)) {
                return self.stopped(position, StopReason::LeftVolume, &passed);
            }
            if !self.conditions.gates.allows(next.at) {
                return self.stopped(position, StopReason::LeftMask, &passed);
            }
            let met = &mut half.met;
            let crossing = self
                .conditions
                .gates
                .crossed(position.at, next.at, |gate| met[gate] == u32::MAX);
            for gate in &crossing.met {
                met[*gate] = step as u32 + 1;
            }
            if let Some((reason, target)) = crossing.cut {
                half.points.push(Position {
                    at: crossing.end(),
                    ..next
                });
                half.passed.push(passed);
                return HalfEnd {
                    reason,
                    target,
                    is_kept: true,
                };
            }
            if let Some(rules) = self.conditions.tissues {
                let downwards = next.at[2] < position.at[2];
                let effect = rules.enter(next.at, downwards, &mut passed);
                if let TissueEffect::End {
                    reason,
                    with_point,
                    is_kept,
                } = effect
                {
                    if with_point {
                        half.points.push(next);
                        half.passed.push(passed);
                    } else {
                        half.cut_to(step);
                    }
                    return HalfEnd {
                        reason,
                        target: None,
                        is_kept,
                    };
                }
            }
            half.points.push(next);
            half.passed.push(passed);
            position = next;
        }
    }

    /// The straight step into grey matter from a point before which amplitudes end.
    fn last_step(&self, from: Position, reason: StopReason, passed: &Passed) -> Option<Position> {
        let rules = self.conditions.tissues?;
        let at = moved(from.at, from.along, self.conditions.step_mm);
        let leads = reason == StopReason::LowAmplitude && rules.may_step_into(at, passed);
        leads.then_some(Position { at, ..from })
    }

    /// Low amplitudes beyond the last voxel with fibres are those of a border.
    fn named(&self, position: Position, reason: StopReason) -> StopReason {
        if reason != StopReason::LowAmplitude {
            return reason;
        }
        let voxel = self.model.lattice().nearest(position.at);
        match voxel.is_some_and(|voxel| self.model.has_fibres(voxel)) {
            true => reason,
            false => StopReason::LeftMask,
        }
    }

    fn stopped(&self, at: Position, reason: StopReason, passed: &Passed) -> HalfEnd {
        let (reason, is_kept) = match self.conditions.tissues {
            Some(rules) => rules.stopped(at.at, at.along[2] < 0.0, reason, passed),
            None => (reason, true),
        };
        HalfEnd {
            reason,
            target: None,
            is_kept,
        }
    }

    /// The outcome of the streamline with these halves, backward and forward.
    fn join(
        &self,
        id: u64,
        start: &Start,
        halves: [Half; 2],
        ends: [HalfEnd; 2],
        joined: &mut JoinedCurves,
    ) {
        let [mut head, mut tail] = ends;
        let [mut first, mut last] = halves;
        let meets = |gate: usize| [&first, &last].iter().any(|h| h.met[gate] != u32::MAX);
        let mut outcome = self.conditions.outcome(&ends, meets);
        // A streamline that reached a target ends in it; with targets at both ends, in the first named one.
        if head.order() < tail.order() {
            std::mem::swap(&mut head, &mut tail);
            std::mem::swap(&mut first, &mut last);
        }
        let points: Vec<[f32; 3]> = {
            let head = first.points.iter().rev().map(|p| p.at);
            let tail = last.points.iter().map(|p| p.at);
            head.chain(std::iter::once(start.position.at))
                .chain(tail)
                .collect()
        };
        let short = points.len() < 2 || (length_mm(&points) as f32) < self.conditions.min_length_mm;
        if outcome == SeedOutcome::Kept && short {
            outcome = SeedOutcome::TooShort;
        }
        joined.seed_outcomes[outcome as usize] += 1;
        let lines: &mut CurvePart = match outcome {
            SeedOutcome::Kept => &mut joined.kept,
            SeedOutcome::MissedTargets
                if id.is_multiple_of(MISSED_EVERY as u64) && points.len() > 1 =>
            {
                &mut joined.missed
            }
            _ => return,
        };
        lines.lengths.push(points.len() as u32);
        lines.points.extend(points);
        lines.stops.push([head.reason, tail.reason]);
        lines.seeds.push(id as u32);
        lines.targets.push(tail.order());
        if outcome == SeedOutcome::Kept {
            joined.reached([head.target, tail.target]);
        }
    }
}
