//! `arcuate bench eikonal`: milliseconds of a cost field.
//!
//! The three examples of Jeong et al. 2007 with each local solver: a 64³ field of one diagonal tensor, a 64³ helix of
//! anisotropy 1 : 1e-4, and a brain-like field of some 196,000 voxels in a mask, for one source and for two. The last
//! one is also timed for dragging one end, and both. `field_s` ends with the fields, `wall_s` with the pathway, both
//! starting from the new position of an end; `trace_s` is the time of the minimal path after that, `sensitivity_s` that of
//! the map of sensitivity. `papers_s` is the published figure (GeForce 8800 GTX). The error of the first example is the
//! sum of the deviations from the closed form over the sum of its values; `residual` compares the values of some voxels
//! with the result of the local solver on their neighbours, in double precision. The rows `lax-friedrichs` are the
//! comparator of the paper's Table 1, Lax–Friedrichs sweeping on one thread.

use super::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::Grid;
use crate::data::statistics::quantile;
use crate::phantom::folded_sheets;
use crate::solvers::Error;
use crate::solvers::eikonal::{
    CostField, CostSource, LocalSolver, Params, Prepared, lax_friedrichs, simplex, solve,
};
use crate::solvers::metric::{self, Metric};
use crate::solvers::pathway::Pathway;
use glam::{DMat3, DVec3};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

struct Example {
    name: &'static str,
    metric: Metric,
    /// One per field, voxel coordinates.
    sources: Vec<[i64; 3]>,
    papers_s: Option<f64>,
    /// Constant metric: errors against the closed form.
    constant: bool,
}

/// The name of the comparator in the rows.
const LAX_FRIEDRICHS: &str = "lax-friedrichs";
const SIDE: usize = 64;

fn cube(speed: impl Fn([usize; 3]) -> DMat3) -> Result<Metric, Error> {
    let grid = Grid::axis_aligned([SIDE; 3], DVec3::ONE, DVec3::ZERO);
    let Some(grid) = grid else {
        unreachable!("the axes are the world's")
    };
    Metric::from_speed(&Arc::new(grid), |v| Some(speed(v)))
}

fn first() -> Result<Example, Error> {
    let speed = DMat3::from_cols(
        DVec3::new(1.0, 0.9, 0.9),
        DVec3::new(0.9, 1.0, 0.9),
        DVec3::new(0.9, 0.9, 1.0),
    );
    Ok(Example {
        name: "Ex1",
        metric: cube(|_| speed)?,
        sources: vec![[SIDE as i64 / 2; 3]],
        papers_s: Some(1.0),
        constant: true,
    })
}

fn second() -> Result<Example, Error> {
    const SLOW: f64 = 1e-4;
    let centre = (SIDE as f64 - 1.0) / 2.0;
    // One turn over the height of the cube.
    let rise = SIDE as f64 / std::f64::consts::TAU;
    let speed = |v: [usize; 3]| {
        let (x, y) = (v[0] as f64 - centre, v[1] as f64 - centre);
        crate::phantom::fields::cylindrical(DVec3::new(-y, x, rise).normalize(), 1.0, SLOW)
    };
    Ok(Example {
        name: "Ex2",
        metric: cube(speed)?,
        sources: vec![[SIDE as i64 / 2, SIDE as i64 / 2, 0]],
        papers_s: Some(1.5),
        constant: false,
    })
}

/// The voxel of the mask nearest to a point.
fn nearest(metric: &Metric, point: DVec3) -> [i64; 3] {
    let away = |place: &usize| {
        let voxel = metric.voxel(*place).map(|c| c as f64);
        DVec3::from_array(voxel).distance_squared(point)
    };
    let best = (0..metric.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
    metric.voxel(best.unwrap_or(0))
}

fn third(backend: &Backend, control: &Control) -> Result<Vec<Example>, Error> {
    let field = backend.install(folded_sheets::folds);
    let metric = Metric::new(
        &field,
        &metric::Params::sharpened(3.0),
        None,
        backend,
        control,
    )?;
    let sum: DVec3 = (0..metric.len())
        .map(|p| DVec3::from_array(metric.voxel(p).map(|c| c as f64)))
        .sum();
    let middle = sum / metric.len() as f64;
    let ends = [middle, middle + DVec3::new(45.0, -50.0, 12.0)].map(|p| nearest(&metric, p));
    let example = |name, sources: &[[i64; 3]], papers_s| Example {
        name,
        metric: metric.clone(),
        sources: sources.to_vec(),
        papers_s,
        constant: false,
    };
    Ok(vec![
        example("Ex3", &ends[..1], Some(2.8)),
        example("Ex3 two regions", &ends, None),
    ])
}

/// One JSON object per example and local solver.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let control = Control::new();
    let locals = LocalSolver::ALL;
    let takes = |name: &str| {
        let mut solvers = locals.iter().map(|l| l.key()).chain([LAX_FRIEDRICHS]);
        solvers.any(|solver| choice.takes(&format!("{name} {solver}")))
    };
    let mut examples = vec![first(), second()];
    let large = !choice.quick || !backend.devices().is_empty();
    let third_names = [
        "",
        " two regions",
        " two regions one end moved",
        " two regions both ends moved",
    ];
    if large && third_names.iter().any(|n| takes(&format!("Ex3{n}"))) {
        match third(backend, &control) {
            Ok(more) => examples.extend(more.into_iter().map(Ok)),
            Err(error) => examples.push(Err(error)),
        }
    }
    let mut results = Vec::new();
    for example in examples {
        let example = match example {
            Ok(example) => example,
            Err(error) => {
                results.push(json!({"workload": "eikonal", "error": error.to_string()}));
                continue;
            }
        };
        let name = format!("{} {LAX_FRIEDRICHS}", example.name);
        if example.sources.len() == 1 && choice.takes(&name) {
            results.push(swept(&example).unwrap_or_else(
                |error| json!({"workload": format!("eikonal {name}"), "error": error.to_string()}),
            ));
        }
        for local in locals {
            let name = format!("{} {}", example.name, local.key());
            if choice.takes(&name) {
                let repeats = if choice.quick { 2 } else { 5 };
                results.push(measure(&example, local, repeats, backend).unwrap_or_else(|error| {
                    json!({"workload": format!("eikonal {name}"), "error": error.to_string()})
                }));
            }
            // Selling's scheme alone leaves voxels out, so that there may be no pathway.
            if local == LocalSolver::Selling {
                continue;
            }
            let moved = ["one end moved", "both ends moved"];
            for (count, positions) in (1..).zip(moved).take(2 * (example.sources.len() - 1)) {
                let name = format!("{} {positions} {}", example.name, local.key());
                if choice.takes(&name) {
                    let repeats = if choice.quick { 4 } else { 10 };
                    let row = drag(&example, local, count, repeats, backend);
                    results.push(row.unwrap_or_else(|error| {
                        json!({"workload": format!("eikonal {name}"), "error": error.to_string()})
                    }));
                }
            }
        }
    }
    results
}

/// Moves one or both of the ends of an example with two.
fn drag(
    example: &Example,
    local: LocalSolver,
    count: usize,
    repeats: usize,
    backend: &Backend,
) -> Result<Value, Error> {
    let control = Control::new();
    let metric = &example.metric;
    let prepared = Prepared::new(metric, local, backend, &control)?;
    let params = Params {
        tolerance: 1e-6,
        schedule: None,
    };
    let source =
        |place: u32| Arc::new(backend.install(|| CostSource::places(metric, "end", vec![place])));
    let place = |end: usize, run: usize| {
        let from = DVec3::from_array(example.sources[end].map(|c| c as f64));
        let voxel = nearest(metric, from + run as f64 * DVec3::new(1.0, 2.0, 0.5));
        metric.place_of(voxel).unwrap_or(0) as u32
    };
    let still = solve(
        &prepared,
        &[source(place(0, 0))],
        &params,
        backend,
        &control,
    )?;
    let (mut walls, mut solved, mut kernels) = (Vec::new(), Vec::new(), Vec::new());
    let (mut pathway, mut traces, mut points) = (None, Vec::new(), 0);
    let mut maps = Vec::new();
    // The first run is not counted, as in `measure`.
    for run in 0..=repeats {
        let places: Vec<u32> = (0..count).map(|k| place(1 - k, run)).collect();
        let start = Instant::now();
        let sources: Vec<Arc<CostSource>> = places.into_iter().map(source).collect();
        let fields = solve(&prepared, &sources, &params, backend, &control)?;
        let field_s = start.elapsed().as_secs_f64();
        let kernel_s = fields.first().and_then(|f| f.kernel_s);
        let mut ends = fields.into_iter().chain(still.iter().cloned());
        if let (Some(a), Some(b)) = (ends.next(), ends.next()) {
            pathway = Some(Pathway::new(a, b)?);
        }
        if run > 0 {
            walls.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let path = pathway.as_ref().and_then(Pathway::minimal_path);
            points = path.map_or(0, |p| p.points.len());
            traces.push(start.elapsed().as_secs_f64());
            if let Some(pathway) = &pathway {
                let start = Instant::now();
                pathway.sensitivity(backend, &control)?;
                maps.push(start.elapsed().as_secs_f64());
            }
            solved.push(field_s);
            kernels.extend(kernel_s);
        }
    }
    let (field_s, kernel) = (quantile(&mut solved, 0.5), quantile(&mut kernels, 0.5));
    let best = kernel.or(field_s).unwrap_or(f64::NAN);
    let text = ["one end moved", "both ends moved"][count - 1];
    Ok(json!({
        "workload": format!("eikonal {} {text} {}", example.name, local.key()),
        "size": {"voxels": metric.len(), "fields": count},
        "rate": (metric.len() * count) as f64 / best,
        "unit": "voxels_per_s",
        "wall_s": quantile(&mut walls, 0.5),
        "field_s": field_s,
        "trace_s": quantile(&mut traces, 0.5),
        "path_points": points,
        "sensitivity_s": quantile(&mut maps, 0.5),
        "kernel_s": kernel,
        "backend": backend.name(),
        "detail": backend.detail(),
        "threads": backend.threads(),
    }))
}

fn measure(
    example: &Example,
    local: LocalSolver,
    repeats: usize,
    backend: &Backend,
) -> Result<Value, Error> {
    let control = Control::new();
    let metric = &example.metric;
    let start = Instant::now();
    let prepared = Prepared::new(metric, local, backend, &control)?;
    let prepare_s = start.elapsed().as_secs_f64();
    let source = |v: &[i64; 3]| {
        let place = metric.place_of(*v).unwrap_or(0) as u32;
        Arc::new(backend.install(|| CostSource::places(metric, "source", vec![place])))
    };
    let sources: Vec<Arc<CostSource>> = example.sources.iter().map(source).collect();
    let params = Params {
        tolerance: 1e-6,
        schedule: None,
    };
    let (mut walls, mut kernels) = (Vec::new(), Vec::new());
    let mut fields = Vec::new();
    // The first run is not counted: it lays out bricks and uploads weights.
    for run in 0..=repeats {
        let start = Instant::now();
        fields = solve(&prepared, &sources, &params, backend, &control)?;
        if run > 0 {
            walls.push(start.elapsed().as_secs_f64());
            kernels.extend(fields.first().and_then(|f| f.kernel_s));
        }
    }
    let (wall, kernel) = (quantile(&mut walls, 0.5), quantile(&mut kernels, 0.5));
    let best = kernel.or(wall).unwrap_or(f64::NAN);
    let values = || fields.iter().flat_map(|f| f.values.iter());
    let reached = values().filter(|v| v.is_finite()).count();
    Ok(json!({
        "workload": format!("eikonal {} {}", example.name, local.key()),
        "size": {"voxels": metric.len(), "fields": fields.len(), "reached": reached},
        "rate": (metric.len() * fields.len()) as f64 / best,
        "unit": "voxels_per_s",
        "wall_s": wall,
        "kernel_s": kernel,
        "prepare_s": prepare_s,
        "mean_error": example.constant.then(|| error(metric, &fields[0].values, example.sources[0])),
        "residual": fields.iter().map(residual).fold(0.0, f64::max),
        "papers_s": example.papers_s,
        "times_papers": example.papers_s.map(|s| s / best),
        "backend": backend.name(),
        "detail": backend.detail(),
        "threads": backend.threads(),
    }))
}

/// Lax–Friedrichs sweeping, once: it takes seconds.
fn swept(example: &Example) -> Result<Value, Error> {
    const MAX_SWEEPS: usize = 4000;
    let metric = &example.metric;
    let place = metric.place_of(example.sources[0]).unwrap_or(0) as u32;
    let source = CostSource::places(metric, "source", vec![place]);
    let start = Instant::now();
    let swept = lax_friedrichs(metric, &source, 1e-4, MAX_SWEEPS, &Control::new())?;
    let wall_s = start.elapsed().as_secs_f64();
    Ok(json!({
        "workload": format!("eikonal {} {LAX_FRIEDRICHS}", example.name),
        "size": {
            "voxels": metric.len(), "fields": 1,
            "reached": swept.values.iter().filter(|v| v.is_finite()).count(),
        },
        "rate": metric.len() as f64 / wall_s,
        "unit": "voxels_per_s",
        "wall_s": wall_s,
        "sweeps": swept.sweeps,
        "converged": swept.has_converged,
        "mean_error": example.constant.then(|| error(metric, &swept.values, example.sources[0])),
        "backend": "cpu",
        "threads": 1,
    }))
}

/// Relative error of the reached voxels: sum of deviations from √((x − s)ᵀ G (x − s)) over sum of these distances.
fn error(metric: &Metric, values: &[f32], from: [i64; 3]) -> f64 {
    let (mut off, mut sum) = (0.0, 0.0);
    for place in (0..metric.len()).filter(|p| values[*p].is_finite()) {
        let voxel = metric.voxel(place);
        let way = [0, 1, 2].map(|a| (voxel[a] - from[a]) as f64);
        let exact = metric.step_cost(place, DVec3::from_array(way));
        off += (f64::from(values[place]) - exact).abs();
        sum += exact;
    }
    off / sum
}

/// The largest relative difference in about a thousand voxels.
fn residual(field: &CostField) -> f64 {
    let n = field.values.len();
    let places = (0..n).step_by(n.div_ceil(2000).max(1));
    let off = places
        .filter(|p| field.source.seed(*p).is_none())
        .filter_map(|place| {
            let updated = simplex(field, place)?.value;
            let value = f64::from(field.values[place]);
            value.is_finite().then(|| (updated - value).abs() / value)
        });
    off.fold(0.0, f64::max)
}
