//! Rays in fibre orientation distributions: straight lines, geodesics of tensors, a conserved momentum, crossings.

use super::params;
use crate::support::fields::{backend, components, region, sphere};
use crate::support::{Random, cuda_test, test};
use crate::tracking::parity::hausdorff;
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{AffineSource, Grid, OdfField, Region, Role, Shape, Tensor, TensorField};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{self, Integrator, Interpolation, SeedOutcome, Seeding, StopReason};
use arcuate::solvers::geodesic::{
    Cut, Directions, Form, OdfMetric, OdfSpeed, Output, Params, Precision, RayMetric, Sharpening,
    rank, trace, trace_lobes,
};
use glam::{DAffine3, DMat3, DVec3, Vec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "geodesic::lobes: without fibres rays are straight",
            straight,
        ),
        test(
            "geodesic::lobes: tensors as distributions give the rays of tensors",
            tensors,
        ),
        test(
            "geodesic::lobes: momentum is conserved in order 2",
            conserved,
        ),
        test(
            "geodesic::lobes: rays leave a crossing along their own lobe",
            crossing,
        ),
        test(
            "geodesic::lobes: the same rays on grids with any axes",
            any_axes,
        ),
        test("geodesic::lobes: rays stop where their lobe is low", low),
        test("geodesic::lobes: seeds without peaks", without_peaks),
        test(
            "geodesic::lobes: the same on any number of threads",
            threads,
        ),
        test("geodesic::lobes: refusals are sentences", refusals),
        cuda_test("parity::geodesic rays in distributions", parity),
    ]
}

/// Distributions from amplitudes at a world point and a direction.
fn distributions(
    grid: &Arc<Grid>,
    order: usize,
    amplitude: impl Fn(DVec3, DVec3) -> f64,
) -> OdfField {
    let n = grid.voxel_count();
    let functions = quadrature(2 * order).into_iter();
    let functions: Vec<(DVec3, f64, Vec<f64>)> =
        functions.map(|(u, w)| (u, w, evaluate(order, u))).collect();
    let mut coefficients = vec![0f32; n * count(order)];
    for voxel in 0..n {
        let at = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        let mut sums = vec![0.0; count(order)];
        for (u, weight, y) in &functions {
            let share = weight * amplitude(at, *u);
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum += share * y;
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            coefficients[i * n + voxel] = *sum as f32;
        }
    }
    OdfField::new(grid.clone(), order, coefficients)
}

fn grid(shape: [usize; 3], spacing: DVec3) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, spacing, DVec3::ZERO).unwrap())
}

/// A Watson lobe of height 1.
fn lobe(axis: DVec3, u: DVec3, concentration: f64) -> f64 {
    (concentration * (u.dot(axis).powi(2) - 1.0)).exp()
}

const SPEED: OdfSpeed = OdfSpeed {
    exponent: 1.0,
    floor: 0.03,
    reference: Some(1.0),
    min_amplitude: None,
};

fn metric(field: &OdfField, speed: OdfSpeed) -> OdfMetric {
    OdfMetric::new(field, speed, &backend(2), &Control::new()).unwrap()
}

fn run_on(backend: &Backend, metric: &OdfMetric, regions: &[Region], params: &Params) -> Output {
    trace_lobes(metric, regions, params, None, backend, &Control::new()).unwrap()
}

fn run(metric: &OdfMetric, regions: &[Region], params: &Params) -> Output {
    run_on(&backend(2), metric, regions, params)
}

fn linear(integrator: Integrator, step_mm: f64, direction: DVec3) -> Params {
    let params = params(Interpolation::Trilinear);
    Params {
        curves: curves::Params {
            integrator,
            step_mm,
            ..params.curves
        },
        directions: Directions::Towards {
            direction: direction.into(),
        },
        ..params
    }
}

/// The only ray from a point, forwards.
fn ray(metric: &OdfMetric, at: DVec3, params: &Params) -> (Vec<DVec3>, f32) {
    let output = run(metric, &[sphere(Role::Seed, at, 1e-3)], params);
    assert_eq!(output.rays.kept.len(), 1, "{:?}", output.rays.seed_outcomes);
    let points = output.rays.kept.streamline(0).iter();
    let points = points.map(|p| Vec3::from(*p).as_dvec3()).collect();
    (points, output.rays.kept.per_streamline["cm"][0])
}

/// In isotropic distributions every ray is a straight line with the speed as its measure.
fn straight() {
    let mut random = Random::fresh("straight lobes");
    let grid = grid([40, 30, 20], DVec3::new(1.0, 1.2, 0.9));
    let metric = metric(&distributions(&grid, 4, |_, _| 0.1), SPEED);
    for _ in 0..5 {
        let direction = (DVec3::X + 0.4 * random.direction()).normalize();
        let params = linear(Integrator::Rk2, 0.25, direction);
        let (points, measure) = ray(&metric, DVec3::new(8.0, 16.0, 8.0), &params);
        assert!(points.len() > 40);
        let off = points
            .iter()
            .map(|p| (*p - points[0]).cross(direction).length());
        // Rounding of single precision over 40 mm.
        assert!(off.fold(0.0, f64::max) < 1e-4);
        assert!((f64::from(measure) - 0.13).abs() < 1e-5, "{measure}");
    }
}

/// Smooth lobes that turn, on a grid along world axes and on one that is turned, sheared and mirrored: the same rays, up to
/// the second order of the interpolation.
fn any_axes() {
    let middle = DVec3::new(17.5, 17.5, 17.5);
    let amplitude = |x: DVec3, u: DVec3| {
        let turn = 0.03 * (x.x - 5.0);
        let axis = DVec3::new(turn.cos(), turn.sin(), 0.5 * turn).normalize();
        0.05 + lobe(axis, u, 5.0)
    };
    let along_axes = grid([36; 3], DVec3::ONE);
    let mut shear = DMat3::IDENTITY;
    shear.y_axis.x = 0.25;
    shear.z_axis.y = -0.2;
    let turn = DMat3::from_axis_angle(DVec3::new(1.0, -2.0, 0.5).normalize(), 0.7);
    let matrix = turn * shear * DMat3::from_diagonal(DVec3::new(1.0, -1.1, 0.9));
    let shape = [52usize; 3];
    let to_corner = matrix * DVec3::splat(0.5 * (shape[0] - 1) as f64);
    let affine = DAffine3::from_mat3_translation(matrix, middle - to_corner);
    let oblique = Arc::new(Grid::new(shape, affine, AffineSource::Computed).unwrap());
    let metrics =
        [along_axes, oblique].map(|grid| metric(&distributions(&grid, 6, amplitude), SPEED));
    for direction in [DVec3::X, DVec3::new(1.0, 0.2, -0.15)] {
        for integrator in [Integrator::Rk2, Integrator::Rk4] {
            let mut params = linear(integrator, 0.25, direction);
            params.curves.max_length_mm = Some(22.0);
            let [a, b] = metrics.each_ref().map(|metric| {
                let (points, measure) = ray(metric, DVec3::new(6.0, 12.0, 15.0), &params);
                (points, f64::from(measure))
            });
            assert_eq!(a.0.len(), b.0.len());
            let off = a.0.iter().zip(&b.0).map(|(a, b)| a.distance(*b));
            let off = off.fold(0.0, f64::max);
            let bend = (a.0[a.0.len() / 2] - a.0[0])
                .reject_from(a.0[a.0.len() - 1] - a.0[0])
                .length();
            assert!(off < 0.02 && bend > 0.3, "{off} mm, {bend}");
            assert!((a.1 / b.1 - 1.0).abs() < 2e-3, "{} {}", a.1, b.1);
        }
    }
}

/// With f = uᵀGu, exponent −½ and no floor, rays are the geodesics of G, up to the difference between interpolating G and
/// its inverse: a quarter of the square of the change per voxel, 0.5 %, or 6e-6.
fn tensors() {
    let grid = grid([64, 32, 32], DVec3::ONE);
    let diffusion = |x: DVec3| {
        let turn = DMat3::from_axis_angle(
            DVec3::new(0.2, 0.3, 1.0).normalize(),
            0.005 * (x.x - 20.0) + 0.003 * x.z,
        );
        let along = 1.7e-3 * (1.0 + 0.004 * (x.y - 16.0));
        let across = 0.4e-3 * (1.0 + 0.003 * x.x);
        turn * DMat3::from_diagonal(DVec3::new(along, 0.6e-3, across)) * turn.transpose()
    };
    let tensor = |voxel| {
        let at = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        Tensor::new(components(diffusion(at)))
    };
    let tensors: Vec<Tensor> = (0..grid.voxel_count()).map(tensor).collect();
    let of_tensors = RayMetric::new(
        &TensorField::new(grid.clone(), tensors),
        Sharpening::Power { alpha: 1.0 },
        Precision::Single,
        Interpolation::Trilinear,
        &backend(2),
        &Control::new(),
    )
    .unwrap();
    let mean = of_tensors.mean_diffusivity;
    let field = distributions(&grid, 2, |x, u| u.dot(mean * diffusion(x).inverse() * u));
    let speed = OdfSpeed {
        exponent: -0.5,
        floor: 0.0,
        ..SPEED
    };
    let metric = metric(&field, speed);
    let seed = DVec3::new(6.0, 16.0, 8.0);
    for integrator in [Integrator::Rk2, Integrator::Rk4] {
        for direction in [
            DVec3::new(1.0, 0.1, 0.05),
            DVec3::new(1.0, -0.3, 0.2),
            DVec3::new(0.9, 0.25, 0.3),
        ] {
            let params = linear(integrator, 0.25, direction);
            let (points, measure) = ray(&metric, seed, &params);
            let regions = [sphere(Role::Seed, seed, 1e-3)];
            let control = Control::new();
            let expected = trace(&of_tensors, &regions, &params, &backend(2), &control).unwrap();
            let line = expected.rays.kept.streamline(0);
            assert!(points.len().abs_diff(line.len()) <= 1 && line.len() > 150);
            let length_mm = 0.25 * line.len() as f64;
            let off = points
                .iter()
                .zip(line)
                .map(|(a, b)| a.distance(Vec3::from(*b).as_dvec3()));
            let off = off.fold(0.0, f64::max);
            assert!(off < 1.5e-5 * length_mm, "{off} of {length_mm} mm");
            let bend = (points[points.len() / 2] - points[0])
                .cross((points[points.len() - 1] - points[0]).normalize())
                .length();
            assert!(bend > 0.5, "{bend}");
            let expected = expected.rays.kept.per_streamline["cm"][0];
            assert!((measure / expected - 1.0).abs() < 1.5e-5);
        }
    }
}

/// Amplitudes that change along y only, linearly, so that interpolation is exact: H is 1 along a ray, hence the x and z
/// components of p. From H = 1 and the ray's direction p follows.
fn conserved() {
    let grid = grid([40, 40, 12], DVec3::ONE);
    let axis = DVec3::new(1.0, 0.2, 0.1).normalize();
    let field = distributions(&grid, 8, |x, u| (0.2 + 0.05 * x.y) * lobe(axis, u, 4.0));
    let metric = metric(&field, SPEED);
    // The interpolated series at a point of the ray.
    let at_origin = field.coefficients_at(0);
    let slope: Vec<f64> = field
        .coefficients_at(grid.index([0, 39, 0]))
        .iter()
        .zip(&at_origin)
        .map(|(high, low)| (high - low) / 39.0)
        .collect();
    let momentum = |at: DVec3, u: DVec3| {
        let base = |u: DVec3| {
            let y = evaluate(8, u.normalize());
            let values = at_origin.iter().zip(&slope).zip(&y);
            let f: f64 = values
                .map(|((low, slope), y)| (*low + at.y * slope) * y)
                .sum();
            SPEED.floor + f
        };
        let across = DVec3::AXES.map(|e| (base(u + 1e-5 * e) - base(u - 1e-5 * e)) / 2e-5);
        let w = base(u);
        (u - DVec3::from_array(across) / w) / w
    };
    let drift = |integrator, step_mm: f64| {
        let mut params = linear(integrator, step_mm, DVec3::new(1.0, 0.05, 0.08));
        params.curves.max_length_mm = Some(24.0);
        let (points, _) = ray(&metric, DVec3::new(4.0, 6.0, 5.0), &params);
        // The chord of a step is its direction in the middle.
        let p = |i: usize| {
            let middle = 0.5 * (points[i] + points[i + 1]);
            momentum(middle, (points[i + 1] - points[i]).normalize())
        };
        let change = p(points.len() - 2) - p(0);
        (change.x.hypot(change.z)) / p(0).length()
    };
    for (integrator, least) in [(Integrator::Rk2, 3.0), (Integrator::Rk4, 3.0)] {
        let drifts = [1.6, 0.8].map(|step_mm| drift(integrator, step_mm));
        println!("{integrator:?}: {drifts:?}");
        // Order 2, of the chord with the higher one; below that positions are rounded.
        assert!(
            drifts[1] < 2e-4 && (drifts[0] > least * drifts[1] || drifts[0] < 1e-4),
            "{drifts:?}"
        );
    }
    assert!(drift(Integrator::Euler, 0.8) > 3.0 * drift(Integrator::Rk2, 0.8));
}

/// Two bundles of 12 mm that cross at an angle: distributions, axes, and the centre of the crossing.
fn bundles(angle_degrees: f64) -> (OdfField, [DVec3; 2], DVec3) {
    let grid = grid([48, 48, 16], DVec3::splat(2.0));
    let middle = DVec3::new(47.0, 47.0, 15.0);
    let angle = angle_degrees.to_radians();
    let axes = [DVec3::X, DVec3::new(angle.cos(), angle.sin(), 0.0)];
    let share = |x: DVec3, axis: DVec3| {
        let off = (x - middle).reject_from(axis).length();
        1.0 / (1.0 + ((off - 6.0) / 0.7).exp())
    };
    let field = distributions(&grid, 8, |x, u| {
        let each = axes.map(|axis| share(x, axis) * lobe(axis, u, 12.0));
        each[0] + each[1] + 1e-4
    });
    (field, axes, middle)
}

/// Every ray in the strongest tenth of a fan leaves along its own bundle, and so do at least seven in eight of all rays that
/// reach a target.
fn crossing() {
    for angle in [90.0, 60.0, 45.0] {
        let (field, axes, middle) = bundles(angle);
        let metric = metric(
            &field,
            OdfSpeed {
                exponent: 2.0,
                ..SPEED
            },
        );
        for [own, other] in [axes, [axes[1], axes[0]]] {
            let target = |axis: DVec3| sphere(Role::Target, middle + 36.0 * axis, 9.0);
            let regions = [
                sphere(Role::Seed, middle - 36.0 * own, 4.0),
                target(own),
                target(other),
                target(-other),
            ];
            let mut params = linear(Integrator::Rk2, 0.5, own);
            params.curves.seeding = Seeding::Random { count: 50 };
            params.curves.max_length_mm = Some(120.0);
            for directions in [
                Directions::Principal,
                Directions::Cone {
                    count: 20,
                    half_angle_rad: 5f64.to_radians(),
                },
            ] {
                params.directions = directions;
                // One sense leads away from the crossing.
                params.curves.both_ways = true;
                let output = run(&metric, &regions, &params);
                let right = |rays: &arcuate::data::Tractogram| {
                    let targets = rays.per_streamline["target"].iter();
                    targets.filter(|target| **target == 0.0).count()
                };
                let all = &output.rays.kept;
                let arrived = all.len() as u64;
                assert!(4 * arrived > output.seeds * output.directions, "{arrived}");
                assert!(8 * right(all) >= 7 * all.len(), "{angle} {directions:?}");
                let (strongest, _) = rank(all, Cut::TopShare(0.1));
                assert_eq!(right(&strongest), strongest.len(), "{angle} {directions:?}");
            }
        }
    }
}

fn low() {
    let grid = grid([40, 12, 12], DVec3::ONE);
    let field = distributions(&grid, 8, |x, u| {
        (1.0 - 0.02 * x.x) * lobe(DVec3::X, u, 8.0) + 1e-3
    });
    let speed = OdfSpeed {
        min_amplitude: Some(0.5),
        ..SPEED
    };
    let params = linear(Integrator::Rk2, 0.25, DVec3::X);
    let seed = [sphere(Role::Seed, DVec3::new(4.0, 6.0, 6.0), 1e-3)];
    let output = run(&metric(&field, speed), &seed, &params);
    let stopped = output.rays.stops[StopReason::LowAmplitude as usize];
    assert_eq!(stopped, 1, "{:?}", output.rays.stops);
    let line = output.rays.kept.streamline(0);
    // The lobe's height is 0.5 where x is 25, up to what order 8 leaves of it.
    let end = line[line.len() - 1][0];
    assert!((22.0..28.0).contains(&end), "{end}");
    // A seed where every lobe is lower starts no ray.
    let outside = [sphere(Role::Seed, DVec3::new(34.0, 6.0, 6.0), 1e-3)];
    let output = run(&metric(&field, speed), &outside, &params);
    none_started(&output);
}

fn none_started(output: &Output) {
    let outcomes = &output.rays.seed_outcomes;
    let started = outcomes.iter().sum::<u64>() - outcomes[SeedOutcome::NoStart as usize];
    assert_eq!(started, 0, "{outcomes:?}");
    assert!(outcomes[SeedOutcome::NoStart as usize] > 0 && output.rays.kept.is_empty());
}

/// A distribution without peaks gives no axis for a cone, but a ray in a given direction.
fn without_peaks() {
    let grid = grid([24, 12, 12], DVec3::ONE);
    let mut coefficients = vec![0.0; count(4) * grid.voxel_count()];
    coefficients[..grid.voxel_count()].fill(0.3);
    let metric = metric(&OdfField::new(grid, 4, coefficients), SPEED);
    let seed = [sphere(Role::Seed, DVec3::new(8.0, 6.0, 6.0), 1e-3)];
    for directions in [
        Directions::Principal,
        Directions::Cone {
            count: 6,
            half_angle_rad: 0.1,
        },
    ] {
        let mut params = linear(Integrator::Rk2, 0.25, DVec3::X);
        params.directions = directions;
        let output = run(&metric, &seed, &params);
        none_started(&output);
    }
    let output = run(&metric, &seed, &linear(Integrator::Rk2, 0.25, DVec3::X));
    assert_eq!(output.rays.kept.len(), 1);
}

/// Lobes that turn and change in height, with a second one along x.
fn rough(shape: [usize; 3]) -> OdfField {
    rough_of_order(shape, 8)
}

fn rough_of_order(shape: [usize; 3], order: usize) -> OdfField {
    let grid = grid(shape, DVec3::new(2.0, 2.2, 1.9));
    distributions(&grid, order, |x, u| {
        let height = 0.6 + 0.3 * (x.x / 9.0).sin() * (x.y / 7.0).cos();
        let turn = x.y / 20.0;
        let axis = DVec3::new(turn.cos(), turn.sin(), 0.2 * (x.x / 11.0).sin());
        let inside = f64::from((x - DVec3::new(24.0, 24.0, 12.0)).length() < 22.0);
        inside * (height * lobe(axis.normalize(), u, 10.0) + 0.3 * lobe(DVec3::X, u, 10.0))
    })
}

fn fan(count: usize) -> Params {
    let mut params = linear(Integrator::Rk2, 0.5, DVec3::X);
    params.curves.seeding = Seeding::Random { count };
    params.curves.both_ways = true;
    params.curves.max_length_mm = Some(100.0);
    params.directions = Directions::Cone {
        count: 20,
        half_angle_rad: 0.3,
    };
    params.loop_guard = true;
    params
}

fn threads() {
    let metric = metric(&rough([24, 24, 12]), SPEED);
    let regions = [region(
        Role::Include,
        Shape::Sphere {
            centre: DVec3::new(24.0, 24.0, 12.0),
            radius_mm: 12.0,
        },
    )];
    for integrator in [Integrator::Euler, Integrator::Rk2, Integrator::Rk4] {
        let mut params = fan(60);
        params.curves.integrator = integrator;
        let [one, four] = [1, 4].map(|n| run_on(&backend(n), &metric, &regions, &params));
        assert!(one.rays.kept.len() > 50);
        assert_eq!(one.rays.kept.points, four.rays.kept.points);
        assert_eq!(
            one.rays.kept.per_streamline["cm"],
            four.rays.kept.per_streamline["cm"]
        );
        assert_eq!(one.rays.stops, four.rays.stops);
    }
}

fn refusals() {
    let sentence = |result: Result<Output, Error>| match result {
        Err(Error::Input(sentence)) => format!("{sentence}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("traced"),
    };
    let field = rough([12, 12, 8]);
    let (control, backend) = (Control::new(), backend(2));
    let of_field = metric(&field, SPEED);
    let try_run = |params: &Params| trace_lobes(&of_field, &[], params, None, &backend, &control);
    let mut params = fan(4);
    params.form = Form::Christoffel;
    assert!(sentence(try_run(&params)).starts_with("The papers' form follows tensors only"));
    let mut params = fan(4);
    params.curves.interpolation = Interpolation::CubicBSpline;
    assert!(sentence(try_run(&params)).contains("only linear interpolation"));
    let n = field.grid.voxel_count();
    let prepared = |order: usize, coefficients: Vec<f32>| {
        let field = OdfField::new(field.grid.clone(), order, coefficients);
        let speed = OdfSpeed {
            reference: None,
            ..SPEED
        };
        match OdfMetric::new(&field, speed, &backend, &control) {
            Err(Error::Input(sentence)) => format!("{sentence}"),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("prepared"),
        }
    };
    assert!(prepared(0, vec![0.3; n]).contains("order 0"));
    assert!(prepared(2, vec![0.0; 6 * n]).contains("no voxel with a distribution"));
    let none = [vec![0.1; n], vec![0.9; 5 * n]].concat();
    assert!(prepared(2, none).contains("% of the voxels"));
}

/// The card's rays stay near the CPU's, except the few that a rounding leads to another lobe.
fn parity(cuda: Backend) {
    // Kernels exist for orders 8 and 12, and smaller series are padded.
    for (field, speed) in [
        (rough([24, 24, 12]), SPEED),
        (rough_of_order([24, 24, 12], 4), SPEED),
        (rough_of_order([24, 24, 12], 10), SPEED),
        (rough_of_order([24, 24, 12], 12), SPEED),
        (
            bundles(60.0).0,
            OdfSpeed {
                exponent: 2.0,
                min_amplitude: Some(0.05),
                ..SPEED
            },
        ),
    ] {
        let metric = metric(&field, speed);
        for integrator in [Integrator::Euler, Integrator::Rk2, Integrator::Rk4] {
            let mut params = fan(100);
            params.curves.integrator = integrator;
            let [cpu, card] =
                [&backend(2), &cuda].map(|backend| run_on(backend, &metric, &[], &params));
            assert_eq!(cpu.seeds, card.seeds);
            assert!(card.kernel_s.is_some());
            let [a, b] = [&cpu.rays.kept, &card.rays.kept];
            assert_eq!(a.len(), b.len());
            let grid = &metric.field.grid;
            let is_distant = |i: &usize| hausdorff(a.streamline(*i), b.streamline(*i), grid) > 0.05;
            let distant = (0..a.len()).filter(is_distant).count();
            assert!(50 * distant <= a.len(), "{distant} of {}", a.len());
            let repeated = run_on(&cuda, &metric, &[], &params);
            assert_eq!(card.rays.kept.points, repeated.rays.kept.points);
        }
    }
}
