//! How far measurement noise alone moves a pathway.
//!
//! Each repetition refits the tensors to the scan with the signs of its residuals drawn at random (wild bootstrap,
//! [`tensor_fit::Residuals`]) and solves the cost fields of both regions again, which gives E*, the voxels of the
//! pathway and the minimal path for a scan that could equally well have been measured. As in a single pathway, only
//! voxels that join both regions count. Repetition r depends only on the random seed and on r; its tensors are those of
//! repetition r in tracking.
//!
//! *Domain.* Paths may run in the same voxels as the pathway itself: they are not selected again from the FA of the
//! repetition.
//!
//! The percentiles of E* describe the repetitions and are not a confidence interval: on an arc, such ranges contained
//! the true value in 79 to 83 % of 24 scans instead of 90 %.
//!
//! This covers measurement noise only, not errors of the model, distortion, misalignment or brain shift.

use super::joint::{joining_places, limit, minimum};
use super::trace::{Path, path_through};
use super::{Pathway, RepetitionParams, TOLERANCE};
use crate::compute::{Backend, Control, memory};
use crate::data::statistics::quantile;
use crate::data::{Gradients, Mask, Volume};
use crate::solvers::eikonal::{self, CostSource, Prepared, solve_alone};
use crate::solvers::metric::{self, Metric};
use crate::solvers::tensor_fit::{self, Residuals};
use crate::solvers::{Error, eikonal::CostField};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// A path that stays within this distance of the shown one counts as the same, mm.
pub const NEAR_MM: f64 = 4.0;
/// The share of the values that lie within a [`Range90`].
pub const WITHIN: f64 = 0.9;

/// The scan to which the tensors of a pathway were fitted.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// Diffusion scan, on the grid of the tensors.
    pub dwi: &'a Volume,
    /// Its gradients.
    pub gradients: &'a Gradients,
    /// Parameters of the fit.
    pub fit: &'a tensor_fit::Params,
}

/// Median, and 5th and 95th percentiles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range90 {
    /// 5th percentile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub high: f64,
}

impl Range90 {
    /// The range of some values; `None` without any.
    pub fn of_values(mut values: Vec<f64>) -> Option<Self> {
        let tail = 0.5 * (1.0 - WITHIN);
        Some(Self {
            low: quantile(&mut values, tail)?,
            median: quantile(&mut values, 0.5)?,
            high: quantile(&mut values, 1.0 - tail)?,
        })
    }
}

/// The repetitions of a pathway.
#[derive(Clone, Debug)]
pub struct Repetitions {
    /// Metric whose places the counts belong to.
    pub metric: Metric,
    /// ε of the pathways that are counted.
    pub epsilon: f64,
    /// E* of the pathway itself.
    pub measured: f64,
    /// E* and the minimal path of each repetition, in order; `None`: no path joins the regions.
    pub paths: Vec<Option<(f64, Path)>>,
    /// By place: repetitions whose pathway contains the voxel.
    pub visits: Vec<u32>,
    /// Repetitions whose pathway is not joined at ε: all its voxels count.
    pub not_joined: usize,
}

/// One repetition.
struct Repetition {
    path: Option<(f64, Path)>,
    /// The part of the ε-pathway that joins the regions, as indices into [`Problem::places`].
    pathway: Vec<usize>,
    is_joined: bool,
}

/// Everything that all repetitions share.
struct Problem<'a> {
    pathway: &'a Pathway,
    metric_params: &'a metric::Params,
    epsilon: f64,
    /// Metric of the voxels that a path reaches.
    part: Metric,
    /// Their places in the metric of the pathway.
    places: Vec<u32>,
    zero: [Vec<u32>; 2],
    residuals: Residuals,
}

impl Repetitions {
    /// Solves the repetitions of a pathway of tensors that were fitted to a scan. The result is equal on any number of
    /// threads.
    pub fn solve(
        pathway: &Pathway,
        scan: Scan<'_>,
        (metric_params, epsilon): (&metric::Params, f64),
        params: &RepetitionParams,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        params.check()?;
        let problem = Problem::new(pathway, scan, (metric_params, epsilon), backend, control)?;
        // Metric, weights and layout with both fields, for each thread.
        let threads = backend.threads();
        memory::claim_for::<u8>(
            "The repetitions of a pathway",
            problem.places.len(),
            600 * threads,
        )?;
        /// A path of some hundred points, with costs and lengths.
        const PATH_BYTES: usize = 16_000;
        memory::claim_for::<u8>(
            "The paths of the repetitions",
            params.repetitions,
            PATH_BYTES,
        )?;
        control.begin("Repetitions", params.repetitions as u64);
        let mut all = Self {
            metric: pathway.metric().clone(),
            epsilon,
            measured: pathway.min_cost,
            paths: Vec::with_capacity(params.repetitions),
            visits: vec![0; pathway.metric().len()],
            not_joined: 0,
        };
        // Solved a few at a time, so that not all pathways need be stored at once.
        let at_once = 4 * threads;
        while all.paths.len() < params.repetitions {
            let first = all.paths.len();
            let numbers = first..params.repetitions.min(first + at_once);
            let done: Vec<Repetition> = backend.install(|| {
                let numbers = numbers.into_par_iter().with_max_len(1);
                numbers
                    .map(|number| {
                        let repetition =
                            problem.repetition(params.random_seed, number as u64, control)?;
                        control.advance(1);
                        Ok(repetition)
                    })
                    .collect::<Result<_, Error>>()
            })?;
            for repetition in done {
                all.paths.push(repetition.path);
                all.not_joined += usize::from(!repetition.is_joined);
                for place in repetition.pathway {
                    all.visits[problem.places[place] as usize] += 1;
                }
            }
        }
        Ok(all)
    }

    /// Repetitions in which no path joins the regions.
    pub fn without_path(&self) -> usize {
        self.paths.iter().filter(|p| p.is_none()).count()
    }

    /// The minimal paths of the repetitions that have one.
    pub fn existing_paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().flatten().map(|(_, path)| path)
    }

    /// Range of E* over the repetitions that have a path, not corrected for bias; `None` if none has one.
    pub fn costs(&self) -> Option<Range90> {
        let costs = self.paths.iter().flatten().map(|(cost, _)| *cost);
        Range90::of_values(costs.collect())
    }

    /// The share of the repetitions whose pathway contains each voxel, 0 to 1; 0 outside the domain.
    pub fn share(&self) -> Volume {
        let repetitions = self.paths.len().max(1) as f32;
        let shares = self
            .visits
            .iter()
            .map(|visits| *visits as f32 / repetitions);
        self.metric.volume(&shares.collect::<Vec<_>>(), 0.0)
    }

    /// The voxels that are in at least this share of the repetitions.
    pub fn mask(&self, share: f64) -> Mask {
        let least = (share * self.paths.len() as f64).ceil().max(1.0);
        let places = 0..self.visits.len();
        self.metric
            .mask_of(places.filter(|place| f64::from(self.visits[*place]) >= least))
    }

    /// Repetitions whose minimal path stays within [`NEAR_MM`] of a path outside the regions (`in_end`).
    pub fn near(
        &self,
        shown: &Path,
        in_end: impl Fn(DVec3) -> bool + Sync,
        backend: &Backend,
        control: &Control,
    ) -> Result<usize, Error> {
        let is_near = |at: &DVec3| {
            let nearest = shown.nearest_point(*at);
            nearest.is_some_and(|nearest| nearest.distance(*at) <= NEAR_MM)
        };
        let stays = |path: &&Path| {
            control.check()?;
            let points = path.subdivided(&self.metric).points;
            Ok(usize::from(
                points.iter().filter(|at| !in_end(**at)).all(is_near),
            ))
        };
        let paths: Vec<&Path> = self.existing_paths().collect();
        let stays: Result<Vec<usize>, Error> =
            backend.install(|| paths.par_iter().map(stays).collect());
        Ok(stays?.into_iter().sum())
    }
}

impl<'a> Problem<'a> {
    fn new(
        pathway: &'a Pathway,
        scan: Scan<'_>,
        (metric_params, epsilon): (&'a metric::Params, f64),
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let metric = pathway.metric();
        let is_reached = |place: &u32| pathway.total[*place as usize].is_finite();
        let places = (0..metric.len() as u32).filter(is_reached);
        let places: Vec<u32> = places.collect();
        let part = metric.within(&places);
        let own = |place: &u32| places.binary_search(place).ok().map(|p| p as u32);
        let zero = [0, 1].map(|field: usize| {
            let zero = pathway.fields[field].source.zero.iter();
            zero.filter_map(own).collect()
        });
        let residuals = tensor_fit::residuals(
            scan.dwi,
            scan.gradients,
            &part.mask,
            scan.fit,
            None,
            backend,
            control,
        )?;
        Ok(Self {
            pathway,
            metric_params,
            epsilon,
            part,
            places,
            zero,
            residuals,
        })
    }

    /// One repetition, on the calling thread.
    fn repetition(
        &self,
        random_seed: u64,
        number: u64,
        control: &Control,
    ) -> Result<Repetition, Error> {
        control.check()?;
        let tensors = self.residuals.tensors(random_seed, number);
        self.solved(
            &self.part.with_tensors(&tensors, self.metric_params),
            control,
        )
    }

    /// The pathway in a metric of the part, on the calling thread.
    fn solved(&self, metric: &Metric, control: &Control) -> Result<Repetition, Error> {
        let local = self.pathway.fields[0].prepared.local;
        let prepared = Prepared::alone(metric, local, control)?;
        let source = |field: usize| {
            let name = &self.pathway.fields[field].source.name;
            Arc::new(CostSource::places(metric, name, self.zero[field].clone()))
        };
        let params = eikonal::Params {
            tolerance: TOLERANCE,
            schedule: None,
        };
        let fields = solve_alone(&prepared, &[source(0), source(1)], &params, control)?;
        Ok(self.joined(&fields))
    }

    fn joined(&self, fields: &[CostField]) -> Repetition {
        let [a, b] = fields else {
            unreachable!("one cost field for each source")
        };
        let total = |place: usize| a.values[place] + b.values[place];
        let (middle, least) = minimum((0..a.values.len()).map(total));
        let least = f64::from(least);
        let path = least
            .is_finite()
            .then(|| path_through([a, b], middle))
            .flatten();
        let limit = limit(least, self.epsilon);
        let within = |place: usize| f64::from(total(place)) <= limit;
        let joined = path.as_ref().and_then(|_| {
            let ends = [&*self.zero[0], &*self.zero[1]];
            joining_places(&self.part, ends, within)
        });
        let is_joined = joined.is_some() || path.is_none();
        let all = || (0..a.values.len()).filter(|place| within(*place)).collect();
        let pathway = match path {
            Some(_) => joined.unwrap_or_else(all),
            None => Vec::new(),
        };
        Repetition {
            path: path.map(|path| (least, path)),
            pathway,
            is_joined,
        }
    }
}
