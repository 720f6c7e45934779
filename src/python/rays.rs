//! Geodesic rays of the tensors of a fit.

use crate::errors::Failure;
use crate::parameters::{filled, given, split};
use crate::regions::{GivenRegion, by_role, owned, regions_of};
use crate::run::{Common, run};
use crate::solve::{Fit, memory, with_lengths, with_target_names};
use crate::tables::STREAMLINES_ONLY;
use crate::types::Streamlines;
use arcuate_engine::solvers::geodesic::{RayMetric, Rays, rank, trace_within};
use arcuate_engine::solvers::{curves, tractogram};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Traces rays, and keeps those that the cut keeps.
#[pyfunction]
pub fn rays(
    py: Python<'_>,
    fit: PyRef<'_, Fit>,
    regions: Vec<GivenRegion<'_>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Streamlines> {
    let given = given(arguments)?;
    let regions = owned(regions);
    let whole = &fit.whole;
    let (field, fa) = (whole.fit.field.clone(), whole.maps.fa.clone());
    run(py, &common, move |backend, control| {
        let all = regions_of(regions, by_role)?;
        let (of_curves, rest) = split::<curves::Params>(given);
        let mut defaults = Rays::defaults();
        defaults.params.curves = filled(defaults.params.curves, &of_curves, STREAMLINES_ONLY)?;
        let rays = filled(defaults, &rest, &[])?;
        let (params, metric) = (&rays.params, rays.metric);
        let metric = RayMetric::new(
            &field,
            metric.sharpening,
            metric.precision,
            params.curves.interpolation,
            backend,
            control,
        )?;
        let traced = trace_within(&metric, &all, params, memory(), backend, control)?;
        let output = Arc::unwrap_or_clone(traced.rays);
        let along = backend.install(|| {
            output.on_host()?;
            Ok::<_, Failure>(tractogram::sampled(&fa, &output.kept))
        })?;
        let kept = with_lengths(output.kept.with_per_point("fa", along));
        let kept = with_target_names(kept, &all).with_grid(field.grid.clone());
        let (kept, _) = rank(&kept, rays.cut);
        Ok(Streamlines { tractogram: kept })
    })
}
