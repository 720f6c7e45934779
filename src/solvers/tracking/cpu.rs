//! Tracking on the processor's cores: chunks of seeds in parallel, then one tractogram in the order
//! of the seeds.

use super::field::{Cubic, Sampler, Trilinear};
use super::follow::{Begin, Follow, Rules, Start};
use super::gather::{self, Joined, Kind, Lines};
use super::join::{Limits, MISSED_EVERY};
use super::regions::Gates;
use super::seeding::Seeds;
use super::spline::Coefficients;
use super::{Error, Interpolation, Output, Params, words};
use crate::compute::{Cancelled, Control, simd};
use crate::data::{Region, TensorField};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory that one point and one streamline take at the most, bytes. The most is not taken here but
/// when the result is saved: its points with FA, and those of the file that is read back to be
/// compared, in a vector that grows by doubling.
const BYTES_PER_POINT: u64 = 12 + 4 + 3 * 12;
const BYTES_PER_LINE: u64 = 150;
/// Chunks that foretell the rest, and the share of the work they may be.
const SAMPLES: usize = 16;
const SAMPLE_SHARE: usize = 32;

/// Needs the backend's threads installed.
pub fn track(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    control: &Control,
) -> Result<Output, Error> {
    let seeds = Seeds::new(field, regions, params, control)?;
    let gates = Gates::new(regions, params.step_mm);
    let limit = params.step_limit();
    let rules = Rules {
        integrator: params.integrator,
        step_mm: params.step_mm as f32,
        min_fa_squared: params.min_fa.map_or(-1.0, |fa| (fa * fa) as f32),
        min_cos: params
            .max_angle_rad
            .map_or(-2.0, |angle| angle.cos() as f32),
        max_steps: limit.steps,
        at_max: limit.at_max,
    };
    let limits = Limits {
        both_ways: params.both_ways,
        min_length_mm: params.min_length_mm as f32,
        max_steps: limit.in_length,
    };
    let job = Job {
        seeds: &seeds,
        gates: &gates,
        rules,
        limits,
        memory: memory.unwrap_or(u64::MAX),
        control,
    };
    let joined = match params.interpolation {
        Interpolation::Trilinear => job.run(&Trilinear::new(field)),
        Interpolation::CubicBSpline => {
            control.begin("Preparing splines", 0);
            let coefficients = Coefficients::new(field, control)?;
            job.run(&Cubic::new(&field.grid, coefficients))
        }
    }?;
    let kind = Kind {
        targets: gates.targets,
        missed_every: MISSED_EVERY,
        measured: false,
    };
    Ok(gather::gather(joined, kind))
}

struct Job<'a> {
    seeds: &'a Seeds<'a>,
    gates: &'a Gates<'a>,
    rules: Rules,
    limits: Limits,
    /// Bytes that streamlines may take.
    memory: u64,
    control: &'a Control,
}

impl Job<'_> {
    fn run<S: Sampler>(&self, sampler: &S) -> Result<Vec<Joined>, Error> {
        let count = self.seeds.len();
        self.control.begin("Tracking", count as u64);
        // Small enough to share out evenly, large enough that lanes rarely run dry. The result does
        // not depend on it.
        let size = (count / (16 * rayon::current_num_threads())).clamp(16, 256);
        let chunks = count.div_ceil(size);
        let range = |i: usize| i * size..count.min((i + 1) * size);
        if chunks >= SAMPLES * SAMPLE_SHARE {
            let sample = (0..SAMPLES).into_par_iter().map(|i| {
                let joined = self.chunk(sampler, range(i * chunks / SAMPLES))?;
                Ok(taken(&joined))
            });
            let sample: Vec<u64> = sample.collect::<Result<_, Cancelled>>()?;
            let share = SAMPLES as f64 / chunks as f64;
            self.foresee(sample.iter().sum::<u64>() as f64 / share)?;
        }
        let (done, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        (0..chunks)
            .into_par_iter()
            .map(|i| {
                let range = range(i);
                let seeds = range.len() as u64;
                let joined = self.chunk(sampler, range)?;
                let done = done.fetch_add(seeds, Ordering::Relaxed) + seeds;
                let more = taken(&joined);
                if bytes.fetch_add(more, Ordering::Relaxed) + more > self.memory {
                    return Err(self.full(done));
                }
                self.control.advance(seeds);
                Ok(joined)
            })
            .collect()
    }

    /// Refuses what a sample says would not fit.
    fn foresee(&self, bytes: f64) -> Result<(), Error> {
        if bytes <= self.memory as f64 {
            return Ok(());
        }
        Err(Error::Input(format!(
            "The streamlines of {} seeds would take about {} of memory, {} are free; ask for fewer \
             seeds or choose a longer step",
            words::count(self.seeds.len() as f64),
            words::bytes(bytes),
            words::bytes(self.memory as f64)
        )))
    }

    fn full(&self, done: u64) -> Error {
        Error::Input(format!(
            "The streamlines of {} of {} seeds fill the {} of memory that are free; ask for fewer \
             seeds or choose a longer step",
            words::count(done as f64),
            words::count(self.seeds.len() as f64),
            words::bytes(self.memory as f64)
        ))
    }

    fn chunk<S: Sampler>(&self, sampler: &S, range: Range<usize>) -> Result<Joined, Cancelled> {
        self.control.check()?;
        let points: Vec<[f32; 3]> = range.clone().map(|i| self.seeds.point(i)).collect();
        let begun = simd::dispatch(Begin {
            sampler,
            rules: &self.rules,
            seeds: &points,
        });
        // Mask regions bound the seeds too.
        let begun = begun
            .into_iter()
            .map(|start| start.filter(|s| self.gates.allows(s.at)));
        let begun: Vec<Option<Start>> = begun.collect();
        let starts: Vec<Start> = begun.iter().flatten().copied().collect();
        let halves = simd::dispatch(Follow {
            sampler,
            rules: &self.rules,
            gates: self.gates,
            starts: &starts,
            both_ways: self.limits.both_ways,
            control: self.control,
        })?;
        let mut joined = Joined::new(self.gates);
        let senses = if self.limits.both_ways { 2 } else { 1 };
        let mut first = 0;
        for (seed, start) in range.zip(begun) {
            let Some(start) = start else {
                joined.no_start(1);
                continue;
            };
            joined.add_streamline(
                seed as u32,
                start.at,
                &halves,
                first,
                self.gates,
                &self.limits,
            );
            first += senses;
        }
        // Vectors grow by doubling; thousands of chunks would hold as much again for nothing.
        joined.kept.points.shrink_to_fit();
        joined.missed.points.shrink_to_fit();
        Ok(joined)
    }
}

/// Memory that a chunk's streamlines will have taken in the end, bytes.
fn taken(joined: &Joined) -> u64 {
    let of = |lines: &Lines| {
        lines.points.len() as u64 * BYTES_PER_POINT + lines.count() as u64 * BYTES_PER_LINE
    };
    of(&joined.kept) + of(&joined.missed)
}
