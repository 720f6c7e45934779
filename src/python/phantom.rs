//! Synthetic heads and blocks, for examples and tests.

use crate::errors::{Failure, unknown_key};
use crate::parameters::{filled, given};
use crate::results::{Fact, Parts};
use crate::run::{Common, run};
use crate::types::Image;
use arcuate_engine::compute::memory;
use arcuate_engine::data::{BuiltInPhantom, PhantomKind};
use arcuate_engine::phantom::{Head, ScanParams, fibres_per_bundle, scan_grid_of};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Makes a phantom: its scan, its brain mask and its true fibres.
#[pyfunction]
pub fn phantom(
    py: Python<'_>,
    kind: String,
    seed: u64,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    run(py, &common, move |backend, control| {
        let kind = PhantomKind::from_key(&kind)
            .ok_or_else(|| Failure::Parameter(unknown_key(&kind, "kind", PhantomKind::KEYS)))?;
        let params = filled(ScanParams::defaults_for(kind), &given, &[])?;
        let grid = scan_grid_of(kind, params.spacing_mm).ok_or_else(|| {
            Failure::Parameter(format!(
                "Found voxels of {} mm, with which the phantom cannot be sampled; choose another spacing",
                params.spacing_mm
            ))
        })?;
        let scan = params.options(grid.clone(), seed);
        let volumes = scan.gradients().len() + 1;
        memory::claim_for::<f32>("The phantom", grid.voxel_count(), volumes)
            .map_err(arcuate_engine::solvers::Error::from)?;
        let head = Head::built_in(BuiltInPhantom { kind, seed });
        let (scanned, brain) = backend.install(|| {
            let scanned = head.diffusion_scan(&scan, control)?;
            Ok::<_, Failure>((scanned, head.brain_mask(&grid, control)?))
        })?;
        let (dwi, gradients) = scanned;
        let bundles = head.bundles().iter().map(|bundle| bundle.name.to_string());
        let scan = Image {
            gradients: Some(Arc::new(gradients)),
            ..Image::of_volume(dwi)
        };
        Ok(Parts::default()
            .whole_image("scan", scan)
            .mask("mask", &brain)
            .streamlines("fibres", head.true_fibres(fibres_per_bundle(kind)))
            .fact("bundles", Fact::Names(bundles.collect())))
    })
}
