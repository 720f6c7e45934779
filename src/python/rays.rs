//! Geodesic rays of the tensors of a fit, or along the lobes of fibre orientation distributions.

use crate::errors::Failure;
use crate::model::{GivenModel, Model};
use crate::parameters::{Given, filled, given, split};
use crate::regions::{GivenRegion, by_role, owned, regions_of};
use crate::run::{Common, run};
use crate::solve::{Fit, finished, memory};
use crate::tables::{self, STREAMLINES_ONLY, not_of_lobes};
use crate::types::Streamlines;
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::{OdfField, Region, Tractogram};
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::geodesic::{
    OdfMetric, OdfSpeed, RayMetric, Rays, rank, trace_lobes, trace_within,
};
use arcuate_engine::solvers::{curves, tractogram};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Traces rays, and keeps those that the cut keeps.
#[pyfunction]
pub fn rays(
    py: Python<'_>,
    model: GivenModel<'_>,
    regions: Vec<GivenRegion<'_>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Streamlines> {
    let given = given(arguments)?;
    let regions = owned(regions);
    let model = Model::from_given(py, &model)?;
    run(py, &common, move |backend, control| {
        model.refuse_foreign(&given, &tables::ray_rows())?;
        let regions = regions_of(regions, by_role)?;
        let tracing = Tracing {
            regions: &regions,
            backend,
            control,
        };
        let tractogram = match &model {
            Model::Tensors(fit) => tracing.in_tensors(fit, given)?,
            Model::Distributions(fibres) => tracing.in_lobes(&fibres.field(control)?, given)?,
        };
        Ok(Streamlines { tractogram })
    })
}

/// Regions, and where to compute.
struct Tracing<'a> {
    regions: &'a [Region],
    backend: &'a Backend,
    control: &'a Control,
}

/// The given parameters of rays without these rows.
fn with_given(mut defaults: Rays, given: Given, without: &[&str]) -> Result<Rays, Failure> {
    let (of_curves, rest) = split::<curves::Params>(given);
    defaults.params.curves = filled(defaults.params.curves, &of_curves, without)?;
    filled(defaults, &rest, without)
}

impl Tracing<'_> {
    fn in_tensors(&self, fit: &Fit, given: Given) -> Result<Tractogram, Failure> {
        let (field, fa) = (&fit.whole.fit.field, &fit.whole.maps.fa);
        let (backend, control) = (self.backend, self.control);
        let rays = with_given(Rays::defaults(), given, STREAMLINES_ONLY)?;
        let (params, metric) = (&rays.params, rays.metric);
        let metric = RayMetric::new(
            field,
            metric.sharpening,
            metric.precision,
            params.curves.interpolation,
            backend,
            control,
        )?;
        let traced = trace_within(&metric, self.regions, params, memory(), backend, control)?;
        let output = Arc::unwrap_or_clone(traced.rays);
        let along = backend.install(|| {
            output.on_host()?;
            Ok::<_, Failure>(tractogram::sampled(fa, &output.kept))
        })?;
        let kept = output.kept.with_per_point("fa", along);
        Ok(rank(&finished(kept, self.regions, &field.grid), rays.cut).0)
    }

    fn in_lobes(&self, field: &OdfField, given: Given) -> Result<Tractogram, Failure> {
        let (backend, control) = (self.backend, self.control);
        let (of_speed, rest) = split::<OdfSpeed>(given);
        let speed = filled(OdfSpeed::defaults(), &of_speed, &[])?;
        let rays = with_given(Rays::lobe_defaults(), rest, &not_of_lobes())?;
        let metric = OdfMetric::new(field, speed, backend, control)?;
        let (params, memory) = (&rays.params, memory());
        let traced = trace_lobes(&metric, self.regions, params, memory, backend, control)?;
        let output = Arc::unwrap_or_clone(traced.rays);
        backend.install(|| output.on_host())?;
        Ok(rank(&finished(output.kept, self.regions, &field.grid), rays.cut).0)
    }
}
