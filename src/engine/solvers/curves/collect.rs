//! Collects the curves of many parts in one output, in the order of the parts.

use super::regions::RegionTests;
use super::{NoStart, Output, SeedOutcome, Starts, StopReason};
use crate::compute::memory::{self, Shortage, zeroed};
use crate::data::Tractogram;
use bytemuck::Pod;
use rayon::prelude::*;
use std::sync::Arc;

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
}

/// One in this many of the curves that missed the targets is kept for display.
pub const MISSED_EVERY: usize = 7;

/// Begins the error about a lack of memory.
const GATHER: &str = "Joining the curves";

/// One output in the order of the parts, whose curves have a connectivity measure if they are `measured`. Needs the
/// backend's threads installed.
pub fn gather(
    parts: Vec<JoinedCurves>,
    region_tests: &RegionTests,
    measured: bool,
) -> Result<Output, Shortage> {
    let lines = parts.iter().flat_map(|p| [&p.kept, &p.missed]);
    let bytes = |l: &CurvePart| 16 * l.points.len() as u64 + 28 * l.count() as u64;
    memory::claim(GATHER, lines.map(bytes).sum())?;
    let mut output = Output {
        kept: Tractogram::empty(),
        missed: Tractogram::empty(),
        missed_every: MISSED_EVERY,
        seed_outcomes: [0; SeedOutcome::COUNT],
        stops: [0; StopReason::COUNT],
        per_target: vec![0; region_tests.targets],
        steps: 0,
        kernel_s: None,
        starts: None,
    };
    let add = |sum: &mut [u64], more: &[u64]| {
        for (sum, more) in sum.iter_mut().zip(more) {
            *sum += more;
        }
    };
    let mut starts = Starts::default();
    let mut kept = Vec::with_capacity(parts.len());
    let mut missed = Vec::with_capacity(parts.len());
    for part in parts {
        add(&mut output.seed_outcomes, &part.seed_outcomes);
        add(&mut output.stops, &part.stops);
        add(&mut output.per_target, &part.per_target);
        output.steps += part.steps;
        starts.add(&part.starts);
        kept.push(part.kept);
        missed.push(part.missed);
    }
    let is_known = starts.failed().iter().any(|(_, seeds)| *seeds > 0);
    output.starts = is_known.then_some(starts);
    let reasons = reason_labels(&output.stops);
    output.kept = tractogram(kept, region_tests.cut_at_targets(), measured, &reasons);
    // None of them ends in a target.
    output.missed = tractogram(missed, false, measured, &reasons);
    Ok(output)
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
    parts: Vec<CurvePart>,
    with_targets: bool,
    measured: bool,
    reasons: &Arc<[String]>,
) -> Tractogram {
    let offsets: Arc<[u64]> = std::iter::once(0)
        .chain(parts.iter().flat_map(|p| &p.lengths).scan(0, |end, &n| {
            *end += u64::from(n);
            Some(*end)
        }))
        .collect();
    let per_line = |value: fn(&CurvePart, usize) -> f32| -> Arc<[f32]> {
        let values = |p| (0..CurvePart::count(p)).map(move |i| value(p, i));
        parts.iter().flat_map(values).collect()
    };
    let start = per_line(|p, i| f32::from(p.stops[i][0] as u8));
    let end = per_line(|p, i| f32::from(p.stops[i][1] as u8));
    let seed = per_line(|p, i| p.seeds[i] as f32);
    let target = with_targets.then(|| per_line(|p, i| p.targets[i] as f32));
    let measures = measured.then(|| per_line(|p, i| p.measures[i]));
    let (points, along) = parts.into_iter().map(|p| (p.points, p.along)).unzip();
    let mut tractogram = Tractogram::new(concatenated(points), offsets)
        .with_per_streamline("stop_start", start)
        .with_per_streamline("stop_end", end)
        .with_per_streamline("seed", seed);
    for name in ["stop_start", "stop_end"] {
        tractogram = tractogram.with_codes(name, reasons.clone());
    }
    if let Some(target) = target {
        tractogram = tractogram.with_per_streamline("target", target);
    }
    if let Some(measures) = measures {
        tractogram = tractogram
            .with_per_point("cm", concatenated(along))
            .with_per_streamline("cm", measures);
    }
    tractogram
}

/// Joins all parts, copied on all threads: most time goes into the first access to fresh memory. Each part is freed
/// as soon as it is copied.
fn concatenated<T: Pod + Send + Sync>(parts: Vec<Vec<T>>) -> Arc<[T]> {
    const PIECE: usize = 1 << 18;
    let mut all = zeroed(parts.iter().map(Vec::len).sum());
    let Some(mut rest) = Arc::get_mut(&mut all) else {
        unreachable!("nobody else holds it")
    };
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let (to, more) = rest.split_at_mut(part.len());
        places.push((to, part));
        rest = more;
    }
    places.into_par_iter().for_each(|(to, part)| {
        let pieces = to.par_chunks_mut(PIECE).zip(part.par_chunks(PIECE));
        pieces.for_each(|(to, from)| to.copy_from_slice(from));
    });
    all
}
