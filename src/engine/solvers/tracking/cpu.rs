//! Tracking on the CPU: chunks of seeds in parallel, then one tractogram in the order of the seeds.

use super::field::Sampler;
use super::follow::StreamlineFollower;
use super::job::{Job, Sampled};
use crate::compute::{Cancelled, Control, simd};
use crate::data::tractogram::REPETITION;
use crate::data::{Region, TensorField};
use crate::solvers::Error;
use crate::solvers::curves::collect::{CurvePart, JoinedCurves};
use crate::solvers::curves::memory_budget::taken;
use crate::solvers::curves::{Interpolation, Output, Params};
use crate::solvers::tensor_fit::Residuals;
use rayon::prelude::*;
use std::ops::Range;

/// Needs the backend's threads installed.
pub fn track(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    control: &Control,
) -> Result<Output, Error> {
    let job = Job::new(field, regions, params, memory, control)?;
    let seeds = job.seeds.len() as u64;
    job.output(job.run_in(field, params.interpolation, ("Tracking", 0, seeds))?)
}

/// Tracks in the tensors of every repetition. Needs the backend's threads installed.
pub fn bootstrap(
    field: &TensorField,
    residuals: &Residuals,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    control: &Control,
) -> Result<Output, Error> {
    let repetitions = params.repetitions.unwrap_or(1);
    let job = Job::new(field, regions, params, memory, control)?;
    let seeds = job.seeds.len() as u64;
    let (mut parts, mut numbers, mut missed) = (Vec::new(), Vec::new(), Vec::new());
    for repetition in 0..repetitions {
        let sample = residuals.field(params.random_seed, repetition as u64, control)?;
        sample.tensors.on_host()?;
        let (done, all) = (repetition as u64 * seeds, repetitions as u64 * seeds);
        let more = job.run_in(&sample, params.interpolation, ("Repetitions", done, all))?;
        let count = |lines: fn(&JoinedCurves) -> &CurvePart| -> usize {
            more.iter().map(|p| lines(p).count()).sum()
        };
        numbers.resize(numbers.len() + count(|p| &p.kept), repetition as f32);
        missed.resize(missed.len() + count(|p| &p.missed), repetition as f32);
        parts.extend(more);
    }
    let mut output = job.output(parts)?;
    output.kept = output.kept.with_per_streamline(REPETITION, numbers);
    output.missed = output.missed.with_per_streamline(REPETITION, missed);
    Ok(output)
}

impl Job<'_> {
    /// Tracks all seeds in this field; `stage` holds the name of the work, the amount done before, and the total.
    fn run_in(
        &self,
        field: &TensorField,
        interpolation: Interpolation,
        (stage, done, all): (&str, u64, u64),
    ) -> Result<Vec<JoinedCurves>, Error> {
        let sampled = Sampled::new(field, interpolation, self.control)?;
        self.control.begin(stage, all);
        self.control.advance(done);
        match sampled {
            Sampled::Trilinear(sampler) => self.run(&sampler),
            Sampled::Cubic(sampler) => self.run(&sampler),
        }
    }

    fn run<S: Sampler>(&self, sampler: &S) -> Result<Vec<JoinedCurves>, Error> {
        let count = self.seeds.len();
        // Small enough for an even distribution, large enough that lanes rarely idle. The result does not depend on
        // it.
        let size = (count / (16 * rayon::current_num_threads())).clamp(16, 256);
        let chunks = count.div_ceil(size);
        let range = |i: usize| i * size..count.min((i + 1) * size);
        let repetitions = self.repetitions as u64;
        self.budget.predict_memory(self.max_points(), chunks, |i| {
            let joined = self.chunk(sampler, range(i))?;
            Ok(taken(&joined) * repetitions)
        })?;
        (0..chunks)
            .into_par_iter()
            .map(|i| {
                let range = range(i);
                let seeds = range.len() as u64;
                let joined = self.chunk(sampler, range)?;
                self.budget.count(seeds, seeds, [&joined])?;
                Ok(joined)
            })
            .collect()
    }

    fn chunk<S: Sampler>(
        &self,
        sampler: &S,
        range: Range<usize>,
    ) -> Result<JoinedCurves, Cancelled> {
        self.control.check()?;
        let started = self.startable_seeds(sampler, range);
        let halves = simd::dispatch(StreamlineFollower {
            sampler,
            rules: &self.rules,
            gates: &self.gates,
            starts: &started.starts,
            both_ways: self.limits.both_ways,
            control: self.control,
        })?;
        let mut joined = JoinedCurves::new(&self.gates);
        joined.no_start(started.no_start);
        let all = 0..started.seeds.len();
        joined.add_streamlines(&started, all, &halves, &self.gates, &self.limits);
        Ok(joined)
    }
}
