//! Orders of convergence, and curves in closed form.

use crate::support::fields::{
    Helix, cube, fibre, field, max_distance, odd_grid, one_seed, params, points, run, stops,
};
use crate::support::{Random, test};
use arcuate::data::{AffineSource, Grid, TensorField};
use arcuate::solvers::curves::{Integrator, Interpolation, Params, StopReason};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tracking::order 2 with linear interpolation", || {
            sampled(Interpolation::Trilinear, &[4.0, 2.0, 1.0], 2.0, 0.3);
        }),
        test("tracking::order 4 with cubic B-splines", || {
            sampled(Interpolation::CubicBSpline, &[3.0, 2.25, 1.5], 4.0, 0.5);
        }),
        test("tracking::straight lines on any grid", straight),
        test("tracking::circles stay circles", circle),
        test("tracking::turns with its grid", equivariant),
    ]
}

/// A grid rotated against the helix, so that interpolation is needed along all axes; wide enough for its borders not to
/// matter.
fn around(spacing: f64, half_mm: f64) -> Grid {
    let n = (2.0 * half_mm / spacing).round() as usize + 1;
    let linear =
        DMat3::from_quat(glam::DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 0.4, 0.5)) * spacing;
    let middle = DVec3::splat((n - 1) as f64 * 0.5);
    let affine = DAffine3::from_mat3_translation(linear, -(linear * middle));
    Grid::new([n; 3], affine, AffineSource::Computed).unwrap()
}

fn sampled(interpolation: Interpolation, spacings: &[f64], order: f64, tolerance: f64) {
    let mut random = Random::fresh("sampled order");
    let helix = Helix::random(&mut random);
    const LENGTH: f64 = 18.0;
    const SEEDS: usize = 30;
    let seeds: Vec<DVec3> = (0..SEEDS)
        .map(|_| random.direction() * random.uniform(0.0, 6.0))
        .collect();
    let errors: Vec<f64> = spacings
        .iter()
        .map(|&spacing| {
            let sampled = field(around(spacing, 30.0), |x| Some(fibre(helix.direction(x))));
            let steps = (LENGTH / (spacing * 0.5)).round();
            let base = Params {
                interpolation,
                step_mm: LENGTH / steps,
                max_steps: steps as usize,
                both_ways: false,
                ..params()
            };
            let squares = seeds.iter().map(|&seed| {
                let (region, params) = one_seed(seed, &base);
                let output = run(&sampled, &[region], &params);
                let line = points(&output, 0);
                assert_eq!(line.len(), steps as usize + 1);
                let forward = (line[1] - line[0]).dot(helix.direction(seed)).signum();
                line[steps as usize].distance_squared(helix.follow(seed, forward * LENGTH))
            });
            (squares.sum::<f64>() / SEEDS as f64).sqrt()
        })
        .collect();
    let last = spacings.len() - 1;
    let found = (errors[0] / errors[last]).ln() / (spacings[0] / spacings[last]).ln();
    println!("{interpolation:?}: errors {errors:?} mm, order {found:.2}");
    assert!((found - order).abs() < tolerance, "{found} {errors:?}");
}

fn straight() {
    let mut random = Random::fresh("straight");
    for integrator in [Integrator::Euler, Integrator::Rk2, Integrator::Rk4] {
        for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
            let grid = odd_grid(&mut random);
            let e = random.direction();
            let constant = field(grid.clone(), |_| Some(fibre(e)));
            let params = Params {
                integrator,
                interpolation,
                ..params()
            };
            let output = run(&constant, &[], &params);
            // A seed in a corner may leave no space for a step.
            assert_eq!(output.seed_outcomes[0] + output.seed_outcomes[4], 50);
            assert!(output.kept.len() >= 45);
            assert_eq!(output.stops[StopReason::LeftVolume as usize], 100);
            for i in 0..output.kept.len() {
                let line = points(&output, i);
                // Single precision at 30 mm, over some 100 steps.
                const ROUNDING_MM: f64 = 1e-3;
                let along = if e.z < 0.0 { -e } else { e };
                let expected: Vec<DVec3> = (0..line.len())
                    .map(|k| line[0] + along * (0.5 * k as f64))
                    .collect();
                assert!(max_distance(&line, &expected) < ROUNDING_MM);
                // From face to face: one more step at either end would be outside.
                let outside = |x: DVec3| {
                    let v = grid.voxel_at(x);
                    (0..3).any(|a| v[a] < -0.499 || v[a] > grid.shape[a] as f64 - 0.501)
                };
                assert!(outside(line[0] - along * 0.5));
                assert!(outside(line[line.len() - 1] + along * 0.5));
            }
        }
    }
}

fn circle() {
    let mut random = Random::fresh("circle");
    let ring = field(cube(41, 1.0), |x| {
        let around = DVec3::new(-x.y, x.x, 0.0);
        (around.length() > 0.0).then(|| fibre(around.normalize()))
    });
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let radius = random.uniform(10.0, 15.0);
        let angle = random.uniform(0.0, std::f64::consts::TAU);
        let seed = DVec3::new(angle.cos(), angle.sin(), 0.05) * radius;
        let base = Params {
            interpolation,
            max_length_mm: Some(2.0 * std::f64::consts::TAU * radius),
            ..params()
        };
        let (region, params) = one_seed(seed, &base);
        let output = run(&ring, &[region], &params);
        assert_eq!(stops(&output, 0), [StopReason::MaxLength; 2]);
        let off = points(&output, 0).into_iter().map(|p| {
            (p.truncate().length() - seed.truncate().length())
                .abs()
                .max((p.z - seed.z).abs())
        });
        let worst = off.fold(0.0, f64::max);
        // After two turns, a twentieth of a voxel: linear interpolation of a curved field is off by about (voxel /
        // radius)² / 8 per mm, of either sign.
        assert!(worst < 0.05, "{interpolation:?}: {worst}");
    }
}

/// Rotating grid, tensors and regions rotates the streamlines.
fn equivariant() {
    let mut random = Random::fresh("equivariant");
    let helix = Helix::random(&mut random);
    let grid = odd_grid(&mut random);
    let turn = random.rotation();
    let by = DMat3::from_quat(turn);
    let turned_grid = Grid::new(
        grid.shape,
        DAffine3::from_quat(turn) * grid.world_from_voxel,
        AffineSource::Computed,
    )
    .unwrap();
    let tensor = |x: DVec3| (x.length() < 15.0).then(|| fibre(helix.direction(x)));
    let fields: [TensorField; 2] = [
        field(grid, tensor),
        field(turned_grid, |x| {
            tensor(by.transpose() * x).map(|d| by * d * by.transpose())
        }),
    ];
    // Random within voxels, so that the seeds rotate too.
    let params = Params {
        seeding: arcuate::solvers::curves::Seeding::PerVoxel { count: 1 },
        max_angle_rad: Some(0.5),
        min_fa: Some(0.3),
        ..params()
    };
    let centre = random.direction() * 5.0;
    let outputs = [DMat3::IDENTITY, by]
        .map(|turn| turn * centre)
        .map(|centre| crate::support::fields::sphere(arcuate::data::Role::Terminate, centre, 4.0));
    let outputs = [0, 1].map(|i| run(&fields[i], &outputs[i..=i], &params));
    assert!(outputs[0].kept.len() > 100);
    let mut compared = 0;
    let mut same = 0;
    let seeds = outputs
        .each_ref()
        .map(|o| o.kept.per_streamline["seed"].to_vec());
    for i in 0..outputs[0].kept.len() {
        let Some(j) = seeds[1].iter().position(|s| *s == seeds[0][i]) else {
            continue;
        };
        compared += 1;
        let one: Vec<DVec3> = points(&outputs[0], i).into_iter().map(|p| by * p).collect();
        let mut other = points(&outputs[1], j);
        // The choice of the forward half depends on the world's axes.
        if one[0].distance(other[0]) > one[0].distance(other[other.len() - 1]) {
            other.reverse();
        }
        same += usize::from(one.len() == other.len() && max_distance(&one, &other) < 5e-3);
    }
    // A few ends lie so close to a limit that rounding decides.
    assert!(compared as f64 > 0.99 * outputs[0].kept.len() as f64);
    assert!(same as f64 > 0.98 * compared as f64, "{same} of {compared}");
}
