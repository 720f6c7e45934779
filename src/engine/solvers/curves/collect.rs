//! Collects the curves of many parts in one output, in the order of the parts.

use super::regions::RegionTests;
use super::{NoStart, Output, SeedOutcome, Starts, StopReason};
use crate::compute::memory::{self, Shortage, zeroed};
use crate::data::{Shared, Tractogram};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Curves, one after the other.
#[derive(Default)]
pub struct CurvePart {
    pub points: Vec<[f32; 3]>,
    pub lengths: Vec<u32>,
    pub stops: Vec<[StopReason; 2]>,
    pub seeds: Vec<u32>,
    pub targets: Vec<u32>,
    /// Connectivity measure from the seed to each point, and of each whole curve; only for geodesic rays.
    pub along: Vec<f32>,
    pub measures: Vec<f32>,
}

impl CurvePart {
    pub fn count(&self) -> usize {
        self.lengths.len()
    }

    /// Number of points of all curves, wherever they are stored.
    pub fn total_points(&self) -> u64 {
        self.lengths.iter().map(|length| u64::from(*length)).sum()
    }

    /// The bytes that [`Self::append`] fills for these parts: the first is moved into an empty one, and points that find no
    /// room move with those before them. A vector that grows may reserve up to twice as much; the rest takes no memory
    /// before it is written.
    fn needed<'a>(&self, mut parts: impl Iterator<Item = &'a Self>) -> u64 {
        let first = if self.count() == 0 {
            parts.next()
        } else {
            None
        };
        let before = &first.unwrap_or(self).points;
        let copied: Vec<&Self> = parts.collect();
        let points: usize = copied.iter().map(|part| part.points.len()).sum();
        let lines: usize = copied.iter().map(|part| part.count()).sum();
        let has_room = before.capacity() - before.len() >= points;
        let points = match has_room {
            true => 0,
            false => before.len() + points,
        };
        BYTES_PER_POINT * points as u64 + BYTES_PER_LINE * lines as u64
    }

    /// Adds these curves after its own. Needs the backend's threads installed.
    fn append(&mut self, parts: Vec<Self>, spare: Option<&SpareMemory>) {
        let mut parts = parts.into_iter();
        if self.count() == 0
            && let Some(first) = parts.next()
        {
            *self = first;
        }
        let (mut points, mut along) = (Vec::new(), Vec::new());
        for part in parts {
            self.lengths.extend(part.lengths);
            self.stops.extend(part.stops);
            self.seeds.extend(part.seeds);
            self.targets.extend(part.targets);
            self.measures.extend(part.measures);
            points.push(Returned {
                points: part.points,
                spare,
            });
            along.push(part.along);
        }
        memory::append(&mut self.points, points);
        memory::append(&mut self.along, along);
    }
}

/// Memory of points that have been copied, to be used again: the first access to fresh memory takes longer than a copy.
#[derive(Default)]
pub struct SpareMemory(Mutex<Vec<Vec<[f32; 3]>>>);

impl SpareMemory {
    /// This many points with any values.
    pub fn points(&self, count: usize) -> Vec<[f32; 3]> {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let large = spare.filter(|points| points.capacity() >= count);
        // A margin, so that later batches can reuse it.
        let mut points = large.unwrap_or_else(|| bytemuck::zeroed_vec(count + count / 8));
        points.resize(count, [0.0; 3]);
        points
    }
}

/// Points whose memory becomes spare memory when they are dropped.
struct Returned<'a> {
    points: Vec<[f32; 3]>,
    spare: Option<&'a SpareMemory>,
}

impl AsRef<[[f32; 3]]> for Returned<'_> {
    fn as_ref(&self) -> &[[f32; 3]] {
        &self.points
    }
}

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        if let Some(SpareMemory(all)) = self.spare.filter(|_| !self.points.is_empty()) {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(std::mem::take(&mut self.points));
        }
    }
}

/// The outcome of the seeds of one part.
#[derive(Default)]
pub struct JoinedCurves {
    pub kept: CurvePart,
    pub missed: CurvePart,
    pub seed_outcomes: [u64; SeedOutcome::COUNT],
    pub stops: [u64; StopReason::COUNT],
    pub per_target: Vec<u64>,
    pub steps: u64,
    /// The reasons of seeds that do not start, where they are known.
    starts: Starts,
    /// Whether kept curves must have met every target.
    all_targets: bool,
}

impl JoinedCurves {
    pub fn new(region_tests: &RegionTests) -> Self {
        Self {
            per_target: vec![0; region_tests.targets],
            all_targets: region_tests.all_targets,
            ..Self::default()
        }
    }

    /// Numbers of the kept curves, and of those that missed the targets.
    pub fn counts(&self) -> [usize; 2] {
        [&self.kept, &self.missed].map(CurvePart::count)
    }

    /// Counts curves whose seeds do not start.
    pub fn no_start(&mut self, curves: u64) {
        self.seed_outcomes[SeedOutcome::NoStart as usize] += curves;
    }

    /// Counts a curve whose seed does not start for this reason.
    pub fn no_start_because(&mut self, reason: NoStart) {
        self.no_start(1);
        self.starts.count(reason);
    }

    /// Counts the targets at the two ends of a kept curve; a target at both ends counts once.
    pub fn reached(&mut self, ends: [Option<u32>; 2]) {
        if self.all_targets {
            self.per_target.iter_mut().for_each(|count| *count += 1);
            return;
        }
        let [head, tail] = ends;
        for target in tail.into_iter().chain(head.filter(|_| head != tail)) {
            self.per_target[target as usize] += 1;
        }
    }

    /// Adds the outcome of the next parts; memory that they no longer need becomes spare. Needs the backend's threads
    /// installed.
    pub fn append(
        &mut self,
        parts: Vec<Self>,
        spare: Option<&SpareMemory>,
    ) -> Result<(), Shortage> {
        let needed = |all: &CurvePart, curves_in: fn(&Self) -> &CurvePart| {
            all.needed(parts.iter().map(curves_in))
        };
        let bytes =
            needed(&self.kept, |part| &part.kept) + needed(&self.missed, |part| &part.missed);
        memory::claim(GATHER, bytes)?;
        let mut kept = Vec::with_capacity(parts.len());
        let mut missed = Vec::with_capacity(parts.len());
        for part in parts {
            add(&mut self.seed_outcomes, &part.seed_outcomes);
            add(&mut self.stops, &part.stops);
            add(&mut self.per_target, &part.per_target);
            self.steps += part.steps;
            self.starts.add(&part.starts);
            kept.push(part.kept);
            missed.push(part.missed);
        }
        self.kept.append(kept, spare);
        self.missed.append(missed, spare);
        Ok(())
    }

    /// Reserves memory for the kept points of this many seeds, judged by those so far: they need not move as their
    /// number grows.
    pub fn reserve_for(&mut self, seeds: u64) {
        let done: u64 = self.seed_outcomes.iter().sum();
        let points = &mut self.kept.points;
        if done < seeds {
            let share = done as f64 / seeds as f64;
            let all = (points.len() as f64 * MARGIN / share) as usize;
            let more = all.saturating_sub(points.len());
            let bytes = BYTES_PER_POINT * all as u64;
            // If it is refused, they move.
            if memory::claim(GATHER, bytes).is_ok() {
                let _ = points.try_reserve_exact(more);
            }
        }
    }
}

/// Memory for a point and the measure along it, bytes.
const BYTES_PER_POINT: u64 = 16;
/// Memory for a curve besides its points, bytes.
const BYTES_PER_LINE: u64 = 28;
/// Reserved memory by expected memory: parts differ.
const MARGIN: f64 = 1.0625;

fn add(sum: &mut [u64], more: &[u64]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

/// One in this many of the curves that missed the targets is kept for display.
pub const MISSED_EVERY: usize = 7;

/// Begins the error about a lack of memory.
pub const GATHER: &str = "Joining the curves";

/// One output in the order of the parts, whose curves have a connectivity measure if they are `measured`. Needs the
/// backend's threads installed.
pub fn gather(
    parts: Vec<JoinedCurves>,
    region_tests: &RegionTests,
    measured: bool,
) -> Result<Output, Shortage> {
    let mut all = JoinedCurves::new(region_tests);
    all.append(parts, None)?;
    let points = [&mut all.kept, &mut all.missed].map(|curves| {
        let mut points = std::mem::take(&mut curves.points);
        points.shrink_to_fit();
        PointValues {
            xyz: points.into(),
            along: std::mem::take(&mut curves.along).into(),
        }
    });
    Ok(output(all, points, region_tests, measured))
}

/// The points of curves, one after the other, wherever they are stored.
pub struct PointValues {
    /// World mm.
    pub xyz: Shared<[f32; 3]>,
    /// The connectivity measure of each point; empty unless the curves have one.
    pub along: Shared<f32>,
}

/// The output of curves whose points are elsewhere: those of the kept curves, and of those that missed the targets.
/// Needs the backend's threads installed.
pub fn output(
    all: JoinedCurves,
    points: [PointValues; 2],
    region_tests: &RegionTests,
    measured: bool,
) -> Output {
    let [kept, missed] = points;
    let is_known = all.starts.failed().iter().any(|(_, seeds)| *seeds > 0);
    let reasons = reason_labels(&all.stops);
    let with_targets = region_tests.cut_at_targets();
    Output {
        kept: tractogram((all.kept, kept), with_targets, measured, &reasons),
        // None of them ends in a target.
        missed: tractogram((all.missed, missed), false, measured, &reasons),
        missed_every: MISSED_EVERY,
        seed_outcomes: all.seed_outcomes,
        stops: all.stops,
        per_target: all.per_target,
        steps: all.steps,
        kernel_s: None,
        starts: is_known.then_some(all.starts),
        tissue_doubt: None,
    }
}

/// The meanings of stop reasons as numbers: those of distributions only where one occurs.
fn reason_labels(stops: &[u64; StopReason::COUNT]) -> Arc<[String]> {
    let count = |reason: &StopReason| stops[*reason as usize];
    let mut of_distributions = StopReason::ALL.iter().filter(|r| r.is_of_distributions());
    let all = of_distributions.any(|reason| count(reason) > 0);
    let used = StopReason::ALL.into_iter();
    let used = used.filter(|reason| all || !reason.is_of_distributions());
    used.map(|reason| reason.label().to_owned()).collect()
}

fn tractogram(
    (lines, points): (CurvePart, PointValues),
    with_targets: bool,
    measured: bool,
    reasons: &Arc<[String]>,
) -> Tractogram {
    let stop = |end: usize| values(&lines.stops, move |stops| f32::from(stops[end] as u8));
    let [start, end] = [stop(0), stop(1)];
    let seed = values(&lines.seeds, |seed| *seed as f32);
    let target = with_targets.then(|| values(&lines.targets, |target| *target as f32));
    let mut tractogram = Tractogram::new(points.xyz, offsets(&lines.lengths))
        .with_per_streamline("stop_start", start)
        .with_per_streamline("stop_end", end)
        .with_per_streamline("seed", seed);
    for name in ["stop_start", "stop_end"] {
        tractogram = tractogram.with_codes(name, reasons.clone());
    }
    if let Some(target) = target {
        tractogram = tractogram.with_per_streamline("target", target);
    }
    if measured {
        tractogram = tractogram
            .with_per_point("cm", points.along)
            .with_per_streamline("cm", values(&lines.measures, |cm| *cm));
    }
    tractogram
}

/// A number for each item, written on all threads.
fn values<T: Sync>(items: &[T], value: impl Fn(&T) -> f32 + Sync) -> Arc<[f32]> {
    /// Items that a thread converts at a time.
    const PIECE: usize = 1 << 14;
    let mut values = zeroed(items.len());
    let Some(all) = Arc::get_mut(&mut values) else {
        unreachable!("`zeroed` returns the only reference")
    };
    let pieces = all.par_chunks_mut(PIECE).zip(items.par_chunks(PIECE));
    pieces.for_each(|(values, items)| {
        for (to, item) in values.iter_mut().zip(items) {
            *to = value(item);
        }
    });
    values
}

/// The first point of each line, and the number of all points.
fn offsets(lengths: &[u32]) -> Arc<[u64]> {
    let mut offsets = zeroed(lengths.len() + 1);
    let Some(ends) = Arc::get_mut(&mut offsets) else {
        unreachable!("`zeroed` returns the only reference")
    };
    let mut end = 0;
    for (to, length) in ends[1..].iter_mut().zip(lengths) {
        end += u64::from(*length);
        *to = end;
    }
    offsets
}
