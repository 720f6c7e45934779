//! Rays on the CPU: chunks of seeds in parallel, then one tractogram in the order of the rays.

use super::error::InputError;
use super::field::{Cubic, Sampler, Trilinear};
use super::follow::RayFollower;
use super::half_ray::{HalfRayRules, RayHalves};
use super::ray_metric::RayMetric;
use super::start::{Rays, Start, starts};
use super::{Form, Output, Params, join, paper};
use crate::compute::{Cancelled, Control, simd};
use crate::data::Region;
use crate::solvers::Error;
use crate::solvers::curves::Interpolation;
use crate::solvers::curves::collect::{JoinedCurves, gather};
use crate::solvers::curves::half_queue::halves_per_start;
use crate::solvers::curves::memory_budget::{MemoryBudget, taken};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::seeding::{MAX_SEEDS, Seeds};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Needs the backend's threads installed.
pub fn trace(
    metric: &RayMetric,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    control: &Control,
) -> Result<Output, Error> {
    let seeds = Seeds::new(&metric.field, regions, &params.curves, control)?;
    check_rays(seeds.len(), params.directions.count())?;
    let gates = RegionTests::new(regions, params.longest_step_mm(metric), &params.curves);
    let job = Job {
        metric,
        seeds: &seeds,
        gates: &gates,
        params,
        rules: HalfRayRules::new(metric, params),
        budget: MemoryBudget::new("rays", seeds.len(), memory, control),
        control,
    };
    let joined = match (params.form, metric.interpolation) {
        (Form::Christoffel, _) => {
            let derivatives = paper::Fields::new(metric, control)?;
            job.run(|starts| {
                paper::follow(&derivatives, &job.rules, &gates, starts, params, control)
            })
        }
        (_, Interpolation::Trilinear) => {
            let sampler = Trilinear::new(metric);
            job.run(|starts| job.follow(&sampler, starts))
        }
        (_, Interpolation::CubicBSpline) => {
            let sampler = Cubic::new(metric);
            job.run(|starts| job.follow(&sampler, starts))
        }
    }?;
    Ok(Output {
        rays: Arc::new(gather(joined, &gates, true)?),
        seeds: seeds.len() as u64,
        directions: params.directions.count() as u64,
        kernel_s: None,
        gather_s: None,
    })
}

/// All rays at their seeds, the number of seeds that cannot start, and the number of seeds. Needs the backend's
/// threads installed.
pub fn rays(
    metric: &RayMetric,
    regions: &[Region],
    gates: &RegionTests,
    params: &Params,
    control: &Control,
) -> Result<(Rays, u64, u64), Error> {
    let seeds = Seeds::new(&metric.field, regions, &params.curves, control)?;
    let directions = params.directions.count();
    check_rays(seeds.len(), directions)?;
    let begin = |seed| {
        control.check()?;
        let at = seeds.point(seed);
        Ok((seed, at, starts(metric, gates, params, at)))
    };
    let each = (0..seeds.len()).into_par_iter().with_min_len(64);
    let started: Vec<_> = each.map(begin).collect::<Result<_, Cancelled>>()?;
    let mut rays = Rays {
        starts: Vec::with_capacity(seeds.len() * directions),
        seeds: Vec::with_capacity(seeds.len() * directions),
    };
    let mut no_start = 0;
    for (seed, at, seed_starts) in started {
        let Some(seed_starts) = seed_starts else {
            no_start += directions as u64;
            continue;
        };
        let numbers = (0..seed_starts.len()).map(|d| (seed * directions + d, seed as u32, at));
        rays.seeds.extend(numbers);
        rays.starts.extend(seed_starts);
    }
    Ok((rays, no_start, seeds.len() as u64))
}

/// Returns an error for more rays than the program can number.
fn check_rays(seeds: usize, directions: usize) -> Result<(), InputError> {
    if seeds.saturating_mul(directions) <= MAX_SEEDS {
        return Ok(());
    }
    Err(InputError::TooManyRays { seeds, directions })
}

struct Job<'a> {
    metric: &'a RayMetric,
    seeds: &'a Seeds<'a>,
    gates: &'a RegionTests<'a>,
    params: &'a Params,
    rules: HalfRayRules,
    budget: MemoryBudget<'a>,
    control: &'a Control,
}

impl Job<'_> {
    fn run(
        &self,
        follow: impl Fn(&[Start]) -> Result<RayHalves, Cancelled> + Sync,
    ) -> Result<Vec<JoinedCurves>, Error> {
        let count = self.seeds.len();
        let directions = self.params.directions.count();
        self.control
            .begin("Tracing rays", count as u64 * directions as u64);
        // Small enough for an even distribution, large enough that lanes rarely idle. The result does not depend on
        // it.
        let rays = count * directions;
        let size = (rays / (16 * rayon::current_num_threads())).clamp(64, 512);
        let size = size.div_ceil(directions);
        let chunks = count.div_ceil(size);
        let range = |i: usize| i * size..count.min((i + 1) * size);
        let points = self.rules.max_points(self.params) * directions as u64;
        self.budget.predict_memory(points, chunks, |i| {
            Ok(taken(&self.chunk(range(i), &follow)?))
        })?;
        (0..chunks)
            .into_par_iter()
            .map(|i| {
                let range = range(i);
                let seeds = range.len() as u64;
                let joined = self.chunk(range, &follow)?;
                self.budget
                    .count(seeds, seeds * directions as u64, [&joined])?;
                Ok(joined)
            })
            .collect()
    }

    fn chunk(
        &self,
        range: Range<usize>,
        follow: impl Fn(&[Start]) -> Result<RayHalves, Cancelled>,
    ) -> Result<JoinedCurves, Cancelled> {
        self.control.check()?;
        let directions = self.params.directions.count();
        let mut joined = JoinedCurves::new(self.gates);
        let mut started: Vec<(usize, [f32; 3])> = Vec::new();
        let mut all: Vec<Start> = Vec::new();
        for seed in range {
            let at = self.seeds.point(seed);
            match starts(self.metric, self.gates, self.params, at) {
                Some(starts) => {
                    started.push((seed, at));
                    all.extend(starts);
                }
                None => joined.no_start(directions as u64),
            }
        }
        let halves = follow(&all)?;
        let rules = join::JoinRules::new(self.gates, &self.params.curves);
        let per_start = halves_per_start(rules.both_ways);
        for (i, (seed, at)) in started.into_iter().enumerate() {
            for direction in 0..directions {
                let ray = seed * directions + direction;
                let first = (i * directions + direction) * per_start;
                joined.add_ray((ray, seed as u32), at, &halves, first, &rules);
            }
        }
        Ok(joined)
    }

    fn follow<S: Sampler>(&self, sampler: &S, starts: &[Start]) -> Result<RayHalves, Cancelled> {
        simd::dispatch(RayFollower {
            sampler,
            rules: &self.rules,
            gates: self.gates,
            starts,
            both_ways: self.params.curves.both_ways,
            control: self.control,
        })
    }
}
