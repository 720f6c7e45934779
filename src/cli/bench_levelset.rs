//! `arcuate bench levelset`: steps per second of a level set.
//!
//! Two cases in 256 × 256 × 175 voxels: `sphere`, a body of radius 25 from a sphere of radius 23, and `cortex`, an
//! ellipsoid folded by a gyroid, from the body shrunk by a voxel: the bricks of its band hold a quarter of the volume.
//! Grey values are 1 inside and 0 outside, with an edge one voxel wide and noise of 0.1; target 1, tolerance 0.5.
//! `updates` are voxels with |φ| < 3 h per second. The same two with `drawn` give the frames per second while the
//! surface moves: bench_drawn.rs.

use super::bench::Choice;
use super::bench_drawn;
use crate::compute::{Backend, Control};
use crate::data::statistics::quantile;
use crate::data::{Grid, Mask, Volume};
use crate::solvers::Error;
use crate::solvers::level_set::{self, Evolution, Inputs, Layout, Params, Sphere, Start};
use glam::DVec3;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Instant;

const SHAPE: [usize; 3] = [256, 256, 175];
const BODY: f64 = 25.0;
const START: f64 = 23.0;
/// Half axes of the ellipsoid, voxels.
const HALF: [f64; 3] = [98.0, 108.0, 72.0];
/// Length and height of the gyroid's wave, voxels.
const WAVE: f64 = 36.0;
const HEIGHT: f64 = 7.0;

/// Positive inside; only the sign matters, and near the surface the slope.
fn folded(at: DVec3) -> f64 {
    let half = DVec3::from_array(HALF);
    let (ratio, slope) = ((at / half).length(), (at / (half * half)).length());
    let [x, y, z] = (at * (TAU / WAVE)).to_array();
    let gyroid = x.sin() * y.cos() + y.sin() * z.cos() + z.sin() * x.cos();
    // If the ellipsoid's centre is a voxel, the ratio and its slope are 0.
    ratio * (1.0 - ratio) / slope.max(1e-6) + HEIGHT * gyroid
}

/// Depth of a voxel inside the body, voxels.
fn depth(cortex: bool, voxel: [usize; 3]) -> f64 {
    let at = [0, 1, 2].map(|a| voxel[a] as f64 - (SHAPE[a] as f64 - 1.0) / 2.0);
    let at = DVec3::from_array(at);
    if !cortex {
        return BODY - at.length();
    }
    let rise = DVec3::AXES.map(|axis| folded(at + 0.5 * axis) - folded(at - 0.5 * axis));
    folded(at) / DVec3::from_array(rise).length().max(0.5)
}

struct Case {
    name: &'static str,
    image: Volume,
    start: Start,
}

impl Case {
    /// The run before its first step.
    fn run(&self, backend: &Backend) -> Result<Evolution, Error> {
        let params = Params {
            smoothness: 0.2,
            ..level_set::Params::defaults_for(1.0, 0.5)
        };
        let inputs = backend.install(|| Inputs::new(&self.image, 0))?;
        let (layout, control) = (Layout::BEST, Control::new());
        let mut evolution =
            Evolution::new(&inputs, &self.start, &params, layout, backend, &control)?;
        evolution.watched = false;
        Ok(evolution)
    }
}

fn case(name: &'static str, cortex: bool) -> Option<Case> {
    let grid = Arc::new(Grid::axis_aligned(SHAPE, DVec3::ONE, DVec3::ZERO)?);
    let mut bits = 3u64;
    let mut noise = || {
        // A sum of four uniform numbers, with standard deviation 0.1.
        let mut sum = 0.0;
        for _ in 0..4 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (bits >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        }
        sum * 0.173_2
    };
    let mut inside = vec![0u8; grid.voxel_count()];
    let mut values = vec![0.0f32; grid.voxel_count()];
    for i in 0..values.len() {
        let depth = depth(cortex, grid.voxel(i));
        values[i] = (1.0 / (1.0 + (-1.7 * depth).exp())) as f32 + noise();
        inside[i] = u8::from(depth > 1.0);
    }
    let centre = grid.centre();
    let start = if cortex {
        Start {
            mask: Some(Mask::new(grid.clone(), inside)),
            spheres: Vec::new(),
        }
    } else {
        Start {
            mask: None,
            spheres: vec![Sphere {
                add: true,
                centre,
                radius_mm: START,
            }],
        }
    };
    Some(Case {
        name,
        image: Volume::scalar(grid, values),
        start,
    })
}

fn measure(
    case: &Case,
    (evolution, setup_s): (&mut Evolution, f64),
    choice: Choice,
    backend: &Backend,
) -> Result<Value, Error> {
    let control = Control::new();
    // Whole rounds of redistancing, after some steps that fill the caches.
    let card = !backend.devices().is_empty();
    let (rounds, steps) = match (choice.quick, case.name, card) {
        (true, ..) => (1, 20),
        (false, "sphere", true) => (5, 20_000),
        (false, _, true) => (5, 4_000),
        (false, "sphere", false) => (5, 1000),
        (false, ..) => (5, 60),
    };
    let mut walls = Vec::new();
    evolution.run_unchecked(100, backend, &control)?;
    let near = evolution.count_near(3.0)?;
    for _ in 0..rounds {
        let started = Instant::now();
        evolution.run_unchecked(steps, backend, &control)?;
        walls.push(started.elapsed().as_secs_f64() / steps as f64);
    }
    let step_s = quantile(&mut walls, 0.5).unwrap_or(f64::NAN);
    let size = evolution.size();
    let voxels = evolution.count_near(f32::MAX)? as f64 / case.image.grid.voxel_count() as f64;
    Ok(json!({
        "workload": "levelset", "case": case.name, "size": "256x256x175",
        "rate": 1.0 / step_s, "unit": "steps/s", "time_ms": 1e3 * step_s,
        "active": near, "updates_per_s": near as f64 / step_s,
        "bricks": size.bricks, "share_in_bricks": voxels, "bytes": size.bytes,
        "kept_bytes": size.kept_bytes, "setup_s": setup_s, "redistance_every": evolution.params().redistance_every,
        "inside": evolution.growth().last(), "backend": backend.name(), "threads": backend.threads(),
    }))
}

/// One JSON object per case.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let mut lines = Vec::new();
    for (name, cortex) in [("sphere", false), ("cortex", true)] {
        let drawn = format!("{name}, drawn");
        if !choice.takes(&drawn) {
            continue;
        }
        let Some(case) = case(name, cortex) else {
            continue;
        };
        let failed = |error: String| json!({"workload": "levelset", "case": name, "error": error});
        let started = Instant::now();
        let mut evolution = match case.run(backend) {
            Ok(evolution) => evolution,
            Err(error) => {
                lines.push(failed(error.to_string()));
                continue;
            }
        };
        let evolution = &mut evolution;
        let setup_s = started.elapsed().as_secs_f64();
        if choice.takes(name) {
            let line = measure(&case, (evolution, setup_s), choice, backend);
            lines.push(line.unwrap_or_else(|error| failed(error.to_string())));
        }
        let line = bench_drawn::measure(evolution, &drawn, choice, backend);
        lines.push(line.unwrap_or_else(|failure| failed(failure.sentence)));
    }
    lines
}
