//! Response functions: closed forms, constraints, and the choice of voxels in a block of known tissues.

use super::csd::backend;
use super::csd::cases::{
    ACROSS, ALONG, FLUID, GREY, SHELLS, SIGNALS, gradients, row, samples, zonal_coefficients,
};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::odf_field::Tissue;
use arcuate::data::spherical_harmonics::at_pole;
use arcuate::data::{AffineSource, Gradients, Grid, Mask, Response, Shells, Volume, VolumeKind};
use arcuate::solvers::response::{self, Estimate, Params};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("response::a Gaussian in closed form", closed_form),
        test("response::noise", noisy),
        test("response::a turned scan", turned),
        test("response::signals rise with the angle", rising),
        test("response::tissues without fibres", means),
        test("response::thresholds correlate best", thresholds),
        test("response::tissues of a block", block_of_tissues),
        test("response::single bundles of a block", block_of_bundles),
        test("response::from a mask", from_mask),
        test("response::refusals", refusals),
    ]
}

/// Voxels with one bundle each, and the directions of these.
fn bundles(
    count: usize,
    gradients: &Gradients,
    random: &mut Random,
) -> (Vec<Vec<f32>>, Vec<DVec3>) {
    let directions: Vec<DVec3> = (0..count).map(|_| random.direction()).collect();
    let voxels = directions
        .iter()
        .map(|u| samples(gradients, &[(*u, 1.0)], 0.0, 0.0));
    (voxels.collect(), directions)
}

fn measured(
    voxels: &[Vec<f32>],
    directions: &[DVec3],
    gradients: &Gradients,
    order: usize,
) -> Response {
    let (dwi, _) = row(voxels);
    let all: Vec<usize> = (0..voxels.len()).collect();
    let shells = Shells::new(gradients);
    response::fibres(&dwi, gradients, &shells, &all, directions, order).unwrap()
}

/// erf by its Maclaurin series.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / PI.sqrt() * sum
}

/// R_0 = S_0 √π e^(−b D⊥) √(π / (b d)) erf √(b d) with d = D∥ − D⊥; higher degrees by quadrature.
fn closed_form() {
    let gradients = gradients();
    let mut random = Random::fresh("bundles");
    let (voxels, directions) = bundles(200, &gradients, &mut random);
    let response = measured(&voxels, &directions, &gradients, 12);
    assert_eq!(response.b_s_per_mm2, Some(SHELLS.to_vec()));
    assert!((response.rows[0][0] * at_pole(0) / SIGNALS[0] - 1.0).abs() < 1e-7);
    for (b, found) in SHELLS.into_iter().zip(&response.rows).skip(1) {
        let bd = b * (ALONG - ACROSS);
        let r_0 = SIGNALS[0] * PI * (-b * ACROSS).exp() / bd.sqrt() * erf(bd.sqrt());
        let signal = |z: f64| super::csd::cases::fibre_signal(b, z);
        let expected = zonal_coefficients(12, signal);
        assert!((expected[0] / r_0 - 1.0).abs() < 1e-12);
        for (found, expected) in found.iter().zip(&expected) {
            // Samples in single precision; degrees above 12, which are taken as lower ones, reach 1e-6 at b 2800.
            assert!(
                (found - expected).abs() < 3e-6 * r_0,
                "b {b}: {found} {expected}"
            );
        }
    }
}

fn noisy() {
    let gradients = gradients();
    let mut random = Random::fresh("bundles");
    let (mut voxels, directions) = bundles(300, &gradients, &mut random);
    let exact = measured(&voxels, &directions, &gradients, 8);
    let sigma = SIGNALS[0] / 20.0;
    for sample in voxels.iter_mut().flatten() {
        let (re, im) = (sigma * random.normal(), sigma * random.normal());
        *sample = (f64::from(*sample) + re).hypot(im) as f32;
    }
    let found = measured(&voxels, &directions, &gradients, 8);
    for shell in 1..3 {
        for degree in 0..2 {
            let (a, b) = (found.rows[shell][degree], exact.rows[shell][degree]);
            assert!((a / b - 1.0).abs() < 0.05, "{shell} {degree}: {a} {b}");
        }
    }
    assert!((found.rows[0][0] / exact.rows[0][0] - 1.0).abs() < 0.01);
}

fn turned() {
    let gradients = gradients();
    let mut random = Random::fresh("bundles");
    let turn = DMat3::from_quat(random.rotation());
    let (voxels, directions) = bundles(50, &gradients, &mut random);
    let plain = measured(&voxels, &directions, &gradients, 8);
    let rotated = gradients.rotated(turn);
    let axes: Vec<DVec3> = directions.iter().map(|u| turn * *u).collect();
    let found = measured(&voxels, &axes, &rotated, 8);
    for (a, b) in found.rows.iter().flatten().zip(plain.rows.iter().flatten()) {
        assert!((a - b).abs() < 1e-9 * plain.rows[0][0], "{a} {b}");
    }
}

/// A few very noisy samples: without the constraint the signal would be negative along the fibres.
fn rising() {
    let gradients = gradients();
    let mut random = Random::fresh("bundles");
    for _ in 0..20 {
        let (mut voxels, directions) = bundles(2, &gradients, &mut random);
        for sample in voxels.iter_mut().flatten() {
            *sample += (300.0 * random.normal()) as f32;
        }
        let found = measured(&voxels, &directions, &gradients, 12);
        for shell in 1..SHELLS.len() {
            let at = |degrees: i32| found.signal(shell, f64::from(degrees).to_radians().cos());
            // Rounding of sums of up to 13 terms.
            let rounding = 1e-9 * found.rows[0][0];
            assert!(at(0) > -rounding);
            for degrees in 1..=90 {
                assert!(
                    at(degrees) > at(degrees - 1) - rounding,
                    "{shell} {degrees}"
                );
            }
        }
    }
}

fn means() {
    let gradients = gradients();
    let shells = Shells::new(&gradients);
    let (dwi, _) = row(&[
        samples(&gradients, &[], 1.0, 0.0),
        samples(&gradients, &[], 0.5, 0.0),
        samples(&gradients, &[], 0.0, 9.0),
    ]);
    let found = response::isotropic(&dwi, &shells, &[0, 1]).unwrap();
    assert!(found.is_isotropic());
    for (shell, b) in SHELLS.into_iter().enumerate() {
        let expected = 0.75 * SIGNALS[1] * (-b * GREY).exp();
        assert!((found.mean_signal(shell) / expected - 1.0).abs() < 1e-6);
    }
}

fn thresholds() {
    assert_eq!(response::optimal_threshold(&mut []), None);
    assert_eq!(response::optimal_threshold(&mut [2.0, 2.0]), None);
    assert_eq!(
        response::optimal_threshold(&mut [9.0, 0.0, 1.0, 8.0]),
        Some(4.5)
    );
    let mut random = Random::fresh("values");
    let mut values: Vec<f64> = (0..200)
        .map(|i| random.normal() + f64::from(i % 3))
        .collect();
    let threshold = response::optimal_threshold(&mut values).unwrap();
    let mean = values.iter().sum::<f64>() / 200.0;
    let correlation = |threshold: f64| {
        let mask: Vec<f64> = values
            .iter()
            .map(|v| f64::from(u8::from(*v > threshold)))
            .collect();
        let share = mask.iter().sum::<f64>() / 200.0;
        let covariance: f64 = mask
            .iter()
            .zip(&values)
            .map(|(m, v)| (m - share) * (v - mean))
            .sum();
        covariance / (share * (1.0 - share)).sqrt()
    };
    let best = correlation(threshold);
    for pair in values.windows(2).filter(|pair| pair[1] > pair[0]) {
        assert!(correlation(0.5 * (pair[0] + pair[1])) <= best * (1.0 + 1e-12));
    }
}

const SIDE: usize = 20;

/// From low to high x: single bundles and crossings of white matter by y, grey matter, fluid, each with a little of
/// its neighbours, and noise.
fn block() -> (Volume, Mask, Gradients) {
    let gradients = gradients();
    let grid = Grid::new([SIDE; 3], DAffine3::IDENTITY, AffineSource::Computed).unwrap();
    let grid = Arc::new(grid);
    let mut random = Random::fresh("block");
    let voxel = |i: usize| {
        let [x, y, z] = grid.voxel(i);
        let turn = 0.1 * z as f64;
        let u = DVec3::new(turn.cos(), turn.sin(), 0.3).normalize();
        let v = u.cross(DVec3::Z).normalize();
        let (fibres, grey, fluid): (&[(DVec3, f64)], f64, f64) = match x {
            0..9 if y < 10 => (&[(u, 0.95)], 0.05, 0.0),
            0..9 => (&[(u, 0.45), (v, 0.45)], 0.1, 0.0),
            9 => (&[(u, 0.3)], 0.7, 0.0),
            10..14 => (&[(u, 0.03)], 0.95, 0.02),
            14 => (&[], 0.5, 0.5),
            _ => (&[], 0.02, 0.98),
        };
        let mut signal = samples(&gradients, fibres, grey, fluid);
        for sample in &mut signal {
            let (re, im) = (30.0 * random.normal(), 30.0 * random.normal());
            *sample = (f64::from(*sample) + re).hypot(im) as f32;
        }
        signal
    };
    let voxels: Vec<Vec<f32>> = (0..grid.voxel_count()).map(voxel).collect();
    let frames = (0..gradients.len()).flat_map(|frame| voxels.iter().map(move |v| v[frame]));
    let values: Vec<f32> = frames.collect();
    let dwi = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    let mask = Mask::new(grid, vec![1u8; SIDE * SIDE * SIDE]);
    (dwi, mask, gradients)
}

fn share_where(voxels: &Mask, inside: impl Fn([usize; 3]) -> bool) -> f64 {
    let chosen = (0..voxels.inside.len()).filter(|v| voxels.inside[*v] != 0);
    let chosen: Vec<usize> = chosen.collect();
    let right = chosen
        .iter()
        .filter(|v| inside(voxels.grid.voxel(**v)))
        .count();
    right as f64 / chosen.len() as f64
}

fn close(found: &Response, expected: impl Fn(f64) -> f64, relative: f64) {
    for (shell, b) in SHELLS.into_iter().enumerate() {
        let expected = expected(b);
        let by = found.mean_signal(shell) - expected;
        assert!(
            by.abs() < relative * expected + 20.0,
            "b {b}: {by} of {expected}"
        );
    }
}

fn block_of_tissues() {
    let (dwi, mask, gradients) = block();
    let params = Params {
        erode: 1,
        single_fibre_share: 0.05,
        ..Params::defaults()
    };
    let run = |threads: usize| {
        let control = Control::new();
        response::dhollander(
            &dwi,
            &gradients,
            &mask,
            &params,
            &backend(threads),
            &control,
        )
        .unwrap()
    };
    let Estimate { tissues, shells } = run(1);
    assert_eq!(
        shells.summary(),
        "4 × b 0, 20 × b 700, 40 × b 1200, 60 × b 2800"
    );
    let [white, grey, fluid] = [0, 1, 2].map(|k| &tissues[k]);
    assert_eq!([white, grey, fluid].map(|t| t.tissue), Tissue::ALL);
    assert!(share_where(&white.voxels, |[x, y, _]| x < 9 && y < 10) >= 0.95);
    assert!(share_where(&grey.voxels, |[x, _, _]| (10..14).contains(&x)) >= 0.95);
    assert!(share_where(&fluid.voxels, |[x, _, _]| x > 14) >= 0.95);
    assert!(white.candidates > Some(white.voxels.count()));
    // Mixtures of 5 %, and the noise floor of 30 times √(π / 2).
    close(&grey.response, |b| SIGNALS[1] * (-b * GREY).exp(), 0.05);
    close(
        &fluid.response,
        |b| (SIGNALS[2] * (-b * FLUID).exp()).max(36.0),
        0.05,
    );
    let mean =
        |b: f64| zonal_coefficients(0, |z| super::csd::cases::fibre_signal(b, z))[0] * at_pole(0);
    close(&white.response, mean, 0.05);
    // The number of threads does not change the chosen voxels.
    for (a, b) in tissues.iter().zip(&run(2).tissues) {
        assert_eq!(a.voxels.inside, b.voxels.inside);
        assert_eq!(a.response, b.response);
    }
}

fn block_of_bundles() {
    let (dwi, mask, gradients) = block();
    let params = Params {
        voxels: 100,
        ..Params::defaults()
    };
    let control = Control::new();
    let estimate =
        response::tournier(&dwi, &gradients, &mask, &params, &backend(1), &control).unwrap();
    let white = &estimate.tissues[0];
    assert_eq!(white.voxels.count(), 100);
    assert!(share_where(&white.voxels, |[x, y, _]| x < 9 && y < 10) >= 0.95);
    assert_eq!(
        (white.response.shell_count(), white.response.order()),
        (4, 12)
    );
    let exact = zonal_coefficients(12, |z| super::csd::cases::fibre_signal(2800.0, z));
    for degree in 0..3 {
        let (a, b) = (white.response.rows[3][degree], exact[degree]);
        assert!((a / b - 1.0).abs() < 0.12, "{degree}: {a} {b}");
    }
}

fn from_mask() {
    let (dwi, mask, gradients) = block();
    let inside = (0..mask.inside.len()).map(|v| {
        let [x, y, _] = mask.grid.voxel(v);
        u8::from((2..7).contains(&x) && y < 8)
    });
    let region = Mask::new(mask.grid.clone(), inside.collect::<Vec<u8>>());
    let run = |tissue| {
        let params = Params::defaults();
        let control = Control::new();
        response::from_mask(
            &dwi,
            &gradients,
            &region,
            tissue,
            &params,
            &backend(1),
            &control,
        )
    };
    let white = run(Tissue::WhiteMatter).unwrap();
    assert_eq!(white.tissues[0].voxels.count(), region.count());
    let exact = zonal_coefficients(12, |z| super::csd::cases::fibre_signal(1200.0, z));
    for degree in 0..2 {
        let (a, b) = (white.responses()[0].rows[2][degree], exact[degree]);
        assert!((a / b - 1.0).abs() < 0.08, "{degree}: {a} {b}");
    }
    assert!(run(Tissue::Csf).unwrap().tissues[0].response.is_isotropic());
}

fn refusals() {
    let (dwi, mask, gradients) = block();
    let refuse = |dwi: &Volume, gradients: &Gradients, mask: &Mask, params: &Params, part: &str| {
        let control = Control::new();
        let result = response::dhollander(dwi, gradients, mask, params, &backend(1), &control);
        let error = result.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert!(!error.ends_with('.'), "{error}");
    };
    let defaults = Params::defaults();
    let nothing = Mask::new(mask.grid.clone(), vec![0u8; mask.inside.len()]);
    refuse(&dwi, &gradients, &nothing, &defaults, "an empty brain mask");
    let tissue = Tissue::GreyMatter;
    let control = Control::new();
    let result = response::from_mask(
        &dwi,
        &gradients,
        &nothing,
        tissue,
        &defaults,
        &backend(1),
        &control,
    );
    let error = result.unwrap_err().to_string();
    assert!(error.contains("an empty mask of grey matter"), "{error}");
    let all_removed = Params {
        erode: 12,
        ..defaults.clone()
    };
    refuse(&dwi, &gradients, &mask, &all_removed, "remove fewer layers");
    let odd = Params {
        order: 7,
        ..defaults.clone()
    };
    refuse(&dwi, &gradients, &mask, &odd, "an even number");
    let few = Gradients {
        b_s_per_mm2: gradients.b_s_per_mm2[..7].to_vec(),
        directions: gradients.directions[..7].to_vec(),
    };
    refuse(
        &dwi,
        &few,
        &mask,
        &defaults,
        "The scan has 124 volumes but the gradient table has 7 rows",
    );
    let frames = dwi.grid.voxel_count() * 4;
    let b0 = Volume::new(
        dwi.grid.clone(),
        4,
        VolumeKind::Scalar,
        dwi.values[..frames].to_vec(),
    );
    let only = Gradients {
        b_s_per_mm2: vec![0.0; 4],
        directions: vec![DVec3::ZERO; 4],
    };
    refuse(
        &b0,
        &only,
        &mask,
        &defaults,
        "Found no shell with diffusion weighting",
    );
    let later = Volume::new(
        dwi.grid.clone(),
        120,
        VolumeKind::Scalar,
        dwi.values[frames..].to_vec(),
    );
    let weighted = Gradients {
        b_s_per_mm2: gradients.b_s_per_mm2[4..].to_vec(),
        directions: gradients.directions[4..].to_vec(),
    };
    refuse(
        &later,
        &weighted,
        &mask,
        &defaults,
        "Found no volume without diffusion weighting",
    );
}
