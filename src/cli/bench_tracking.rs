//! `arcuate bench tracking`: integration steps per second.
//!
//! The fields and settings are those of the peers' scripts: a brain-like field of 96 × 96 × 60 voxels of 2 mm with
//! seeds all over its mask, and the uniform field of 64 × 256 × 64 voxels of van Aart (2010). `live` is the work of a
//! drag: 2000 seeds in a sphere, default settings. `wall_s` ends when the points are on the host, `on_card_s` when a
//! card has them.

use super::bench::Choice;
use super::bench_handed;
use crate::compute::{Backend, Control};
use crate::data::region::RegionId;
use crate::data::statistics::quantile;
use crate::data::{Grid, Region, Role, Shape, Tensor, TensorField};
use crate::solvers::curves::{Deflection, Integrator, Interpolation, Params, Seeding};
use crate::solvers::tracking::track;
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// A field, the regions in it and the tracking parameters.
pub type Case = (&'static str, TensorField, Vec<Region>, Params);

/// One JSON object per case; a quick run ends within some 10 s on two cores.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let quick = choice.quick;
    let (seeds, repeats) = if quick { (5_000, 3) } else { (20_000, 5) };
    let mut all = cases(seeds);
    if !quick && !backend.devices().is_empty() {
        // Enough for several cards.
        let mut params = all[1].3.clone();
        params.seeding = Seeding::Random { count: 1 << 18 };
        all.push((
            "brain RK4 trilinear 262144 seeds",
            all[1].1.clone(),
            vec![],
            params,
        ));
    }
    all.iter()
        .filter(|case| choice.takes(case.0))
        .map(|case| measure(case, repeats, backend))
        .collect()
}

pub fn cases(seeds: usize) -> Vec<Case> {
    let base = Params {
        integrator: Integrator::Euler,
        interpolation: Interpolation::Trilinear,
        seeding: Seeding::Random { count: seeds },
        random_seed: 1,
        step_mm: 0.5,
        max_angle_rad: Some(60f64.to_radians()),
        min_fa: Some(0.2),
        min_length_mm: 10.0,
        max_length_mm: Some(200.0),
        max_steps: 10_000,
        targets: crate::solvers::curves::Match::Any,
        includes: crate::solvers::curves::Match::All,
        both_ways: true,
        deflection: None,
        repetitions: None,
    };
    let rk4 = Params {
        integrator: Integrator::Rk4,
        ..base.clone()
    };
    let deflected = Params {
        deflection: Some(Deflection::defaults()),
        ..base.clone()
    };
    let cubic = Params {
        interpolation: Interpolation::CubicBSpline,
        ..rk4.clone()
    };
    let long = Params {
        seeding: Seeding::Random { count: 512 },
        step_mm: 0.1,
        min_fa: Some(0.1),
        max_length_mm: Some(400.0),
        ..base.clone()
    };
    let live = Params {
        seeding: Seeding::Random { count: 2_000 },
        min_length_mm: 30.0,
        max_length_mm: Some(300.0),
        ..rk4.clone()
    };
    let brain = brain();
    let slab = seed(Shape::Box {
        centre: DVec3::new(31.5, 0.0, 31.5),
        half_mm: DVec3::new(31.5, 0.5, 31.5),
    });
    let sphere = seed(Shape::Sphere {
        centre: brain.grid.centre() + DVec3::new(30.0, 0.0, 0.0),
        radius_mm: 5.0,
    });
    vec![
        ("brain Euler trilinear", brain.clone(), vec![], base),
        ("brain RK4 trilinear", brain.clone(), vec![], rk4),
        ("brain RK4 cubic", brain.clone(), vec![], cubic),
        (
            "brain deflected trilinear",
            brain.clone(),
            vec![],
            deflected,
        ),
        ("uniform Euler trilinear", uniform(), vec![slab], long),
        ("live RK4 trilinear", brain, vec![sphere], live),
    ]
}

fn measure((name, field, regions, params): &Case, repeats: usize, backend: &Backend) -> Value {
    let mut walls = Vec::new();
    let mut kernels = Vec::new();
    let mut on_card = Vec::new();
    let mut size = (0, 0, 0);
    // On a card the first run is not counted: it loads kernels and uploads tensors.
    let unmeasured = usize::from(!backend.devices().is_empty());
    for run in 0..repeats + unmeasured {
        let start = Instant::now();
        match track(field, regions, params, backend, &Control::new()) {
            Ok(out) => {
                let on_card_s = start.elapsed().as_secs_f64();
                if let Err(error) = backend.install(|| out.on_host()) {
                    return json!({"workload": format!("tracking {name}"), "error": error.to_string()});
                }
                size = (
                    out.seed_outcomes.iter().sum::<u64>(),
                    out.kept.len(),
                    out.steps,
                );
                if run >= unmeasured {
                    walls.push(start.elapsed().as_secs_f64());
                    kernels.extend(out.kernel_s);
                    on_card.extend(out.kernel_s.map(|_| on_card_s));
                }
            }
            Err(error) => {
                return json!({"workload": format!("tracking {name}"), "error": error.to_string()});
            }
        }
    }
    let tracked = || Ok(track(field, regions, params, backend, &Control::new())?.kept);
    let drawn = bench_handed::measured(tracked, repeats, backend);
    let wall = quantile(&mut walls, 0.5).unwrap_or(f64::NAN);
    let kernel = quantile(&mut kernels, 0.5);
    let (seeds, kept, steps) = size;
    json!({
        "workload": format!("tracking {name}"),
        "size": {"seeds": seeds, "kept": kept, "steps": steps, "step_mm": params.step_mm, "voxels": field.grid.shape},
        "rate": steps as f64 / kernel.unwrap_or(wall),
        "unit": "steps_per_s",
        "wall_s": wall,
        "kernel_s": kernel,
        "on_card_s": quantile(&mut on_card, 0.5),
        "drawn": drawn,
        "backend": backend.name(),
        "detail": backend.detail(),
        "threads": backend.threads(),
    })
}

pub fn seed(shape: Shape) -> Region {
    Region {
        id: RegionId(1),
        name: "Seed".into(),
        role: Role::Seed,
        shape: Arc::new(shape),
        colour: None,
        visible: true,
        label_number: None,
    }
}

pub fn field(
    shape: [usize; 3],
    spacing: f64,
    tensor: impl Fn(DVec3) -> Option<[f64; 6]>,
) -> TensorField {
    // Regular by construction.
    let grid = Grid::axis_aligned(shape, DVec3::splat(spacing), DVec3::ZERO)
        .expect("a grid with sides above 0");
    let at = |i| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        tensor(voxel).map_or(Tensor::default(), |d| Tensor::new(d.map(|v| v as f32)))
    };
    let tensors: Vec<Tensor> = (0..grid.voxel_count()).map(at).collect();
    TensorField::new(Arc::new(grid), tensors)
}

/// D = across I + (along − across) e eᵀ.
pub fn prolate(along: f64, across: f64, e: DVec3) -> [f64; 6] {
    let k = along - across;
    [
        across + k * e.x * e.x,
        k * e.x * e.y,
        k * e.x * e.z,
        across + k * e.y * e.y,
        k * e.y * e.z,
        across + k * e.z * e.z,
    ]
}

/// An ellipsoid of white matter (FA about 0.8) that arches in x–z and fans out in y, with a rim and
/// two ventricles of low FA.
pub fn brain() -> TensorField {
    let shape = [96, 96, 60];
    let half = DVec3::from_array(shape.map(|n| n as f64 / 2.0));
    field(shape, 2.0, |voxel| {
        let DVec3 { x, y, z } = (voxel - half + 0.5) / half;
        let rho = (DVec3::new(x, y, z) / 0.9).length();
        let e = DVec3::new(
            (2.2 * x + 0.6 * z).cos(),
            0.8 * (2.0 * y).sin() + 0.35 * (3.0 * z).cos(),
            -1.1 * (2.2 * x).sin() + 0.2 * y,
        );
        let side = (x - 0.18).powi(2).min((x + 0.18).powi(2));
        let ventricle = side * 30.0 + (y * 2.2).powi(2) + (z * 2.8).powi(2) < 0.25;
        let white = ((0.92 - rho) / 0.15).clamp(0.0, 1.0);
        let (along, across) = if ventricle {
            (3.0e-3, 2.9e-3)
        } else {
            ((0.9 + 0.8 * white) * 1e-3, (0.8 - 0.5 * white) * 1e-3)
        };
        (rho <= 1.0).then(|| prolate(along, across, e.normalize()))
    })
}

/// D = diag(1, 3, 1) · 10⁻³ mm²/s in every voxel of 1 mm.
fn uniform() -> TensorField {
    field([64, 256, 64], 1.0, |_| Some(prolate(3e-3, 1e-3, DVec3::Y)))
}
