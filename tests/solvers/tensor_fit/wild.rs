//! The wild bootstrap against repeated noise, and its result without noise.

use super::{backend, noisy, params, random_gradients, signal};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Mask, TensorField, Volume, VolumeKind};
use arcuate::solvers::tensor_fit::{Error, Method, Residuals, eigen_symmetric, fit, residuals};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tensor_fit::bootstrap's cone is that of fresh noise", cone),
        test(
            "tensor_fit::bootstrap of few samples has the noise's spread",
            few_samples,
        ),
        test(
            "tensor_fit::bootstrap without noise is the fit",
            without_noise,
        ),
        test(
            "tensor_fit::bootstrap is the same on any threads",
            same_bytes,
        ),
        test(
            "tensor_fit::bootstrap varies all that is fitted alike",
            unbiased,
        ),
        test("tensor_fit::bootstrap says when memory is short", short),
    ]
}

struct Scan {
    dwi: Volume,
    gradients: Gradients,
    mask: Mask,
}

/// Voxels of the same tensor, each with its own noise.
fn scan(random: &mut Random, d: &DMat3, count: usize, noise: f64) -> Scan {
    let gradients = random_gradients(random, &[(0.0, 6), (1000.0, 54)]);
    let grid = Grid::axis_aligned([count, 1, 1], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let clean = signal(d, 1000.0, &gradients);
    let mut values = vec![0.0f32; count * clean.len()];
    for voxel in 0..count {
        let with_noise = noisy(random, &clean, 1000.0 * noise);
        let samples = if noise > 0.0 { &with_noise } else { &clean };
        for (frame, sample) in samples.iter().enumerate() {
            values[frame * count + voxel] = *sample as f32;
        }
    }
    Scan {
        dwi: Volume::new(grid.clone(), clean.len(), VolumeKind::Scalar, values),
        gradients,
        mask: Mask::new(grid, vec![1u8; count]),
    }
}

fn prolate(e: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(e * e.x, e * e.y, e * e.z);
    DMat3::from_diagonal(DVec3::splat(0.4e-3)) + outer * 1.2e-3
}

fn left(scan: &Scan, method: Method, threads: usize) -> Residuals {
    residuals(
        &scan.dwi,
        &scan.gradients,
        &scan.mask,
        &params(method),
        None,
        &backend(threads),
        &Control::new(),
    )
    .unwrap()
}

fn fitted(scan: &Scan, method: Method) -> TensorField {
    let fit = fit(
        &scan.dwi,
        &scan.gradients,
        &scan.mask,
        &params(method),
        &backend(2),
        &Control::new(),
    );
    fit.unwrap().field
}

fn directions(field: &TensorField) -> Vec<DVec3> {
    let first = |t: &arcuate::data::Tensor| eigen_symmetric(t.d.map(f64::from)).1[0];
    field.tensors.iter().map(first).collect()
}

fn angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b).abs())
}

fn rms(angles: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = angles.fold((0.0, 0), |(sum, n), a| (sum + a * a, n + 1));
    (sum / n as f64).sqrt()
}

/// The cone of uncertainty of one scan's bootstrap, averaged over scans, equals that of the direction over scans with
/// fresh noise.
fn cone() {
    let mut random = Random::fresh("bootstrap cone");
    for method in [Method::Ols, Method::Wls, Method::Iwls { iterations: 2 }] {
        let truth = random.direction();
        let noise = random.uniform(0.02, 0.04);
        let scan = scan(&mut random, &prolate(truth), 1500, noise);
        let fit = directions(&fitted(&scan, method));
        let fresh = rms(fit.iter().map(|e| angle(*e, truth)));
        let left = left(&scan, method, 2);
        let repeat = |r| {
            let field = left.field(7, r, &Control::new()).unwrap();
            let pairs = directions(&field).into_iter().zip(&fit);
            rms(pairs.map(|(e, fit)| angle(e, *fit)))
        };
        let repeated = rms((0..24).map(repeat));
        // 1500 directions give the spread of fresh noise to 1.3 %; leverages of 60 samples for 7 unknowns leave a bias
        // of the same size, and estimated weights another.
        let ratio = repeated / fresh;
        assert!(
            (0.93..1.07).contains(&ratio),
            "{method:?}, noise {noise}: {ratio}"
        );
    }
}

/// Twelve samples for seven unknowns: residuals have five twelfths of the noise's variance, and their leverages restore
/// it. For errors with one variance in ln S the mean covariance of the repetitions is that of the least-squares fit,
/// for any number of samples.
fn few_samples() {
    let mut random = Random::fresh("bootstrap few");
    let d = DMat3::from_diagonal(DVec3::splat(0.7e-3));
    let (count, repetitions) = (600, 24);
    // Weak weighting: ln S has nearly uniform variance. The directions are spread well enough to be solved.
    let mut gradients = random_gradients(&mut random, &[(0.0, 2), (200.0, 10)]);
    let first = random.rotation();
    for (i, direction) in gradients.directions.iter_mut().enumerate().skip(2) {
        let z = 1.0 - (i as f64 - 1.5) / 10.0;
        let turn = 2.399_963 * i as f64;
        let r = (1.0 - z * z).sqrt();
        *direction = first * DVec3::new(r * turn.cos(), r * turn.sin(), z);
    }
    let clean = signal(&d, 1000.0, &gradients);
    let grid = Grid::axis_aligned([count, 1, 1], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let mut values = vec![0.0f32; count * clean.len()];
    for voxel in 0..count {
        for (frame, sample) in clean.iter().enumerate() {
            let sample = sample * (0.004 * random.normal()).exp();
            values[frame * count + voxel] = sample as f32;
        }
    }
    let scan = Scan {
        dwi: Volume::new(grid.clone(), clean.len(), VolumeKind::Scalar, values),
        gradients,
        mask: Mask::new(grid, vec![1u8; count]),
    };
    let truth = [0.7e-3, 0.0, 0.0, 0.7e-3, 0.0, 0.7e-3];
    let square = |a: &[f32; 6], b: [f64; 6]| -> f64 {
        let off = a.iter().zip(b).map(|(a, b)| f64::from(*a) - b);
        off.map(|v| v * v).sum()
    };
    let fit = fitted(&scan, Method::Ols);
    let fresh: f64 = fit.tensors.iter().map(|t| square(&t.d, truth)).sum();
    let left = left(&scan, Method::Ols, 2);
    let mut repeated = 0.0;
    for repetition in 0..repetitions {
        let field = left.field(5, repetition, &Control::new()).unwrap();
        let pairs = field.tensors.iter().zip(fit.tensors.iter());
        repeated += pairs
            .map(|(a, b)| square(&a.d, b.d.map(f64::from)))
            .sum::<f64>();
    }
    let ratio = (repeated / repetitions as f64 / fresh).sqrt();
    // Six components of 600 voxels give each spread to 2 %; five degrees of freedom per voxel give that of the
    // repetitions to the same accuracy.
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

/// No residuals: every repetition equals the fit, to single precision.
fn without_noise() {
    let mut random = Random::fresh("bootstrap without noise");
    let d = super::random_tensor(&mut random);
    let scan = scan(&mut random, &d, 40, 0.0);
    for method in [Method::Ols, Method::Iwls { iterations: 1 }] {
        let fit = fitted(&scan, method);
        let left = left(&scan, method, 1);
        for repetition in 0..5 {
            let field = left.field(3, repetition, &Control::new()).unwrap();
            for (a, b) in field.tensors.iter().zip(fit.tensors.iter()) {
                assert_eq!(a.inside, b.inside);
                for (a, b) in a.d.iter().zip(b.d) {
                    // Samples in f32 have an error of 1e-7 of ln S over b = 1000 s/mm².
                    assert!((a - b).abs() < 3e-9, "{a} {b}");
                }
            }
        }
    }
}

fn same_bytes() {
    let mut random = Random::fresh("bootstrap bytes");
    let scan = scan(&mut random, &prolate(DVec3::X), 777, 0.03);
    let method = Method::Iwls { iterations: 2 };
    let bytes = |threads: usize, seed: u64, repetition: u64| {
        let field = left(&scan, method, threads);
        let field = backend(threads).install(|| field.field(seed, repetition, &Control::new()));
        bytemuck::cast_slice::<_, u8>(&field.unwrap().tensors).to_vec()
    };
    let first = bytes(1, 5, 2);
    assert!(first == bytes(3, 5, 2), "threads make a difference");
    assert!(first != bytes(1, 5, 3) && first != bytes(1, 6, 2));
    let signs: Vec<_> = (0..2).map(|r| bytes(2, 1, r)).collect();
    assert!(signs[0] != signs[1]);
}

/// The mean over repetitions is the fit: to four of its standard errors in nearly all voxels.
fn unbiased() {
    let mut random = Random::fresh("bootstrap mean");
    let scan = scan(&mut random, &prolate(random_axis()), 300, 0.03);
    let method = Method::Wls;
    let fit = fitted(&scan, method);
    let left = left(&scan, method, 2);
    const N: usize = 100;
    let samples: Vec<TensorField> = (0..N as u64)
        .map(|r| left.field(11, r, &Control::new()).unwrap())
        .collect();
    let mut off = 0;
    for voxel in 0..300 {
        for c in 0..6 {
            let values = samples.iter().map(|s| f64::from(s.tensors[voxel].d[c]));
            let (sum, square) = values.fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
            let mean = sum / N as f64;
            let error = ((square / N as f64 - mean * mean) / N as f64).sqrt();
            assert!(error > 0.0, "it does vary");
            off += usize::from((mean - f64::from(fit.tensors[voxel].d[c])).abs() > 4.0 * error);
        }
    }
    // One in 16,000 of a normal distribution; ten times as many of 1800 happen once in 10⁹.
    assert!(off <= 9, "{off} of 1800");
}

fn random_axis() -> DVec3 {
    Random::fresh("bootstrap axis").direction()
}

fn short() {
    let mut random = Random::fresh("bootstrap memory");
    let scan = scan(&mut random, &prolate(DVec3::Y), 100, 0.03);
    let refused = residuals(
        &scan.dwi,
        &scan.gradients,
        &scan.mask,
        &params(Method::Wls),
        Some(10_000),
        &backend(1),
        &Control::new(),
    );
    assert!(matches!(refused, Err(Error::Input(_))), "{refused:?}");
}
