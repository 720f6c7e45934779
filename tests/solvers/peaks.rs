//! Peaks of distributions: closed forms, turns, MRtrix's peaks; maps of lobes.

use super::csd::backend;
use super::csd::cases::Fixture;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::spherical_harmonics::{Rotation, count, evaluate, quadrature};
use arcuate::data::{AffineSource, Grid, OdfField};
use arcuate::solvers::peaks::{self, Params, Peak, Search};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("peaks::two lobes", two_lobes),
        test("peaks::lobes along the axes", axes),
        test("peaks::turned distributions", turned),
        test("peaks::those of MRtrix", mrtrix),
        test("peaks::cuts and counts", cuts),
        test("peaks::any number of threads gives equal bytes", threads),
        test("peaks::maps of powers of a cosine", map_integrals),
        test("peaks::complexity", complexity),
        test("peaks::cancelled", cancelled),
    ]
}

/// Coefficients of Σ share (u · axis)^power.
fn lobes(order: usize, power: i32, lobes: &[(DVec3, f64)]) -> Vec<f64> {
    let f = |u: DVec3| {
        lobes
            .iter()
            .map(|(axis, share)| share * u.dot(*axis).powi(power))
            .sum::<f64>()
    };
    let mut out = vec![0.0; count(order)];
    for (u, weight) in quadrature(2 * order) {
        for (sum, y) in out.iter_mut().zip(evaluate(order, u)) {
            *sum += weight * f(u) * y;
        }
    }
    out
}

fn search(order: usize) -> Search {
    Search::new(order, Params::defaults())
}

fn field(order: usize, voxels: &[Vec<f64>]) -> OdfField {
    let grid = Grid::new(
        [voxels.len(), 1, 1],
        DAffine3::IDENTITY,
        AffineSource::Computed,
    );
    let planes = (0..count(order)).flat_map(|i| voxels.iter().map(move |v| v[i] as f32));
    OdfField::new(Arc::new(grid.unwrap()), order, planes.collect::<Vec<f32>>())
}

/// Angle between axes, rad; exact for small angles.
fn angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b).abs())
}

/// The maxima of two lobes lie in their plane, shifted towards each other: roots of the derivative in one dimension.
fn two_lobes() {
    let mut random = Random::fresh("lobes");
    for power in [8, 12] {
        let search = search(12);
        for _ in 0..20 {
            let a = random.direction();
            let across = a.cross(random.direction()).normalize();
            let separation = random.uniform(65f64.to_radians(), 0.5 * PI);
            let (share, b) = (
                random.uniform(0.5, 0.95),
                separation.cos() * a + separation.sin() * across,
            );
            let peaks = search.of_coefficients(&lobes(12, power, &[(a, 1.0), (b, share)]));
            assert_eq!(peaks.len(), 2, "{peaks:?}");
            let n = power - 1;
            // Derivative of cos^p t + share cos^p (t − apart), without the factor −p.
            let slope = |t: f64| {
                let by = t - separation;
                t.cos().powi(n) * t.sin() + share * by.cos().powi(n) * by.sin()
            };
            for (peak, near) in peaks.iter().zip([0.0, separation]) {
                let (mut low, mut high) = (near - 0.3, near + 0.3);
                assert!(slope(low) < 0.0 && slope(high) > 0.0);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    if slope(middle) < 0.0 {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                let expected = low.cos() * a + low.sin() * across;
                let by = angle(peak.direction, expected);
                assert!(by < 1e-9, "{by}");
                let value = low.cos().powi(power) + share * (low - separation).cos().powi(power);
                assert!((peak.amplitude - value).abs() < 1e-9);
            }
        }
    }
}

fn axes() {
    let search = search(8);
    for axis in [
        DVec3::X,
        DVec3::Y,
        DVec3::Z,
        -DVec3::Z,
        DVec3::new(1.0, 1.0, 0.0).normalize(),
    ] {
        let peaks = search.of_coefficients(&lobes(8, 8, &[(axis, 1.0)]));
        assert_eq!(peaks.len(), 1);
        let by = angle(peaks[0].direction, axis);
        assert!(by < 1e-12, "{axis}: {by}");
    }
    let three = [(DVec3::X, 1.0), (DVec3::Y, 0.9), (DVec3::Z, 0.8)];
    let peaks = search.of_coefficients(&lobes(8, 8, &three));
    for (peak, (axis, share)) in peaks.iter().zip(three) {
        assert!(angle(peak.direction, axis) < 1e-12);
        assert!((peak.amplitude - share).abs() < 1e-12);
    }
    assert_eq!(peaks.len(), 3);
}

fn turned() {
    let mut random = Random::fresh("lobes");
    let search = search(8);
    for _ in 0..30 {
        let axes = [(random.direction(), 1.0), (random.direction(), 0.7)];
        let f = lobes(8, 8, &axes);
        let turn = DMat3::from_quat(random.rotation());
        let turned = search.of_coefficients(&Rotation::new(8, turn).apply(&f));
        let plain = search.of_coefficients(&f);
        assert_eq!(turned.len(), plain.len());
        for (a, b) in turned.iter().zip(&plain) {
            assert!(angle(a.direction, turn * b.direction) < 1e-9);
            assert!((a.amplitude - b.amplitude).abs() < 1e-11);
        }
    }
}

/// `sh2peaks` ends its steps at about 1e-4 rad.
fn mrtrix() {
    let fixture = Fixture::read();
    let search = search(8);
    let mut compared = 0;
    for (f, row) in fixture.table("wm").iter().zip(fixture.table("peaks")) {
        let peaks = search.of_coefficients(f);
        let reference: Vec<DVec3> = row.chunks(3).map(DVec3::from_slice).collect();
        let largest = reference[0].length();
        for vector in reference
            .iter()
            .filter(|v| v.length() > 0.1 * largest && v.length() > 0.05)
        {
            let near = |peak: &&Peak| angle(peak.direction, *vector) < 1e-3;
            let peak = peaks
                .iter()
                .find(near)
                .unwrap_or_else(|| panic!("{vector}: {peaks:?}"));
            assert!((peak.amplitude - vector.length()).abs() < 1e-5 * largest);
            compared += 1;
        }
    }
    assert!(compared > 25, "{compared}");
}

fn cuts() {
    let three = [(DVec3::X, 1.0), (DVec3::Y, 0.5), (DVec3::Z, 0.04)];
    let f = lobes(12, 12, &three);
    let count = |params: Params| Search::new(12, params).of_coefficients(&f).len();
    let defaults = Params::defaults();
    assert_eq!(count(defaults.clone()), 2);
    let all = Params {
        min_amplitude: 0.0,
        min_share: 0.01,
        ..defaults.clone()
    };
    assert_eq!(count(all), 3);
    assert_eq!(
        count(Params {
            count: 1,
            ..defaults.clone()
        }),
        1
    );
    assert_eq!(
        count(Params {
            min_amplitude: 0.6,
            ..defaults
        }),
        1
    );
    // Nothing, NaN and a constant have no peaks but those of rounding.
    let search = search(8);
    assert!(search.of_coefficients(&[0.0; 45]).is_empty());
    assert!(search.of_coefficients(&[f64::NAN; 45]).is_empty());
}

fn threads() {
    let mut random = Random::fresh("lobes");
    let mut voxels: Vec<Vec<f64>> = (0..700)
        .map(|_| {
            lobes(
                4,
                4,
                &[(random.direction(), 1.0), (random.direction(), 0.8)],
            )
        })
        .collect();
    voxels[3].fill(0.0);
    let field = field(4, &voxels);
    let run = |threads: usize| {
        let control = Control::new();
        peaks::find(&field, &Params::defaults(), &backend(threads), &control).unwrap()
    };
    let one = run(1);
    assert_eq!(one.values, run(2).values);
    assert_eq!((one.count(), one.peaks(3).count()), (3, 0));
    let alone = search(4).of_coefficients(&field.coefficients_at(5));
    let first = one.peak(5, 0).unwrap();
    assert!(angle(first, alone[0].direction) < 1e-6);
    assert!((first.length() - alone[0].amplitude).abs() < 1e-6);
}

/// ∫ x⁸ = 4π / 9, ∫ |x|⁹ = 4π / 10, ∫ |y| x⁸ by its Beta function.
fn map_integrals() {
    let f = lobes(8, 8, &[(DVec3::X, 1.0)]);
    let field = field(8, &[f, vec![0.0; 45]]);
    let maps = peaks::maps(&field, &Params::defaults(), &backend(1), &Control::new()).unwrap();
    let close = |value: f32, expected: f64, by: f64| {
        assert!(
            (f64::from(value) / expected - 1.0).abs() < by,
            "{value} {expected}"
        );
    };
    close(maps.total.values[0], 4.0 * PI / 9.0, 1e-6);
    // Sums over 2562 directions.
    close(maps.density.values[0], 4.0 * PI / 9.0, 1e-3);
    close(maps.dispersion.values[0], 4.0 * PI / 9.0, 1e-3);
    close(maps.dec.frame(0)[0], 4.0 * PI / 10.0, 1e-3);
    // ∫₀¹ x⁸ √(1 − x²) dx = 7π / 512; the mean of |cos| is 2 / π. The kink of |y| is in the middle of the lobe.
    close(
        maps.dec.frame(1)[0],
        4.0 * PI * 2.0 / PI * (7.0 * PI / 512.0),
        5e-3,
    );
    assert_eq!(maps.complexity.values[0], 0.0);
    for map in [
        &maps.total,
        &maps.density,
        &maps.dispersion,
        &maps.complexity,
        &maps.dec,
    ] {
        assert_eq!(map.values[1], 0.0);
    }
}

/// n / (n − 1) (1 − largest / sum) of the integrals.
fn complexity() {
    let equal = lobes(12, 12, &[(DVec3::X, 1.0), (DVec3::Y, 1.0)]);
    let unequal = lobes(12, 12, &[(DVec3::X, 3.0), (DVec3::Z, 1.0)]);
    let field = field(12, &[equal, unequal]);
    let maps = peaks::maps(&field, &Params::defaults(), &backend(1), &Control::new()).unwrap();
    assert!((maps.complexity.values[0] - 1.0).abs() < 0.01);
    assert!((maps.complexity.values[1] - 0.5).abs() < 0.01);
    // The lobes share the whole.
    for voxel in 0..2 {
        let sum = maps.density.frame(0)[voxel] + maps.density.frame(1)[voxel];
        assert!((sum / maps.total.values[voxel] - 1.0).abs() < 1e-3);
    }
}

fn cancelled() {
    let field = field(8, &[lobes(8, 8, &[(DVec3::X, 1.0)])]);
    let control = Control::new();
    control.cancel();
    let params = Params::defaults();
    assert!(peaks::find(&field, &params, &backend(1), &control).is_err());
    assert!(peaks::maps(&field, &params, &backend(1), &control).is_err());
}
