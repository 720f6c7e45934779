//! Speed of the spherical deconvolution: voxels per second on synthetic voxels in memory.

use super::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::random::Random;
use crate::data::spherical_harmonics::{gauss_legendre, zonal};
use crate::data::statistics::quantile;
use crate::data::{Gradients, Grid, Mask, Response, Volume, VolumeKind};
use crate::phantom::directions::half_sphere;
use crate::solvers::csd::{self, Output, Params};
use glam::DVec3;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Instant;

/// b in s/mm² and number of volumes of each shell.
const SHELLS: [(f64, usize); 4] = [(0.0, 4), (700.0, 20), (1200.0, 40), (2800.0, 60)];
/// White matter, grey matter and fluid: signal without weighting, and diffusivities along and across fibres, mm²/s.
const TISSUES: [(f64, f64, f64); 3] = [
    (1000.0, 1.7e-3, 0.25e-3),
    (1380.0, 0.8e-3, 0.8e-3),
    (2700.0, 3e-3, 3e-3),
];
/// Standard deviation of the noise: the SNR of white matter without weighting is 20.
const SIGMA: f32 = 50.0;
/// Voxels of a head at 2 mm; fewer for the quick run.
const VOXELS: [usize; 2] = [172_758, 20_000];

/// One line per case; all with the same voxels.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let cases = [
        ("order 8, three tissues", 8, 3),
        ("order 12, three tissues", 12, 3),
        ("order 8, white matter and fluid", 8, 2),
    ];
    let cases: Vec<_> = cases.into_iter().filter(|c| choice.takes(c.0)).collect();
    if cases.is_empty() {
        return Vec::new();
    }
    let gradients = gradients();
    let (dwi, mask) = scan(&gradients, VOXELS[usize::from(choice.quick)]);
    let line = |(name, order, tissues): (&str, usize, usize)| {
        let mut responses = vec![response(0, order)];
        responses.extend((4 - tissues..3).map(|tissue| response(tissue, order)));
        let params = Params {
            order: Some(order),
            ..Params::defaults()
        };
        let control = Control::new();
        let fit = || {
            csd::fit(
                &dwi, &gradients, &mask, &responses, &params, backend, &control,
            )
        };
        measure(name, choice.quick, &dwi, backend, fit)
    };
    cases.into_iter().map(line).collect()
}

fn measure(
    name: &str,
    quick: bool,
    dwi: &Volume,
    backend: &Backend,
    fit: impl Fn() -> Result<Output, csd::Error>,
) -> Value {
    let voxels = dwi.grid.voxel_count();
    let mut line = json!({
        "workload": "fod",
        "case": name,
        "size": {"voxels": voxels, "volumes": dwi.frames},
        "threads": backend.threads(),
    });
    let (mut walls, mut kernels) = (Vec::new(), Vec::new());
    // The first run is not counted: it warms memory, and on a card it loads the kernels.
    for repeat in 0..if quick { 2 } else { 4 } {
        let begin = Instant::now();
        match fit() {
            Ok(output) if repeat > 0 => {
                walls.push(begin.elapsed().as_secs_f64());
                kernels.extend(output.kernel_s);
                line["repeated_in_double_precision"] = json!(output.counts.repeated);
            }
            Ok(_) => {}
            Err(error) => {
                line["error"] = json!(error.to_string());
                return line;
            }
        }
    }
    let wall_s = quantile(&mut walls, 0.5).unwrap_or(f64::NAN);
    let kernel = quantile(&mut kernels, 0.5);
    let name = if kernel.is_some() {
        backend.name()
    } else {
        backend.cpu().name()
    };
    line["backend"] = json!(name);
    line["kernel_s"] = json!(kernel);
    line["wall_s"] = json!(wall_s);
    line["rate"] = json!((voxels as f64 / wall_s).round());
    line["unit"] = json!("voxels_per_s");
    line
}

fn gradients() -> Gradients {
    let mut gradients = Gradients {
        b_s_per_mm2: Vec::new(),
        directions: Vec::new(),
    };
    for (b, count) in SHELLS {
        gradients.b_s_per_mm2.extend(vec![b; count]);
        match b > 0.0 {
            true => gradients.directions.extend(half_sphere(count)),
            false => gradients.directions.extend(vec![DVec3::ZERO; count]),
        }
    }
    gradients
}

/// The signal of a tissue whose fibres have this cosine with the gradient.
fn signal(tissue: usize, b: f64, cosine: f64) -> f64 {
    let (unweighted, along, across) = TISSUES[tissue];
    unweighted * (-b * (across + (along - across) * cosine * cosine)).exp()
}

fn response(tissue: usize, order: usize) -> Response {
    let row = |(b, _): (f64, usize)| {
        let mut row = vec![0.0; order / 2 + 1];
        for (z, weight) in gauss_legendre(64) {
            for (sum, y) in row.iter_mut().zip(zonal(order, z)) {
                *sum += TAU * weight * signal(tissue, b, z) * y;
            }
        }
        match tissue {
            0 => row,
            _ => row[..1].to_vec(),
        }
    };
    let b = SHELLS.map(|(b, _)| b);
    Response::new(Some(b.to_vec()), SHELLS.map(row).to_vec())
}

/// Voxels of two bundles at a random angle beside grey matter and fluid, in random shares, with Rician noise.
fn scan(gradients: &Gradients, voxels: usize) -> (Volume, Mask) {
    let random = Random::new(1);
    let frames = gradients.len();
    let mut values = vec![0f32; frames * voxels];
    let mut signals = vec![0f32; frames];
    for voxel in 0..voxels {
        let own = random.stream(voxel as u64);
        let bundles = [own.direction(0), own.direction(2)];
        let white = own.uniform(4);
        let fluid = (1.0 - white) * own.uniform(5).powi(4);
        let shares = [0.5 * white, 0.5 * white];
        let volumes = gradients.b_s_per_mm2.iter().zip(&gradients.directions);
        for (value, (b, direction)) in signals.iter_mut().zip(volumes) {
            let fibres = bundles.iter().zip(shares);
            let fibres = fibres.map(|(u, share)| share * signal(0, *b, u.dot(*direction)));
            let other = (1.0 - white - fluid) * signal(1, *b, 0.0) + fluid * signal(2, *b, 0.0);
            *value = (fibres.sum::<f64>() + other) as f32;
        }
        own.add_rician(SIGMA, 16, &mut signals);
        for (frame, value) in signals.iter().enumerate() {
            values[frame * voxels + voxel] = *value;
        }
    }
    let grid = Grid::axis_aligned([voxels, 1, 1], DVec3::splat(2.0), DVec3::ZERO);
    let grid = Arc::new(grid.expect("a sound grid"));
    let dwi = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values);
    (dwi, Mask::new(grid, vec![1; voxels]))
}
