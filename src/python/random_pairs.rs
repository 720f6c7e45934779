//! The comparison of a pathway with those between random pairs of regions in the same head.

use crate::errors::Failure;
use crate::pathway::Search;
use crate::results::{Fact, Parts};
use crate::solve::Fit;
use arcuate_engine::data::OdfField;
use arcuate_engine::solvers::eikonal;
use arcuate_engine::solvers::lifted::{self, DirectionSet, halved_distributions};
use arcuate_engine::solvers::pathway::{
    Domain, MAX_PAIRS, MIN_PAIRS, NoRates, PairRates, Params, RandomPairs, Rates, end_volumes_mm3,
};

/// A comparison with this many pairs; with none, there is no comparison.
pub struct Comparison {
    pairs: usize,
    /// On the voxels and in the directions of the pathway itself, not on voxels of twice the size in few directions.
    full: bool,
}

impl Comparison {
    pub fn new(pairs: usize, full: bool) -> Result<Self, Failure> {
        if pairs != 0 && !(MIN_PAIRS..=MAX_PAIRS).contains(&pairs) {
            return Err(Failure::Parameter(format!(
                "Found {pairs} for null, expected 0, or a whole number from {MIN_PAIRS} to {MAX_PAIRS}; change it"
            )));
        }
        if full && pairs == 0 {
            return Err(Failure::Parameter(
                "Found null_full without pairs to compare, expected them; give their number as null, or leave out \
                 null_full"
                    .to_owned(),
            ));
        }
        Ok(Self { pairs, full })
    }

    pub fn is_requested(&self) -> bool {
        self.pairs > 0
    }

    /// Adds the comparison in the metric of tensors.
    pub fn in_tensors(
        &self,
        parts: Parts,
        search: &Search<'_>,
        fit: &Fit,
        params: &Params,
    ) -> Result<Parts, Failure> {
        if self.full {
            return Err(Failure::Parameter(
                "Found null_full, which has no effect: only distributions have it; leave it out"
                    .to_owned(),
            ));
        }
        let (backend, control) = (search.backend, search.control);
        let (field, fa) = (&fit.whole.fit.field, &fit.whole.maps.fa);
        let domain = Domain::of_tensors(fa, params.min_fa, search.regions);
        let (halved, mask) = domain.halved(field, backend)?;
        let metric = domain.metric(&halved, &mask, params, backend, control)?;
        let prepared = eikonal::Prepared::new(&metric, params.local, backend, control)?;
        let volumes = end_volumes_mm3(search.regions);
        let pairs = RandomPairs::solve(&prepared, &halved, volumes, self.pairs, backend, control)?;
        let rates = pairs.rates_in(&domain, backend, control)?;
        Ok(with_pairs(parts, &pairs, rates))
    }

    /// Adds the comparison through distributions, whose costs are already prepared for the pathway.
    pub fn in_distributions(
        &self,
        parts: Parts,
        search: &Search<'_>,
        (field, own): (&OdfField, &lifted::Prepared),
        domain: &Domain<'_>,
        params: &lifted::Params,
    ) -> Result<Parts, Failure> {
        let (backend, control) = (search.backend, search.control);
        let coarse;
        let prepared = match self.full {
            true => own,
            false => {
                let mask = backend.install(|| domain.mask())?;
                let halved = backend.install(|| halved_distributions(field, &mask));
                let (field, mask) = halved.unwrap_or_else(|| (field.clone(), mask));
                let params = lifted::Params {
                    directions: DirectionSet::Icosphere42,
                    ..*params
                };
                let costs = lifted::Prepared::new(&field, &mask, &params, backend, control)?;
                coarse = costs.with_costly_regions(domain, params.costly_factor, backend);
                &coarse
            }
        };
        let volumes = end_volumes_mm3(search.regions);
        let pairs = lifted::RandomPairs::solve(prepared, volumes, self.pairs, backend, control)?;
        let rates = pairs.rates_in(domain, backend, control)?;
        Ok(with_pairs(parts, &pairs, rates))
    }
}

/// The parts with the shares of the pairs that cost less per mm; NaN if there are none to compare.
fn with_pairs(parts: Parts, pairs: &PairRates, rates: Result<Rates, NoRates>) -> Parts {
    let shares = rates.ok().and_then(|rates| pairs.cheaper_share(rates));
    let share = |value: fn(Rates) -> f64| Fact::Number(shares.map_or(f64::NAN, value));
    parts
        .fact("pairs_tried", Fact::Whole(pairs.tried as u64))
        .fact("pairs_joined", Fact::Whole(pairs.rates.len() as u64))
        .fact("weakest_above", share(|shares| shares.weakest))
        .fact("cost_per_mm_above", share(|shares| shares.mean))
}
