//! How far measurement noise alone moves a pathway.
//!
//! Each repetition refits the model to the scan with the signs of its residuals drawn at random (wild bootstrap) and
//! solves the costs of both regions again, which gives E*, the voxels of the pathway and the minimal path for a scan that
//! could equally well have been measured. As in a single pathway, only voxels that join both regions count. Repetition r
//! depends only on the random seed and on r, so that the results of n repetitions are equal whether they are solved in one
//! call or in many ([`Repetitions::extend`]), on any number of threads.
//!
//! *Models.* [`Repetitions::of_tensors`] repeats a pathway of tensors. A model of another solver implements [`Repeat`].
//!
//! *Domain.* Paths may run in the same voxels as the pathway itself, and through distributions in those that it reaches
//! from both regions: the voxels are not selected again from the FA or the amplitudes of the repetition.
//!
//! *Band.* [`Repetitions::band`] estimates where E* of a scan without noise lies, in the same voxels and unit of cost: ln E*
//! within [`Repeat::band_factor`] times the root mean square of ln(E*ᵣ / E*). The square is the variance over the
//! repetitions plus the square of their bias, so that the band widens where noise shifts E*. The factor for tensors is
//! calibrated (as by Loh 1987, J Am Stat Assoc 82:155, with other data than the scan itself): on the bundles of synthetic
//! heads (seeds 21 to 24, at SNR 15 also 11 to 14; 2 mm, 60 repetitions), bands with 2.2 contained E* without noise in
//! 88, 92 and 96 % of 256, 128 and 128 pathways at SNR 15, 20 and 30, while the factor 1.645 of a normal distribution
//! contained it in 78, 84 and 87 %. The test `pathway::band of E* against heads without noise` uses other heads. The
//! factor for distributions is that of [`lifted::repetitions`](crate::solvers::lifted::repetitions).
//!
//! Percentiles describe the repetitions only, and are too narrow for E* without noise: they contained it in 44, 47 and
//! 61 % of 128 pathways of four other heads (100 repetitions), although the spread of the repetitions was within 6 % of
//! that between scans with other noise. The rest is bias: noise turns tensors away from the bundle, which makes E* larger,
//! and opens cheaper ways, which makes it smaller. The bias of the repetitions follows that of the scan roughly
//! (correlation 0.6 to 0.7 over bundles); to subtract it (basic interval, Davison and Hinkley 1997, *Bootstrap Methods and
//! their Application*, eq. 5.6), or to extrapolate it from repetitions with more noise (Cook and Stefanski 1994, J Am Stat
//! Assoc 89:1314), made the errors larger than to widen the band.
//!
//! This covers measurement noise only, not errors of the model, distortion, misalignment or brain shift.

use super::JointCosts;
use super::trace::Path;
use crate::compute::{Backend, Control, memory};
use crate::data::statistics::quantile;
use crate::data::{Mask, Volume};
use crate::solvers::Error;
use crate::solvers::metric::Places;
use glam::DVec3;
use rayon::prelude::*;
use std::collections::HashSet;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// A path that stays within this distance of the shown one counts as the same, mm.
pub const NEAR_MM: f64 = 4.0;
/// The share of the values that lie within a [`Range90`].
pub const WITHIN: f64 = 0.9;
/// With fewer repetitions, the percentiles of a [`Range90`] are those of single repetitions.
pub const MIN_FOR_RANGES: usize = 20;

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

    /// Whether a number of repetitions suffices for percentiles ([`MIN_FOR_RANGES`]).
    pub fn has_percentiles(repetitions: usize) -> bool {
        repetitions >= MIN_FOR_RANGES
    }
}

/// One repetition.
#[derive(Clone, PartialEq, Debug)]
pub struct Repetition {
    /// E* and the minimal path; `None`: no path joins the regions.
    pub path: Option<(f64, Path)>,
    /// The part of the ε-pathway that joins the regions, or all of it if it does not: places of the pathway itself.
    pub pathway: Vec<u32>,
    /// Whether the ε-pathway joins the regions, if there is a path.
    pub is_joined: bool,
}

/// How repetitions are divided into tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tasks {
    /// Tasks that run at the same time.
    pub at_once: usize,
    /// Repetitions that a task solves together at most.
    pub together: usize,
}

/// A model whose pathway can be repeated: the residuals of its fit, and everything else that all repetitions share.
pub trait Repeat: Send + Sync + Debug {
    /// Claims the memory of this many repetitions, and returns how they are divided.
    fn begin(&self, repetitions: usize, backend: &Backend) -> Result<Tasks, Error>;

    /// The number of repetitions that keep the backend busy: fewer take about as long.
    fn at_once(&self, backend: &Backend) -> usize;

    /// Half the width of a 90 % band of ln E* without noise over the root mean square of ln(E*ᵣ / E*); `None` where this
    /// is not calibrated.
    fn band_factor(&self) -> Option<f64>;

    /// The repetitions of these numbers with a width and a random seed, in order: one task. Called on the backend's
    /// threads, for several tasks at a time.
    fn repetitions(
        &self,
        numbers: Range<usize>,
        epsilon: f64,
        random_seed: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<Repetition>, Error>;
}

/// The repetitions of a pathway that are solved so far, and all that further ones need. Clones share the latter.
#[derive(Clone, Debug)]
pub struct Repetitions {
    /// Voxels of the pathway itself, which the counts belong to.
    pub places: Places,
    /// ε of the pathways that are counted.
    pub epsilon: f64,
    /// Seed of the signs.
    pub random_seed: u64,
    /// E* of the pathway itself.
    pub measured: f64,
    /// E* and the minimal path of each repetition, in order; `None`: no path joins the regions.
    pub paths: Vec<Option<(f64, Path)>>,
    /// By place: repetitions whose pathway contains the voxel.
    pub visits: Vec<u32>,
    /// Repetitions whose pathway is not joined at ε: all its voxels count.
    pub not_joined: usize,
    model: Arc<dyn Repeat>,
}

impl Repetitions {
    /// No repetition yet, of a model of the pathway that has these costs.
    pub fn of_model(
        model: Arc<dyn Repeat>,
        pathway: &JointCosts,
        epsilon: f64,
        random_seed: u64,
    ) -> Self {
        Self {
            places: pathway.places.clone(),
            epsilon,
            random_seed,
            measured: pathway.min_cost,
            paths: Vec::new(),
            visits: vec![0; pathway.places.len()],
            not_joined: 0,
            model,
        }
    }

    /// No repetition yet, with another width or random seed: the residuals are not computed again.
    pub fn restarted(&self, epsilon: f64, random_seed: u64) -> Self {
        Self {
            places: self.places.clone(),
            epsilon,
            random_seed,
            paths: Vec::new(),
            visits: vec![0; self.visits.len()],
            not_joined: 0,
            model: self.model.clone(),
            ..*self
        }
    }

    /// Solves repetitions until there are `up_to`; with as many or more, nothing changes. After an error, also that of a
    /// cancellation, the repetitions before the first that is missing are kept.
    pub fn extend(
        &mut self,
        up_to: usize,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        /// A path of some hundred points, with costs and lengths.
        const PATH_BYTES: usize = 16_000;
        let further = up_to.saturating_sub(self.paths.len());
        if further == 0 {
            return Ok(());
        }
        control.check()?;
        let tasks = self.model.begin(further, backend)?;
        memory::claim_for::<u8>("The paths of the repetitions", further, PATH_BYTES)?;
        control.begin("Repetitions", further as u64);
        let at_once = tasks.at_once.max(1);
        let together = tasks.together.min(further.div_ceil(at_once)).max(1);
        let (model, epsilon, seed) = (self.model.clone(), self.epsilon, self.random_seed);
        let task = |numbers: Range<usize>| {
            control.check()?;
            let count = numbers.len() as u64;
            let solved = model.repetitions(numbers, epsilon, seed, backend, control)?;
            assert_eq!(solved.len() as u64, count, "a result for each repetition");
            control.advance(count);
            Ok(solved)
        };
        while self.paths.len() < up_to {
            let first = self.paths.len();
            let end = up_to.min(first + at_once * together);
            let solved: Vec<Result<Vec<Repetition>, Error>> = backend.install(|| {
                let starts = (first..end).into_par_iter().step_by(together);
                let starts = starts.with_max_len(1);
                let numbers = starts.map(|start| start..end.min(start + together));
                numbers.map(task).collect()
            });
            for repetitions in solved {
                repetitions?.into_iter().for_each(|one| self.add(one));
            }
        }
        Ok(())
    }

    /// The number of repetitions that keep the backend busy: fewer take about as long.
    pub fn at_once(&self, backend: &Backend) -> usize {
        self.model.at_once(backend).max(1)
    }

    fn add(&mut self, repetition: Repetition) {
        self.paths.push(repetition.path);
        self.not_joined += usize::from(!repetition.is_joined);
        for place in repetition.pathway {
            self.visits[place as usize] += 1;
        }
    }

    /// Repetitions in which no path joins the regions.
    pub fn without_path(&self) -> usize {
        self.paths.iter().filter(|p| p.is_none()).count()
    }

    /// The minimal paths of the repetitions that have one.
    pub fn existing_paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().flatten().map(|(_, path)| path)
    }

    /// Number of different minimal paths. Paths from voxel centre to voxel centre, as through crossings, are equal where
    /// noise moves them by less than a voxel.
    pub fn different_paths(&self) -> usize {
        let bits = |path: &Path| -> Vec<[u64; 3]> {
            let points = path.points.iter();
            points.map(|at| at.to_array().map(f64::to_bits)).collect()
        };
        self.existing_paths()
            .map(bits)
            .collect::<HashSet<_>>()
            .len()
    }

    /// Range of E* over the repetitions that have a path, not corrected for bias; `None` if none has one.
    pub fn costs(&self) -> Option<Range90> {
        let costs = self.paths.iter().flatten().map(|(cost, _)| *cost);
        Range90::of_values(costs.collect())
    }

    /// The 90 % band of E* without noise (see the module); `None` with fewer than [`MIN_FOR_RANGES`] repetitions, if more
    /// than one in twenty has no path, and where it is not calibrated.
    pub fn band(&self) -> Option<[f64; 2]> {
        let factor = self.model.band_factor()?;
        let (all, without_path) = (self.paths.len(), self.without_path());
        if !Range90::has_percentiles(all) || 20 * without_path > all {
            return None;
        }
        let costs = self.paths.iter().flatten().map(|(cost, _)| *cost);
        let squares: f64 = costs.map(|cost| (cost / self.measured).ln().powi(2)).sum();
        let half_width = factor * (squares / (all - without_path) as f64).sqrt();
        // Infinite if a path costs nothing.
        half_width
            .is_finite()
            .then(|| [-half_width, half_width].map(|shift| self.measured * shift.exp()))
    }

    /// The share of the repetitions whose pathway contains each voxel, 0 to 1; 0 outside the domain.
    pub fn share(&self) -> Volume {
        let repetitions = self.paths.len().max(1) as f32;
        let shares = self
            .visits
            .iter()
            .map(|visits| *visits as f32 / repetitions);
        self.places.volume(&shares.collect::<Vec<_>>(), 0.0)
    }

    /// The voxels that are in at least this share of the repetitions.
    pub fn mask(&self, share: f64) -> Mask {
        let least = (share * self.paths.len() as f64).ceil().max(1.0);
        let places = 0..self.visits.len();
        self.places
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
            let points = path.subdivided_points(&self.places.grid);
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
