//! Compares a pathway with those of random pairs of the same head, on voxels of twice the size.

use crate::compute::{Backend, Control};
use crate::data::{DataId, Region, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::eikonal::Prepared;
use crate::solvers::lifted;
use crate::solvers::pathway::{
    Domain, NoRates, PairRates, Params, RandomPairs, Rates, end_volumes_mm3,
};
use crate::state::job_end::ended;
use crate::state::pathways::PathwayParams;
use crate::state::pathways::jobs::find::{Wall, same_walls, walls};
use crate::state::pathways::jobs::lifted::{FindLifted, PreparedLifted};
use crate::state::tensors::jobs::input::{Distributions, Tensors};
use crate::state::{Effect, State, pathways};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

/// Comparing the pathway with those of random pairs.
pub const COMPARE: Slot = Slot::latest_wins("compare");

/// A pathway to be compared.
#[derive(Clone, Debug)]
pub struct ComparePathway {
    pub costs: ComparedCosts,
    /// The regions that take part.
    pub regions: Vec<Region>,
    /// Number of random pairs.
    pub pairs: usize,
    /// Results of the last comparison.
    pub known_pairs: Option<Arc<KnownPairs>>,
}

/// The source of the costs in which a pathway and random pairs are compared.
#[derive(Clone, Debug)]
pub enum ComparedCosts {
    Tensors(Box<Tensors>, Params),
    Distributions(Box<ComparedDistributions>),
}

/// Distributions in which a pathway and random pairs are compared.
#[derive(Clone, Debug)]
pub struct ComparedDistributions {
    pub distributions: Distributions,
    pub params: lifted::Params,
    /// Whether to compare on the voxels and in the directions of the pathway itself, not on voxels of twice the size in
    /// 42 directions.
    pub full: bool,
    /// Results of the last pathway.
    pub prepared: Option<Arc<PreparedLifted>>,
}

/// Random pairs, and the inputs that they were solved for.
#[derive(Clone, Debug)]
pub struct KnownPairs {
    inputs: PairInputs,
    /// FA or largest amplitude, which decides where paths run, and its least value there.
    domain: (Volume, f64),
    pub pairs: SolvedPairs,
}

/// Everything that random pairs depend on.
#[derive(Clone, Debug)]
struct PairInputs {
    field: DataId,
    params: PathwayParams,
    full: bool,
    walls: Vec<Wall>,
    volumes_mm3: [f64; 2],
    /// Pairs that were requested, of which some may have no path.
    pair_count: usize,
}

impl PairInputs {
    fn are_same(&self, other: &Self) -> bool {
        self.field == other.field
            && self.params == other.params
            && self.full == other.full
            && self.volumes_mm3 == other.volumes_mm3
            && self.pair_count == other.pair_count
            && same_walls(&self.walls, &other.walls)
    }
}

/// Random pairs of one model; dereferences to their costs.
#[derive(Clone, Debug)]
pub enum SolvedPairs {
    Tensors(RandomPairs),
    Distributions(lifted::RandomPairs),
}

impl Deref for SolvedPairs {
    type Target = PairRates;

    fn deref(&self) -> &PairRates {
        match self {
            Self::Tensors(pairs) => pairs,
            Self::Distributions(pairs) => pairs,
        }
    }
}

impl SolvedPairs {
    /// Directions of the paths; `None` through tensors.
    pub fn directions(&self) -> Option<usize> {
        match self {
            Self::Tensors(_) => None,
            Self::Distributions(pairs) => Some(pairs.prepared().directions.len()),
        }
    }
}

/// The result of comparing a pathway.
#[derive(Clone, Debug)]
pub struct PathwayComparison {
    pub field: DataId,
    pub regions: Vec<Region>,
    pub params: PathwayParams,
    pub known_pairs: Arc<KnownPairs>,
    /// The fraction of random pairs that cost less per mm: along the whole path, on the costliest stretch. `None` if
    /// there are too few pairs, or the pathway itself has no costs to compare.
    pub shares: Option<Rates>,
    /// Why the pathway has none on the voxels of the comparison.
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
        let started = Instant::now();
        let (regions, pair_count) = (self.regions, self.pairs);
        let inputs = |field, params, full| PairInputs {
            field,
            params,
            full,
            walls: walls(&regions),
            volumes_mm3: end_volumes_mm3(&regions),
            pair_count,
        };
        let known = |inputs: &PairInputs| {
            let known = self.known_pairs.as_ref();
            known.filter(|known| known.inputs.are_same(inputs)).cloned()
        };
        let new = |inputs, domain, pairs| {
            Arc::new(KnownPairs {
                inputs,
                domain,
                pairs,
            })
        };
        let known_pairs = match self.costs {
            ComparedCosts::Tensors(tensors, params) => {
                params.check().map_err(crate::solvers::Error::from)?;
                let (field, fa, _) = tensors.fitted(backend, control)?;
                let inputs = inputs(field.id(), PathwayParams::Tensors(params), false);
                match known(&inputs) {
                    Some(known) => known,
                    None => {
                        let domain = Domain::of_tensors(&fa, params.min_fa, &regions);
                        let (halved, mask) = domain.halved(&field, backend)?;
                        let metric = domain.metric(&halved, &mask, &params, backend, control)?;
                        let prepared = Prepared::new(&metric, params.local, backend, control)?;
                        let volumes = inputs.volumes_mm3;
                        let pairs = RandomPairs::solve(
                            &prepared, &halved, volumes, pair_count, backend, control,
                        )?;
                        new(inputs, (fa, params.min_fa), SolvedPairs::Tensors(pairs))
                    }
                }
            }
            ComparedCosts::Distributions(given) => {
                let params = given.params;
                params.check().map_err(crate::solvers::Error::from)?;
                let (field, _) = given.distributions.estimated(backend, control)?;
                let full = given.full;
                let inputs = inputs(field.id(), PathwayParams::Distributions(params), full);
                match known(&inputs) {
                    Some(known) => known,
                    None => {
                        let find = FindLifted {
                            distributions: Box::new(Distributions::Here {
                                field: field.clone(),
                                resample: None,
                            }),
                            regions: regions.clone(),
                            params,
                            epsilon: 0.0,
                            coarse: !full,
                            prepared: given.prepared,
                            kept: None,
                        };
                        let (costs, _) = find.known(&field, backend, control)?;
                        let volumes = inputs.volumes_mm3;
                        let pairs = lifted::RandomPairs::solve(
                            costs.costs(),
                            volumes,
                            pair_count,
                            backend,
                            control,
                        )?;
                        let domain = (costs.amplitude().clone(), params.min_amplitude);
                        new(inputs, domain, SolvedPairs::Distributions(pairs))
                    }
                }
            }
        };
        let rates = known_pairs.rates_between(&regions, backend, control)?;
        let shares = rates
            .ok()
            .and_then(|rates| known_pairs.pairs.cheaper_share(rates));
        Ok(PathwayComparison {
            field: known_pairs.inputs.field,
            params: known_pairs.inputs.params,
            shares,
            no_rates: rates.err(),
            regions,
            known_pairs,
            wall_ms: started.elapsed().as_secs_f64() * 1e3,
        })
    }
}

impl KnownPairs {
    /// Whether they were computed on the voxels of the pathway itself.
    pub fn is_full(&self) -> bool {
        self.inputs.full
    }

    /// The costs per mm of the path between the regions, computed as those of the pairs.
    fn rates_between(
        &self,
        regions: &[Region],
        backend: &Backend,
        control: &Control,
    ) -> Result<Result<Rates, NoRates>, JobError> {
        let (values, min_value) = &self.domain;
        Ok(match &self.pairs {
            SolvedPairs::Tensors(pairs) => {
                let domain = Domain::of_tensors(values, *min_value, regions);
                pairs.rates_in(&domain, backend, control)?
            }
            SolvedPairs::Distributions(pairs) => {
                let domain = Domain::of_distributions(values, *min_value, regions);
                pairs.rates_in(&domain, backend, control)?
            }
        })
    }
}
