//! The pathway between two regions in the metric of tensors.

use crate::errors::Failure;
use crate::parameters::{Given, filled, given, is_given, split};
use crate::regions::{GivenRegion, owned, regions_of};
use crate::results::{Fact, Parts};
use crate::run::{Common, run};
use crate::solve::Fit;
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::{Region, Role, Tractogram};
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::eikonal::{self, Prepared, solve};
use arcuate_engine::solvers::pathway::{
    Domain, Params, Pathway, TOLERANCE, Width, not_joined, outside_tensors,
};
use arcuate_engine::solvers::{metric, tensor_fit, tractogram};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Finds the pathway between the regions with the roles seed and target.
#[pyfunction]
pub fn pathway(
    py: Python<'_>,
    fit: PyRef<'_, Fit>,
    regions: Vec<GivenRegion<'_>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let regions = owned(regions);
    let (whole, mask_name) = (fit.whole.clone(), fit.mask_name);
    run(py, &common, move |backend, control| {
        let all = regions_of(regions, |role, _| argument(role).to_owned())?;
        let (params, width) = params(given, &all)?;
        let search = Search {
            whole: &whole,
            mask_name,
            regions: &all,
            params: &params,
        };
        search.run(width.epsilon, backend, control)
    })
}

/// The argument that names the regions of a role.
fn argument(role: Role) -> &'static str {
    match role {
        Role::Seed => "from_",
        Role::Target => "to",
        Role::Mask => "within",
        other => other.key(),
    }
}

fn params(given: Given, regions: &[Region]) -> Result<(Params, Width), Failure> {
    let has = |role: Role| regions.iter().any(|region| region.role == role);
    if is_given(&given, "costly_factor") && !has(Role::Costly) {
        return Err(Failure::Parameter(
            "Found costly_factor without costly, expected a region where paths cost this many times as much; give it \
             as costly, or leave out costly_factor"
                .to_owned(),
        ));
    }
    let (of_metric, rest) = split::<metric::Params>(given);
    let (of_width, rest) = split::<Width>(rest);
    let defaults = Params::defaults();
    let min_fa = match has(Role::Mask) {
        true => 0.0,
        false => defaults.min_fa,
    };
    let metric = filled(defaults.metric, &of_metric, &[])?;
    let defaults = Params {
        metric,
        min_fa,
        ..defaults
    };
    let params = filled(defaults, &rest, &[])?;
    Ok((params, filled(Width::defaults(), &of_width, &[])?))
}

/// A fitted scan, the regions of a pathway in it, and its parameters.
struct Search<'a> {
    whole: &'a tensor_fit::WholeFit,
    mask_name: &'static str,
    regions: &'a [Region],
    params: &'a Params,
}

impl Search<'_> {
    fn run(&self, epsilon: f64, backend: &Backend, control: &Control) -> Result<Parts, Failure> {
        let (field, fa) = (&self.whole.fit.field, &self.whole.maps.fa);
        let domain = Domain::of_tensors(fa, self.params.min_fa, self.regions);
        let mask = backend.install(|| domain.mask())?;
        let metric = domain.metric(field, &mask, self.params, backend, control)?;
        let prepared = Prepared::new(&metric, self.params.local, backend, control)?;
        let metric = &prepared.metric;
        let mut sources = Vec::new();
        for role in [Role::Seed, Role::Target] {
            let source = backend.install(|| domain.source(metric, role));
            sources.push(source.map_err(|error| {
                outside_tensors(self.regions, role, field, self.mask_name).unwrap_or(error)
            })?);
        }
        let params = eikonal::Params {
            tolerance: TOLERANCE,
            schedule: None,
        };
        let solved = solve(&prepared, &sources, &params, backend, control)?;
        let Ok([a, b]) = <[_; 2]>::try_from(solved) else {
            return Err(Failure::Input("A cost field is missing".to_owned()));
        };
        let (u1, u2) = (a.image(), b.image());
        let separated = not_joined([&a, &b], self.regions);
        let pathway = Pathway::new(a, b).map_err(|error| separated.unwrap_or(error))?;
        control.check()?;
        let path = pathway.minimal_path().ok_or_else(|| {
            Failure::Input("No path leads through the voxel of least cost".to_owned())
        })?;
        let cost: Vec<f32> = path.cost.iter().map(|c| *c as f32).collect();
        let line = Tractogram::of_curves([path.streamline()])
            .with_per_point("cost", cost)
            .with_per_streamline("length", vec![path.total_mm() as f32])
            .with_grid(metric.grid.clone());
        let along = backend.install(|| tractogram::sample(fa, &line));
        let joined = pathway.joining_mask(epsilon);
        let is_joined = joined.is_some();
        let set = joined.unwrap_or_else(|| pathway.mask(epsilon));
        let number = |value: f64| Fact::Number(value);
        Ok(Parts::default()
            .image("u1", u1)
            .image("u2", u2)
            .image("u", pathway.image())
            .mask("pathway", &set)
            .streamlines("path", line.with_per_point("fa", along))
            .fact("least", number(pathway.min_cost))
            .fact("epsilon", number(epsilon))
            .fact("joined", Fact::Flag(is_joined))
            .fact("joined_from", number(pathway.joining_epsilon))
            .fact("volume_ml", number(set.volume_ml()))
            .fact("cost", number(path.total_cost()))
            .fact("length_mm", number(path.total_mm()))
            .fact("cost_per_mm", number(path.mean_cost_per_mm())))
    }
}
