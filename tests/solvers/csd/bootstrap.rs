//! The bootstrap of a deconvolution: leverages, repetitions, threads, the card.

use super::cases::{SIGNALS, gradients, responses, row, samples};
use super::{backend, params};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{Gradients, Mask, Response, Shells, Volume};
use arcuate::solvers::csd::{self, Directions, Method, Params, Precision, Problem, Residuals};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "csd::leverages are derivatives of the linear fit",
            leverages,
        ),
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
        test(
            "csd::a sample without a residual has the noise of the others",
            determined_sample,
        ),
        test("csd::repetitions of the soft constraint", paper),
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

/// A leverage is what the fitted value gains where the sample does; they add up to the coefficients.
fn leverages() {
    const STEP: f32 = 16.0;
    let mut random = Random::fresh("leverages");
    let (one, _) = noisy(1, SIGMA, &mut random, crossing);
    let base: Vec<f32> = one.values.iter().map(|v| v.abs() + 1.0).collect();
    let moved = |i: usize| {
        let mut voxel = base.clone();
        voxel[i] += STEP;
        voxel
    };
    let mut voxels: Vec<Vec<f32>> = (0..base.len()).map(moved).collect();
    voxels.push(base.clone());
    let (dwi, mask) = row(&voxels);
    let found = residuals(&dwi, &mask, &params(8, Precision::Single), &backend(1));
    let all = found.leverages();
    assert_eq!(all.len(), base.len());
    for (i, leverage) in all.iter().enumerate() {
        let gain = f64::from(found.scaled(i)[i]) - f64::from(found.scaled(base.len())[i]);
        let residual = gain * (1.0 - leverage).sqrt();
        let expected = 1.0 - residual / f64::from(STEP);
        // Samples of 1000 have seven digits.
        assert!(
            (leverage - expected).abs() < 1e-3,
            "{i}: {leverage} {expected}"
        );
    }
    let (sum, rank) = (all.iter().sum::<f64>(), found.rank());
    assert!((sum - rank as f64).abs() < 1e-9, "{sum} {rank}");
    // All coefficients of order 8, and more; a third of the samples is free.
    assert!((45..=base.len() * 2 / 3).contains(&rank), "{rank}");
}

/// The mean square of e / √(1 − h) is that of the noise.
fn corrected() {
    let mut random = Random::fresh("leverage correction");
    // No sample comes near 0, where it would be cut.
    let (sigma, count) = (15.0, 400);
    let clean = expressible(&[(DVec3::X, 0.6), (DVec3::Y, 0.6)]);
    let voxel = |_| {
        let noisy = clean.iter().map(|s| s + (sigma * random.normal()) as f32);
        noisy.collect()
    };
    let voxels: Vec<Vec<f32>> = (0..count).map(voxel).collect();
    let (dwi, mask) = row(&voxels);
    let found = residuals(&dwi, &mask, &params(8, Precision::Single), &backend(2));
    let volumes = dwi.frames;
    let square = |voxel: usize| {
        let pulls = found.scaled(voxel).iter();
        pulls.map(|e| f64::from(*e).powi(2)).sum::<f64>()
    };
    let mean = (0..count).map(square).sum::<f64>() / (count * volumes) as f64;
    let ratio = mean / (sigma * sigma);
    // 400 times 40 or more degrees of freedom: 1.1 % of chance.
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// The only volume without weighting determines the mean there, and leaves no residual.
fn determined_sample() {
    let all = gradients();
    let keep: Vec<usize> = (0..all.len())
        .filter(|v| *v == 0 || all.b_s_per_mm2[*v] == 2800.0)
        .collect();
    let gradients = Gradients {
        b_s_per_mm2: keep.iter().map(|&v| all.b_s_per_mm2[v]).collect(),
        directions: keep.iter().map(|&v| all.directions[v]).collect(),
    };
    let mut random = Random::fresh("a determined sample");
    let clean = samples(&gradients, &crossing(0), 0.0, 0.0);
    let noisy = clean
        .iter()
        .map(|s| s + (SIGMA * random.normal()) as f32)
        .collect();
    let (dwi, mask) = row(&[noisy]);
    let [white, _, fluid] = responses(8).map(|response| {
        let rows = vec![response.rows[0].clone(), response.rows[3].clone()];
        Response::new(None, rows)
    });
    let (settings, control) = (params(8, Precision::Single), Control::new());
    let found = csd::residuals(
        &dwi,
        &gradients,
        &mask,
        &[white, fluid],
        &settings,
        &backend(1),
        &control,
    )
    .unwrap();
    assert!(found.leverages()[0] > 0.9999, "{}", found.leverages()[0]);
    let (first, others) = found.scaled(0).split_first().unwrap();
    let square: f32 = others.iter().map(|e| e * e).sum();
    let expected = (square / others.len() as f32).sqrt();
    assert!(
        (first - expected).abs() < 1e-3 * expected,
        "{first} {expected}"
    );
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
    let rank = found.rank();
    assert!((n..=gradients.len() * 2 / 3).contains(&rank), "{rank}");

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

/// With the penalty of the paper: sixty directions of one shell determine the 28 coefficients of order 6.
fn paper() {
    let mut random = Random::fresh("bootstrap of the paper");
    let (dwi, mask) = noisy(20, SIGMA, &mut random, crossing);
    let settings = Params {
        method: Method::Paper,
        ..params(8, Precision::Double)
    };
    let found = residuals(&dwi, &mask, &settings, &backend(1));
    assert_eq!(found.rank(), 28);
    assert!(found.leverages().iter().all(|h| *h > 0.0 && *h < 1.0));
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
    // The linear fit is that of the CPU.
    let other = residuals(&dwi, &mask, &settings, &device);
    for voxel in 0..999 {
        assert_eq!(found.scaled(voxel), other.scaled(voxel));
    }
}
