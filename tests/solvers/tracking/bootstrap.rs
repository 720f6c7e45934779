//! Probabilistic streamlines: the scan's noise, and nothing else, spreads them.

use super::parity::hausdorff;
use crate::support::fields::{backend, fibre, params, sphere};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Gradients, Grid, Mask, Role, TensorField, Tractogram, Volume, VolumeKind};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{Interpolation, Params, Seeding};
use arcuate::solvers::tensor_fit::{self, Method, Residuals};
use arcuate::solvers::tracking::{track, track_bootstrap};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "tracking::bootstrap without noise is plain tracking",
            without_noise,
        ),
        test(
            "tracking::bootstrap depends on seed and number alone",
            determined,
        ),
        test("tracking::bootstrap spreads as fresh scans do", spread),
        test("tracking::bootstrap without a scan is refused", refused),
        cuda_test("parity::streamlines of a bootstrap", parity),
    ]
}

const N: usize = 24;

struct Fitted {
    field: TensorField,
    residuals: Residuals,
}

fn gradients(random: &mut Random) -> Gradients {
    let mut gradients = Gradients {
        b_s_per_mm2: vec![0.0; 4],
        directions: vec![DVec3::ZERO; 4],
    };
    for _ in 0..30 {
        gradients.b_s_per_mm2.push(1000.0);
        gradients.directions.push(random.direction());
    }
    gradients
}

/// Straight fibres along z in a box of 48 mm, with Gaussian noise in each sample.
fn fitted(random: &mut Random, gradients: &Gradients, noise: f64, backend: &Backend) -> Fitted {
    fit(&scan(random, gradients, noise), gradients, backend)
}

fn scan(random: &mut Random, gradients: &Gradients, noise: f64) -> Volume {
    let half = (N - 1) as f64;
    let grid = Grid::axis_aligned([N; 3], DVec3::splat(2.0), DVec3::splat(-half)).unwrap();
    let grid = Arc::new(grid);
    let d = fibre(DVec3::Z);
    let mut values = Vec::new();
    for (b, g) in gradients.b_s_per_mm2.iter().zip(&gradients.directions) {
        let clean = (-b * g.dot(d * *g)).exp();
        values.extend((0..N * N * N).map(|_| (clean + noise * random.normal()).max(1e-3) as f32));
    }
    Volume::new(grid, gradients.len(), VolumeKind::Scalar, values)
}

fn fit(dwi: &Volume, gradients: &Gradients, backend: &Backend) -> Fitted {
    let grid = dwi.grid.clone();
    let mask = Mask::new(grid.clone(), vec![1u8; grid.voxel_count()]);
    let params = tensor_fit::Params {
        method: Method::Wls,
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: 1e-5,
    };
    let control = Control::new();
    let fit = tensor_fit::fit(dwi, gradients, &mask, &params, backend, &control).unwrap();
    let residuals =
        tensor_fit::residuals(dwi, gradients, &mask, &params, None, backend, &control).unwrap();
    Fitted {
        field: fit.field,
        residuals,
    }
}

fn bootstrap_params(seeds: usize, repetitions: usize) -> Params {
    Params {
        seeding: Seeding::Random { count: seeds },
        repetitions: Some(repetitions),
        both_ways: false,
        ..params()
    }
}

/// The low end of the fibres; from here they run upwards.
fn low_end() -> arcuate::data::Region {
    sphere(Role::Seed, DVec3::new(0.0, 0.0, -20.0), 1.0)
}

fn sample(fitted: &Fitted, params: &Params, backend: &Backend) -> Tractogram {
    let seed = low_end();
    track_bootstrap(
        &fitted.field,
        &fitted.residuals,
        &[seed],
        params,
        None,
        backend,
        &Control::new(),
    )
    .unwrap()
    .kept
}

fn without_noise() {
    let mut random = Random::fresh("tracking without noise");
    let gradients = gradients(&mut random);
    let fitted = fitted(&mut random, &gradients, 0.0, &backend(2));
    let bootstrap = sample(&fitted, &bootstrap_params(20, 3), &backend(2));
    let plain = Params {
        repetitions: None,
        ..bootstrap_params(20, 3)
    };
    let seed = low_end();
    let plain = track(&fitted.field, &[seed], &plain, &backend(2), &Control::new()).unwrap();
    assert_eq!(bootstrap.len(), 60);
    for i in 0..60 {
        let pairs = bootstrap
            .streamline(i)
            .iter()
            .zip(plain.kept.streamline(i % 20));
        // Directions differ by rounding of the fit: 1e-5 rad over 44 mm.
        for (a, b) in pairs {
            let distance = glam::Vec3::from(*a).distance(glam::Vec3::from(*b));
            assert!(distance < 2e-3, "{distance} mm");
        }
        assert_eq!(bootstrap.per_streamline["repetition"][i], (i / 20) as f32);
        assert_eq!(bootstrap.per_streamline["seed"][i], (i % 20) as f32);
    }
}

fn determined() {
    let mut random = Random::fresh("tracking bootstrap bytes");
    let gradients = gradients(&mut random);
    let fitted = fitted(&mut random, &gradients, 0.04, &backend(2));
    let bytes = |params: &Params, threads: usize| {
        let kept = sample(&fitted, params, &backend(threads));
        bytemuck::cast_slice::<_, u8>(&kept.points).to_vec()
    };
    let three = bytes(&bootstrap_params(40, 3), 1);
    assert!(
        three == bytes(&bootstrap_params(40, 3), 3),
        "threads make a difference"
    );
    let five = bytes(&bootstrap_params(40, 5), 2);
    assert!(
        five.starts_with(&three),
        "more repetitions change those before"
    );
    let other = Params {
        random_seed: 8,
        ..bootstrap_params(40, 3)
    };
    assert!(three != bytes(&other, 2));
}

/// Where streamlines end next to the axis: the spread over repetitions of one scan equals that over scans with fresh
/// noise.
fn spread() {
    let mut random = Random::fresh("tracking bootstrap spread");
    let gradients = gradients(&mut random);
    let across = |kept: &Tractogram, mean: &[glam::DVec2]| -> Vec<glam::DVec2> {
        (0..kept.len())
            .map(|i| {
                let line = kept.streamline(i);
                let (first, last) = (line[0], line[line.len() - 1]);
                let off = [0, 1].map(|a| f64::from(last[a] - first[a]));
                let seed = kept.per_streamline["seed"][i] as usize;
                glam::DVec2::from_array(off) - mean.get(seed).copied().unwrap_or_default()
            })
            .collect()
    };
    const SCANS: usize = 40;
    const SEEDS: usize = 30;
    let mut fresh = Vec::new();
    let mut repeated = Vec::new();
    for _ in 0..SCANS {
        let fitted = fitted(&mut random, &gradients, 0.05, &backend(2));
        let plain = Params {
            repetitions: None,
            ..bootstrap_params(SEEDS, 1)
        };
        let seed = low_end();
        let own = track(&fitted.field, &[seed], &plain, &backend(2), &Control::new()).unwrap();
        // The truth is straight: every deviation is noise.
        let own = across(&own.kept, &[]);
        let sampled = across(
            &sample(&fitted, &bootstrap_params(SEEDS, 6), &backend(2)),
            &own,
        );
        fresh.extend(own);
        repeated.extend(sampled);
    }
    let rms = |all: &[glam::DVec2]| {
        (all.iter().map(|v| v.length_squared()).sum::<f64>() / all.len() as f64).sqrt()
    };
    let ratio = rms(&repeated) / rms(&fresh);
    // Seeds of one scan share its noise: 40 scans along two axes give the spread to 8 %; three times that.
    assert!((0.75..1.25).contains(&ratio), "{ratio}, {} mm", rms(&fresh));
}

fn refused() {
    let mut random = Random::fresh("tracking bootstrap refused");
    let gradients = gradients(&mut random);
    let fitted = fitted(&mut random, &gradients, 0.03, &backend(1));
    let control = Control::new();
    let alone = track(
        &fitted.field,
        &[],
        &bootstrap_params(5, 2),
        &backend(1),
        &control,
    );
    assert!(matches!(alone, Err(Error::Input(_))));
    let none = track_bootstrap(
        &fitted.field,
        &fitted.residuals,
        &[],
        &bootstrap_params(5, 0),
        None,
        &backend(1),
        &control,
    );
    assert!(matches!(none, Err(Error::Input(_))));
    control.cancel();
    let cancelled = track_bootstrap(
        &fitted.field,
        &fitted.residuals,
        &[],
        &bootstrap_params(5, 2),
        None,
        &backend(1),
        &control,
    );
    assert_eq!(cancelled.err(), Some(Error::Cancelled));
}

/// A card follows the same streamlines as the CPU: with linear interpolation in several repetitions at a time, with splines
/// in one.
fn parity(cuda: Backend) {
    let mut random = Random::fresh("parity bootstrap");
    let gradients = gradients(&mut random);
    let dwi = scan(&mut random, &gradients, 0.04);
    let [on_host, on_card] = [&backend(4), &cuda].map(|b| fit(&dwi, &gradients, b));
    assert!(on_card.residuals.is_on_card());
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let params = Params {
            interpolation,
            ..bootstrap_params(300, 7)
        };
        let cpu = sample(&on_host, &params, &backend(4));
        let gpu = sample(&on_card, &params, &cuda);
        let numbers = |kept: &Tractogram| -> Vec<[u32; 2]> {
            let values = |name| kept.per_streamline[name].iter().map(|v| *v as u32);
            let all = values("repetition").zip(values("seed"));
            all.map(|(repetition, seed)| [repetition, seed]).collect()
        };
        let (of_cpu, of_gpu) = (numbers(&cpu), numbers(&gpu));
        assert!(
            of_gpu.is_sorted() && of_gpu.len() > 1500,
            "{}",
            of_gpu.len()
        );
        let mut distances = Vec::new();
        for (i, number) in of_cpu.iter().enumerate() {
            if let Ok(j) = of_gpu.binary_search(number) {
                let (a, b) = (cpu.streamline(i), gpu.streamline(j));
                distances.push(hausdorff(a, b, on_host.field.grid.as_ref()));
            }
        }
        // A few cross a border on the other side.
        assert!(distances.len() * 100 >= of_cpu.len() * 99);
        distances.sort_by(f64::total_cmp);
        let [median, most] = [0.5, 0.99].map(|share| {
            let last = (distances.len() - 1) as f64;
            distances[(last * share) as usize]
        });
        println!("{interpolation:?}: median {median:.2e}, 99 % {most:.2e} voxels");
        assert!(median < 0.01 && most < 0.1);
        assert!(sample(&on_card, &params, &cuda).points == gpu.points);
    }
}
