//! Signals in closed form, noise by its moments, bytes independent of the number of threads.

use super::cube;
use crate::support::{Random, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::Grid;
use arcuate::phantom::{
    BUNDLE_MM2_PER_S, Head, ScanOptions, Shell, Tissue, WHITE_SIGNAL, noise_free, scan_grid,
    scan_options, signal,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("phantom::signals in closed form", closed_form),
        test("phantom::Rician noise has its moments", moments),
        test("phantom::same bytes on any number of threads", threads),
        test("phantom::gradients of a scan", gradients),
        test("phantom::a scan can be cancelled", cancel),
    ]
}

fn options(grid: Arc<Grid>, snr: Option<f64>, noise_seed: u64) -> ScanOptions {
    ScanOptions {
        grid,
        b0_count: 2,
        shells: vec![
            Shell {
                b_s_per_mm2: 1000.0,
                directions: 12,
            },
            Shell {
                b_s_per_mm2: 2500.0,
                directions: 8,
            },
        ],
        snr,
        noise_seed,
    }
}

fn closed_form() {
    let mut random = Random::fresh("phantom closed form");
    let head = Head::new(random.bits());
    let mut seen = [0usize; Tissue::COUNT];
    let mut fibres = 0;
    let grid = scan_grid(4.0).unwrap();
    let scan = options(grid.clone(), None, 0);
    let (dwi, gradients) = head.diffusion_scan(&scan, &Control::new()).unwrap();
    let bundles: Vec<_> = head.bundles().iter().filter(|b| b.weight == 1.0).collect();
    for i in 0..grid.voxel_count() {
        let x = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        // Wider than the voxel, whose four parts may be elsewhere in it.
        let f = head.tissues(x, 6.0);
        let Some(tissue) = Tissue::ALL.into_iter().find(|&t| f.fraction(t) > 0.99999) else {
            continue;
        };
        // Fractions are computed from the distance to walls; a thin fold next to the voxel may be missed.
        let adjacent = |o: DVec3| head.tissues(x + o, 6.0).fraction(tissue) > 0.99999;
        let mut around = DVec3::AXES.into_iter().flat_map(|a| [a * 2.5, a * -2.5]);
        let fluid = matches!(tissue, Tissue::Ventricle | Tissue::Csf);
        if fluid && !around.all(adjacent) {
            continue;
        }
        let along = if tissue == Tissue::White {
            // Well inside a bundle that fills its voxels completely.
            let inside = bundles.iter().find(|b| {
                let c = b.coordinates(x);
                let [r, s] = b.radii_mm(c.t);
                (1.0 - c.u.hypot(c.v)) * r.min(s) > 2.9 && c.t > 0.05 && c.t < 0.95
            });
            let Some(inside) = inside else { continue };
            if head
                .bundles()
                .iter()
                .any(|b| b.label != inside.label && b.distance(x) < 14.0)
            {
                continue;
            }
            fibres += 1;
            Some(inside.direction(x))
        } else {
            None
        };
        if along.is_none() && tissue.is_white() {
            continue;
        }
        seen[tissue as usize] += 1;
        for v in 0..gradients.len() {
            let (b, g) = (gradients.b_s_per_mm2[v], gradients.directions[v]);
            let truth = match along {
                None => {
                    let (s0, d) = signal(tissue);
                    s0 * (-b * d).exp()
                }
                Some(e) => {
                    let [axial, radial] = BUNDLE_MM2_PER_S;
                    let cos2 = g.dot(e).powi(2) / g.length_squared().max(1.0);
                    WHITE_SIGNAL * (-b * (radial + (axial - radial) * cos2)).exp()
                }
            };
            let found = f64::from(dwi.frame(v)[i]);
            // f32 sums, and fractions of up to 1e-5 of another tissue.
            assert!(
                (found - truth).abs() < 0.1,
                "{tissue:?} at {x}: {found} {truth}"
            );
        }
    }
    for tissue in [Tissue::Air, Tissue::Muscle, Tissue::Eye] {
        assert!(seen[tissue as usize] > 0, "no pure voxel of {tissue:?}");
    }
    // Outside the brain, fluid is nowhere as wide as these voxels: a smaller one.
    let fluid = |x: &DVec3| head.tissues(*x, 2.0).fraction(Tissue::Csf) > 0.99999;
    let adjacent = |x: &DVec3| {
        DVec3::AXES
            .iter()
            .all(|&a| fluid(&(x + a)) && fluid(&(x - a)))
    };
    let x = (0..500_000)
        .map(|_| random.direction() * random.uniform(0.0, 80.0))
        .find(|x| fluid(x) && adjacent(x))
        .expect("fluid around the brain");
    let parts = head.compartments(x, DVec3::AXES);
    assert_eq!(parts.len(), 1, "{parts:?}");
    let (s0, d) = signal(Tissue::Csf);
    let truth = s0 * (-1000.0 * d).exp();
    let found = noise_free(&parts, 1000.0, random.direction());
    assert!((found - truth).abs() < 1e-3 * truth, "{found} {truth}");
    println!("{fibres} voxels of one bundle alone");
    // A single bundle, by its compartments: the tensor is the one stated.
    let genu = head.bundle("Corpus callosum, genu").unwrap();
    let edges = [DVec3::X, DVec3::Y, DVec3::Z];
    let x = genu.centre_line(0.5);
    let parts = head.compartments(x, edges);
    assert_eq!(parts.len(), 1, "{parts:?}");
    let g = random.direction();
    let [axial, radial] = BUNDLE_MM2_PER_S;
    let cos2 = g.dot(genu.direction(x)).powi(2);
    let truth = WHITE_SIGNAL * (-1000.0 * (radial + (axial - radial) * cos2)).exp();
    let found = noise_free(&parts, 1000.0, g);
    assert!((found - truth).abs() < 1e-3 * truth, "{found} {truth}");
}

fn moments() {
    let mut random = Random::fresh("phantom moments");
    let head = Head::new(3);
    let (snr, sigma) = (20.0, WHITE_SIGNAL / 20.0);
    // Air has no signal: a Rayleigh distribution.
    let air = cube(DVec3::new(0.0, 0.0, 400.0), 30, 2.0);
    let scan = options(air.clone(), Some(snr), random.bits());
    let (noisy, _) = head.diffusion_scan(&scan, &Control::new()).unwrap();
    let n = noisy.values.len() as f64;
    let mean = noisy.values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let square = noisy
        .values
        .iter()
        .map(|&v| f64::from(v).powi(2))
        .sum::<f64>()
        / n;
    // Five standard errors: 0.655 σ / √n of the mean, 2 σ² / √n of the second moment.
    let rayleigh = sigma * std::f64::consts::FRAC_PI_2.sqrt();
    assert!(
        (mean - rayleigh).abs() < 5.0 * 0.655 * sigma / n.sqrt(),
        "{mean} {rayleigh}"
    );
    let second = 2.0 * sigma * sigma;
    assert!(
        (square - second).abs() < 5.0 * second / n.sqrt(),
        "{square} {second}"
    );
    // Signal A: E M² = A² + 2 σ², Var M² = 4 A² σ² + 4 σ⁴.
    let brain = cube(head.world(DVec3::new(20.0, 0.0, 30.0)), 20, 2.0);
    let scan = options(brain.clone(), Some(snr), random.bits());
    let (noisy, _) = head.diffusion_scan(&scan, &Control::new()).unwrap();
    let still = ScanOptions { snr: None, ..scan };
    let (clean, _) = head.diffusion_scan(&still, &Control::new()).unwrap();
    let (mut z, mut z2, mut count) = (0.0, 0.0, 0.0);
    for (&m, &a) in noisy.values.iter().zip(&*clean.values) {
        let (m, a) = (f64::from(m), f64::from(a));
        let deviation = (4.0 * a * a * sigma * sigma + 4.0 * sigma.powi(4)).sqrt();
        let score = (m * m - a * a - second) / deviation;
        z += score;
        z2 += score * score;
        count += 1.0;
    }
    let root = f64::sqrt(count);
    assert!((z / count).abs() < 5.0 / root, "bias {}", z / count);
    // The fourth moment of M² is at most that of an exponential, 9: standard error √8 / √n.
    assert!(
        (z2 / count - 1.0).abs() < 5.0 * 3.0 / root,
        "variance {}",
        z2 / count
    );
    // Neighbouring voxels and volumes are uncorrelated.
    let voxels = brain.voxel_count();
    let residual: Vec<f64> = noisy
        .values
        .iter()
        .zip(&*clean.values)
        .map(|(m, a)| {
            let (m, a) = (f64::from(*m), f64::from(*a));
            // Equal variance everywhere, so that 1 / √n is the standard error.
            let deviation = (4.0 * a * a * sigma * sigma + 4.0 * sigma.powi(4)).sqrt();
            (m * m - a * a - second) / deviation
        })
        .collect();
    for shift in [1, 20, voxels] {
        let pairs = residual.len() - shift;
        let product = |i: usize| residual[i] * residual[i + shift];
        let power: f64 = residual.iter().map(|r| r * r).sum::<f64>() / residual.len() as f64;
        let correlation = (0..pairs).map(product).sum::<f64>() / (pairs as f64 * power);
        assert!(
            correlation.abs() < 6.0 / (pairs as f64).sqrt(),
            "{shift}: {correlation}"
        );
    }
}

fn threads() {
    let mut random = Random::fresh("phantom threads");
    let (seed, noise) = (random.bits(), random.bits());
    let grid = scan_grid(7.0).unwrap();
    let scan = |threads, noise| {
        let backend = Backend::choose(&BackendChoice::cpu(Some(threads))).unwrap();
        let head = Head::new(seed);
        let scan = options(grid.clone(), Some(25.0), noise);
        let created = backend.install(|| head.diffusion_scan(&scan, &Control::new()));
        created.unwrap().0.values
    };
    let one = scan(1, noise);
    for count in [2, 3, 5] {
        assert!(one == scan(count, noise), "{count} threads");
    }
    assert!(
        one != scan(2, noise ^ 1),
        "another noise seed gave the same noise"
    );
}

fn gradients() {
    let grid = scan_grid(2.0).unwrap();
    let demo = scan_options(grid.clone(), 1).gradients();
    assert_eq!(demo.summary(), "6 × b 0, 30 × b 1000");
    let all = options(grid, None, 1).gradients();
    assert_eq!(all.summary(), "2 × b 0, 12 × b 1000, 8 × b 2500");
    assert_eq!(all.directions.len(), all.len());
}

fn cancel() {
    let control = Control::new();
    control.cancel();
    let scan = options(cube(DVec3::ZERO, 4, 2.0), None, 1);
    assert!(Head::new(1).diffusion_scan(&scan, &control).is_err());
}
