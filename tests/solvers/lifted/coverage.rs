//! How often the band of E* through distributions contains E* without noise, on crossing heads of which none was used to
//! calibrate it.

use super::radiation::responses;
use crate::support::cuda_backend;
use crate::support::fields::{backend, sphere};
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::evaluate;
use arcuate::data::statistics::quantile;
use arcuate::data::{BuiltInPhantom, Gradients, Mask, OdfField, PhantomKind, Role, Volume};
use arcuate::phantom::{Head, ScanOptions, ScanParams, scan_grid};
use arcuate::solvers::csd;
use arcuate::solvers::lifted::{
    LiftedPathway, Params, Prepared, Scan, Source, UNREACHED, largest_amplitudes, repetitions,
    solve_both,
};
use arcuate::solvers::pathway::{DEFAULT_EPSILON, Domain};
use glam::DVec3;
use libtest_mimic::Trial;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Seeds of the heads from which the factor of the band was taken, and of those that test it.
const CALIBRATION: Range<u64> = 21..23;
const TEST: Range<u64> = 31..33;

pub fn tests() -> Vec<Trial> {
    let ignored = |name: &'static str, run: fn()| {
        let shown = format!("{name} (takes minutes; run it with --ignored)");
        Trial::test(shown, move || crate::support::with_seed(name, run)).with_ignored_flag(true)
    };
    vec![
        ignored("lifted::band of E* against heads without noise", || {
            let share = heads(TEST);
            assert!((0.85..=0.95).contains(&share), "{share}");
        }),
        ignored("lifted::calibration of the band of E*", || {
            let share = heads(CALIBRATION);
            assert!((0.87..=0.93).contains(&share), "{share}");
        }),
    ]
}

const VOXEL_MM: f64 = 2.0;
const REPETITIONS: usize = 20;
const END_MM: f64 = 5.0;
/// The part of a bundle's centre line between the regions.
const PART: [f64; 2] = [0.15, 0.85];
/// Costs are computed up to this share above the least one, as in the window.
const MAX_EXCESS: f32 = 0.3;

/// A scan with noise, and the costs of the same scan without noise in the same voxels and unit.
struct Scene {
    backend: Backend,
    gradients: Gradients,
    dwi: Volume,
    fit: csd::Params,
    amplitude: Volume,
    noisy: Prepared,
    exact: Prepared,
}

/// The share of the pathways of some heads whose band contains E* without noise.
fn heads(seeds: Range<u64>) -> f64 {
    let backend = cuda_backend().unwrap_or_else(|| backend(2));
    let (mut all, mut holding, mut factors) = (0_u32, 0_u32, Vec::new());
    for snr in [15.0, 20.0, 30.0] {
        let (mut of_snr, mut holding_of_snr) = (0_u32, 0_u32);
        for seed in seeds.clone() {
            let started = Instant::now();
            let head = Head::built_in(BuiltInPhantom {
                kind: PhantomKind::Crossing,
                seed,
            });
            let scene = scene(&backend, &head, seed, snr);
            // Every other bundle: both sides of the head are alike.
            for bundle in head.bundles().iter().step_by(2) {
                let [a, b] = PART.map(|t| bundle.centre_line(t));
                let Some((band, exact, measured)) = compared(&scene, a, b) else {
                    println!("SNR {snr}, head {seed}, {}: not joined", bundle.name);
                    continue;
                };
                let holds = band[0] <= exact && exact <= band[1];
                // The half-width of the band that would just contain it, as a multiple of the band's.
                let needed = (exact / measured).ln().abs() / (band[1] / measured).ln();
                factors.push(needed);
                println!(
                    "SNR {snr}, head {seed}, {}: E* without noise {exact:.2}, measured {measured:.2}, \
                     band {:.2} to {:.2} {holds}, {needed:.2} of its half-width",
                    bundle.name, band[0], band[1]
                );
                (of_snr, holding_of_snr) = (of_snr + 1, holding_of_snr + u32::from(holds));
            }
            println!("head {seed}: {:.0} s", started.elapsed().as_secs_f64());
        }
        let share = f64::from(holding_of_snr) / f64::from(of_snr);
        println!("SNR {snr}: {holding_of_snr} of {of_snr}, {share:.3}");
        (all, holding) = (all + of_snr, holding + holding_of_snr);
    }
    let share = f64::from(holding) / f64::from(all);
    let needed = [0.85, 0.9, 0.95].map(|q| quantile(&mut factors, q).unwrap());
    println!(
        "all: {holding} of {all}, {share:.3}; 85, 90 and 95 % need {needed:.2?} of the half-width"
    );
    share
}

fn scene(backend: &Backend, head: &Head, seed: u64, snr: f64) -> Scene {
    let control = Control::new();
    let grid = scan_grid(VOXEL_MM).unwrap();
    let scan = |snr| {
        let options = ScanOptions {
            snr,
            ..ScanParams::defaults_for(PhantomKind::Crossing).options(grid.clone(), seed)
        };
        backend.install(|| head.diffusion_scan(&options, &control).unwrap())
    };
    let mask: Mask = backend.install(|| head.brain_mask(&grid, &control).unwrap());
    let ((dwi, gradients), (quiet, _)) = (scan(Some(snr)), scan(None));
    let fitted = |dwi: &Volume, params: &csd::Params| {
        let responses = responses();
        csd::fit(
            dwi, &gradients, &mask, &responses, params, backend, &control,
        )
        .unwrap()
        .field
    };
    let noisy_field = fitted(&dwi, &csd::Params::defaults());
    let fit = csd::Params {
        order: Some(noisy_field.order()),
        ..csd::Params::defaults()
    };
    let quiet = fitted(&quiet, &fit);
    let params = Params::defaults();
    let amplitude = largest_amplitudes(&noisy_field, backend, &control).unwrap();
    let domain = Domain::of_distributions(&amplitude, params.min_amplitude, &[]);
    let domain = backend.install(|| domain.mask()).unwrap();
    let noisy = Prepared::new(&noisy_field, &domain, &params, backend, &control).unwrap();
    let exact = with_field(&noisy, &quiet, backend);
    Scene {
        backend: backend.clone(),
        gradients,
        dwi,
        fit,
        amplitude,
        noisy,
        exact,
    }
}

/// The costs of other distributions with the voxels and the reference amplitude of these.
fn with_field(noisy: &Prepared, field: &OdfField, backend: &Backend) -> Prepared {
    // The program blurs narrow lobes in this way, too.
    let narrow = field.order() > 8;
    let blur = |l: usize| {
        let exponent = (l * (l + 1)) as f64 * (6.0 * PI / 180.0_f64).powi(2);
        if narrow { (-0.5 * exponent).exp() } else { 1.0 }
    };
    let degrees = || {
        (0..=field.order())
            .step_by(2)
            .flat_map(|l| (0..2 * l + 1).map(move |_| l))
    };
    let functions = noisy.directions.iter().enumerate().map(|(i, d)| {
        let values = evaluate(field.order(), *d).into_iter().zip(degrees());
        let values: Vec<f64> = values.map(|(y, l)| y * blur(l)).collect();
        (d.to_array().map(f64::to_bits), (i, values))
    });
    let functions: HashMap<[u64; 3], (usize, Vec<f64>)> = functions.collect();
    let places = noisy.places.clone();
    let rows = places.voxels.iter();
    let rows: Vec<Vec<f64>> = rows.map(|v| field.coefficients_at(*v as usize)).collect();
    let reference = noisy.amplitudes().unwrap().reference;
    let cost = |place: usize, direction: DVec3| {
        let (_, values) = &functions[&direction.to_array().map(f64::to_bits)];
        let terms = values.iter().zip(&rows[place]);
        let amplitude: f64 = terms.map(|(y, c)| y * c).sum();
        let share = (amplitude / reference).clamp(0.0, 1.0);
        (noisy.params.background_speed + share).recip() as f32
    };
    Prepared::from_costs(
        places.clone(),
        &noisy.params,
        cost,
        backend,
        &Control::new(),
    )
    .unwrap()
}

/// The band, E* without noise, and the measured E*; `None` where no path joins the ends.
fn compared(scene: &Scene, a: DVec3, b: DVec3) -> Option<([f64; 2], f64, f64)> {
    let (backend, control) = (&scene.backend, Control::new());
    let regions = [(Role::Seed, a), (Role::Target, b)];
    let regions = regions.map(|(role, centre)| sphere(role, centre, END_MM));
    let domain =
        Domain::of_distributions(&scene.amplitude, scene.noisy.params.min_amplitude, &regions);
    let solved = |prepared: &Prepared| {
        let source = |role| {
            let places = backend.install(|| domain.places(&prepared.places, role));
            let (name, zero) = places.ok()?;
            Some(Arc::new(Source {
                name,
                zero,
                direction: None,
            }))
        };
        let sources = [source(Role::Seed)?, source(Role::Target)?];
        let fields = solve_both(prepared, &sources, MAX_EXCESS, UNREACHED, backend, &control);
        let [from, to] = fields.ok()?;
        backend.install(|| LiftedPathway::new(from, to)).ok()
    };
    let (measured, exact) = (solved(&scene.noisy)?, solved(&scene.exact)?);
    let all = responses();
    let scan = Scan {
        dwi: &scene.dwi,
        gradients: &scene.gradients,
        responses: &all,
        fit: &scene.fit,
    };
    let repeated = repetitions(&measured, scan, DEFAULT_EPSILON, 1, backend, &control);
    let mut repeated = repeated.unwrap();
    repeated.extend(REPETITIONS, backend, &control).unwrap();
    Some((repeated.band()?, exact.min_cost, measured.min_cost))
}
