//! Maps of the uncertainty of peaks: closed cases, calibration, spread against fresh scans, threads.

use crate::csd::bootstrap::{SIGMA, noisy, residuals};
use crate::csd::cases::{gradients, responses, row};
use crate::csd::{backend, params};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::random::Random as Indexed;
use arcuate::data::spherical_harmonics::{evaluate, quadrature};
use arcuate::data::{Mask, OdfField, PeakField, Shells, Volume};
use arcuate::solvers::csd::{self, Directions, Precision, Problem};
use arcuate::solvers::{peaks, uncertainty};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("uncertainty::none without noise", without_noise),
        test(
            "uncertainty::the cone contains the true direction",
            calibrated,
        ),
        test("uncertainty::peaks spread as in fresh scans", spread),
        test(
            "uncertainty::any number of threads gives equal bytes",
            threads,
        ),
        test("uncertainty::lost peaks", lost),
    ]
}

fn fitted(dwi: &Volume, mask: &Mask) -> (OdfField, PeakField) {
    let (all, settings) = (responses(8), params(8, Precision::Single));
    let control = Control::new();
    let place = backend(2);
    let output = csd::fit(dwi, &gradients(), mask, &all, &settings, &place, &control).unwrap();
    let found = peaks::find(&output.field, &peaks::Params::defaults(), &place, &control).unwrap();
    (output.field, found)
}

fn maps(
    dwi: &Volume,
    mask: &Mask,
    repetitions: usize,
    threads: usize,
) -> (PeakField, uncertainty::Maps) {
    let (_, found) = fitted(dwi, mask);
    let place = backend(threads);
    let own = residuals(dwi, mask, &params(8, Precision::Single), &place);
    let control = Control::new();
    let maps = uncertainty::maps(&own, &found, repetitions, 1, &place, &control).unwrap();
    (found, maps)
}

/// Fibres along two axes at an angle, in directions that depend on the voxel alone.
fn pair(angle_deg: f64) -> impl Fn(usize) -> Vec<(DVec3, f64)> {
    move |i| {
        let random = Indexed::new(i as u64);
        let u = random.direction(0);
        let across = u.cross(random.direction(1)).normalize();
        let (sine, cosine) = angle_deg.to_radians().sin_cos();
        vec![(u, 0.5), (cosine * u + sine * across, 0.5)]
    }
}

fn single(i: usize) -> Vec<(DVec3, f64)> {
    vec![(Indexed::new(i as u64).direction(0), 1.0)]
}

fn angle_deg(a: DVec3, b: DVec3) -> f64 {
    a.normalize()
        .dot(b.normalize())
        .abs()
        .min(1.0)
        .acos()
        .to_degrees()
}

/// The signal of a distribution of the order: (u · x)^8, twice as much of it as of (u · y)^8.
fn without_noise() {
    let gradients = gradients();
    let directions = Directions::for_order(8);
    let shells = Shells::new(&gradients);
    let problem = Problem::new(&gradients, &shells, &responses(8), 8, directions).unwrap();
    let mut x = vec![0.0; problem.unknowns()];
    for (u, weight) in quadrature(16) {
        let f = 0.8 * u.x.powi(8) + 0.4 * u.y.powi(8);
        for (sum, y) in x.iter_mut().zip(evaluate(8, u)) {
            *sum += weight * f * y;
        }
    }
    let mut voxel = vec![0f32; gradients.len()];
    for (volume, sample) in problem.volumes.iter().zip(problem.predicted(&x)) {
        voxel[*volume] = sample as f32;
    }
    let (dwi, mask) = row(&[voxel]);
    let (found, maps) = maps(&dwi, &mask, 20, 1);
    for (k, axis) in [DVec3::X, DVec3::Y].into_iter().enumerate() {
        assert!(angle_deg(found.peak(0, k).unwrap(), axis) < 0.2);
        let (cone, dispersion) = (maps.cone.values[k], maps.dispersion.values[k]);
        assert!(cone < 0.2, "{k}: {cone}°");
        assert!(dispersion < 1e-5, "{k}: {dispersion}");
    }
}

const TRIALS: usize = 200;
const REPETITIONS: usize = 200;

/// The true direction of the largest peak of each trial is in its cone of 95 %.
fn calibrated() {
    let mut random = Random::fresh("uncertainty calibration");
    let cases: [(&str, Box<dyn Fn(usize) -> Vec<(DVec3, f64)>>); 2] =
        [("one", Box::new(single)), ("60°", Box::new(pair(60.0)))];
    for (name, fibres) in cases {
        let (dwi, mask) = noisy(TRIALS, SIGMA, &mut random, &fibres);
        let (found, maps) = maps(&dwi, &mask, REPETITIONS, 2);
        let (mut inside, mut all) = (0, 0);
        for voxel in 0..TRIALS {
            for (u, _) in fibres(voxel) {
                let nearest = (0..found.count())
                    .filter_map(|k| Some((k, angle_deg(found.peak(voxel, k)?, u))))
                    .min_by(|a, b| a.1.total_cmp(&b.1));
                // A bundle that the fit does not find has no cone.
                let Some((k, angle)) = nearest.filter(|(_, angle)| *angle < 25.0) else {
                    continue;
                };
                let cone = f64::from(maps.cone.values[k * TRIALS + voxel]);
                inside += usize::from(angle <= cone);
                all += 1;
            }
        }
        let share = inside as f64 / all as f64;
        assert!(all >= 195, "{name}: {all}");
        assert!((0.9..=0.99).contains(&share), "{name}: {share}");
    }
}

/// The spread over repetitions of one scan is that over fresh scans, by root mean square angles.
fn spread() {
    let mut random = Random::fresh("uncertainty spread");
    // One place in all trials.
    let fibres = |_: usize| pair(60.0)(0);
    let truth = fibres(0);
    let (dwi, mask) = noisy(TRIALS, SIGMA, &mut random, fibres);
    let (found, maps) = maps(&dwi, &mask, 100, 2);
    for (u, _) in truth {
        let (mut fresh, mut dyads, mut own, mut all) = (0.0, [DVec3::ZERO; 3], 0.0, 0.0);
        for voxel in 0..TRIALS {
            let near = (0..found.count()).find_map(|k| {
                let peak = found.peak(voxel, k)?.normalize();
                (angle_deg(peak, u) < 25.0).then_some((k, peak))
            });
            let Some((k, peak)) = near else { continue };
            for (axis, row) in dyads.iter_mut().enumerate() {
                *row += peak[axis] * peak;
            }
            own += f64::from(maps.dispersion.values[k * TRIALS + voxel]);
            all += 1.0;
        }
        // 1 − the largest eigenvalue, by the power method.
        let mut axis = u;
        for _ in 0..50 {
            axis = DVec3::new(dyads[0].dot(axis), dyads[1].dot(axis), dyads[2].dot(axis));
            axis = axis.normalize();
        }
        let product = DVec3::new(dyads[0].dot(axis), dyads[1].dot(axis), dyads[2].dot(axis));
        fresh += 1.0 - axis.dot(product) / all;
        let ratio = (own / all / fresh).sqrt();
        assert!((ratio - 1.0).abs() < 0.25, "{ratio}");
    }
}

fn threads() {
    let mut random = Random::fresh("uncertainty threads");
    let (dwi, mask) = noisy(100, SIGMA, &mut random, pair(70.0));
    let (_, one) = maps(&dwi, &mask, 25, 1);
    let (_, three) = maps(&dwi, &mask, 25, 3);
    assert_eq!(one.cone.values, three.cone.values);
    assert_eq!(one.dispersion.values, three.dispersion.values);
}

/// A peak of another place is lost in all repetitions: its cone is 90°. A voxel without a peak has none.
fn lost() {
    let mut random = Random::fresh("uncertainty of lost peaks");
    let (dwi, mask) = noisy(2, SIGMA, &mut random, |_| vec![(DVec3::X, 1.0)]);
    let place = backend(1);
    let own = residuals(&dwi, &mask, &params(8, Precision::Single), &place);
    // Voxel 0: one peak at x, another close to it, which ends at the same maximum. Voxel 1: none.
    let near = DVec3::new(1.0, 0.3, 0.0).normalize();
    let mut values = vec![0.0; 6 * 2];
    for axis in 0..3 {
        values[axis * 2] = DVec3::X[axis] as f32;
        values[(3 + axis) * 2] = near[axis] as f32;
    }
    let found = PeakField::new(mask.grid.clone(), 2, values);
    let control = Control::new();
    let maps = uncertainty::maps(&own, &found, 20, 1, &place, &control).unwrap();
    assert!(maps.cone.values[0] < 15.0, "{}", maps.cone.values[0]);
    assert_eq!(maps.cone.values[2], 90.0);
    assert_eq!([maps.cone.values[1], maps.cone.values[3]], [0.0; 2]);
    assert_eq!(
        [maps.dispersion.values[1], maps.dispersion.values[3]],
        [0.0; 2]
    );
}
