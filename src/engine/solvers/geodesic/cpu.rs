//! Rays on the CPU: chunks of seeds in parallel, then one tractogram in the order of the rays.

use super::error::InputError;
use super::field::{Cubic, Sampler, Trilinear};
use super::follow::RayFollower;
use super::half_ray::{HalfRayRules, RayHalves};
use super::join::Ray;
use super::odf_field::LobeSampler;
use super::odf_metric::OdfMetric;
use super::odf_start::OdfStarts;
use super::ray_metric::RayMetric;
use super::start::{Rays, Start, starts};
use super::{Form, Output, Params, join, paper};
use crate::compute::{Cancelled, Control, memory, simd};
use crate::data::Region;
use crate::solvers::Error;
use crate::solvers::curves::Interpolation;
use crate::solvers::curves::collect::{JoinedCurves, gather};
use crate::solvers::curves::half_queue::halves_per_start;
use crate::solvers::curves::memory_budget::{MemoryBudget, taken};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::seeding::{MAX_SEEDS, SeedableVoxels, Seeds};
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
    let grid = &metric.field.grid;
    let gates = RegionTests::new(regions, params.longest_step_mm(grid), &params.curves);
    let begin = |at| starts(metric, &gates, params, at);
    let rules = HalfRayRules::new(grid, params, params.curves.min_fa);
    let job = Job::new(&seeds, &gates, params, rules, &begin, memory, control)?;
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
    job.output(joined)
}

/// Rays in distributions. Needs the backend's threads installed.
pub fn trace_lobes(
    metric: &OdfMetric,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    control: &Control,
) -> Result<Output, Error> {
    let seeds = lobe_seeds(metric, regions, params, control)?;
    let gates = RegionTests::new(regions, params.curves.step_mm, &params.curves);
    let lobe_starts = OdfStarts::new(metric);
    let begin = |at| lobe_starts.at(&gates, params, at);
    let rules = HalfRayRules::new(metric.grid(), params, metric.speed.min_amplitude);
    let job = Job::new(&seeds, &gates, params, rules, &begin, memory, control)?;
    let sampler = LobeSampler::new(metric, params.curves.integrator);
    let joined = job.run(|starts| job.follow(&sampler, starts))?;
    job.output(joined)
}

/// Seeds in voxels with distributions.
fn lobe_seeds<'a>(
    metric: &'a OdfMetric,
    regions: &'a [Region],
    params: &Params,
    control: &Control,
) -> Result<Seeds<'a>, Error> {
    let records = &metric.records;
    let grid = metric.grid();
    let [nx, ny, _] = grid.shape;
    let strides = metric.strides();
    let has_data = |voxel: usize| {
        let (x, y, z) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
        let number = records.record_of[x + strides[0] * y + strides[1] * z];
        number > 0 && number <= records.fitted
    };
    let voxels = SeedableVoxels {
        grid,
        has_data: &has_data,
    };
    let curves = &params.curves;
    Seeds::in_voxels(voxels, regions, curves.seeding, curves.random_seed, control)
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
    started(
        &seeds,
        params,
        &|at| starts(metric, gates, params, at),
        control,
    )
}

/// All rays in distributions at their seeds, as [`rays`].
pub fn lobe_rays(
    metric: &OdfMetric,
    regions: &[Region],
    gates: &RegionTests,
    params: &Params,
    control: &Control,
) -> Result<(Rays, u64, u64), Error> {
    let seeds = lobe_seeds(metric, regions, params, control)?;
    let lobe_starts = OdfStarts::new(metric);
    started(
        &seeds,
        params,
        &|at| lobe_starts.at(gates, params, at),
        control,
    )
}

fn started(
    seeds: &Seeds,
    params: &Params,
    begin: Begin,
    control: &Control,
) -> Result<(Rays, u64, u64), Error> {
    /// Rays that a thread starts at a time: their memory is used again once they are copied.
    const RAYS: usize = 8192;
    let directions = params.directions.count();
    check_rays(seeds.len(), directions)?;
    let size = (RAYS / directions.max(1)).clamp(1, 256);
    let part = |part: usize| {
        control.check()?;
        let range = part * size..seeds.len().min((part + 1) * size);
        let (mut starts, mut rays, mut no_start) = (Vec::new(), Vec::new(), 0);
        starts.reserve_exact(range.len() * directions);
        rays.reserve_exact(range.len() * directions);
        for seed in range {
            let at = seeds.point(seed);
            let Some(seed_starts) = begin(at) else {
                no_start += directions as u64;
                continue;
            };
            rays.extend((0..seed_starts.len()).map(|direction| Ray {
                number: seed * directions + direction,
                seed: seed as u32,
                at,
            }));
            starts.extend(seed_starts);
        }
        Ok((starts, (rays, no_start)))
    };
    let parts = (0..seeds.len().div_ceil(size)).into_par_iter().map(part);
    let parts: Vec<_> = parts.collect::<Result<_, Cancelled>>()?;
    let (starts, others): (Vec<Vec<Start>>, Vec<_>) = parts.into_iter().unzip();
    let (numbers, no_start): (Vec<Vec<Ray>>, Vec<u64>) = others.into_iter().unzip();
    let mut rays = Rays {
        starts: Vec::new(),
        seeds: Vec::new(),
    };
    memory::append(&mut rays.starts, starts);
    memory::append(&mut rays.seeds, numbers);
    Ok((rays, no_start.iter().sum(), seeds.len() as u64))
}

/// Returns an error for more rays than the program can number.
fn check_rays(seeds: usize, directions: usize) -> Result<(), InputError> {
    if seeds.saturating_mul(directions) <= MAX_SEEDS {
        return Ok(());
    }
    Err(InputError::TooManyRays { seeds, directions })
}

/// The rays of a seed point; `None` if it cannot start any.
type Begin<'a> = &'a (dyn Fn([f32; 3]) -> Option<Vec<Start>> + Sync);

struct Job<'a> {
    begin: Begin<'a>,
    seeds: &'a Seeds<'a>,
    gates: &'a RegionTests<'a>,
    params: &'a Params,
    rules: HalfRayRules,
    budget: MemoryBudget<'a>,
    control: &'a Control,
}

impl<'a> Job<'a> {
    fn new(
        seeds: &'a Seeds<'a>,
        gates: &'a RegionTests<'a>,
        params: &'a Params,
        rules: HalfRayRules,
        begin: Begin<'a>,
        memory: Option<u64>,
        control: &'a Control,
    ) -> Result<Self, InputError> {
        check_rays(seeds.len(), params.directions.count())?;
        Ok(Self {
            begin,
            seeds,
            gates,
            params,
            rules,
            budget: MemoryBudget::new("rays", seeds.len(), memory, control),
            control,
        })
    }

    fn output(&self, joined: Vec<JoinedCurves>) -> Result<Output, Error> {
        Ok(Output {
            rays: Arc::new(gather(joined, self.gates, true)?),
            seeds: self.seeds.len() as u64,
            directions: self.params.directions.count() as u64,
            kernel_s: None,
            gather_s: None,
        })
    }

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
            match (self.begin)(at) {
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
