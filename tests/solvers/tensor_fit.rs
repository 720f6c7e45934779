//! Tensor fit: closed forms, a plain double-precision reference, repairs, bad input.

mod brain_heads;
mod brain_mask;
mod eigen;
pub mod given;
mod maps;
mod parity;
mod reference;
mod robust;
mod scans;
mod shapes;
mod wild;

use crate::support::{Random, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::{Gradients, Grid, Mask, Tensor, Volume, VolumeKind};
use arcuate::solvers::tensor_fit::{self, Method, Output, Params, eigen_symmetric};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use reference::Reference;
use std::sync::Arc;

pub const METHODS: [Method; 3] = [Method::Ols, Method::Wls, Method::Iwls { iterations: 2 }];
pub const MIN_EIGENVALUE: f64 = 1e-5;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("tensor_fit::noise_free_is_exact", noise_free_is_exact),
        test(
            "tensor_fit::turns_with_the_gradients",
            turns_with_the_gradients,
        ),
        test(
            "tensor_fit::matches_double_precision",
            matches_double_precision,
        ),
        test("tensor_fit::matches_on_two_shells", matches_on_two_shells),
        test("tensor_fit::reweighting_beats_ols", reweighting_beats_ols),
        test(
            "tensor_fit::threads_give_the_same_bytes",
            threads_give_the_same_bytes,
        ),
        test("tensor_fit::voxels_are_independent", voxels_are_independent),
        test("tensor_fit::progress_and_cancel", progress_and_cancel),
    ];
    let parts = [
        brain_heads::tests(),
        brain_mask::tests(),
        eigen::tests(),
        given::tests(),
        maps::tests(),
        parity::tests(),
        shapes::tests(),
        robust::tests(),
        scans::tests(),
        wild::tests(),
    ];
    own.into_iter().chain(parts.into_iter().flatten()).collect()
}

pub fn backend(threads: usize) -> Backend {
    let threads = Some(threads);
    Backend::choose(&BackendChoice::cpu(threads)).unwrap()
}

pub fn params(method: Method) -> Params {
    Params {
        method,
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: MIN_EIGENVALUE,
    }
}

/// `shells` of (b, number of volumes); random directions, b varied by 2 % within a shell.
pub fn random_gradients(random: &mut Random, shells: &[(f64, usize)]) -> Gradients {
    let mut gradients = Gradients {
        b_s_per_mm2: Vec::new(),
        directions: Vec::new(),
    };
    for &(b, n) in shells {
        for _ in 0..n {
            let weighted = b > 50.0;
            gradients.b_s_per_mm2.push(b * random.uniform(0.98, 1.02));
            let direction = random.direction();
            gradients
                .directions
                .push(if weighted { direction } else { DVec3::ZERO });
        }
    }
    gradients
}

/// Eigenvalues from free water to a thin fibre, any orientation, mm²/s.
pub fn random_tensor(random: &mut Random) -> DMat3 {
    let values = DVec3::from_array([(); 3].map(|()| random.uniform(0.1e-3, 2.5e-3)));
    let r = DMat3::from_quat(random.rotation());
    r * DMat3::from_diagonal(values) * r.transpose()
}

pub fn components(d: &DMat3) -> [f64; 6] {
    [
        d.x_axis.x, d.x_axis.y, d.x_axis.z, d.y_axis.y, d.y_axis.z, d.z_axis.z,
    ]
}

/// S0 exp(-b gᵀDg) of each volume.
pub fn signal(d: &DMat3, s0: f64, gradients: &Gradients) -> Vec<f64> {
    let volumes = gradients.b_s_per_mm2.iter().zip(&gradients.directions);
    volumes
        .map(|(b, g)| s0 * (-b * g.dot(*d * *g)).exp())
        .collect()
}

/// Rician noise: the magnitude of a complex number with normal noise in both parts.
pub fn noisy(random: &mut Random, signal: &[f64], sigma: f64) -> Vec<f64> {
    let magnitude = |s: &f64| (s + sigma * random.normal()).hypot(sigma * random.normal());
    signal.iter().map(magnitude).collect()
}

/// One row of voxels, each with its samples.
pub fn scan(voxels: &[Vec<f64>]) -> Volume {
    let grid = Grid::axis_aligned([voxels.len(), 1, 1], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let frames = voxels[0].len();
    let values: Vec<f32> = (0..frames)
        .flat_map(|f| voxels.iter().map(move |v| v[f] as f32))
        .collect();
    Volume::new(Arc::new(grid), frames, VolumeKind::Scalar, values)
}

pub fn everywhere(dwi: &Volume) -> Mask {
    Mask::new(dwi.grid.clone(), vec![1; dwi.grid.voxel_count()])
}

pub fn fit(dwi: &Volume, gradients: &Gradients, method: Method) -> Output {
    let mask = everywhere(dwi);
    let (backend, control) = (backend(2), Control::new());
    tensor_fit::fit(dwi, gradients, &mask, &params(method), &backend, &control).unwrap()
}

pub fn fa(d: [f64; 6]) -> f64 {
    let values = eigen_symmetric(d).0;
    let mean = values.iter().sum::<f64>() / 3.0;
    let spread: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let size: f64 = values.iter().map(|v| v * v).sum();
    (1.5 * spread / size).sqrt()
}

/// Largest difference of two tensors' components relative to the second's largest.
fn relative_difference(found: &Tensor, truth: [f64; 6]) -> f64 {
    let largest = truth.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let pairs = found.d.iter().zip(truth);
    pairs.fold(0.0, |m: f64, (f, t)| m.max((f64::from(*f) - t).abs())) / largest
}

/// A scan with noise of S0 / `snr` and its samples, as single precision holds them.
fn noisy_scan(
    random: &mut Random,
    gradients: &Gradients,
    voxels: usize,
    snr: f64,
) -> (Volume, Vec<Vec<f64>>, Vec<DMat3>) {
    let mut truths = Vec::new();
    let mut samples = Vec::new();
    for _ in 0..voxels {
        let (d, s0) = (random_tensor(random), random.uniform(10.0, 3000.0));
        let clean = signal(&d, s0, gradients);
        let noisy = noisy(random, &clean, s0 / snr);
        samples.push(noisy.iter().map(|v| f64::from(*v as f32)).collect());
        truths.push(d);
    }
    (scan(&samples), samples, truths)
}

fn noise_free_is_exact() {
    // Samples rounded to single precision (6e-8) and the same again in the logarithm, relative to an exponent of at
    // least 0.1; times 10 for the largest of many voxels.
    const EXACT: f64 = 2e-5;
    let mut random = Random::fresh("noise_free");
    for _ in 0..10 {
        let gradients = random_gradients(&mut random, &[(0.0, 2), (700.0, 9), (1500.0, 20)]);
        let truths: Vec<DMat3> = (0..37).map(|_| random_tensor(&mut random)).collect();
        let s0: Vec<f64> = (0..37).map(|_| random.uniform(-2.0, 10.0).exp()).collect();
        let clean = truths.iter().zip(&s0);
        let clean: Vec<_> = clean.map(|(d, s0)| signal(d, *s0, &gradients)).collect();
        let dwi = scan(&clean);
        for method in METHODS {
            let output = fit(&dwi, &gradients, method);
            assert_eq!((output.unfitted, output.repaired.count()), (0, 0));
            for (voxel, (truth, s0)) in truths.iter().zip(&s0).enumerate() {
                let tensor = &output.field.tensors[voxel];
                let off = relative_difference(tensor, components(truth));
                assert!(off < EXACT, "{method:?}: {tensor:?} is {off} from {truth}");
                let s0_off = f64::from(output.s0.as_ref().unwrap().values[voxel]) / s0 - 1.0;
                assert!(s0_off.abs() < EXACT, "{method:?}: S0 off by {s0_off}");
                assert_eq!(tensor.inside, 1.0);
            }
        }
    }
}

fn turns_with_the_gradients() {
    // The two fits round differently; both are within 1e-5 of the exact least squares.
    const ROUNDING: f64 = 2e-5;
    let mut random = Random::fresh("turns");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 30)]);
    let (dwi, ..) = noisy_scan(&mut random, &gradients, 64, 30.0);
    let turn = DMat3::from_quat(random.rotation());
    let turned = Gradients {
        directions: gradients.directions.iter().map(|g| turn * *g).collect(),
        ..gradients.clone()
    };
    for method in METHODS {
        let (plain, rotated) = (fit(&dwi, &gradients, method), fit(&dwi, &turned, method));
        for (a, b) in plain.field.tensors.iter().zip(rotated.field.tensors.iter()) {
            let expected = components(&(turn * a.matrix() * turn.transpose()));
            let off = relative_difference(b, expected);
            assert!(off < ROUNDING, "{method:?}: {off}");
        }
    }
}

/// Largest and median difference in FA from the plain double-precision fit.
fn fa_differences(random: &mut Random, gradients: &Gradients, method: Method) -> (f64, f64) {
    let (dwi, samples, _) = noisy_scan(random, gradients, 400, 20.0);
    let output = fit(&dwi, gradients, method);
    let volumes: Vec<usize> = (0..gradients.len()).collect();
    let reference = Reference::new(gradients, &volumes);
    let mut differences = Vec::new();
    for (voxel, samples) in samples.iter().enumerate() {
        let (expected, _) = reference.fit(samples, method);
        // A repaired tensor is not the least-squares one.
        if output.repaired.inside[voxel] == 0 {
            let found = output.field.tensors[voxel].d.map(f64::from);
            differences.push((fa(found) - fa(expected)).abs());
        }
    }
    assert!(differences.len() > 200, "most voxels need no repair");
    differences.sort_by(f64::total_cmp);
    (
        differences[differences.len() - 1],
        differences[differences.len() / 2],
    )
}

fn matches_double_precision() {
    let mut random = Random::fresh("double_precision");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 64)]);
    for method in METHODS {
        let (largest, median) = fa_differences(&mut random, &gradients, method);
        println!("{method:?}: FA off by {largest:.1e} at most, {median:.1e} median");
        // FA is shown with three decimals; single precision is off by a thousandth of the last.
        assert!(
            largest < 2e-5 && median < 2e-6,
            "{method:?}: {largest} {median}"
        );
    }
}

fn matches_on_two_shells() {
    let mut random = Random::fresh("two_shells");
    // No b = 0 volume, weights that differ by e⁻¹⁰: the hardest normal equations in use.
    let gradients = random_gradients(&mut random, &[(500.0, 15), (3000.0, 45)]);
    for method in METHODS {
        let (largest, median) = fa_differences(&mut random, &gradients, method);
        println!("{method:?}: FA off by {largest:.1e} at most, {median:.1e} median");
        assert!(
            largest < 1e-3 && median < 1e-5,
            "{method:?}: {largest} {median}"
        );
    }
}

fn reweighting_beats_ols() {
    let mut random = Random::fresh("reweighting");
    let gradients = random_gradients(&mut random, &[(0.0, 3), (1000.0, 20), (2000.0, 40)]);
    let (dwi, _, truths) = noisy_scan(&mut random, &gradients, 2000, 25.0);
    let mean_error = |method| {
        let output = fit(&dwi, &gradients, method);
        let error = |(t, truth): (&Tensor, &DMat3)| relative_difference(t, components(truth));
        let tensors = output.field.tensors.iter();
        tensors.zip(&truths).map(error).sum::<f64>() / truths.len() as f64
    };
    let [ols, wls, iwls] = METHODS.map(mean_error);
    println!("mean error: OLS {ols:.4}, WLS {wls:.4}, IWLS {iwls:.4}");
    assert!(wls < 0.9 * ols && iwls < 0.9 * ols, "{ols} {wls} {iwls}");
}

fn threads_give_the_same_bytes() {
    let mut random = Random::fresh("threads");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 12)]);
    let (dwi, ..) = noisy_scan(&mut random, &gradients, 3001, 8.0);
    let mask = everywhere(&dwi);
    let run = |threads| {
        let (backend, control) = (backend(threads), Control::new());
        let params = params(METHODS[2]);
        let output = tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control).unwrap();
        let maps = tensor_fit::maps(&output.field, &backend, &control).unwrap();
        let mut bytes = bytemuck::cast_slice::<_, u8>(&output.field.tensors).to_vec();
        bytes.extend_from_slice(&output.repaired.inside);
        for volume in [
            output.s0.as_ref().unwrap(),
            &maps.fa,
            &maps.md,
            &maps.rd,
            &maps.dec,
            &maps.direction,
        ] {
            bytes.extend_from_slice(bytemuck::cast_slice(&volume.values));
        }
        bytes
    };
    let alone = run(1);
    for threads in [2, 3, 7] {
        assert!(run(threads) == alone, "{threads} threads gave other bytes");
    }
}

fn voxels_are_independent() {
    let mut random = Random::fresh("independent");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 12)]);
    let (dwi, mut samples, _) = noisy_scan(&mut random, &gradients, 200, 20.0);
    // One bad neighbour sends its whole group of lanes through the code for partial samples.
    samples[7][3] = f64::NAN;
    let spoilt = scan(&samples);
    let scattered: Vec<u8> = (0..200).map(|_| (random.bits() & 1) as u8).collect();
    let part = Mask::new(dwi.grid.clone(), scattered);
    for method in METHODS {
        let whole = fit(&dwi, &gradients, method);
        let adjacent = fit(&spoilt, &gradients, method);
        let (backend, control, params) = (backend(1), Control::new(), params(method));
        let part_fit =
            tensor_fit::fit(&dwi, &gradients, &part, &params, &backend, &control).unwrap();
        for voxel in (0..200).filter(|v| *v != 7) {
            let alone = whole.field.tensors[voxel];
            assert_eq!(adjacent.field.tensors[voxel], alone);
            let expected = if part.inside[voxel] == 1 {
                alone
            } else {
                Tensor::default()
            };
            assert_eq!(part_fit.field.tensors[voxel], expected);
        }
    }
}

fn progress_and_cancel() {
    let mut random = Random::fresh("cancel");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 12)]);
    let (dwi, ..) = noisy_scan(&mut random, &gradients, 500, 20.0);
    let (mask, backend, params) = (everywhere(&dwi), backend(2), params(Method::Wls));
    let control = Control::new();
    let output = tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control).unwrap();
    assert_eq!(control.progress().fraction(), Some(1.0));
    tensor_fit::maps(&output.field, &backend, &control).unwrap();
    assert_eq!(control.progress().fraction(), Some(1.0));
    tensor_fit::brain_mask(&dwi, &gradients, &backend, &control).unwrap();
    assert_eq!(control.progress().fraction(), Some(1.0));

    control.cancel();
    let cancelled = Some(tensor_fit::Error::Cancelled);
    let fit = tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control);
    assert_eq!(fit.err(), cancelled);
    let maps = tensor_fit::maps(&output.field, &backend, &control);
    assert_eq!(maps.err(), cancelled);
    let brain = tensor_fit::brain_mask(&dwi, &gradients, &backend, &control);
    assert_eq!(brain.err(), cancelled);
}
