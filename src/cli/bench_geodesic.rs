//! `arcuate bench geodesic`: steps per second of geodesic rays.
//!
//! The papers' cases: rays along the uniform field of van Aart (2010), a curved field of the same size that no ray
//! leaves, many rays, and the demo head with rays in all directions from a patch of 22 × 4 voxels of its corpus
//! callosum; also rays along lobes of distributions, which the papers lack. `papers` is the published figure (GTX 260).
//! The papers' own algorithm is measured next to ours. `wall_s` ends when the points are on the host, `on_card_s` when
//! a card has them.

use super::bench::Choice;
use super::bench_handed;
use super::bench_lifted::ball;
use super::bench_tracking::{field, prolate, seed};
use super::runner::Failure;
use crate::compute::{Backend, Control};
use crate::data::statistics::quantile;
use crate::data::{BuiltInPhantom, Region, Role, Shape, TensorField};
use crate::parameters::Parameters as _;
use crate::phantom;
use crate::solvers::Error;
use crate::solvers::curves::{self, Integrator, Interpolation, Seeding};
use crate::solvers::geodesic::{
    Cut, Directions, Form, LOBE_DIRECTIONS, OdfMetric, OdfSpeed, Params, Precision, RayMetric,
    Sharpening, rank, trace, trace_lobes,
};
use crate::solvers::tensor_fit;
use glam::DVec3;
use serde_json::{Value, json};
use std::time::Instant;

struct Case {
    /// Includes rays and steps: `wavy 4096 x 2048`.
    name: String,
    rays: usize,
    field: TensorField,
    regions: Vec<Region>,
    params: Params,
    precision: Precision,
    /// Milliseconds published in the papers.
    papers_ms: Option<f64>,
}

impl Case {
    /// A case on tensors in half precision, for the comparison with the papers' speed.
    fn new(name: &str, field: &TensorField, regions: Vec<Region>, params: Params) -> Self {
        let seeds = match params.curves.seeding {
            Seeding::Random { count } => count,
            Seeding::Grid { .. } | Seeding::PerVoxel { .. } => 0,
        };
        let rays = seeds * params.directions.count();
        Self {
            name: format!("{name} {rays} x {}", params.curves.max_steps),
            rays,
            field: field.clone(),
            regions,
            params,
            precision: Precision::Half,
            papers_ms: None,
        }
    }

    fn single(mut self) -> Self {
        self.precision = Precision::Single;
        self
    }

    /// Sets the time published in the papers for this many rays; other counts are not compared.
    fn printed(mut self, rays: usize, papers_ms: f64) -> Self {
        self.papers_ms = (self.rays == rays).then_some(papers_ms);
        self
    }
}

const LOBES: &str = "along lobes";
const PREPARATION: &str = "preparation of tensors";
const HEAD: &str = "head, 22 x 4 patch";
const MILLION: usize = 1 << 20;

/// One JSON object per case; a quick run ends within some 20 s on two cores.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let quick = choice.quick;
    let on_card = !backend.devices().is_empty();
    let cases = cases(quick && !on_card, on_card || !quick, on_card);
    let repeats = if quick { 2 } else { 5 };
    // A million rays take minutes on a few cores.
    let repeats_of = |case: &Case| match case.params.curves.seeding {
        Seeding::Random { count } if count >= MILLION && !on_card => 1,
        _ => repeats,
    };
    let mut results: Vec<_> = cases
        .iter()
        .filter(|case| choice.takes(&case.name))
        .map(|case| measure(case, repeats_of(case), backend))
        .collect();
    if choice.takes(HEAD) {
        results.push(match head(backend) {
            Ok(case) => measure(&case, repeats, backend),
            Err(failure) => {
                json!({"workload": format!("geodesic {HEAD}"), "error": failure.sentence})
            }
        });
    }
    if choice.takes(LOBES) {
        results.push(lobes(quick, repeats, backend).unwrap_or_else(
            |error| json!({"workload": format!("geodesic {LOBES}"), "error": error.to_string()}),
        ));
    }
    if choice.takes(PREPARATION) {
        let size = if on_card { 200 } else { 60 };
        results.push(preparation(size, repeats, backend));
    }
    results
}

/// Rays along the lobes of fibres on circles, from a cone around the fibres; order 8, voxels of 2 mm.
fn lobes(quick: bool, repeats: usize, backend: &Backend) -> Result<Value, Error> {
    let control = Control::new();
    let (field, _) = ball(2.0);
    let start = Instant::now();
    let metric = OdfMetric::new(&field, OdfSpeed::defaults(), backend, &control)?;
    let prepare_s = start.elapsed().as_secs_f64();
    let count = match (quick, backend.devices().is_empty()) {
        (true, true) => 64,
        (_, true) => 512,
        (_, false) => 8192,
    };
    let mut params = base();
    params.directions = LOBE_DIRECTIONS;
    params.curves.seeding = Seeding::Random { count };
    params.curves.max_steps = 500;
    let seeds = [seed(Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 10.0,
    })];
    let (mut walls, mut on_card, mut kernels) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = (0, 0);
    // The first run is not counted: it loads kernels and uploads the distributions.
    for run in 0..=repeats {
        let start = Instant::now();
        let traced = trace_lobes(&metric, &seeds, &params, None, backend, &control)?;
        let on_card_s = start.elapsed().as_secs_f64();
        backend.install(|| traced.rays.on_host())?;
        size = (traced.seeds * traced.directions, traced.rays.steps);
        if run > 0 {
            walls.push(start.elapsed().as_secs_f64());
            kernels.extend(traced.kernel_s);
            on_card.extend(traced.kernel_s.map(|_| on_card_s));
        }
    }
    let (wall, kernel) = (quantile(&mut walls, 0.5), quantile(&mut kernels, 0.5));
    Ok(json!({
        "workload": format!("geodesic {LOBES}"),
        "size": {"rays": size.0, "steps": size.1, "order": field.order()},
        "rate": kernel.or(wall).map(|s| size.1 as f64 / s),
        "unit": "steps_per_s",
        "wall_s": wall,
        "kernel_s": kernel,
        "on_card_s": quantile(&mut on_card, 0.5),
        "prepare_s": prepare_s,
        "backend": backend.name(),
        "detail": backend.detail(),
        "threads": backend.threads(),
    }))
}

/// Sharpening of a cube of voxels, by an α that needs the eigenvectors.
fn preparation(size: usize, repeats: usize, backend: &Backend) -> Value {
    let field = field([size; 3], 1.0, |x| {
        Some(prolate(1.7e-3, 0.3e-3, (x + DVec3::ONE).normalize()))
    });
    let workload = format!("geodesic {PREPARATION}");
    let (mut walls, mut kernels) = (Vec::new(), Vec::new());
    // The first run is not counted: it uploads the tensors.
    for run in 0..=repeats {
        let start = Instant::now();
        let metric = RayMetric::new(
            &field,
            Sharpening::Power { alpha: 2.0 },
            Precision::Half,
            Interpolation::Trilinear,
            backend,
            &Control::new(),
        );
        match metric {
            Ok(metric) if run > 0 => {
                walls.push(start.elapsed().as_secs_f64());
                kernels.extend(metric.kernel_s);
            }
            Ok(_) => {}
            Err(error) => return json!({"workload": workload, "error": error.to_string()}),
        }
    }
    let (wall, kernel) = (quantile(&mut walls, 0.5), quantile(&mut kernels, 0.5));
    let voxels = size.pow(3);
    json!({
        "workload": workload,
        "size": {"voxels": voxels},
        "rate": kernel.or(wall).map(|s| voxels as f64 / s),
        "unit": "voxels_per_s",
        "wall_s": wall,
        "kernel_s": kernel,
        "backend": backend.name(),
        "detail": backend.detail(),
        "threads": backend.threads(),
    })
}

/// Default rays in half precision: RK2, steps of a tenth of a voxel of 1 mm, every eighth point kept.
fn base() -> Params {
    Params {
        curves: curves::Params {
            integrator: Integrator::Rk2,
            interpolation: Interpolation::Trilinear,
            seeding: Seeding::Random { count: 4096 },
            random_seed: 1,
            step_mm: 0.1,
            max_angle_rad: None,
            min_fa: None,
            min_length_mm: 0.0,
            max_length_mm: None,
            max_steps: 2048,
            targets: curves::Match::Any,
            includes: curves::Match::All,
            both_ways: false,
            deflection: None,
            repetitions: None,
        },
        form: Form::Hamiltonian,
        directions: Directions::Towards {
            direction: [0.0, 1.0, 0.0],
        },
        keep_every: 8,
        loop_guard: false,
        through: None,
    }
}

/// The demo head's tensors, as fitted to its scan, with 64 directions from each of 64 points in a patch
/// of the corpus callosum.
fn head(backend: &Backend) -> Result<Case, Failure> {
    let control = Control::new();
    let demo = backend.install(|| phantom::Demo::new(BuiltInPhantom::plain(1), &control))?;
    let fit = tensor_fit::fit(
        &demo.dwi,
        &demo.gradients,
        &demo.mask,
        &tensor_fit::Params::defaults(),
        backend,
        &control,
    );
    let field = fit?.field;
    let callosum = demo.head.bundle("Callosal radiation");
    let callosum = callosum
        .ok_or_else(|| Failure::new("The demo head has no callosum"))?
        .centre_line(0.5);
    let spacing = field.grid.spacing();
    let mut params = base();
    params.curves.seeding = Seeding::Random { count: 64 };
    params.curves.step_mm = 0.1 * spacing.min_element();
    params.directions = Directions::Sphere { count: 64 };
    let patch = vec![seed(Shape::Box {
        centre: callosum,
        half_mm: DVec3::new(0.5, 11.0, 2.0) * spacing,
    })];
    // 301 ms on a GTX 260 for 4096 rays.
    Ok(Case::new(HEAD, &field, patch, params).printed(4096, 301.0))
}

/// `many`: also those that take minutes on a CPU; `papers`: all cases of the papers' own algorithm.
fn cases(quick: bool, many: bool, all_papers: bool) -> Vec<Case> {
    let base = base();
    let with = |count: usize, steps: usize| {
        let mut params = base.clone();
        params.curves.seeding = Seeding::Random { count };
        params.curves.max_steps = steps;
        params
    };
    // The start of the field, along y.
    let slab = |y: f64, centre: f64, half: f64| {
        vec![seed(Shape::Box {
            centre: DVec3::new(centre, y, centre),
            half_mm: DVec3::new(half, 0.5, half),
        })]
    };
    let uniform = |length| {
        field([64, length, 64], 1.0, |_| {
            Some(prolate(3e-3, 1e-3, DVec3::Y))
        })
    };
    let fewer = if quick { 4 } else { 1 };
    let papers = |mut params: Params| {
        params.form = Form::Christoffel;
        params
    };
    let [uniform_2048, uniform_4096] = [uniform(256), uniform(512)];
    let wavy = wavy();
    let straight = || slab(1.0, 31.5, 31.0);
    let swaying = || slab(40.0, 31.5, 12.0);
    let mut rk4 = with(4096 / fewer, 2048);
    rk4.curves.integrator = Integrator::Rk4;
    let short_rays = with(4096 / fewer, 2048);
    let long_rays = with(2048 / fewer, 4096);
    let mut cases = vec![
        Case::new("uniform", &uniform_2048, straight(), short_rays.clone()).printed(4096, 165.13),
        Case::new(
            "uniform single",
            &uniform_2048,
            straight(),
            short_rays.clone(),
        )
        .single(),
        Case::new("uniform RK4", &uniform_2048, straight(), rk4),
        Case::new("uniform", &uniform_4096, straight(), long_rays.clone()).printed(2048, 165.0),
        Case::new("wavy", &wavy, swaying(), short_rays),
        // The papers' algorithm takes several hundred times as long.
        Case::new(
            "wavy, papers' algorithm",
            &wavy,
            swaying(),
            papers(with(4096 / fewer / fewer, 2048)),
        ),
    ];
    if all_papers {
        cases.push(Case::new(
            "uniform, papers' algorithm",
            &uniform_4096,
            straight(),
            papers(long_rays),
        ));
    }
    for count in [1 << 16, MILLION].into_iter().filter(|_| many) {
        let rays = with(count, 2048);
        cases.push(Case::new("wavy", &wavy, swaying(), rays.clone()));
        if all_papers {
            let rays = papers(rays);
            cases.push(Case::new("wavy, papers' algorithm", &wavy, swaying(), rays));
        }
    }
    // Rays that follow a dragged seed: from a cone, cut at a target and ranked.
    let mut drag = with(8192, 500);
    drag.directions = Directions::Cone {
        count: 32,
        half_angle_rad: std::f64::consts::FRAC_PI_4,
    };
    drag.curves.seeding = Seeding::Random { count: 256 };
    let mut ends = slab(40.0, 31.5, 12.0);
    ends.push(Region {
        role: Role::Target,
        ..seed(Shape::Box {
            centre: DVec3::new(31.5, 80.0, 31.5),
            half_mm: DVec3::new(16.0, 2.0, 16.0),
        })
    });
    cases.push(Case::new("drag", &wavy, ends, drag));
    cases
}

/// Wavy fibres along y, 64 × 1024 × 64 voxels of 1 mm.
fn wavy() -> TensorField {
    let k = std::f64::consts::TAU / 64.0;
    field([64, 1024, 64], 1.0, move |x| {
        let sway = |across: f64, phase: f64| 0.15 * (k * across + phase * x.y).sin();
        let e = DVec3::new(sway(x.z, 0.02), 1.0, sway(x.x, 0.03)).normalize();
        Some(prolate(1.0, 0.25, e))
    })
}

fn measure(case: &Case, repeats: usize, backend: &Backend) -> Value {
    let control = Control::new();
    let curves = &case.params.curves;
    let workload = format!("geodesic {}", case.name);
    let prepare = || {
        let start = Instant::now();
        let sharpening = Sharpening::Power { alpha: 1.0 };
        let metric = RayMetric::new(
            &case.field,
            sharpening,
            case.precision,
            curves.interpolation,
            backend,
            &control,
        );
        (metric, start.elapsed().as_secs_f64())
    };
    let (metric, prepare_s) = match prepare() {
        (Ok(metric), seconds) => (metric, seconds),
        (Err(error), _) => return json!({"workload": workload, "error": error.to_string()}),
    };
    let (mut walls, mut on_card) = (Vec::new(), Vec::new());
    let (mut kernels, mut gathers) = (Vec::new(), Vec::new());
    let mut size = (0, 0, 0);
    // The first runs are not counted: they load kernels, upload tensors and raise the card's clock.
    let started = Instant::now();
    let warm = |run: usize| {
        let seconds = if backend.devices().is_empty() {
            0.0
        } else {
            0.3
        };
        run > 0 && started.elapsed().as_secs_f64() > seconds
    };
    let mut runs = 0;
    while walls.len() < repeats {
        let counts = warm(runs);
        runs += 1;
        let start = Instant::now();
        match trace(&metric, &case.regions, &case.params, backend, &control) {
            Ok(out) => {
                let on_card_s = start.elapsed().as_secs_f64();
                if let Err(error) = backend.install(|| out.rays.on_host()) {
                    return json!({"workload": workload, "error": error.to_string()});
                }
                // With targets, the best are also selected.
                if case.regions.len() > 1 {
                    rank(&out.rays.kept, Cut::Top(1000));
                }
                size = (
                    out.seeds * out.directions,
                    out.rays.kept.points.len(),
                    out.rays.steps,
                );
                if counts {
                    walls.push(start.elapsed().as_secs_f64());
                    kernels.extend(out.kernel_s);
                    gathers.extend(out.gather_s);
                    on_card.extend(out.kernel_s.map(|_| on_card_s));
                }
            }
            Err(error) => return json!({"workload": workload, "error": error.to_string()}),
        }
    }
    let traced = || {
        let traced = trace(&metric, &case.regions, &case.params, backend, &control)?;
        Ok(traced.rays.kept.clone())
    };
    let drawn = bench_handed::measured(traced, repeats, backend);
    let wall = quantile(&mut walls, 0.5).unwrap_or(f64::NAN);
    let (kernel, gather) = (quantile(&mut kernels, 0.5), quantile(&mut gathers, 0.5));
    let on_card = quantile(&mut on_card, 0.5);
    let (rays, points, steps) = size;
    let per_core = match backend.devices() {
        [] => Some(steps as f64 / wall / backend.threads() as f64),
        _ => None,
    };
    let best = kernel.unwrap_or(wall);
    json!({
        "workload": workload,
        "size": {"rays": rays, "points": points, "steps": steps, "step_mm": curves.step_mm, "voxels": case.field.grid.shape},
        "rate": steps as f64 / best,
        "unit": "steps_per_s",
        "wall_s": wall,
        "kernel_s": kernel,
        "gather_s": gather,
        "on_card_s": on_card,
        "drawn": drawn,
        "rate_per_core": per_core,
        "prepare_s": prepare_s,
        "papers_s": case.papers_ms.map(|ms| ms * 1e-3),
        "times_papers": case.papers_ms.map(|ms| ms * 1e-3 / best),
        "backend": backend.name(),
        "detail": backend.detail(),
        "threads": backend.threads(),
    })
}
