//! The bootstrap of a deconvolution: leverages, repetitions, threads, the card.

use super::cases::{SIGNALS, gradients, responses, row, samples};
use super::{backend, params};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{Mask, Shells, Volume};
use arcuate::solvers::csd::{self, Directions, Method, Params, Precision, Problem, Residuals};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("csd::leverages are derivatives of the fit", leverages),
        test(
            "csd::leverages make residuals as large as the noise",
            corrected,
        ),
        test("csd::repetitions spread as the covariance says", covariance),
        test(
            "csd::repetitions depend on seed and number alone",
            determined,
        ),
        test("csd::repetitions without noise are the fit", without_noise),
        test("csd::leverages of the soft constraint", paper),
        cuda_test("csd::repetitions on the card", card),
    ]
}

/// One twentieth of the signal of white matter without weighting.
pub const SIGMA: f64 = 50.0;

/// Samples of a distribution that order 8 expresses: Σ share (u · axis)^8.
pub fn expressible(lobes: &[(DVec3, f64)]) -> Vec<f32> {
    let gradients = gradients();
    let (shells, directions) = (Shells::new(&gradients), Directions::for_order(8));
    let problem = Problem::new(&gradients, &shells, &responses(8), 8, directions).unwrap();
    let mut x = vec![0.0; problem.unknowns()];
    for (u, weight) in quadrature(16) {
        let f: f64 = lobes
            .iter()
            .map(|(axis, share)| share * u.dot(*axis).powi(8))
            .sum();
        for (sum, y) in x.iter_mut().zip(evaluate(8, u)) {
            *sum += weight * f * y;
        }
    }
    let mut voxel = vec![0f32; gradients.len()];
    for (volume, sample) in problem.volumes.iter().zip(problem.predicted(&x)) {
        voxel[*volume] = sample as f32;
    }
    voxel
}

/// Voxels of such distributions with Gaussian noise.
pub fn noisy_lobes(
    count: usize,
    sigma: f64,
    random: &mut Random,
    lobes: impl Fn(usize) -> Vec<(DVec3, f64)>,
) -> (Volume, Mask) {
    let voxel = |i: usize| {
        let clean = expressible(&lobes(i)).into_iter();
        let noisy = clean.map(|s| (f64::from(s) + sigma * random.normal()) as f32);
        noisy.collect()
    };
    let voxels: Vec<Vec<f32>> = (0..count).map(voxel).collect();
    row(&voxels)
}

/// Voxels with Gaussian noise.
pub fn noisy(
    count: usize,
    sigma: f64,
    random: &mut Random,
    fibres: impl Fn(usize) -> Vec<(DVec3, f64)>,
) -> (Volume, Mask) {
    let gradients = gradients();
    let voxel = |i: usize| {
        let clean = samples(&gradients, &fibres(i), 0.0, 0.0);
        let noisy = clean
            .into_iter()
            .map(|s| (f64::from(s) + sigma * random.normal()) as f32);
        noisy.collect()
    };
    let voxels: Vec<Vec<f32>> = (0..count).map(voxel).collect();
    row(&voxels)
}

pub fn residuals(dwi: &Volume, mask: &Mask, params: &Params, place: &Backend) -> Residuals {
    let all = responses(params.order.unwrap_or(8));
    let control = Control::new();
    csd::residuals(dwi, &gradients(), mask, &all, params, place, &control).unwrap()
}

fn crossing(_: usize) -> Vec<(DVec3, f64)> {
    let (sine, cosine) = 60f64.to_radians().sin_cos();
    vec![(DVec3::X, 0.5), (DVec3::new(cosine, sine, 0.0), 0.5)]
}

/// The sum of the leverages is the sum of the derivatives of fitted samples by themselves, by differences.
fn leverages() {
    let gradients = gradients();
    let mut random = Random::fresh("leverages");
    let (dwi, mask) = noisy(4, SIGMA, &mut random, crossing);
    let place = backend(1);
    let found = residuals(&dwi, &mask, &params(8, Precision::Single), &place);
    let shells = Shells::new(&gradients);
    let directions = Directions::for_order(8);
    let problem = Problem::new(&gradients, &shells, &responses(8), 8, directions).unwrap();
    for voxel in 0..4 {
        let samples: Vec<f32> = problem
            .volumes
            .iter()
            .map(|&v| dwi.frame(v)[voxel].max(0.0))
            .collect();
        let fitted = |samples: &[f32]| {
            let solution = csd::solve_voxel(&problem, samples, Precision::Double);
            problem.predicted(&solution.x)
        };
        let base = fitted(&samples);
        let derivative = |i: usize| {
            let mut moved = samples.clone();
            // Far above rounding and far below the noise.
            moved[i] += 0.5;
            (fitted(&moved)[i] - base[i]) / f64::from(moved[i] - samples[i])
        };
        let expected: f64 = (0..samples.len()).map(derivative).sum();
        let freedom = f64::from(found.freedom()[voxel]);
        // Directions between active and inactive constraints count in part, and differences see one side of them.
        assert!(
            (freedom - expected).abs() < 0.1 * expected,
            "voxel {voxel}: {freedom} {expected}"
        );
        assert!(freedom > 3.0 && freedom < 30.0, "voxel {voxel}: {freedom}");
    }
}

/// The mean square of e / √(1 − h) is that of the noise, where the order expresses the distribution.
fn corrected() {
    let mut random = Random::fresh("leverage correction");
    // No sample comes near 0, where it would be cut.
    let sigma = 15.0;
    let lobes = |_: usize| vec![(DVec3::X, 0.6), (DVec3::Y, 0.6)];
    let (dwi, mask) = noisy_lobes(400, sigma, &mut random, lobes);
    let found = residuals(&dwi, &mask, &params(8, Precision::Single), &backend(2));
    let volumes = dwi.frames as f64;
    let square = |voxel: usize| {
        let pulls = found.scaled(voxel).iter();
        pulls.map(|e| f64::from(*e).powi(2)).sum::<f64>() / volumes
    };
    let mean = (0..400).map(square).sum::<f64>() / 400.0;
    let ratio = mean / (sigma * sigma);
    let freedom: f64 = found.freedom().iter().map(|f| f64::from(*f)).sum::<f64>() / 400.0;
    // 50,000 samples: 0.6 % of chance. Constraints move with the noise, so that the derivative is not all of it.
    assert!(
        (ratio - 1.0).abs() < 0.05,
        "{ratio}, {freedom} of {volumes}"
    );
    assert!(freedom > 4.0, "{freedom} of {volumes}");
}

/// Where no constraint is active, repetitions have the covariance H⁻¹Cᵀ diag(e² / (1 − h)) C H⁻¹.
fn covariance() {
    let gradients = gradients();
    let order = 2;
    let n = count(order) + 2;
    let shells = Shells::new(&gradients);
    let directions = Directions::for_order(order);
    let all = responses(order);
    let problem = Problem::new(&gradients, &shells, &all, order, directions).unwrap();
    // A positive distribution, with grey matter and fluid.
    let mut x = vec![0.0; n];
    x[0] = 0.2;
    x[3] = 0.03;
    x[5] = 0.02;
    x[n - 2] = 0.1;
    x[n - 1] = 0.05;
    let mut random = Random::fresh("covariance of repetitions");
    let clean = problem.predicted(&x);
    let mut voxel = vec![0f32; gradients.len()];
    for (volume, sample) in problem.volumes.iter().zip(&clean) {
        voxel[*volume] = (sample + 2.0 * random.normal()) as f32;
    }
    let (dwi, mask) = row(&[voxel]);
    let found = residuals(&dwi, &mask, &params(order, Precision::Double), &backend(1));
    let freedom = f64::from(found.freedom()[0]);
    assert!((freedom - n as f64).abs() < 0.01 * n as f64, "{freedom}");

    // The rows of H⁻¹Cᵀ, by solving in double precision.
    let h = problem.normal_matrix();
    let inverse = inverse(n, &h);
    let mut expected = vec![0.0; count(order)];
    for (row, pull) in problem.forward.chunks_exact(n).zip(found.scaled(0)) {
        for (i, sum) in expected.iter_mut().enumerate() {
            let gain: f64 = (0..n).map(|k| inverse[i * n + k] * row[k]).sum();
            *sum += (gain * f64::from(*pull)).powi(2);
        }
    }
    let repetitions = 3000;
    let (mut sum, mut square) = (vec![0.0; count(order)], vec![0.0; count(order)]);
    for repetition in 0..repetitions {
        let control = Control::new();
        let c = found
            .coefficients(0..1, 7, repetition, &backend(1), &control)
            .unwrap();
        for (i, c) in c.iter().enumerate() {
            sum[i] += f64::from(*c);
            square[i] += f64::from(*c) * f64::from(*c);
        }
    }
    let all = repetitions as f64;
    for i in 0..count(order) {
        let mean = sum[i] / all;
        let variance = square[i] / all - mean * mean;
        // The standard deviation of a variance of 3000 repetitions is 2.6 %.
        let ratio = variance / expected[i];
        assert!((ratio - 1.0).abs() < 0.12, "coefficient {i}: {ratio}");
        let error = (mean - x[i]).abs() / expected[i].sqrt();
        assert!(error < 5.0, "coefficient {i}: {error}");
    }
}

/// Gauss and Jordan.
fn inverse(n: usize, matrix: &[f64]) -> Vec<f64> {
    let (mut a, mut out) = (matrix.to_vec(), vec![0.0; n * n]);
    (0..n).for_each(|i| out[i * n + i] = 1.0);
    for pivot in 0..n {
        let scale = 1.0 / a[pivot * n + pivot];
        for k in 0..n {
            a[pivot * n + k] *= scale;
            out[pivot * n + k] *= scale;
        }
        for row in (0..n).filter(|row| *row != pivot) {
            let factor = a[row * n + pivot];
            for k in 0..n {
                a[row * n + k] -= factor * a[pivot * n + k];
                out[row * n + k] -= factor * out[pivot * n + k];
            }
        }
    }
    out
}

fn determined() {
    let mut random = Random::fresh("bootstrap threads");
    let (dwi, mask) = noisy(150, SIGMA, &mut random, crossing);
    let settings = params(8, Precision::Single);
    let control = Control::new();
    let one = residuals(&dwi, &mask, &settings, &backend(1));
    let three = residuals(&dwi, &mask, &settings, &backend(3));
    for repetition in [0, 5] {
        let at = |found: &Residuals, seed: u64, threads: usize| {
            let place = backend(threads);
            found.field(seed, repetition, &place, &control).unwrap()
        };
        let (a, b) = (at(&one, 3, 1), at(&three, 3, 3));
        assert_eq!(a.coefficients, b.coefficients);
        assert_ne!(a.coefficients, at(&one, 4, 1).coefficients);
    }
    // Neither do the voxels that are computed together matter.
    let n = count(8);
    let all = one.coefficients(0..150, 3, 1, &backend(2), &control);
    let some = one.coefficients(70..101, 3, 1, &backend(2), &control);
    assert_eq!(all.unwrap()[70 * n..101 * n], some.unwrap()[..]);
    // Voxels have signs of their own, also those with equal samples.
    let first = one.coefficients(0..2, 3, 1, &backend(1), &control).unwrap();
    assert_ne!(first[..n], first[n..]);
}

/// Samples that a distribution of the order gives leave no residuals.
fn without_noise() {
    let gradients = gradients();
    let shells = Shells::new(&gradients);
    let problem = Problem::new(
        &gradients,
        &shells,
        &responses(8),
        8,
        Directions::for_order(8),
    )
    .unwrap();
    let mut x = vec![0.0; problem.unknowns()];
    x[0] = 0.3;
    x[3] = 0.1;
    x[5] = 0.05;
    x[10] = 0.02;
    let mut voxel = vec![0f32; gradients.len()];
    for (volume, sample) in problem.volumes.iter().zip(problem.predicted(&x)) {
        voxel[*volume] = sample as f32;
    }
    let (dwi, mask) = row(&[voxel]);
    let found = residuals(&dwi, &mask, &params(8, Precision::Double), &backend(1));
    for pull in found.scaled(0) {
        assert!(pull.abs() < 1e-3 * SIGNALS[0] as f32 * 1e-1, "{pull}");
    }
    let control = Control::new();
    let field = found.field(1, 0, &backend(1), &control).unwrap();
    for (i, c) in field.coefficients_at(0).iter().enumerate() {
        assert!((c - x[i]).abs() < 5e-3, "{i}: {c}");
    }
    assert!(found.difference(&field) < 1e-2);
}

/// With the penalty of the paper the leverages lie between 0 and 1, and their sum between 1 and the unknowns.
fn paper() {
    let mut random = Random::fresh("bootstrap of the paper");
    let (dwi, mask) = noisy(20, SIGMA, &mut random, crossing);
    let settings = Params {
        method: Method::Paper,
        ..params(8, Precision::Double)
    };
    let found = residuals(&dwi, &mask, &settings, &backend(1));
    for freedom in found.freedom() {
        assert!(*freedom > 4.0 && *freedom < 45.0, "{freedom}");
    }
    let control = Control::new();
    let field = found.field(1, 0, &backend(1), &control).unwrap();
    assert!(field.coefficients.iter().all(|c| c.is_finite()));
    let difference = found.difference(&field);
    assert!(difference > 0.01 && difference < 1.0, "{difference}");
}

/// The card solves the same repetitions as the CPU.
fn card(device: Backend) {
    let mut random = Random::fresh("bootstrap parity");
    let (dwi, mask) = noisy(999, SIGMA, &mut random, crossing);
    let settings = params(8, Precision::Single);
    let control = Control::new();
    let found = residuals(&dwi, &mask, &settings, &backend(2));
    let own = found
        .coefficients(0..999, 1, 3, &backend(2), &control)
        .unwrap();
    let other = found.coefficients(0..999, 1, 3, &device, &control).unwrap();
    let n = count(8);
    let distance = |(a, b): (&[f32], &[f32])| {
        let difference: f32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (difference / b.iter().map(|b| b * b).sum::<f32>()).sqrt()
    };
    let all = own.chunks_exact(n).zip(other.chunks_exact(n));
    let mut distances: Vec<f32> = all.map(distance).collect();
    distances.sort_by(f32::total_cmp);
    // The tolerance of the deconvolution itself.
    assert!(distances[989] < 5e-3, "{}", distances[989]);
    // Single precision decides which directions are just at the constraint, and each of them is about one degree of
    // freedom of many. A residual is divided by √(1 − h), where the leverages h of a voxel add up to its freedom: the
    // share of one sample is compared.
    let freed = residuals(&dwi, &mask, &settings, &device);
    let pairs = found.freedom().iter().zip(freed.freedom());
    let samples = dwi.frames as f32;
    let mut differences: Vec<f32> = pairs.map(|(a, b)| (a - b).abs() / samples).collect();
    differences.sort_by(f32::total_cmp);
    let [median, nearly_all, worst] = [499, 989, 998].map(|k| differences[k]);
    println!("{median} {nearly_all} {worst} of {samples} samples");
    assert!(nearly_all < 1e-2, "{nearly_all}");
    assert!(median < 1e-3, "{median}");
}
