//! Tracking on the processor's cores: chunks of seeds in parallel, then one tractogram in the order
//! of the seeds.

use super::field::Sampler;
use super::follow::Follow;
use super::gather::Joined;
use super::job::{Job, Sampled};
use super::room::taken;
use super::{Error, Output, Params};
use crate::compute::{Cancelled, Control, simd};
use crate::data::{Region, TensorField};
use rayon::prelude::*;
use std::ops::Range;

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
    let job = Job::new(field, regions, params, memory, control)?;
    let joined = match Sampled::new(field, params.interpolation, control)? {
        Sampled::Trilinear(sampler) => job.run(&sampler),
        Sampled::Cubic(sampler) => job.run(&sampler),
    }?;
    Ok(job.output(joined))
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
        if self.room.is_limited() && chunks >= SAMPLES * SAMPLE_SHARE {
            let sample = (0..SAMPLES).into_par_iter().map(|i| {
                let joined = self.chunk(sampler, range(i * chunks / SAMPLES))?;
                Ok(taken(&joined))
            });
            let sample: Vec<u64> = sample.collect::<Result<_, Cancelled>>()?;
            let share = SAMPLES as f64 / chunks as f64;
            self.room
                .foresee(sample.iter().sum::<u64>() as f64 / share)?;
        }
        (0..chunks)
            .into_par_iter()
            .map(|i| {
                let range = range(i);
                let seeds = range.len() as u64;
                let joined = self.chunk(sampler, range)?;
                self.room.count(seeds, seeds, [&joined])?;
                Ok(joined)
            })
            .collect()
    }

    fn chunk<S: Sampler>(&self, sampler: &S, range: Range<usize>) -> Result<Joined, Cancelled> {
        self.control.check()?;
        let begun = self.begin(sampler, range);
        let halves = simd::dispatch(Follow {
            sampler,
            rules: &self.rules,
            gates: &self.gates,
            starts: &begun.starts,
            both_ways: self.limits.both_ways,
            control: self.control,
        })?;
        let mut joined = Joined::new(&self.gates);
        joined.no_start(begun.no_start);
        let all = 0..begun.seeds.len();
        joined.add_streamlines(&begun, all, &halves, &self.gates, &self.limits);
        Ok(joined)
    }
}
