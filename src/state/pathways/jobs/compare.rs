//! Compares a pathway with those of random pairs of the same head, on voxels of twice the size.

use crate::compute::{Backend, Control};
use crate::data::{DataId, Region, Role};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::eikonal::Prepared;
use crate::solvers::pathway::{Domain, Ends, NoRates, Params, RandomPairs, Rates};
use crate::state::job_end::ended;
use crate::state::pathways::jobs::find::{Wall, coarse, same_walls, shapes, walls};
use crate::state::tensors::jobs::input::Tensors;
use crate::state::{Effect, State, pathways};
use std::sync::Arc;
use std::time::Instant;

/// Comparing the pathway with those of random pairs.
pub const COMPARE: Slot = Slot::latest_wins("compare");

/// A pathway to be compared.
#[derive(Clone, Debug)]
pub struct ComparePathway {
    pub tensors: Tensors,
    /// The regions that take part.
    pub regions: Vec<Region>,
    pub params: Params,
    /// Number of random pairs.
    pub pairs: usize,
    /// Results of the last comparison.
    pub known_pairs: Option<Arc<KnownPairs>>,
}

/// Random pairs, and the inputs that they were solved for.
#[derive(Clone, Debug)]
pub struct KnownPairs {
    field: DataId,
    params: Params,
    walls: Vec<Wall>,
    volumes_mm3: [f64; 2],
    /// Pairs that were requested, of which some may have no path.
    pair_count: usize,
    pub pairs: RandomPairs,
}

/// The result of comparing a pathway.
#[derive(Clone, Debug)]
pub struct PathwayComparison {
    pub field: DataId,
    pub regions: Vec<Region>,
    pub params: Params,
    pub known_pairs: Arc<KnownPairs>,
    /// The fraction of random pairs that cost less per mm: along the whole path, on the costliest stretch. `None` if
    /// there are too few pairs, or the pathway itself has no costs to compare.
    pub shares: Option<Rates>,
    /// Why the pathway has none on the voxels of twice the size.
    pub no_rates: Option<NoRates>,
    pub wall_ms: f64,
}

/// Enough for shares within 3 % (one standard deviation at the median, of independent pairs).
pub const RANDOM_PAIRS: usize = 200;

impl Job for ComparePathway {
    type Output = Box<PathwayComparison>;

    fn slot(&self) -> Slot {
        COMPARE
    }

    fn label(&self) -> String {
        "Comparing with random pairs".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        Ok(Box::new(self.compared(&worker.backend(), control)?))
    }
}

impl Receive<State> for ComparePathway {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, compared, _, _| {
            pathways::update::compared(state, *compared);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        pathways::update::not_compared(state, end.sentence());
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}

impl ComparePathway {
    fn compared(self, backend: &Backend, control: &Control) -> Result<PathwayComparison, JobError> {
        self.params.check().map_err(crate::solvers::Error::from)?;
        let started = Instant::now();
        let (field, fa, _) = self.tensors.fitted(backend, control)?;
        let (regions, params) = (self.regions, self.params);
        let domain = Domain::of_tensors(&fa, params.min_fa, &regions);
        let walls = walls(&regions);
        let volumes_mm3 = [Role::Seed, Role::Target].map(|role| {
            let volumes = shapes(&regions, role).into_iter().map(|s| s.volume_mm3());
            volumes.sum::<f64>()
        });
        let serves = |k: &Arc<KnownPairs>| {
            k.field == field.id()
                && k.params == params
                && k.volumes_mm3 == volumes_mm3
                && k.pair_count == self.pairs
                && same_walls(&k.walls, &walls)
        };
        let known_pairs = match self.known_pairs.filter(serves) {
            Some(known_pairs) => known_pairs,
            None => {
                let (halved, mask) = coarse(&field, &domain, backend)?;
                let metric = domain.metric(&halved, &mask, &params, backend, control)?;
                let prepared = Prepared::new(&metric, params.local, backend, control)?;
                let pairs = RandomPairs::solve(
                    &prepared,
                    &halved,
                    volumes_mm3,
                    self.pairs,
                    backend,
                    control,
                )?;
                Arc::new(KnownPairs {
                    field: field.id(),
                    params,
                    walls,
                    volumes_mm3,
                    pair_count: self.pairs,
                    pairs,
                })
            }
        };
        let pairs = &known_pairs.pairs;
        let source = |role| backend.install(|| domain.source(pairs.metric(), role));
        let ends: Vec<&Region> = regions
            .iter()
            .filter(|r| matches!(r.role, Role::Seed | Role::Target))
            .collect();
        let ends = Ends {
            sources: [source(Role::Seed)?, source(Role::Target)?],
            holds: &|at| ends.iter().any(|r| r.shape.contains(at)),
        };
        let rates = pairs.rates_between(&ends, backend, control)?;
        Ok(PathwayComparison {
            field: field.id(),
            shares: rates.ok().and_then(|rates| pairs.cheaper_share(rates)),
            no_rates: rates.err(),
            regions,
            params,
            known_pairs,
            wall_ms: started.elapsed().as_secs_f64() * 1e3,
        })
    }
}
