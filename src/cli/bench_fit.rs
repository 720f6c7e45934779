//! Speed of the tensor fit: voxels per second on a synthetic, brain-like scan in memory.

use super::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::random::Stream;
use crate::data::statistics::quantile;
use crate::data::{Gradients, Grid, Mask, Volume, VolumeKind};
use crate::solvers::tensor_fit::{self, Error, Method, Params};
use glam::{DMat3, DVec3};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// One line per method; all with the same scan (64 directions with b 1000 and one b = 0).
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (shape, repeats) = if choice.quick {
        ([64, 64, 40], 5)
    } else {
        ([96, 96, 60], 9)
    };
    let (dwi, gradients, mask) = scan(shape);
    let methods = [
        ("OLS", Method::Ols),
        ("WLS", Method::Wls),
        ("WLS + 2 IWLS", Method::Iwls { iterations: 2 }),
    ];
    let line = |(name, method)| {
        let params = Params {
            method,
            b_range_s_per_mm2: (0.0, f64::INFINITY),
            min_eigenvalue_mm2_per_s: 1e-5,
        };
        let fit = || tensor_fit::fit(&dwi, &gradients, &mask, &params, backend, &Control::new());
        let wall_s = median_s(repeats, || fit().map(drop));
        report(name, wall_s, &dwi, &mask, backend)
    };
    let methods = methods.into_iter().filter(|m| choice.takes(m.0));
    let mut lines: Vec<Value> = methods.map(line).collect();
    if !choice.takes("maps") {
        return lines;
    }
    let params = Params {
        method: Method::Ols,
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: 1e-5,
    };
    let control = Control::new();
    let fitted = tensor_fit::fit(&dwi, &gradients, &mask, &params, backend, &control);
    let wall_s = fitted.and_then(|output| {
        median_s(repeats, || {
            tensor_fit::maps(&output.field, backend, &control).map(drop)
        })
    });
    lines.push(report("maps", wall_s, &dwi, &mask, backend));
    lines
}

fn report(
    method: &str,
    wall_s: Result<f64, Error>,
    dwi: &Volume,
    mask: &Mask,
    backend: &Backend,
) -> Value {
    let voxels = mask.count();
    let mut line = json!({
        "workload": "fit",
        "method": method,
        "size": {"voxels": dwi.grid.shape, "volumes": dwi.frames, "in_mask": voxels},
        // There is no kernel for it.
        "backend": backend.cpu().name(),
        "detail": backend.cpu().detail(),
        "threads": backend.threads(),
    });
    match wall_s {
        Ok(wall_s) => {
            line["wall_s"] = json!(wall_s);
            line["rate"] = json!((voxels as f64 / wall_s).round());
            line["unit"] = json!("voxels_per_s");
        }
        Err(error) => line["error"] = json!(error.to_string()),
    }
    line
}

/// Median wall time after one run to warm caches and memory.
fn median_s(repeats: usize, work: impl Fn() -> Result<(), Error>) -> Result<f64, Error> {
    work()?;
    let mut walls = Vec::new();
    for _ in 0..repeats {
        let begin = Instant::now();
        work()?;
        walls.push(begin.elapsed().as_secs_f64());
    }
    Ok(quantile(&mut walls, 0.5).unwrap_or(f64::NAN))
}

/// An ellipsoid of curved bundles with FA from 0.1 to 0.8, S0 of 1000 and a noise of S0/30.
fn scan(shape: [usize; 3]) -> (Volume, Gradients, Mask) {
    let grid = Grid::axis_aligned(shape, DVec3::splat(2.0), DVec3::ZERO);
    let grid = Arc::new(grid.expect("a sound grid"));
    let gradients = gradients();
    let n = grid.voxel_count();
    let half = DVec3::from_array(shape.map(|n| n as f64 * 0.5));
    let place = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        (voxel - (half - 0.5)) / half
    };
    let inside: Vec<u8> = (0..n).map(|i| u8::from(place(i).length() <= 0.9)).collect();
    let mut noise = Noise(Stream::new(1, 0));
    let mut values = vec![0.0; n * gradients.len()];
    for voxel in (0..n).filter(|v| inside[*v] != 0) {
        let d = tensor(place(voxel));
        for (frame, g) in gradients.directions.iter().enumerate() {
            let b = gradients.b_s_per_mm2[frame];
            let signal = 1000.0 * (-b * g.dot(d * *g)).exp();
            let (re, im) = noise.pair();
            values[frame * n + voxel] = (signal + re * 33.0).hypot(im * 33.0) as f32;
        }
    }
    let dwi = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    (dwi, gradients, Mask::new(grid, inside))
}

/// One b = 0 volume and 64 directions on a Fibonacci hemisphere.
fn gradients() -> Gradients {
    const DIRECTIONS: usize = 64;
    let golden = std::f64::consts::PI * (1.0 + 5f64.sqrt());
    let spread = (0..DIRECTIONS).map(|i| {
        let z = (i as f64 + 0.5) / DIRECTIONS as f64;
        let (sin, cos) = (golden * (i as f64 + 0.5)).sin_cos();
        let r = (1.0 - z * z).sqrt();
        DVec3::new(r * cos, r * sin, z)
    });
    Gradients {
        b_s_per_mm2: std::iter::once(0.0).chain([1000.0; DIRECTIONS]).collect(),
        directions: std::iter::once(DVec3::ZERO).chain(spread).collect(),
    }
}

/// Bundles that arch from left to right and fan out to the front, thinner at the edge.
fn tensor(p: DVec3) -> DMat3 {
    let along = DVec3::new(
        (2.2 * p.x + 0.6 * p.z).cos(),
        0.8 * (2.0 * p.y).sin() + 0.35 * (3.0 * p.z).cos(),
        -1.1 * (2.2 * p.x).sin() + 0.2 * p.y,
    )
    .normalize();
    let white = ((0.82 - p.length()) / 0.15).clamp(0.0, 1.0);
    let (axial, radial) = (0.9e-3 + 0.8e-3 * white, 0.8e-3 - 0.5e-3 * white);
    let outer = DMat3::from_cols(along * along.x, along * along.y, along * along.z);
    DMat3::IDENTITY * radial + outer * (axial - radial)
}

/// Pairs of standard normal numbers (Box and Muller 1958).
struct Noise(Stream);

impl Noise {
    fn pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * (1.0 - self.0.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.0.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }
}
