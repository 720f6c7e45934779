//! The conditions of a run besides its directions: seeds, regions, tissues, limits.

use super::Fibres;
use super::error::InputError;
use super::follow::{Conditions, SeedPoints, Tracker};
use super::interface::InterfaceSeeds;
use super::model::Model;
use super::parameters::{Method, Params};
use super::run::Run;
use super::tissue_rules::TissueRules;
use crate::compute::{Backend, Control};
use crate::data::random::Random;
use crate::data::{Grid, Region, TissueMap};
use crate::solvers::Error;
use crate::solvers::curves::collect::gather;
use crate::solvers::curves::memory_budget::MemoryBudget;
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::seeding::{SeedableVoxels, Seeds};
use crate::solvers::curves::{self, MAX_SEEDS, Output, Seeding};

/// Streamlines that are tried for each one that is requested.
const TRIES_PER_STREAMLINE: u64 = 1000;
/// Largest number of steps without a length limit.
const MAX_STEPS: f64 = 100_000.0;
/// The share of voxels with fibres that a tissue map has to cover.
const MIN_COVERED: f64 = 0.9;

/// A run, whatever follows the streamlines.
pub struct Job<'a> {
    pub fibres: &'a Fibres,
    pub tissues: Option<&'a TissueMap>,
    pub regions: &'a [Region],
    pub params: &'a Params,
    pub memory: Option<u64>,
    pub backend: &'a Backend,
    pub control: &'a Control,
}

/// Whether a voxel has fibres, by its index.
type HasFibres<'a> = &'a (dyn Fn(usize) -> bool + Sync);

impl<'a> Job<'a> {
    /// Tracks with a model on the threads of the backend, which are installed.
    pub fn on_cpu(&self, model: &dyn Model) -> Result<Output, Error> {
        let has_fibres = |voxel: usize| model.has_fibres(voxel);
        self.with_conditions(&has_fibres, |conditions, memory, available| {
            let run = Run {
                tracker: Tracker { model, conditions },
                control: self.control,
                memory,
            };
            let parts = match self.params.select {
                Some(requested) => vec![run.select(requested as u64, available)?],
                None => run.all(available)?,
            };
            Ok(gather(parts, conditions.gates, false)?)
        })
    }

    /// The result of `track`, which gets the conditions, the memory and the number of streamlines that may be tried.
    pub fn with_conditions(
        &self,
        has_fibres: HasFibres,
        track: impl FnOnce(&Conditions, MemoryBudget, u64) -> Result<Output, Error>,
    ) -> Result<Output, Error> {
        let (params, control) = (self.params, self.control);
        if let Some(map) = self.tissues {
            check_covered(self.fibres.grid(), has_fibres, map)?;
        }
        let rules = self.tissues.map(TissueRules::new);
        let limit = params.select.map_or(u64::MAX, |n| {
            (n as u64)
                .saturating_mul(TRIES_PER_STREAMLINE)
                .min(MAX_SEEDS as u64)
        });
        let (seeds, available) = self
            .backend
            .install(|| self.seeds(has_fibres, rules.as_ref(), limit))?;
        let curve_params = curves::Params {
            targets: params.targets,
            includes: params.includes,
            ..curves::Params::defaults()
        };
        let gates = RegionTests::new(self.regions, params.step_mm, &curve_params);
        let longest = params
            .max_length_mm
            .map_or(MAX_STEPS, |mm| mm / params.step_mm);
        let conditions = Conditions {
            tissues: rules.as_ref(),
            gates: &gates,
            seeds: &seeds,
            random: Random::new(params.random_seed),
            both_ways: params.both_ways,
            goes_back: params.back_track
                && rules.is_some()
                && params.method == Method::Probabilistic,
            // A small margin keeps 250 mm at 250 steps of 1 mm despite rounding.
            max_steps: (longest * (1.0 + 1e-9)).min(MAX_STEPS) as u32,
            step_mm: params.step_mm as f32,
            min_length_mm: params.min_length_mm as f32,
        };
        let memory = MemoryBudget::new("streamlines", available as usize, self.memory, control);
        let mut output = track(&conditions, memory, available.min(limit))?;
        if let Some(starts) = &mut output.starts {
            starts.min_amplitude = Some(params.min_amplitude);
        }
        Ok(output)
    }

    /// Seeds and their number, of which at most `limit` are tried. Needs the backend's threads installed.
    fn seeds<'b>(
        &'b self,
        has_fibres: HasFibres,
        rules: Option<&'b TissueRules>,
        limit: u64,
    ) -> Result<(SeedPoints<'b>, u64), Error> {
        let params = self.params;
        let seeding = match (params.seeding, params.select) {
            (Seeding::Random { .. }, Some(_)) => Seeding::Random {
                count: limit as usize,
            },
            (seeding, _) => seeding,
        };
        if let (true, Some(map), Some(rules)) = (params.at_interface, self.tissues, rules) {
            let seeds = InterfaceSeeds::new(map, rules, self.regions, params.random_seed)?;
            let count = match seeding {
                Seeding::Random { count } => count,
                _ => MAX_SEEDS,
            };
            return Ok((SeedPoints::Interface(seeds), count as u64));
        }
        let voxels = SeedableVoxels {
            grid: self.fibres.grid(),
            has_data: has_fibres,
        };
        let seeds = Seeds::in_voxels(
            voxels,
            self.regions,
            seeding,
            params.random_seed,
            self.control,
        )?;
        let count = seeds.len() as u64;
        Ok((SeedPoints::Anywhere(seeds), count))
    }
}

/// Refuses tissues elsewhere than the fibres: of another head, or before alignment.
fn check_covered(grid: &Grid, has_fibres: HasFibres, map: &TissueMap) -> Result<(), Error> {
    /// Voxels that are examined, evenly spaced.
    const MAX_EXAMINED: usize = 20_000;
    let voxels: Vec<usize> = (0..grid.voxel_count()).filter(|v| has_fibres(*v)).collect();
    if voxels.is_empty() {
        return Err(InputError::Empty.into());
    }
    let step = voxels.len().div_ceil(MAX_EXAMINED);
    let (mut covered, mut examined) = (0usize, 0usize);
    for voxel in voxels.into_iter().step_by(step) {
        let centre = grid.world(glam::DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        covered += usize::from(map.grid.nearest(centre).is_some());
        examined += 1;
    }
    let share = covered as f64 / examined as f64;
    match share >= MIN_COVERED {
        true => Ok(()),
        false => Err(InputError::TissuesElsewhere { share }.into()),
    }
}
