//! Repairs, missing samples, and input that cannot be fitted.

use super::{
    METHODS, MIN_EIGENVALUE, Reference, backend, components, everywhere, fa, fit, noisy_scan,
    params, random_gradients, random_tensor, relative_difference, scan, signal,
};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Mask, Volume};
use arcuate::solvers::tensor_fit::{self, Error, Method, Params, eigen_symmetric};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "tensor_fit::repairs_exactly_the_broken",
            repairs_exactly_the_broken,
        ),
        test(
            "tensor_fit::missing_samples_are_left_out",
            missing_samples_are_excluded,
        ),
        test(
            "tensor_fit::too_few_samples_are_counted",
            too_few_samples_are_counted,
        ),
        test(
            "tensor_fit::volumes_left_out_are_named",
            excluded_volumes_are_named,
        ),
        test(
            "tensor_fit::bad_input_is_refused_in_a_sentence",
            bad_input_gives_sentences,
        ),
        test("tensor_fit::six_directions_suffice", six_directions_suffice),
        test("tensor_fit::a_negative_trace_is_repaired", negative_trace),
        test(
            "tensor_fit::one_b0_suffices_for_any_number_of_volumes",
            many_volumes,
        ),
    ]
}

fn with_eigenvalues(random: &mut Random, values: DVec3) -> DMat3 {
    let r = DMat3::from_quat(random.rotation());
    r * DMat3::from_diagonal(values) * r.transpose()
}

/// Noise-free signals of matrices with known eigenvalues, some below the limit or negative.
fn repairs_exactly_the_broken() {
    let mut random = Random::fresh("repairs");
    let gradients = random_gradients(&mut random, &[(0.0, 2), (1000.0, 30)]);
    let mut truths = Vec::new();
    let mut values = Vec::new();
    for voxel in 0..300 {
        let low = match voxel % 5 {
            // Not positive definite, by a little or by a lot.
            0 => random.uniform(-1e-6, 0.0),
            1 => random.uniform(-1e-3, -1e-4),
            // Positive, but below the limit by more than the fit's rounding.
            2 => MIN_EIGENVALUE * random.uniform(0.1, 0.9),
            // Just above it.
            3 => MIN_EIGENVALUE * random.uniform(1.1, 2.0),
            _ => random.uniform(1e-4, 1e-3),
        };
        let middle = if voxel % 10 == 1 { low * 0.5 } else { 1e-3 };
        let v = DVec3::new(random.uniform(1.2e-3, 2e-3), middle, low);
        truths.push(with_eigenvalues(&mut random, v));
        values.push(v);
    }
    let samples: Vec<_> = truths
        .iter()
        .map(|d| signal(d, 500.0, &gradients))
        .collect();
    for method in METHODS {
        let output = fit(&scan(&samples), &gradients, method);
        assert_eq!(output.unfitted, 0);
        assert_eq!(output.repaired.count(), 180, "three of each five");
        for (voxel, (truth, values)) in truths.iter().zip(&values).enumerate() {
            let broken = values.z < MIN_EIGENVALUE;
            assert_eq!(output.repaired.inside[voxel] == 1, broken, "{values}");
            // The repair keeps the eigenvectors, so the truth is clamped in its own frame.
            let (_, axes) = eigen_symmetric(components(truth));
            let r = DMat3::from_cols(axes[0], axes[1], axes[2]);
            let clamped = DMat3::from_diagonal(values.max(DVec3::splat(MIN_EIGENVALUE)));
            let expected = components(&(r * clamped * r.transpose()));
            let off = relative_difference(&output.field.tensors[voxel], expected);
            assert!(off < 2e-5, "{method:?}: off by {off}");
            // Positive definite as stored, up to the rounding of a component.
            let stored = eigen_symmetric(output.field.tensors[voxel].d.map(f64::from)).0;
            assert!(stored[2] > 0.99 * MIN_EIGENVALUE, "{stored:?}");
        }
    }
}

fn missing_samples_are_excluded() {
    let mut random = Random::fresh("missing");
    let gradients = random_gradients(&mut random, &[(0.0, 3), (1000.0, 40)]);
    let (_, mut samples, _) = noisy_scan(&mut random, &gradients, 200, 20.0);
    let bad = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        -3.0,
        1e-40,
        1e-7,
    ];
    let mut kept = Vec::new();
    for voxel in &mut samples {
        let missing = random.bits() as usize % 12;
        let mut left: Vec<usize> = (0..43).collect();
        for _ in 0..missing {
            let volume = left.swap_remove(random.bits() as usize % left.len());
            voxel[volume] = bad[random.bits() as usize % bad.len()];
        }
        left.sort_unstable();
        kept.push(left);
    }
    for method in METHODS {
        let output = fit(&scan(&samples), &gradients, method);
        // One shell alone, its b varied by 2 %, does not determine S0.
        let without_b0 = |volumes: &Vec<usize>| !volumes.iter().any(|v| *v < 3);
        let undetermined = kept.iter().filter(|volumes| without_b0(volumes));
        assert_eq!(output.unfitted, undetermined.count());
        for (voxel, volumes) in kept.iter().enumerate() {
            let tensor = output.field.tensors[voxel];
            assert_eq!(tensor.inside == 0.0, without_b0(volumes));
            if tensor.inside == 1.0 && output.repaired.inside[voxel] == 0 {
                let reference = Reference::new(&gradients, volumes);
                let (expected, s0) = reference.fit(&samples[voxel], method);
                let found = tensor.d.map(f64::from);
                let off = (fa(found) - fa(expected)).abs();
                // Sums of logarithms in single precision.
                assert!(
                    off < 1e-4,
                    "{method:?}: {off} with {} samples",
                    volumes.len()
                );
                let s0_off = f64::from(output.s0.as_ref().unwrap().values[voxel]) / s0 - 1.0;
                assert!(s0_off.abs() < 1e-4, "{method:?}: S0 off by {s0_off}");
            }
        }
    }
}

fn too_few_samples_are_counted() {
    let mut random = Random::fresh("too_few");
    let mut gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 20)]);
    // Volumes 1 to 8 lie in one plane: their quadratic forms span only three dimensions.
    for (k, g) in gradients.directions[1..9].iter_mut().enumerate() {
        let angle = k as f64 * 0.4;
        *g = DVec3::new(angle.cos(), angle.sin(), 0.0);
    }
    let d = random_tensor(&mut random);
    let full = signal(&d, 100.0, &gradients);
    let only = |volumes: &[usize]| -> Vec<f64> {
        let keep = |(v, s): (usize, &f64)| if volumes.contains(&v) { *s } else { 0.0 };
        full.iter().enumerate().map(keep).collect()
    };
    let voxels = [
        full.clone(),
        vec![0.0; 21],
        vec![f64::NAN; 21],
        only(&[0, 10, 11, 12, 13, 14]),
        only(&[0, 1, 2, 3, 4, 5, 6, 7, 8]),
        // Without the b = 0 volume one shell cannot distinguish S0 from mean diffusivity.
        only(&(1..21).collect::<Vec<_>>()),
        full.clone(),
    ];
    for method in METHODS {
        let output = fit(&scan(&voxels), &gradients, method);
        let inside: Vec<f32> = output.field.tensors.iter().map(|t| t.inside).collect();
        assert_eq!(inside, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(output.unfitted, 5);
        for voxel in 1..6 {
            assert_eq!(output.field.tensors[voxel].d, [0.0; 6]);
            assert_eq!(output.s0.as_ref().unwrap().values[voxel], 0.0);
        }
        assert!(relative_difference(&output.field.tensors[6], components(&d)) < 1e-3);
    }
}

fn excluded_volumes_are_named() {
    let mut random = Random::fresh("left_out");
    let mut gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 15), (3000.0, 15)]);
    gradients.directions[4] = DVec3::ZERO;
    gradients.directions[20] = DVec3::ZERO;
    // At or below 50 counts as b = 0, with or without a direction.
    gradients.b_s_per_mm2[0] = 40.0;
    gradients.directions[0] = DVec3::X;
    let d = random_tensor(&mut random);
    let mut samples = signal(&d, 100.0, &gradients);
    samples[0] = 100.0;
    for volume in [4].into_iter().chain(16..31) {
        samples[volume] = 1e6;
    }
    // A volume without signal in the file.
    samples[3] = 0.0;
    let dwi = scan(&[samples.clone(), samples]);
    let params = Params {
        b_range_s_per_mm2: (500.0, 1500.0),
        ..params(Method::Wls)
    };
    let (mask, backend, control) = (everywhere(&dwi), backend(1), Control::new());
    let output = tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control).unwrap();
    assert_eq!(output.without_direction, [4, 20]);
    let outside: Vec<usize> = (16..31).filter(|v| *v != 20).collect();
    assert_eq!(output.outside_range, outside);
    assert_eq!(output.without_signal, [3]);
    let doubts = output.doubts(mask.count(), 1e-5);
    let [doubt] = doubts.as_slice() else {
        panic!("{doubts:?}")
    };
    assert!(
        doubt.starts_with(
            "1 volume has no sample above 0 in the mask and is left out of the fit (3);"
        ),
        "{doubt}"
    );
    assert!(relative_difference(&output.field.tensors[1], components(&d)) < 2e-5);
}

/// The sentence a fit gives for input it cannot use.
fn refusal(dwi: &Volume, gradients: &Gradients, mask: &Mask, params: &Params) -> String {
    let control = Control::new();
    match tensor_fit::fit(dwi, gradients, mask, params, &backend(1), &control) {
        Err(Error::Input(sentence)) => sentence.to_string(),
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

fn bad_input_gives_sentences() {
    let mut random = Random::fresh("bad_input");
    let gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 12)]);
    let (dwi, ..) = noisy_scan(&mut random, &gradients, 5, 20.0);
    let (mask, good) = (everywhere(&dwi), params(Method::Wls));
    let assert_sentence = |sentence: String, parts: &[&str]| {
        for part in parts {
            assert!(sentence.contains(part), "'{part}' in: {sentence}");
        }
        assert!(
            !sentence.contains(". ") && !sentence.ends_with('.'),
            "one sentence: {sentence}"
        );
    };

    let mut fewer = gradients.clone();
    fewer.b_s_per_mm2.pop();
    fewer.directions.pop();
    assert_sentence(
        refusal(&dwi, &fewer, &mask, &good),
        &["13 volumes", "12 b-values"],
    );
    let brain = tensor_fit::brain_mask(&dwi, &fewer, &backend(1), &Control::new());
    assert!(matches!(brain, Err(Error::Input(_))));

    for spoil in [
        |g: &mut Gradients| g.b_s_per_mm2[3] = f64::NAN,
        |g: &mut Gradients| g.directions[3].y = f64::INFINITY,
    ] {
        let mut spoilt = gradients.clone();
        spoil(&mut spoilt);
        assert_sentence(refusal(&dwi, &spoilt, &mask, &good), &["Volume 3"]);
    }

    let other = Grid::axis_aligned([4, 1, 1], DVec3::ONE, DVec3::ZERO).unwrap();
    let other = Mask::new(Arc::new(other), vec![1; 4]);
    assert_sentence(
        refusal(&dwi, &gradients, &other, &good),
        &["4 × 1 × 1", "5 × 1 × 1"],
    );
    let moved = Grid::axis_aligned([5, 1, 1], DVec3::splat(2.0), DVec3::new(0.0, 3.0, 4.0));
    let moved = Mask::new(Arc::new(moved.unwrap()), vec![1; 5]);
    assert_sentence(refusal(&dwi, &gradients, &moved, &good), &["5.0 mm"]);
    let empty = Mask::new(dwi.grid.clone(), vec![0; 5]);
    assert_sentence(refusal(&dwi, &gradients, &empty, &good), &["no voxel"]);

    let mut five = gradients.clone();
    for (k, g) in five.directions[1..].iter_mut().enumerate() {
        *g = icosahedron()[k % 5] * if k < 5 { 1.0 } else { -1.0 };
    }
    assert_sentence(
        refusal(&dwi, &five, &mask, &good),
        &["12 diffusion", "5 independent", "expected at least 6"],
    );
    let high = Params {
        b_range_s_per_mm2: (2000.0, 3000.0),
        ..good.clone()
    };
    assert_sentence(
        refusal(&dwi, &gradients, &mask, &high),
        &[
            "No volume in the b range",
            "largest b-value is",
            "widen the b range",
        ],
    );
    // Within 10 degrees of z: six independent directions, but only just.
    let mut alike = gradients.clone();
    for g in &mut alike.directions[1..] {
        *g = (DVec3::Z + 0.1 * *g).normalize();
    }
    let sentence = refusal(&dwi, &alike, &mask, &good);
    assert!(
        sentence.contains("alike") || sentence.contains("independent"),
        "{sentence}"
    );
    assert_sentence(sentence, &["12 diffusion"]);
    let mut one_shell = gradients.clone();
    one_shell.b_s_per_mm2.fill(1000.0);
    one_shell.directions[0] = random.direction();
    assert_sentence(
        refusal(&dwi, &one_shell, &mask, &good),
        &["13 volumes", "b 1000", "b = 0"],
    );

    for range in [(2000.0, 1000.0), (f64::NAN, 1000.0)] {
        let backwards = Params {
            b_range_s_per_mm2: range,
            ..good.clone()
        };
        assert_sentence(
            refusal(&dwi, &gradients, &mask, &backwards),
            &["b range", "empty"],
        );
    }
    for min in [0.0, -1.0, f64::NAN, 1.0] {
        let wild = Params {
            min_eigenvalue_mm2_per_s: min,
            ..good.clone()
        };
        assert_sentence(
            refusal(&dwi, &gradients, &mask, &wild),
            &["Minimum eigenvalue", "from 1e-8 to 0.001"],
        );
    }
    let endless = params(Method::Iwls {
        iterations: u32::MAX,
    });
    assert_sentence(
        refusal(&dwi, &gradients, &mask, &endless),
        &["Iterations", "from 1 to 50"],
    );
}

/// Its six axes: the most even choice of six directions.
fn icosahedron() -> [DVec3; 6] {
    let phi = (1.0 + 5f64.sqrt()) / 2.0;
    let axes = [
        (0.0, 1.0, phi),
        (0.0, 1.0, -phi),
        (1.0, phi, 0.0),
        (1.0, -phi, 0.0),
        (phi, 0.0, 1.0),
        (phi, 0.0, -1.0),
    ];
    axes.map(|(x, y, z)| DVec3::new(x, y, z).normalize())
}

fn six_directions_suffice() {
    let mut random = Random::fresh("six");
    let mut gradients = Gradients {
        b_s_per_mm2: vec![0.0],
        directions: vec![DVec3::ZERO],
    };
    for axis in icosahedron() {
        gradients.b_s_per_mm2.push(800.0);
        gradients.directions.push(axis);
    }
    let d = random_tensor(&mut random);
    let samples = signal(&d, 321.0, &gradients);
    for method in METHODS {
        let output = fit(&scan(std::slice::from_ref(&samples)), &gradients, method);
        assert!(relative_difference(&output.field.tensors[0], components(&d)) < 2e-5);
    }
}

/// Fast diffusion below 0: a pivot that is negative by less than 1e-3 of the trace's magnitude.
fn negative_trace() {
    let mut random = Random::fresh("negative trace");
    let gradients = random_gradients(&mut random, &[(0.0, 2), (1000.0, 30)]);
    let d = DMat3::from_cols_array(&[
        8.927e-6, 4.971e-4, -7.405e-4, 4.971e-4, -6.960e-4, 1.1327e-3, -7.405e-4, 1.1327e-3,
        -1.5099e-3,
    ]);
    let samples = signal(&d, 500.0, &gradients);
    for method in METHODS {
        let output = fit(&scan(std::slice::from_ref(&samples)), &gradients, method);
        assert_eq!(output.repaired.count(), 1, "{method:?}");
        let stored = eigen_symmetric(output.field.tensors[0].d.map(f64::from)).0;
        assert!(stored[2] > 0.99 * MIN_EIGENVALUE, "{stored:?}");
    }
}

/// One unweighted volume counts as one, whether 30 or 3000 are weighted, even in a voxel with some missing samples.
fn many_volumes() {
    let mut random = Random::fresh("many volumes");
    let mut gradients = random_gradients(&mut random, &[(0.0, 1), (1000.0, 3000)]);
    gradients.b_s_per_mm2[1..].fill(1000.0);
    let d = random_tensor(&mut random);
    let whole = signal(&d, 321.0, &gradients);
    let mut holed = whole.clone();
    holed[100..110].fill(0.0);
    let output = fit(&scan(&[whole, holed]), &gradients, Method::Ols);
    assert_eq!(output.unfitted, 0);
    // The normal matrix of the voxel with missing samples is of single precision, its last pivot 1/3000 of the
    // diagonal; the correction removes that error, and leaves the rounding of sums of 3000, times some tens.
    for (tensor, tolerance) in output.field.tensors.iter().zip([2e-5, 1.5e-4]) {
        let off = relative_difference(tensor, components(&d));
        assert!(off < tolerance, "off by {off}");
    }
}
