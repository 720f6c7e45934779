//! `arcuate bench uncertainty`: seconds of the repetitions of a pathway with measurement noise.
//!
//! The corticospinal tract of the built-in head at an SNR of 20, on voxels of 2 mm, through tensors. `prepare_s` ends with
//! the residuals of the fit, `wall_s` with the repetitions; the fit and the pathway itself come before both. The
//! first repetitions, which load the kernels of a card, are not counted.

use super::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::region::RegionId;
use crate::data::{Region, Role, Shape};
use crate::phantom::{Head, ScanOptions, scan_grid, scan_options};
use crate::solvers::Error;
use crate::solvers::eikonal::{self, CostSource, Prepared, solve};
use crate::solvers::metric::Metric;
use crate::solvers::pathway::{
    self, DEFAULT_EPSILON, Domain, Pathway, Repetitions, Scan, TOLERANCE,
};
use crate::solvers::tensor_fit;
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

const SEED: u64 = 1;
const SNR: f64 = 20.0;
/// Ends of the tract: role, centre and radius, mm.
const ENDS: [(Role, DVec3, f64); 2] = [
    (Role::Seed, DVec3::new(-24.0, -18.0, 8.0), 5.0),
    (Role::Target, DVec3::new(-30.0, -22.0, 58.0), 9.0),
];
const CASE: &str = "tensors";

/// One JSON object; the quick run has larger voxels and fewer repetitions.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    if !choice.takes(CASE) {
        return Vec::new();
    }
    let workload = format!("uncertainty {CASE}");
    let line = measure(&workload, choice.quick, backend)
        .unwrap_or_else(|error| json!({"workload": workload, "error": error.to_string()}));
    vec![line]
}

fn region((role, centre, radius_mm): (Role, DVec3, f64)) -> Region {
    Region {
        id: RegionId(0),
        name: "end".to_owned(),
        role,
        shape: Arc::new(Shape::Sphere { centre, radius_mm }),
        colour: None,
        visible: true,
        label_number: None,
    }
}

fn measure(workload: &str, quick: bool, backend: &Backend) -> Result<Value, Error> {
    let (voxel_mm, count) = if quick { (3.5, 20) } else { (2.0, 100) };
    let control = Control::new();
    let head = Head::new(SEED);
    let Some(grid) = scan_grid(voxel_mm) else {
        unreachable!("a size of voxels that the head has")
    };
    let options = ScanOptions {
        snr: Some(SNR),
        ..scan_options(grid.clone(), SEED)
    };
    let (dwi, gradients) = backend.install(|| head.diffusion_scan(&options, &control))?;
    let mask = backend.install(|| head.brain_mask(&grid, &control))?;
    let fit = tensor_fit::Params::defaults();
    let fitted = tensor_fit::fit(&dwi, &gradients, &mask, &fit, backend, &control)?;
    let fa = tensor_fit::maps(&fitted.field, backend, &control)?.fa;
    let params = pathway::Params::defaults();
    let regions = ENDS.map(region);
    let domain = Domain::of_tensors(&fa, params.min_fa, &regions);
    let domain = backend.install(|| domain.mask())?;
    let metric = Metric::new(
        &fitted.field,
        &params.metric,
        Some(&domain),
        backend,
        &control,
    )?;
    let prepared = Prepared::new(&metric, params.local, backend, &control)?;
    let [a, b] = regions
        .each_ref()
        .map(|region| CostSource::region(&metric, region));
    let solver = eikonal::Params {
        tolerance: TOLERANCE,
        schedule: None,
    };
    let sources = [Arc::new(a?), Arc::new(b?)];
    let mut fields = solve(&prepared, &sources, &solver, backend, &control)?.into_iter();
    let (Some(a), Some(b)) = (fields.next(), fields.next()) else {
        unreachable!("one cost field for each source")
    };
    let pathway = Pathway::new(a, b)?;
    let scan = Scan {
        dwi: &dwi,
        gradients: &gradients,
        fit: &fit,
    };
    let counted = (&params.metric, DEFAULT_EPSILON);
    let start = Instant::now();
    let none = Repetitions::of_tensors(&pathway, scan, counted, SEED, backend, &control)?;
    let prepare_s = start.elapsed().as_secs_f64();
    none.restarted(DEFAULT_EPSILON, SEED + 1)
        .extend(2, backend, &control)?;
    let mut all = none;
    let start = Instant::now();
    all.extend(count, backend, &control)?;
    let wall_s = start.elapsed().as_secs_f64();
    Ok(json!({
        "workload": workload,
        "size": { "voxels": metric.len(), "volumes": gradients.len(), "repetitions": count },
        "rate": count as f64 / wall_s,
        "unit": "repetitions_per_s",
        "prepare_s": prepare_s,
        "wall_s": wall_s,
        "backend": if backend.accelerator().is_some() { backend.name() } else { "cpu" },
        "detail": backend.detail(),
        "threads": backend.threads(),
    }))
}
