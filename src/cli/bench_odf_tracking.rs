//! `arcuate bench odf-tracking`: streamlines per second through fibre orientation distributions.
//!
//! The field is the brain of `bench tracking` with one lobe of order 8 along each principal direction, in a cortex with
//! CSF around it and in two ventricles. `arcs` is the probabilistic method, `lobes` the deterministic one; with
//! tissues, streamlines obey the anatomical rules, and those that are kept are counted. `live` is the work of a drag:
//! 2000 seeds in a sphere.

use super::bench::Choice;
use super::bench_tracking::{brain, seed};
use crate::compute::{Backend, Control};
use crate::data::spherical_harmonics::{at_pole, count, degrees, evaluate, index, quadrature};
use crate::data::statistics::quantile;
use crate::data::{Grid, OdfField, Region, Shape, TensorField, TissueMap, TissueType};
use crate::solvers::curves::Seeding;
use crate::solvers::odf_tracking::{Fibres, Method, Params, track};
use crate::solvers::tracking::principal_direction;
use glam::{DVec3, Vec3};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

const ORDER: usize = 8;

/// Where seeds are, and how many.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Brain,
    /// A million of at most 60 steps, for graphics cards alone.
    Million,
    Sphere,
}

/// A case: whether tissues end streamlines.
type Case = (&'static str, Method, bool, Extent);

const CASES: [Case; 11] = [
    ("arcs", Method::Probabilistic, false, Extent::Brain),
    (
        "arcs with tissues",
        Method::Probabilistic,
        true,
        Extent::Brain,
    ),
    ("lobes", Method::Deterministic, false, Extent::Brain),
    (
        "lobes with tissues",
        Method::Deterministic,
        true,
        Extent::Brain,
    ),
    ("live arcs", Method::Probabilistic, false, Extent::Sphere),
    (
        "live arcs with tissues",
        Method::Probabilistic,
        true,
        Extent::Sphere,
    ),
    ("live lobes", Method::Deterministic, false, Extent::Sphere),
    (
        "million lobes",
        Method::Deterministic,
        false,
        Extent::Million,
    ),
    (
        "million lobes with tissues",
        Method::Deterministic,
        true,
        Extent::Million,
    ),
    (
        "million arcs",
        Method::Probabilistic,
        false,
        Extent::Million,
    ),
    (
        "million arcs with tissues",
        Method::Probabilistic,
        true,
        Extent::Million,
    ),
];

/// One JSON object per case.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (seeds, repeats) = if choice.quick {
        (4_000, 3)
    } else {
        (20_000, 5)
    };
    let tensors = brain();
    let (fibres, tissues) = (
        Fibres::Distributions(distributions(&tensors)),
        tissues(&tensors),
    );
    let has_card = !backend.devices().is_empty();
    let sphere = seed(Shape::Sphere {
        centre: tensors.grid.centre() + DVec3::new(30.0, 0.0, 0.0),
        radius_mm: 5.0,
    });
    CASES
        .iter()
        .filter(|case| choice.takes(case.0))
        .filter(|case| case.3 != Extent::Million || (has_card && !choice.quick))
        .map(|&(name, method, with_tissues, extent)| {
            let count = match extent {
                Extent::Brain => seeds,
                Extent::Million => 1_000_000,
                Extent::Sphere => 2_000,
            };
            let setting = Setting {
                fibres: &fibres,
                tissues: with_tissues.then_some(&tissues),
                regions: match extent {
                    Extent::Sphere => vec![sphere.clone()],
                    _ => vec![],
                },
                params: Params {
                    seeding: Seeding::Random { count },
                    max_length_mm: Some(match extent {
                        Extent::Million => 60.0,
                        _ => 250.0,
                    }),
                    ..Params::defaults_for(method, 2.0, with_tissues)
                },
            };
            measure(name, &setting, repeats, backend)
        })
        .collect()
}

struct Setting<'a> {
    fibres: &'a Fibres,
    tissues: Option<&'a TissueMap>,
    regions: Vec<Region>,
    params: Params,
}

fn measure(name: &str, setting: &Setting, repeats: usize, backend: &Backend) -> Value {
    let Setting {
        fibres,
        tissues,
        regions,
        params,
    } = setting;
    let workload = format!("odf-tracking {name}");
    let (mut walls, mut kernels) = (Vec::new(), Vec::new());
    let mut size = (0, 0, 0.0, 0);
    // On a card the first run is not counted: it loads kernels and uploads distributions.
    let unmeasured = usize::from(!backend.devices().is_empty());
    for run in 0..repeats + unmeasured {
        let start = Instant::now();
        let control = Control::new();
        match track(fibres, *tissues, regions, params, None, backend, &control) {
            Ok(out) => {
                if run < unmeasured {
                    continue;
                }
                walls.push(start.elapsed().as_secs_f64());
                kernels.extend(out.kernel_s);
                let kept = out.kept.len();
                let lengths = (0..kept).map(|i| f64::from(out.kept.length_mm(i)));
                let mean = lengths.sum::<f64>() / kept.max(1) as f64;
                size = (out.seed_outcomes.iter().sum::<u64>(), kept, mean, out.steps);
            }
            Err(error) => return json!({"workload": workload, "error": error.to_string()}),
        }
    }
    let wall = quantile(&mut walls, 0.5).unwrap_or(f64::NAN);
    let kernel = quantile(&mut kernels, 0.5);
    let (seeds, kept, mean_mm, steps) = size;
    json!({
        "workload": workload,
        "size": {
            "seeds": seeds, "kept": kept, "mean_mm": mean_mm, "steps": steps, "step_mm": params.step_mm,
            "voxels": fibres.grid().shape, "order": ORDER,
        },
        "rate": kept as f64 / wall,
        "unit": "streamlines_per_s",
        "steps_per_s": steps as f64 / wall,
        "wall_s": wall,
        "kernel_s": kernel,
        "backend": if kernel.is_some() { backend.name() } else { "cpu" },
        "detail": backend.detail(),
        "threads": backend.threads(),
    })
}

/// A lobe along the principal direction of each tensor.
fn distributions(tensors: &TensorField) -> OdfField {
    lobes(&tensors.grid, |voxel| {
        let tensor = &tensors.tensors[voxel];
        let direction = || Vec3::from(principal_direction(tensor.d, [0.0; 3])).as_dvec3();
        (tensor.inside > 0.5).then(direction)
    })
}

/// (u · e)^8 along the direction e of each voxel that has one.
pub fn lobes(grid: &Arc<Grid>, direction: impl Fn(usize) -> Option<DVec3>) -> OdfField {
    let mut zonal = [0.0; ORDER + 1];
    for (u, weight) in quadrature(2 * ORDER) {
        let functions = evaluate(ORDER, u);
        for l in (0..=ORDER).step_by(2) {
            zonal[l] += weight * u.z.powi(8) * functions[index(l, 0)] / at_pole(l);
        }
    }
    let n = grid.voxel_count();
    let mut values = vec![0f32; n * count(ORDER)];
    for voxel in 0..n {
        let Some(e) = direction(voxel) else {
            continue;
        };
        for ((l, m), y) in degrees(ORDER).zip(evaluate(ORDER, e)) {
            values[index(l, m) * n + voxel] = (zonal[l] * y) as f32;
        }
    }
    OdfField::new(grid.clone(), ORDER, values)
}

/// White matter up to the cortex, CSF outside it and in two ventricles.
fn tissues(tensors: &TensorField) -> TissueMap {
    let grid = &tensors.grid;
    let half = DVec3::from_array(grid.shape.map(|n| n as f64 / 2.0));
    let at = |voxel: usize| {
        let position = DVec3::from_array(grid.voxel(voxel).map(|v| v as f64));
        let DVec3 { x, y, z } = (position - half + 0.5) / half;
        let rho = (DVec3::new(x, y, z) / 0.9).length();
        let side = (x - 0.18).powi(2).min((x + 0.18).powi(2));
        let in_ventricle = side * 30.0 + (y * 2.2).powi(2) + (z * 2.8).powi(2) < 0.1;
        let mut fractions = [0f32; 8];
        if rho <= 1.0 {
            let tissue = match rho {
                _ if in_ventricle => TissueType::Csf,
                rho if rho < 0.84 => TissueType::White,
                rho if rho < 0.93 => TissueType::CorticalGrey,
                _ => TissueType::Csf,
            };
            fractions[tissue as usize] = 1.0;
        }
        fractions
    };
    TissueMap::new(
        grid.clone(),
        (0..grid.voxel_count()).map(at).collect::<Vec<_>>(),
    )
}
