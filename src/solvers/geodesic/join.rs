//! Joins the halves of each ray, decides its fate, and makes tractograms of them.

use super::journey::{Half, Halves, measure};
use crate::compute::Backend;
use crate::data::Tractogram;
use crate::solvers::tracking::regions::{Effect, Gates};
use crate::solvers::tracking::{Fate, Output, Params, StopReason};
use rayon::prelude::*;
use std::sync::Arc;

/// One in so many of the rays that missed the targets is kept to be shown: by the ray's number, so
/// that the choice does not depend on the others.
pub const MISSED_EVERY: usize = 7;

/// Number of a ray and of its seed, and the seed's point, world mm.
pub type Ray = (usize, u32, [f32; 3]);

/// What joining needs to know besides the halves.
pub struct Rules<'a> {
    pub gates: &'a Gates<'a>,
    pub both_ways: bool,
    pub min_length_mm: f32,
}

impl<'a> Rules<'a> {
    pub fn new(gates: &'a Gates<'a>, walk: &Params) -> Self {
        Self {
            gates,
            both_ways: walk.both_ways,
            min_length_mm: walk.min_length_mm as f32,
        }
    }
}

impl Rules<'_> {
    /// Whether [`Joined::add`] will ask for the points of ray number `ray`, by its halves.
    pub fn wants(&self, ray: usize, halves: &[Half]) -> bool {
        let Some(tail) = halves.first() else {
            return false;
        };
        let head = halves.get(1).copied().unwrap_or(seed_end(tail));
        match self.fate(&head, tail) {
            Fate::Kept => true,
            Fate::MissedTargets => ray.is_multiple_of(MISSED_EVERY),
            _ => false,
        }
    }

    fn fate(&self, head: &Half, tail: &Half) -> Fate {
        let fate = fate_by_regions(head, tail, self.gates);
        let length_mm = head.length_mm + tail.length_mm;
        let short = head.count + tail.count == 0 || length_mm < self.min_length_mm;
        if fate == Fate::Kept && short {
            Fate::TooShort
        } else {
            fate
        }
    }
}

/// The end at the seed of a ray that went one way.
fn seed_end(tail: &Half) -> Half {
    Half {
        count: 0,
        steps: 0,
        length_mm: 0.0,
        riemann: 0.0,
        reason: StopReason::Seed,
        target: None,
        ..*tail
    }
}

/// All rays (number, seed, the seed's point) with their halves, in parts that threads share.
pub fn all(rays: &[Ray], halves: &Halves, rules: &Rules, backend: &Backend) -> Vec<Joined> {
    const PART: usize = 2048;
    let senses = if rules.both_ways { 2 } else { 1 };
    let part = |(i, rays): (usize, &[Ray])| {
        let mut joined = Joined::new(rules.gates);
        for (j, (ray, seed, at)) in rays.iter().enumerate() {
            joined.add((*ray, *seed), *at, halves, (i * PART + j) * senses, rules);
        }
        joined
    };
    backend.install(|| rays.par_chunks(PART).enumerate().map(part).collect())
}

/// Curves, one after the other.
#[derive(Default)]
struct Lines {
    points: Vec<[f32; 3]>,
    /// Connectivity measure from the seed to each point.
    along: Vec<f32>,
    lengths: Vec<u32>,
    stops: Vec<[StopReason; 2]>,
    seeds: Vec<u32>,
    targets: Vec<u32>,
    /// Connectivity measure of the whole curve.
    measures: Vec<f32>,
}

#[derive(Default)]
pub struct Joined {
    kept: Lines,
    missed: Lines,
    fates: [u64; 6],
    stops: [u64; StopReason::COUNT],
    per_target: Vec<u64>,
    steps: u64,
}

impl Joined {
    pub fn new(gates: &Gates) -> Self {
        Self {
            per_target: vec![0; gates.targets],
            ..Self::default()
        }
    }

    /// Rays whose seed allows no start.
    pub fn no_start(&mut self, rays: u64) {
        self.fates[Fate::NoStart as usize] += rays;
    }

    /// Adds ray number `ray` of seed point `seed` at `at`; `first` is the index of its forward half.
    pub fn add(
        &mut self,
        (ray, seed): (usize, u32),
        at: [f32; 3],
        halves: &Halves,
        first: usize,
        rules: &Rules,
    ) {
        let mut tail = halves.halves[first];
        let mut head = if rules.both_ways {
            halves.halves[first + 1]
        } else {
            seed_end(&tail)
        };
        self.steps += u64::from(tail.steps) + u64::from(head.steps);
        self.stops[tail.reason as usize] += 1;
        self.stops[head.reason as usize] += 1;
        let fate = rules.fate(&head, &tail);
        // A ray that reached a target ends in it; with one at both ends, in the first named.
        let last = |half: &Half| half.target.unwrap_or(u32::MAX);
        if last(&head) < last(&tail) {
            std::mem::swap(&mut head, &mut tail);
        }
        let length_mm = head.length_mm + tail.length_mm;
        self.fates[fate as usize] += 1;
        let lines = match fate {
            Fate::Kept => &mut self.kept,
            Fate::MissedTargets
                if ray.is_multiple_of(MISSED_EVERY) && head.count + tail.count > 0 =>
            {
                &mut self.missed
            }
            _ => return,
        };
        let points = |half: &Half| half.first..half.first + half.count as usize;
        // In the seed's own point the measure is that of its neighbour.
        let near_seed = if tail.count > 0 { &tail } else { &head };
        lines
            .points
            .extend(halves.points[points(&head)].iter().rev());
        lines.points.push(at);
        lines.points.extend(&halves.points[points(&tail)]);
        lines.along.extend(halves.along[points(&head)].iter().rev());
        lines.along.push(halves.along[near_seed.first]);
        lines.along.extend(&halves.along[points(&tail)]);
        lines.lengths.push(head.count + 1 + tail.count);
        lines.stops.push([head.reason, tail.reason]);
        lines.seeds.push(seed);
        lines.targets.push(last(&tail));
        lines
            .measures
            .push(measure([length_mm, head.riemann + tail.riemann]));
        if fate == Fate::Kept {
            if let Some(target) = tail.target {
                self.per_target[target as usize] += 1;
            }
            if let Some(target) = head.target.filter(|_| head.target != tail.target) {
                self.per_target[target as usize] += 1;
            }
        }
    }
}

fn fate_by_regions(head: &Half, tail: &Half, gates: &Gates) -> Fate {
    if gates.targets > 0 && head.target.is_none() && tail.target.is_none() {
        return Fate::MissedTargets;
    }
    let met = head.met | tail.met;
    let of = |effect| {
        let gates = gates.gates.iter().enumerate();
        gates
            .filter(move |(_, g)| g.effect == effect)
            .map(|(i, _)| met >> i & 1 == 1)
    };
    if !of(Effect::Include).all(|met| met) {
        Fate::MissedInclude
    } else if of(Effect::Exclude).any(|met| met) {
        Fate::TouchedExclude
    } else {
        Fate::Kept
    }
}

/// One output in the order of the parts.
pub fn gather(parts: Vec<Joined>, targets: usize) -> Output {
    let mut output = Output {
        kept: Tractogram::empty(),
        missed: Tractogram::empty(),
        missed_every: MISSED_EVERY,
        fates: [0; 6],
        stops: [0; StopReason::COUNT],
        per_target: vec![0; targets],
        steps: 0,
    };
    let add = |sum: &mut [u64], more: &[u64]| {
        for (sum, more) in sum.iter_mut().zip(more) {
            *sum += more;
        }
    };
    let mut kept = Vec::with_capacity(parts.len());
    let mut missed = Vec::with_capacity(parts.len());
    for part in parts {
        add(&mut output.fates, &part.fates);
        add(&mut output.stops, &part.stops);
        add(&mut output.per_target, &part.per_target);
        output.steps += part.steps;
        kept.push(part.kept);
        missed.push(part.missed);
    }
    output.kept = tractogram(kept, targets > 0);
    // They end in no target, so there is nothing to say about one.
    output.missed = tractogram(missed, false);
    output
}

fn tractogram(parts: Vec<Lines>, with_targets: bool) -> Tractogram {
    let offsets: Arc<[u64]> = std::iter::once(0)
        .chain(parts.iter().flat_map(|p| &p.lengths).scan(0, |end, &n| {
            *end += u64::from(n);
            Some(*end)
        }))
        .collect();
    let per_line = |value: fn(&Lines, usize) -> f32| -> Arc<[f32]> {
        let of = |p| (0..Lines::len(p)).map(move |i| value(p, i));
        parts.iter().flat_map(of).collect()
    };
    let start = per_line(|p, i| f32::from(p.stops[i][0] as u8));
    let end = per_line(|p, i| f32::from(p.stops[i][1] as u8));
    let seed = per_line(|p, i| p.seeds[i] as f32);
    let measures = per_line(|p, i| p.measures[i]);
    let target = with_targets.then(|| per_line(|p, i| p.targets[i] as f32));
    let total = parts.iter().map(|p| p.points.len()).sum();
    let mut points = Vec::with_capacity(total);
    let mut along = Vec::with_capacity(total);
    // Each part is freed as soon as it is copied.
    for part in parts {
        points.extend_from_slice(&part.points);
        along.extend_from_slice(&part.along);
    }
    let tractogram = Tractogram::new(points, offsets)
        .with_per_point("cm", along)
        .with_per_streamline("stop_start", start)
        .with_per_streamline("stop_end", end)
        .with_per_streamline("seed", seed)
        .with_per_streamline("cm", measures);
    match target {
        Some(target) => tractogram.with_per_streamline("target", target),
        None => tractogram,
    }
}

impl Lines {
    fn len(&self) -> usize {
        self.lengths.len()
    }
}
