//! How often the band of E* contains E* without noise, on heads of which none was used to calibrate it.

use crate::support::cuda_backend;
use crate::support::fields::{backend, sphere};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Mask, Role, TensorField, Volume};
use arcuate::phantom::{Head, ScanOptions, scan_grid, scan_options};
use arcuate::solvers::eikonal::{CostSource, Prepared, solve};
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway::{
    self, DEFAULT_EPSILON, Domain, Pathway, Repetitions, Scan, TOLERANCE,
};
use arcuate::solvers::{eikonal, tensor_fit};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let name = "pathway::band of E* against heads without noise";
    vec![
        Trial::test(
            format!("{name} (takes minutes; run it with --ignored)"),
            move || crate::support::with_seed(name, heads),
        )
        .with_ignored_flag(true),
    ]
}

const VOXEL_MM: f64 = 2.0;
const REPETITIONS: usize = 60;
/// The part of a bundle's centre line between the regions.
const PART: [f64; 2] = [0.15, 0.85];

struct Scene {
    backend: Backend,
    gradients: arcuate::data::Gradients,
    dwi: Volume,
    noisy: TensorField,
    clean: TensorField,
    fa: Volume,
}

fn heads() {
    let backend = cuda_backend().unwrap_or_else(|| backend(2));
    let (mut all, mut holding) = (0_u32, 0_u32);
    for snr in [15.0, 20.0, 30.0] {
        let (mut of_snr, mut holding_of_snr) = (0_u32, 0_u32);
        for seed in 31..35 {
            let head = Head::new(seed);
            let scene = scene(&backend, &head, seed, snr);
            for bundle in head.bundles() {
                let [a, b] = PART.map(|t| bundle.centre_line(t));
                let Some((band, exact, measured)) = compared(&scene, a, b) else {
                    println!("SNR {snr}, head {seed}, {}: not joined", bundle.name);
                    continue;
                };
                let holds = band[0] <= exact && exact <= band[1];
                println!(
                    "SNR {snr}, head {seed}, {}: E* without noise {exact:.2}, measured {measured:.2}, \
                     band {:.2} to {:.2} {holds}",
                    bundle.name, band[0], band[1]
                );
                (of_snr, holding_of_snr) = (of_snr + 1, holding_of_snr + u32::from(holds));
            }
        }
        let share = f64::from(holding_of_snr) / f64::from(of_snr);
        println!("SNR {snr}: {holding_of_snr} of {of_snr}, {share:.3}");
        (all, holding) = (all + of_snr, holding + holding_of_snr);
    }
    let share = f64::from(holding) / f64::from(all);
    println!("all: {holding} of {all}, {share:.3}");
    assert!((0.85..=0.95).contains(&share), "{share}");
}

fn scene(backend: &Backend, head: &Head, seed: u64, snr: f64) -> Scene {
    let control = Control::new();
    let grid = scan_grid(VOXEL_MM).unwrap();
    let options = |snr: Option<f64>| ScanOptions {
        snr,
        ..scan_options(grid.clone(), seed)
    };
    let scan = |snr| backend.install(|| head.diffusion_scan(&options(snr), &control).unwrap());
    let mask: Mask = backend.install(|| head.brain_mask(&grid, &control).unwrap());
    let fit = tensor_fit::Params::defaults();
    let fitted = |dwi: &Volume, gradients| {
        tensor_fit::fit(dwi, gradients, &mask, &fit, backend, &control)
            .unwrap()
            .field
    };
    let (dwi, gradients) = scan(Some(snr));
    let (exact, _) = scan(None);
    let (noisy, clean) = (fitted(&dwi, &gradients), fitted(&exact, &gradients));
    let fa = tensor_fit::maps(&noisy, backend, &control).unwrap().fa;
    Scene {
        backend: backend.clone(),
        gradients,
        dwi,
        noisy,
        clean,
        fa,
    }
}

/// The band, E* of the tensors without noise in the same voxels and unit of cost, and the measured E*; `None` where
/// no path joins the ends.
fn compared(scene: &Scene, a: DVec3, b: DVec3) -> Option<([f64; 2], f64, f64)> {
    let (backend, control) = (&scene.backend, Control::new());
    let regions = [(Role::Seed, a), (Role::Target, b)];
    let regions = regions.map(|(role, centre)| sphere(role, centre, 5.0));
    let params = pathway::Params::defaults();
    let domain = Domain::of_tensors(&scene.fa, params.min_fa, &regions);
    let domain = backend.install(|| domain.mask()).ok()?;
    let metric = Metric::new(
        &scene.noisy,
        &params.metric,
        Some(&domain),
        backend,
        &control,
    )
    .ok()?;
    let exact: Vec<_> = metric
        .voxels
        .iter()
        .map(|voxel| scene.clean.tensors[*voxel as usize])
        .collect();
    let exact = metric.with_tensors(&exact, &params.metric);
    let solved = |metric: &Metric| {
        let prepared = Prepared::new(metric, params.local, backend, &control).ok()?;
        let sources = regions.each_ref().map(|r| CostSource::region(metric, r));
        let [Ok(from), Ok(to)] = sources else {
            return None;
        };
        let solver = eikonal::Params {
            tolerance: TOLERANCE,
            schedule: None,
        };
        let sources = [Arc::new(from), Arc::new(to)];
        let mut fields = solve(&prepared, &sources, &solver, backend, &control).ok()?;
        let second = fields.pop()?;
        Pathway::new(fields.pop()?, second).ok()
    };
    let (measured, exact) = (solved(&metric)?, solved(&exact)?);
    let fit = tensor_fit::Params::defaults();
    let scan = Scan {
        dwi: &scene.dwi,
        gradients: &scene.gradients,
        fit: &fit,
    };
    let counted = (&params.metric, DEFAULT_EPSILON);
    let mut all = Repetitions::of_tensors(&measured, scan, counted, 1, backend, &control).unwrap();
    all.extend(REPETITIONS, backend, &control).unwrap();
    Some((all.band()?, exact.min_cost, measured.min_cost))
}
