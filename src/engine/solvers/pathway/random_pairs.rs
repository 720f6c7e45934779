//! The cost per mm of minimal paths between random places of the same head. A pathway is compared with them because a
//! minimal path exists between almost any two regions.
//!
//! A source at a random place is solved once and joined with several targets: its cost field gives the minimal path
//! to each of them. Sources and targets are balls with the volumes of the pathway's own regions around voxels of
//! white matter. Pairs are at least one stretch apart, so that every path has a costliest stretch.

use super::error::InputError;
use super::trace::{Path, trace};
use super::{Domain, TOLERANCE};
use crate::compute::{Backend, Control};
use crate::data::random::Stream;
use crate::data::{Role, TensorField};
use crate::solvers::Error;
use crate::solvers::eikonal::{self, CostField, CostSource, Prepared, solve};
use crate::solvers::metric::{Metric, Places};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Deref;
use std::sync::Arc;

/// Length of the stretch whose cost per mm is compared, mm.
pub const STRETCH_MM: f64 = 10.0;
/// Smallest FA at random places: white matter.
const WHITE_FA: f64 = 0.25;
/// Targets per source: more would save time and make the pairs less independent.
const TARGETS: usize = 4;
/// Sources solved together.
pub(in crate::solvers) const SOURCES_AT_ONCE: usize = 10;
/// Largest number of sources drawn, as a multiple of the number that suffices if every pair is joined.
const MAX_SOURCES: usize = 3;
/// Attempts to draw a target far enough from its source.
const DRAWS: usize = 40;
/// With fewer pairs no percentile is given.
pub const MIN_PAIRS: usize = 20;
const RANDOM_SEED: u64 = 1;

/// Costs per mm along a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// The mean over the whole path.
    pub mean: f64,
    /// The mean over its costliest stretch between the regions.
    pub weakest: f64,
}

impl Rates {
    /// `None` for a path that hardly leaves its regions.
    pub fn from_path(path: &Path, metric: &Metric, in_end: impl Fn(DVec3) -> bool) -> Option<Self> {
        // Near the source, within a ball of some voxels, a path has no points of its own.
        Self::new(&path.subdivided(metric), metric, in_end)
    }

    /// Costs per mm of a path with a point in each voxel that it passes, its costs given; `None` if it hardly leaves its
    /// regions.
    pub fn new(path: &Path, places: &Places, in_end: impl Fn(DVec3) -> bool) -> Option<Self> {
        let between = path.between(places.grid.spacing().max_element(), in_end);
        let stretch = path.weakest(STRETCH_MM, between);
        let last = stretch.end.checked_sub(1).filter(|l| *l > stretch.start)?;
        Some(Self {
            mean: path.mean_cost_per_mm(),
            weakest: path.cost_per_mm_between(stretch.start, last),
        })
    }
}

/// Why there are no costs per mm between two regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoRates {
    /// No path joins them on this metric's grid.
    NoPath,
    /// The path hardly leaves them: it is not longer than a voxel beyond each.
    TooShort,
}

/// The two ends of a path: their voxels, and a test for points inside them.
pub struct Ends<'a> {
    /// Voxels at which paths begin and end.
    pub sources: [Arc<CostSource>; 2],
    /// Test of a world point: inside either end.
    pub holds: &'a (dyn Fn(DVec3) -> bool + Sync),
}

/// Costs of the paths between random pairs, whatever model they come from.
#[derive(Clone, Debug)]
pub struct PairRates {
    /// Costs of the pairs that a path joins.
    pub rates: Arc<[Rates]>,
    /// Pairs that were tried.
    pub tried: usize,
    /// Spacing of the voxels on which the pairs are joined, mm.
    pub spacing_mm: f64,
}

/// Costs of the paths between random pairs through tensors; dereferences to these costs.
#[derive(Clone, Debug)]
pub struct RandomPairs {
    prepared: Prepared,
    pairs: PairRates,
}

impl Deref for RandomPairs {
    type Target = PairRates;

    fn deref(&self) -> &PairRates {
        &self.pairs
    }
}

/// A ball around a voxel.
#[derive(Clone, Copy)]
pub(in crate::solvers) struct Ball {
    centre: DVec3,
    radius_mm: f64,
}

impl Ball {
    pub(in crate::solvers) fn contains(&self, at: DVec3) -> bool {
        at.distance_squared(self.centre) <= self.radius_mm * self.radius_mm
    }

    /// Places of its voxels; at least one if its centre is a voxel of the domain. Must be called on the backend's threads.
    pub(in crate::solvers) fn places(&self, centres: &[DVec3]) -> Vec<u32> {
        let places = (0..centres.len() as u32).into_par_iter();
        places
            .filter(|p| self.contains(centres[*p as usize]))
            .collect()
    }
}

/// A source and the targets joined with it.
pub(in crate::solvers) struct SourceTargets {
    pub(in crate::solvers) source: Ball,
    pub(in crate::solvers) targets: Vec<Ball>,
}

/// How random pairs are drawn.
pub(in crate::solvers) struct Draw {
    /// Volumes of the two balls of a pair, mm³.
    pub(in crate::solvers) volumes_mm3: [f64; 2],
    /// Number of pairs.
    pub(in crate::solvers) pairs: usize,
    /// Targets per source.
    pub(in crate::solvers) targets: usize,
    /// Sources joined together with their targets.
    pub(in crate::solvers) sources_at_once: usize,
}

/// More pairs than any percentile needs; every 4 to 8 of them take about as long as a cost field.
pub const MAX_PAIRS: usize = 100_000;

impl PairRates {
    /// Draws pairs of balls around white-matter places and joins each source with its targets. `fields` solves the costs
    /// from several sources, given by their places; `rates` are those of the path from a source to a target, `None` without
    /// a path. Equal arguments give equal pairs.
    pub(in crate::solvers) fn joined<F: Sync>(
        places: &Places,
        is_white: impl Fn(usize) -> bool,
        draw: &Draw,
        backend: &Backend,
        control: &Control,
        fields: impl Fn(Vec<Vec<u32>>) -> Result<Vec<F>, Error>,
        rates: impl Fn(&F, &[u32], &dyn Fn(DVec3) -> bool) -> Option<Rates> + Sync,
    ) -> Result<Self, Error> {
        let Draw {
            volumes_mm3,
            pairs,
            targets,
            sources_at_once,
        } = *draw;
        if pairs > MAX_PAIRS {
            return Err(InputError::RandomPairs(pairs).into());
        }
        let centre = |place: usize| {
            let voxel = places.voxel(place).map(|c| c as f64);
            places.grid.world(DVec3::from_array(voxel))
        };
        let centres: Vec<DVec3> = (0..places.len()).map(centre).collect();
        let white = (0..places.len()).filter(|place| is_white(*place));
        let white: Vec<DVec3> = white.map(|place| centres[place]).collect();
        let enough = pairs.div_ceil(targets);
        control.begin("Comparing with random pairs", enough as u64);
        let (mut joined, mut tried, mut first) = (Vec::with_capacity(pairs), 0, 0);
        while joined.len() < pairs && first < MAX_SOURCES * enough && !white.is_empty() {
            let fans: Vec<SourceTargets> = (first..first + sources_at_once)
                .filter_map(|i| fan(&white, volumes_mm3, targets, i as u64))
                .collect();
            first += sources_at_once;
            control.check()?;
            if fans.is_empty() {
                continue;
            }
            let sources = fans.iter().map(|fan| fan.source.places(&centres));
            let solved = fields(backend.install(|| sources.collect()))?;
            let both = |(fan, field): (&SourceTargets, &F)| -> Vec<Option<Rates>> {
                let rates = fan.targets.iter().map(|target| {
                    let in_end = |at| fan.source.contains(at) || target.contains(at);
                    rates(field, &target.places(&centres), &in_end)
                });
                rates.collect()
            };
            let fans = fans.par_iter().zip(&solved);
            let pair_rates: Vec<Option<Rates>> =
                backend.install(|| fans.flat_map_iter(both).collect());
            control.check()?;
            for rates in pair_rates {
                if joined.len() == pairs {
                    break;
                }
                tried += 1;
                joined.extend(rates);
            }
            let remaining = enough.saturating_sub(first - sources_at_once);
            control.advance(sources_at_once.min(remaining) as u64);
        }
        Ok(Self {
            rates: joined.into(),
            tried,
            spacing_mm: places.grid.spacing().max_element(),
        })
    }

    /// Whether too few pairs are joined for a percentile.
    pub fn too_few(&self) -> bool {
        self.rates.len() < MIN_PAIRS
    }

    /// The share of the pairs that cost less per mm: over the whole path, and over the costliest stretch. `None` for
    /// too few pairs.
    pub fn cheaper_share(&self, rates: Rates) -> Option<Rates> {
        let share = |value: fn(&Rates) -> f64| {
            // Equal values count half.
            let below = self
                .rates
                .iter()
                .map(|r| match value(r).total_cmp(&value(&rates)) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                });
            below.sum::<f64>() / self.rates.len() as f64
        };
        (!self.too_few()).then(|| Rates {
            mean: share(|r| r.mean),
            weakest: share(|r| r.weakest),
        })
    }
}

impl RandomPairs {
    /// Solves `pairs` pairs of balls of two volumes (mm³) on a metric of the tensors in `field`, which is on the
    /// metric's grid. Equal arguments give equal pairs.
    pub fn solve(
        prepared: &Prepared,
        field: &TensorField,
        volumes_mm3: [f64; 2],
        pairs: usize,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let metric = &prepared.metric;
        let draw = Draw {
            volumes_mm3,
            pairs,
            targets: TARGETS,
            sources_at_once: SOURCES_AT_ONCE,
        };
        let is_white = |p: usize| fa(field.tensors[metric.voxels[p] as usize].d) >= WHITE_FA;
        let solved = |sources: Vec<Vec<u32>>| {
            let source = |zero| Arc::new(CostSource::places(metric, "random", zero));
            let sources: Vec<Arc<CostSource>> =
                backend.install(|| sources.into_iter().map(source).collect());
            fields(prepared, &sources, backend, &control.silent())
        };
        let rates = |field: &CostField, target: &[u32], in_end: &dyn Fn(DVec3) -> bool| {
            Rates::from_path(&cheapest(field, target)?, metric, in_end)
        };
        Ok(Self {
            prepared: prepared.clone(),
            pairs: PairRates::joined(metric, is_white, &draw, backend, control, solved, rates)?,
        })
    }

    /// Costs per mm between two regions on the same metric, or why there are none.
    pub fn rates_between(
        &self,
        ends: &Ends,
        backend: &Backend,
        control: &Control,
    ) -> Result<Result<Rates, NoRates>, Error> {
        let [from, to] = &ends.sources;
        let sources = std::slice::from_ref(from);
        let fields = fields(&self.prepared, sources, backend, control)?;
        let metric = &self.prepared.metric;
        let path = backend.install(|| cheapest(fields.first()?, &to.zero));
        let rates = path
            .ok_or(NoRates::NoPath)
            .and_then(|path| Rates::from_path(&path, metric, ends.holds).ok_or(NoRates::TooShort));
        Ok(rates)
    }

    /// [`Self::rates_between`] for the ends of a domain.
    pub fn rates_in(
        &self,
        domain: &Domain<'_>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Result<Rates, NoRates>, Error> {
        let source = |role| backend.install(|| domain.source(self.metric(), role));
        let ends = Ends {
            sources: [source(Role::Seed)?, source(Role::Target)?],
            holds: &|at| domain.is_in_end(at),
        };
        self.rates_between(&ends, backend, control)
    }

    /// Metric in which the paths are computed.
    pub fn metric(&self) -> &Metric {
        &self.prepared.metric
    }
}

fn fields(
    prepared: &Prepared,
    sources: &[Arc<CostSource>],
    backend: &Backend,
    control: &Control,
) -> Result<Vec<CostField>, Error> {
    let params = eikonal::Params {
        tolerance: TOLERANCE,
        schedule: None,
    };
    solve(prepared, sources, &params, backend, control)
}

/// A source and its targets, determined by the number of the source alone.
fn fan(white: &[DVec3], volumes_mm3: [f64; 2], most: usize, number: u64) -> Option<SourceTargets> {
    let mut stream = Stream::new(RANDOM_SEED, number);
    let mut ball = |volume_mm3: f64| Ball {
        centre: white[(stream.uniform() * white.len() as f64) as usize % white.len()],
        radius_mm: (volume_mm3 * 0.75 / std::f64::consts::PI).cbrt(),
    };
    let source = ball(volumes_mm3[0]);
    let mut targets = Vec::new();
    for _ in 0..DRAWS {
        let target = ball(volumes_mm3[1]);
        let distance_mm = target.centre.distance(source.centre);
        if targets.len() < most && distance_mm >= source.radius_mm + target.radius_mm + STRETCH_MM {
            targets.push(target);
        }
    }
    (!targets.is_empty()).then_some(SourceTargets { source, targets })
}

/// The path from the place of least cost to the field's source; `None` if there is none.
fn cheapest(field: &CostField, places: &[u32]) -> Option<Path> {
    let value = |p: &u32| field.values[*p as usize];
    let nearest = places.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
    let points = trace(field, *nearest as usize)?;
    Some(Path::new(&field.prepared.metric, points))
}

/// Fractional anisotropy of one tensor, as `tensor_fit::maps` computes that of an image.
fn fa([xx, xy, xz, yy, yz, zz]: [f32; 6]) -> f64 {
    let [xx, xy, xz, yy, yz, zz] = [xx, xy, xz, yy, yz, zz].map(f64::from);
    let mean = (xx + yy + zz) / 3.0;
    let off = 2.0 * (xy * xy + xz * xz + yz * yz);
    let square = |[a, b, c]: [f64; 3]| a * a + b * b + c * c;
    let whole = square([xx, yy, zz]) + off;
    let spread = square([xx - mean, yy - mean, zz - mean]) + off;
    (1.5 * spread / whole.max(f64::MIN_POSITIVE)).sqrt()
}
