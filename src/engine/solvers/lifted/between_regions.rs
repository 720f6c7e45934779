//! Pathways between regions: their ends, costly regions, and costs that reach far enough to join the ends.

use super::{LiftedPathway, Prepared, RandomPairs, Source, UNREACHED, solve_both};
use crate::compute::{Backend, Control};
use crate::data::{Mask, Region, Role};
use crate::solvers::Error;
use crate::solvers::metric::Places;
use crate::solvers::pathway::{Domain, NoRates, Rates, end_outside_domain, separated};
use std::sync::Arc;

/// Costs through distributions are computed at least up to this share above the least cost, and further if the pathway is
/// wider.
pub const LEAST_EXCESS: f64 = 0.3;
/// While the voxels of a pathway do not join its ends, the excess up to which costs are computed is multiplied by this.
const FARTHER: f64 = 3.0;
/// The search for a pathway ends at this excess.
const GREATEST_EXCESS: f64 = 10.0;

/// All regions of a role as one end, from which paths may leave in any direction.
pub fn end(
    domain: &Domain<'_>,
    places: &Places,
    role: Role,
    backend: &Backend,
) -> Result<Arc<Source>, Error> {
    let end = backend.install(|| domain.places(places, role));
    let (name, zero) = end.map_err(|error| {
        let amplitudes = domain.values.frame(0);
        let inside: Vec<u8> = amplitudes.iter().map(|a| u8::from(*a > 0.0)).collect();
        let fibres = Mask::new(domain.values.grid.clone(), inside);
        let whose = ("the voxels with fibres", "");
        end_outside_domain(domain.regions, role, &fibres, whose).unwrap_or(error)
    })?;
    Ok(Arc::new(Source {
        name,
        zero,
        direction: None,
    }))
}

/// Both ends of a pathway.
pub fn ends(
    domain: &Domain<'_>,
    places: &Places,
    backend: &Backend,
) -> Result<[Arc<Source>; 2], Error> {
    let end = |role| end(domain, places, role, backend);
    Ok([end(Role::Seed)?, end(Role::Target)?])
}

/// The pathway between two ends, and the share above the least cost up to which costs are known: at least `epsilon` and,
/// unless the pathway is a preview, as much as its voxels need to join the ends, if that is possible.
pub fn joined(
    prepared: &Prepared,
    sources: &[Arc<Source>; 2],
    regions: &[Region],
    (epsilon, is_preview): (f64, bool),
    backend: &Backend,
    control: &Control,
) -> Result<(LiftedPathway, f64), Error> {
    let mut max_excess = epsilon.max(LEAST_EXCESS);
    loop {
        let limit = max_excess as f32;
        let [a, b] = solve_both(prepared, sources, limit, UNREACHED, backend, control)?;
        let names = [0, 1].map(|i: usize| sources[i].name.as_str());
        let reaches = |place: &u32| a.least(*place as usize).is_finite();
        let is_reached = sources[1].zero.iter().any(reaches);
        let separated = (!is_reached).then(|| separated(names, regions)).flatten();
        let pathway = backend.install(|| LiftedPathway::new(a, b));
        let pathway = pathway.map_err(|error| separated.unwrap_or(error))?;
        let is_far_enough = is_preview || max_excess >= GREATEST_EXCESS;
        if pathway.joining_epsilon <= max_excess || is_far_enough {
            return Ok((pathway, max_excess));
        }
        max_excess = (max_excess * FARTHER).min(GREATEST_EXCESS);
    }
}

impl Prepared {
    /// The costs inside costly regions multiplied by a factor.
    pub fn with_costly_regions(self, domain: &Domain<'_>, factor: f64, backend: &Backend) -> Self {
        let costly = backend.install(|| domain.costly(&self.places));
        match costly.filter(|_| factor != 1.0) {
            Some(is_costly) => self.costlier(|place| is_costly[place], factor),
            None => self,
        }
    }
}

impl RandomPairs {
    /// Costs per mm between the ends of a domain in the costs of the pairs, or why there are none.
    pub fn rates_in(
        &self,
        domain: &Domain<'_>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Result<Rates, NoRates>, Error> {
        let sources = ends(domain, &self.prepared().places, backend)?;
        self.rates_between(&sources, &|at| domain.is_in_end(at), backend, control)
    }
}
