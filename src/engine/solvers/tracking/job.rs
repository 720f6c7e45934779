//! The part of tracking that all backends share: rules, seeds and their starts, memory budget.

use super::field::{Cubic, Sampler, Trilinear};
use super::follow::{HalfStreamlineRules, SeedStart, Start};
use super::join::Limits;
use crate::compute::{Cancelled, Control, simd};
use crate::data::{Region, TensorField};
use crate::solvers::Error;
use crate::solvers::curves::cells::Record;
use crate::solvers::curves::collect::{JoinedCurves, gather};
use crate::solvers::curves::half_queue::halves_per_start;
use crate::solvers::curves::memory_budget::MemoryBudget;
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::seeding::Seeds;
use crate::solvers::curves::spline::Coefficients;
use crate::solvers::curves::{Deflection, Interpolation, Output, Params};
use rayon::prelude::*;

pub struct Job<'a> {
    pub seeds: Seeds<'a>,
    pub gates: RegionTests<'a>,
    pub rules: HalfStreamlineRules,
    pub limits: Limits,
    pub control: &'a Control,
    pub budget: MemoryBudget<'a>,
    /// Number of times that all seeds are followed.
    pub repetitions: usize,
}

/// The seeds that can start, in order.
#[derive(Default)]
pub struct StartableSeeds {
    pub seeds: Vec<u32>,
    pub starts: Vec<Start>,
    /// Number of seeds that cannot start.
    pub no_start: u64,
}

impl<'a> Job<'a> {
    /// Largest number of points of a seed's curve.
    pub fn max_points(&self) -> u64 {
        1 + halves_per_start(self.limits.both_ways) as u64 * u64::from(self.rules.max_steps)
    }

    /// Needs the backend's threads installed.
    pub fn new(
        field: &'a TensorField,
        regions: &'a [Region],
        params: &Params,
        memory: Option<u64>,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let limit = params.step_limit();
        let step_mm = params.step_mm as f32;
        let repetitions = params.repetitions.unwrap_or(1);
        let seeds = Seeds::new(field, regions, params, control)?;
        Ok(Self {
            budget: MemoryBudget::new("streamlines", seeds.len() * repetitions, memory, control),
            repetitions,
            seeds,
            gates: RegionTests::new(regions, params.step_mm, params),
            rules: HalfStreamlineRules {
                integrator: params.integrator,
                step_mm,
                min_fa_squared: params.min_fa.map_or(-1.0, |fa| (fa * fa) as f32),
                min_cos: params.min_cos(),
                max_steps: limit.steps,
                at_max: limit.at_max,
                deflection: params.deflection.map(|Deflection { f, g }| {
                    let rest = 1.0 - f;
                    [f, rest * (1.0 - g), rest * g].map(|w| w as f32)
                }),
            },
            limits: Limits {
                both_ways: params.both_ways,
                min_length_mm: params.min_length_mm as f32,
                max_steps: limit.in_length,
                step_mm,
            },
            control,
        })
    }

    /// The seeds that can start, with their starts.
    pub fn startable_seeds<S: Sampler>(
        &self,
        sampler: &S,
        seeds: impl Iterator<Item = usize>,
    ) -> StartableSeeds {
        let seeds: Vec<usize> = seeds.collect();
        let points: Vec<[f32; 3]> = seeds.iter().map(|&i| self.seeds.point(i)).collect();
        let starts = simd::dispatch(SeedStart {
            sampler,
            rules: &self.rules,
            seeds: &points,
        });
        let mut started = StartableSeeds::default();
        for (seed, start) in seeds.into_iter().zip(starts) {
            // Mask regions apply to seeds, too.
            match start.filter(|s| self.gates.allows(s.at)) {
                Some(start) => {
                    started.seeds.push(seed as u32);
                    started.starts.push(start);
                }
                None => started.no_start += 1,
            }
        }
        started
    }

    /// Does the same as [`Job::startable_seeds`] on all threads, which must be installed.
    pub fn startable_seeds_on_all_threads(
        &self,
        sampled: &Sampled,
        seeds: &[u32],
    ) -> Result<StartableSeeds, Cancelled> {
        const PART: usize = 1024;
        let begin = |part: &[u32]| {
            self.control.check()?;
            let seeds = part.iter().map(|&i| i as usize);
            Ok(match sampled {
                Sampled::Trilinear(sampler) => self.startable_seeds(sampler, seeds),
                Sampled::Cubic(sampler) => self.startable_seeds(sampler, seeds),
            })
        };
        let parts: Result<Vec<StartableSeeds>, Cancelled> =
            seeds.par_chunks(PART).map(begin).collect();
        let mut all = StartableSeeds::default();
        for part in parts? {
            all.seeds.extend(part.seeds);
            all.starts.extend(part.starts);
            all.no_start += part.no_start;
        }
        Ok(all)
    }

    /// One output in the order of the parts. Needs the backend's threads installed.
    pub fn output(&self, parts: Vec<JoinedCurves>) -> Result<Output, Error> {
        Ok(gather(parts, &self.gates, false)?)
    }
}

/// A field ready to be interpolated.
pub enum Sampled<'a> {
    Trilinear(Trilinear<'a>),
    Cubic(Cubic<'a>),
}

impl<'a> Sampled<'a> {
    /// Needs the backend's threads installed.
    pub fn new(
        field: &'a TensorField,
        interpolation: Interpolation,
        control: &Control,
    ) -> Result<Self, Cancelled> {
        Ok(match interpolation {
            Interpolation::Trilinear => Self::Trilinear(Trilinear::new(field)),
            Interpolation::CubicBSpline => {
                control.begin("Preparing splines", 0);
                let coefficients = Coefficients::new(field, control)?;
                Self::Cubic(Cubic::new(&field.grid, coefficients))
            }
        })
    }

    pub fn records(&self) -> &[Record] {
        match self {
            Self::Trilinear(sampler) => &sampler.records,
            Self::Cubic(sampler) => sampler.coefficients.records,
        }
    }

    /// Distance in records from one to the next along y and z.
    pub fn strides(&self) -> [usize; 2] {
        match self {
            Self::Trilinear(sampler) => sampler.strides,
            Self::Cubic(sampler) => sampler.coefficients.strides,
        }
    }
}
