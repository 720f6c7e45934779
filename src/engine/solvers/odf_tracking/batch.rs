//! Streamlines that a graphics card follows side by side: their seeds, and what becomes of them.

use super::follow::{Conditions, HalfEnd};
use super::lattice::Lattice;
use crate::compute::kernel_struct;
use crate::data::tractogram::length_mm;
use crate::solvers::Error;
use crate::solvers::curves::collect::{JoinedCurves, MISSED_EVERY, SpareMemory};
use crate::solvers::curves::cuda::reason;
use crate::solvers::curves::{NoStart, SeedOutcome, StopReason};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::ops::Range;

/// Streamlines of a part, which one thread completes: some ms, and less than a transfer from the card.
const PART: usize = 2048;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct KernelSeed {
    at: [f32; 3],
    id: u32,
    along: [f32; 3],
    flags: u32,
}
kernel_struct!(KernelSeed as "Seed in kernels/odf_tracking.cuh", 32 { at: 0, id: 12, along: 16, flags: 28 });

/// Flags of a seed beside the tissues passed.
const INWARDS: u32 = 1 << 8;
const CUT: u32 = 1 << 9;
const ONE_WAY: u32 = 1 << 10;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Summary {
    steps: [u32; 2],
    /// Reason, and [`KEPT`].
    ends: [u32; 2],
    targets: [u32; 2],
    taken: u32,
    status: u32,
}
kernel_struct!(Summary as "Summary in kernels/odf_tracking.cuh", 32 {
    steps: 0, ends: 8, targets: 16, taken: 24, status: 28,
});

const KEPT: u32 = 1 << 8;
/// Statuses from here on are final.
const DONE: u32 = 2;
const NO_START: u32 = 3;

impl Summary {
    pub fn is_done(&self) -> bool {
        self.status >= DONE
    }

    fn end(&self, half: usize) -> HalfEnd {
        let target = self.targets[half];
        HalfEnd {
            reason: reason(self.ends[half] & 0xff),
            target: (target != u32::MAX).then_some(target),
            is_kept: self.ends[half] & KEPT != 0,
        }
    }
}

/// A streamline whose points are gathered.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Gathered {
    pub slot: u32,
    first_half: u32,
    first_count: u32,
    last_count: u32,
    place: u64,
}
kernel_struct!(Gathered as "Streamline in kernels/odf_tracking.cu", 24 {
    slot: 0, first_half: 4, first_count: 8, last_count: 12, place: 16,
});

/// Consecutive streamlines, and the seeds of those that may start.
pub struct Batch {
    ids: Range<u64>,
    /// Why the others do not start, in their order.
    refused: Vec<NoStart>,
    pub seeds: Vec<KernelSeed>,
    /// By seed, half and region: 0 if it contains the seed.
    pub met: Vec<u32>,
}

/// The outcome of a streamline, known before its points are downloaded.
#[derive(Clone, Copy)]
struct Evaluated {
    outcome: SeedOutcome,
    /// The reason of a seed that does not start.
    no_start: Option<NoStart>,
    /// The first and the last end.
    ends: [HalfEnd; 2],
    counts_first: bool,
    taken: u32,
    points: u32,
}

/// Streamlines of a part, and the points of those that may be kept.
pub struct Part {
    first_id: u64,
    evaluated: Vec<Evaluated>,
    gathered: Vec<Gathered>,
    points: Vec<[f32; 3]>,
}

impl Part {
    /// Streamlines that are kept.
    pub fn kept(&self) -> u64 {
        let kept = |j: &&Evaluated| j.outcome == SeedOutcome::Kept;
        self.evaluated.iter().filter(kept).count() as u64
    }

    pub fn seeds(&self) -> u64 {
        self.evaluated.len() as u64
    }

    pub fn gathered(&self) -> &[Gathered] {
        &self.gathered
    }

    /// The outcome of the streamlines up to the `most`-th one that is kept.
    pub fn joined(mut self, conditions: &Conditions, max_kept: Option<u64>) -> JoinedCurves {
        let mut joined = JoinedCurves::new(conditions.gates);
        let (mut from, mut to) = (0, 0);
        for (i, streamline) in self.evaluated.iter().enumerate() {
            if max_kept.is_some_and(|max_kept| joined.kept.count() as u64 >= max_kept) {
                break;
            }
            let (id, outcome) = (self.first_id + i as u64, streamline.outcome);
            if let Some(reason) = streamline.no_start {
                joined.no_start_because(reason);
                continue;
            }
            joined.seed_outcomes[outcome as usize] += 1;
            let [head, tail] = streamline.ends;
            joined.steps += u64::from(streamline.taken);
            joined.stops[tail.reason as usize] += 1;
            if streamline.counts_first {
                joined.stops[head.reason as usize] += 1;
            }
            let count = streamline.points as usize;
            let points = from..from + count;
            from += count;
            let lines = match outcome {
                SeedOutcome::Kept => {
                    self.points.copy_within(points, to);
                    to += count;
                    &mut joined.kept
                }
                SeedOutcome::MissedTargets if count > 0 => {
                    joined.missed.points.extend(&self.points[points]);
                    &mut joined.missed
                }
                _ => continue,
            };
            lines.lengths.push(streamline.points);
            lines.stops.push([head.reason, tail.reason]);
            lines.seeds.push(id as u32);
            lines.targets.push(tail.order());
            if outcome == SeedOutcome::Kept {
                joined.reached([head.target, tail.target]);
            }
        }
        self.points.truncate(to);
        joined.kept.points = self.points;
        joined
    }
}

impl Batch {
    /// Needs the backend's threads installed.
    pub fn new(conditions: &Conditions, lattice: &Lattice, ids: Range<u64>) -> Self {
        let part = |ids: Range<u64>| {
            let mut part = Self {
                ids: ids.clone(),
                refused: Vec::new(),
                seeds: Vec::new(),
                met: Vec::new(),
            };
            for id in ids {
                match kernel_seed(conditions, lattice, id, &mut part.met) {
                    Ok(seed) => part.seeds.push(seed),
                    Err(reason) => part.refused.push(reason),
                }
            }
            part
        };
        let parts: Vec<Self> = parts_of(&ids).into_par_iter().map(part).collect();
        let (refused, seeds, met) = parts
            .into_iter()
            .map(|part| (part.refused, part.seeds, part.met))
            .collect::<(Vec<_>, Vec<_>, Vec<_>)>();
        Self {
            ids,
            refused: refused.concat(),
            seeds: seeds.concat(),
            met: met.concat(),
        }
    }

    /// The streamlines in parts; their points are to be placed one after the other. Needs the backend's threads
    /// installed.
    pub fn evaluated(
        &self,
        conditions: &Conditions,
        step_mm: f32,
        summaries: &[Summary],
        met: &[u32],
    ) -> Vec<Part> {
        let parts = parts_of(&self.ids).into_par_iter();
        let mut parts: Vec<Part> = parts
            .map(|ids| {
                let first = self.seeds.partition_point(|s| u64::from(s.id) < ids.start);
                let mut part = Part {
                    first_id: ids.start,
                    evaluated: Vec::with_capacity((ids.end - ids.start) as usize),
                    gathered: Vec::new(),
                    points: Vec::new(),
                };
                let mut slot = first;
                for id in ids {
                    let refused = (id - self.ids.start) as usize - slot;
                    let is_next = self.seeds.get(slot).is_some_and(|s| u64::from(s.id) == id);
                    let evaluated = match is_next {
                        true => {
                            let gates = conditions.gates.gates.len();
                            let own = SlotResult {
                                conditions,
                                step_mm,
                                slot,
                                seed: &self.seeds[slot],
                                summary: &summaries[slot],
                                met: &met[2 * gates * slot..2 * gates * (slot + 1)],
                            };
                            slot += 1;
                            own.evaluate(&mut part.gathered)
                        }
                        false => not_started(self.refused[refused]),
                    };
                    part.evaluated.push(evaluated);
                }
                part
            })
            .collect();
        let mut place = 0;
        for gathered in parts.iter_mut().flat_map(|part| &mut part.gathered) {
            gathered.place = place;
            place += u64::from(gathered.points());
        }
        parts
    }
}

/// Fills the points of parts with `download`, which reads from a place on, and finds the streamlines that are too
/// short. Needs the backend's threads installed.
pub fn complete(
    parts: &mut [Part],
    conditions: &Conditions,
    spare: &SpareMemory,
    download: impl Fn(u64, &mut [[f32; 3]]) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    parts.par_iter_mut().try_for_each(|part| {
        let Some(first) = part.gathered.first() else {
            return Ok(());
        };
        let count: u64 = part.gathered.iter().map(|w| u64::from(w.points())).sum();
        part.points = spare.points(count as usize);
        download(first.place, &mut part.points)?;
        let mut from = 0;
        for streamline in &mut part.evaluated {
            let points = &part.points[from..from + streamline.points as usize];
            from += points.len();
            if streamline.outcome == SeedOutcome::Kept
                && (length_mm(points) as f32) < conditions.min_length_mm
            {
                streamline.outcome = SeedOutcome::TooShort;
            }
        }
        Ok(())
    })
}

/// The outcomes of parts, one after the other. Needs the backend's threads installed.
pub fn joined(parts: Vec<Part>, conditions: &Conditions) -> Vec<JoinedCurves> {
    let parts = parts.into_par_iter();
    parts.map(|part| part.joined(conditions, None)).collect()
}

impl Gathered {
    pub fn points(&self) -> u32 {
        self.first_count + 1 + self.last_count
    }
}

fn not_started(reason: NoStart) -> Evaluated {
    Evaluated {
        outcome: SeedOutcome::NoStart,
        no_start: Some(reason),
        ends: [HalfEnd::at_seed(StopReason::Seed); 2],
        counts_first: false,
        taken: 0,
        points: 0,
    }
}

fn parts_of(ids: &Range<u64>) -> Vec<Range<u64>> {
    let starts = ids.clone().step_by(PART);
    starts
        .map(|first| first..ids.end.min(first + PART as u64))
        .collect()
}

/// The seed of a streamline, or why it does not start there; appends the regions that contain it, for both halves.
fn kernel_seed(
    conditions: &Conditions,
    lattice: &Lattice,
    id: u64,
    met: &mut Vec<u32>,
) -> Result<KernelSeed, NoStart> {
    let seed = conditions.seed(id, lattice)?;
    let mut flags = seed.passed.bits();
    if seed.inwards.is_some() {
        flags |= INWARDS;
    }
    if seed.end.is_some() {
        flags |= ONE_WAY;
    }
    if !conditions.gates.gates.is_empty() {
        let (inside, cut) = conditions.gates.gates_containing(seed.at);
        if cut.is_some() {
            flags |= CUT;
        }
        let first = |inside: &bool| if *inside { 0 } else { u32::MAX };
        for _ in 0..2 {
            met.extend(inside.iter().map(first));
        }
    }
    Ok(KernelSeed {
        at: seed.at,
        id: id as u32,
        along: seed.inwards.unwrap_or_default(),
        flags,
    })
}

/// The card's result for one seed.
struct SlotResult<'a> {
    conditions: &'a Conditions<'a>,
    step_mm: f32,
    slot: usize,
    seed: &'a KernelSeed,
    summary: &'a Summary,
    met: &'a [u32],
}

impl SlotResult<'_> {
    /// The first and the last end of the halves, backward and forward, and whether the first one counts.
    fn ends(&self) -> ([HalfEnd; 2], bool) {
        let (conditions, flags) = (self.conditions, self.seed.flags);
        // At its seed it can end in grey matter only, deep or cortical.
        let at_seed = match () {
            () if flags & ONE_WAY == 0 => StopReason::Seed,
            () if flags & INWARDS != 0 => StopReason::CorticalGrey,
            () => StopReason::DeepGrey,
        };
        let at_seed = HalfEnd::at_seed(at_seed);
        let has_backward = conditions.both_ways && flags & ONE_WAY == 0;
        if flags & CUT != 0 {
            let (_, cut) = conditions.gates.gates_containing(self.seed.at);
            let cut = cut.map_or(at_seed, |(reason, target)| HalfEnd {
                reason,
                target,
                is_kept: true,
            });
            return ([if has_backward { cut } else { at_seed }, cut], true);
        }
        let tail = self.summary.end(0);
        match tail.is_kept && has_backward {
            true => ([self.summary.end(1), tail], true),
            false => ([at_seed, tail], tail.is_kept),
        }
    }

    /// Adds the streamline to `gathered` if its points are needed.
    fn evaluate(&self, gathered: &mut Vec<Gathered>) -> Evaluated {
        if self.summary.status == NO_START {
            return not_started(NoStart::LowAmplitude);
        }
        let gates = self.conditions.gates.gates.len();
        let (mut ends, counts_first) = self.ends();
        let met = |gate: usize| [0, gates].iter().any(|h| self.met[h + gate] != u32::MAX);
        let mut outcome = self.conditions.outcome(&ends, met);
        let [forward, backward] = self.summary.steps;
        let mut streamline = Gathered {
            slot: self.slot as u32,
            first_half: 1,
            first_count: backward,
            last_count: forward,
            place: 0,
        };
        // A streamline that reached a target ends in it; with targets at both ends, in the first named one.
        if ends[0].order() < ends[1].order() {
            ends.swap(0, 1);
            (streamline.first_half, streamline.first_count) = (0, forward);
            streamline.last_count = backward;
        }
        let steps = forward + backward;
        // An upper bound, however coordinates and sums are rounded.
        let longest_mm = steps as f32 * (1.01 * self.step_mm + 1e-4);
        if outcome == SeedOutcome::Kept
            && (steps == 0 || longest_mm < self.conditions.min_length_mm)
        {
            outcome = SeedOutcome::TooShort;
        }
        let is_shown = u64::from(self.seed.id).is_multiple_of(MISSED_EVERY as u64) && steps > 0;
        let needs_points = match outcome {
            SeedOutcome::Kept => true,
            SeedOutcome::MissedTargets => is_shown,
            _ => false,
        };
        if needs_points {
            gathered.push(streamline);
        }
        Evaluated {
            outcome,
            no_start: None,
            ends,
            counts_first,
            taken: self.summary.taken,
            points: if needs_points { streamline.points() } else { 0 },
        }
    }
}
