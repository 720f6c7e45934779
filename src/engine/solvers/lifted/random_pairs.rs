//! The cost per mm of the cheapest paths between random places of the same head, through its distributions, with which a
//! pathway is compared: see [`crate::solvers::pathway::RandomPairs`], which draws the same pairs in the metric of tensors.
//!
//! Fields from one place to all others are solved without limits. On voxels of twice the size and in 42 directions, 200
//! pairs take 25 such fields; the path of the regions is computed on the same voxels, in the same directions and from one
//! field, so that both have the same errors.

use super::trace::{smoothed, states};
use super::{LiftedField, Prepared, Source, UNREACHED, solve_each};
use crate::compute::{Backend, Control};
use crate::solvers::Error;
use crate::solvers::pathway::{Draw, NoRates, PairRates, Path, Rates, SOURCES_AT_ONCE};
use glam::DVec3;
use std::ops::Deref;
use std::sync::Arc;

/// Random places lie in white matter: their largest lobe has at least this share of the reference amplitude.
const WHITE_SHARE: f64 = 0.5;
/// Smallest relative decrease of a value that is propagated: percentiles need no more precise costs.
const TOLERANCE: f32 = 1e-3;
/// Targets per source: twice as many as in the metric of tensors, because a field takes much longer.
const TARGETS: usize = 8;
/// States of the fields in memory at a time, if there are several.
const STATES_AT_ONCE: usize = 1 << 24;

/// Costs of the paths between random pairs through distributions; dereferences to these costs.
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

impl RandomPairs {
    /// Solves `pairs` pairs of balls of two volumes (mm³). Equal arguments give equal pairs.
    pub fn solve(
        prepared: &Prepared,
        volumes_mm3: [f64; 2],
        pairs: usize,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let prepared = &prepared.clone().with_tolerance(TOLERANCE);
        let states = prepared.places.len() * prepared.directions.len();
        let draw = Draw {
            volumes_mm3,
            pairs,
            targets: TARGETS,
            sources_at_once: (STATES_AT_ONCE / states.max(1)).clamp(1, SOURCES_AT_ONCE),
        };
        let is_white = |place: usize| prepared.largest_share(place) >= WHITE_SHARE;
        let places = &prepared.places;
        let fields = |sources: Vec<Vec<u32>>| {
            let source = |zero| {
                Arc::new(Source {
                    name: "random".to_owned(),
                    zero,
                    direction: None,
                })
            };
            let sources: Vec<Arc<Source>> = sources.into_iter().map(source).collect();
            solve_each(prepared, &sources, backend, &control.silent())
        };
        let rates = |field: &LiftedField, target: &[u32], in_end: &dyn Fn(DVec3) -> bool| {
            Rates::new(&cheapest(field, target)?, places, in_end)
        };
        Ok(Self {
            prepared: prepared.clone(),
            pairs: PairRates::joined(places, is_white, &draw, backend, control, fields, rates)?,
        })
    }

    /// Costs per mm between two regions in the costs of the pairs, or why there are none. `in_end` tests whether a world
    /// point lies in either region.
    pub fn rates_between(
        &self,
        [from, to]: &[Arc<Source>; 2],
        in_end: &(dyn Fn(DVec3) -> bool + Sync),
        backend: &Backend,
        control: &Control,
    ) -> Result<Result<Rates, NoRates>, Error> {
        let sources = std::slice::from_ref(from);
        let fields = solve_each(&self.prepared, sources, backend, control)?;
        let path = backend.install(|| cheapest(fields.first()?, &to.zero));
        let rates = path.ok_or(NoRates::NoPath).and_then(|path| {
            Rates::new(&path, &self.prepared.places, in_end).ok_or(NoRates::TooShort)
        });
        Ok(rates)
    }

    /// Costs in which the paths are computed.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

impl Prepared {
    /// The largest amplitude at a place as a share of the reference, at most 1, from the least cost there.
    fn largest_share(&self, place: usize) -> f64 {
        let pairs = (0..self.directions.len()).step_by(2);
        let least = pairs.map(|d| self.cost(d, place)).fold(f32::MAX, f32::min);
        f64::from(self.factor(place)) / f64::from(least) - self.params.background_speed
    }
}

/// The path from the field's source to the state of least cost in these places; `None` if there is none.
fn cheapest(field: &LiftedField, places: &[u32]) -> Option<Path> {
    let directions = 0..field.prepared.directions.len();
    let states_of = |p: u32| directions.clone().map(move |d| (d, p as usize));
    let all = places.iter().flat_map(|p| states_of(*p));
    let value = |state: &(usize, usize)| field.value(state.0, state.1);
    let nearest = all.min_by(|a, b| value(a).total_cmp(&value(b)));
    let (direction, place) = nearest.filter(|state| value(state) < UNREACHED)?;
    let mut chain = states(field, place, direction)?;
    chain.reverse();
    Some(smoothed(&field.prepared, &chain))
}
