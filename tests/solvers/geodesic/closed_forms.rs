//! Known curves.

use super::{as_they_are, last_stop, params, prepared_on, ray_on, run_on, sampled, towards};
use crate::support::fields::{backend, cube, field, odd_grid, prolate, sphere};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::Backend;
use arcuate::data::{AffineSource, Grid, Role, Tractogram};
use arcuate::phantom::fields::{
    Field, FishEye, Geodesics, HalfSpace, LinearSpeed, PulledBack, Streamlines, UFibre,
};
use arcuate::solvers::curves::{Integrator, Interpolation, StopReason};
use arcuate::solvers::geodesic::{Cut, Directions, Form, Precision, RayMetric, Sharpening, rank};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;

/// Each on the CPU and, where there is one, on a GPU.
pub fn tests() -> Vec<Trial> {
    type Case = (&'static str, fn(&Backend));
    let all: [Case; 11] = [
        ("straight lines in constant tensors on any grid", straight),
        ("half circles of the half-space", half_space),
        ("circles of the fish-eye close", fish_eye),
        ("arcs where speed grows linearly", linear_speed),
        ("a bent flat space on any grid", pulled_back),
        ("order of the integrators on a spline", |backend| {
            // A spline's gradient is once differentiable: knots cause an error of third order.
            orders(
                backend,
                Interpolation::CubicBSpline,
                // Single precision rounds at every step.
                0.25,
                1.5,
                [0.5, 1.0, 2.5],
                [(0.8, 1.2), (1.8, 2.3), (2.6, 4.4)],
            );
        }),
        ("order 4 of RK4 across many knots", |backend| {
            // Steps of several voxels follow the smooth field that was sampled, not its knots.
            orders(
                backend,
                Interpolation::CubicBSpline,
                0.25,
                0.6,
                [0.5, 1.0, 4.0],
                [(0.8, 1.2), (1.8, 2.3), (3.6, 4.6)],
            );
        }),
        ("order 1 on linear interpolation", |backend| {
            // Its gradient jumps at cell faces: each crossing causes an error of first order.
            orders(
                backend,
                Interpolation::Trilinear,
                0.05,
                1.5,
                [0.4, 0.8, 0.8],
                [(0.8, 1.2), (0.7, 1.4), (0.7, 1.4)],
            );
        }),
        ("there and back again", reversal),
        ("pᵀDp is constant", conserved),
        ("the measure prefers fibres to the void", u_fibre),
    ];
    let both = |(name, run): Case| {
        let on_card = format!("parity::geodesic closed forms: {name}");
        [
            test(&format!("geodesic::{name}"), move || run(&backend(2))),
            cuda_test(&on_card, move |cuda| run(&cuda)),
        ]
    };
    all.into_iter().flat_map(both).collect()
}

const SPLINE: Interpolation = Interpolation::CubicBSpline;

fn straight(backend: &Backend) {
    let mut random = Random::fresh("straight");
    for _ in 0..8 {
        let grid = odd_grid(&mut random);
        let seed = grid.centre();
        let e = random.direction();
        let d = prolate(1.7e-3, random.uniform(0.1e-3, 1.0e-3), e);
        let mean = (d.x_axis.x + d.y_axis.y + d.z_axis.z) / 3.0;
        let field = field(grid, |_| Some(d));
        for interpolation in [Interpolation::Trilinear, SPLINE] {
            let metric = as_they_are(backend, &field, interpolation);
            assert!((metric.mean_diffusivity / mean - 1.0).abs() < 1e-6);
            for form in [Form::Hamiltonian, Form::Christoffel] {
                if form == Form::Christoffel && interpolation == SPLINE {
                    continue;
                }
                let direction = random.direction();
                let mut params = towards(&params(interpolation), direction);
                params.form = form;
                let (points, output) = ray_on(backend, &metric, seed, &params);
                assert_eq!(last_stop(&output), StopReason::LeftVolume);
                for (i, p) in points.iter().enumerate() {
                    let truth = seed + direction * (0.5 * i as f64);
                    // f32: a few units in the last place of 60 mm per step.
                    assert!(
                        p.distance(truth) < 2e-6 * (100.0 + 60.0 * i as f64),
                        "{i} {p}"
                    );
                }
                let length = direction.dot((d / mean).inverse() * direction).sqrt();
                for cm in output.rays.kept.per_point["cm"].iter() {
                    assert!(
                        (f64::from(*cm) * length - 1.0).abs() < 1e-4,
                        "{cm} {length}"
                    );
                }
            }
        }
    }
}

/// The largest distance of a ray of `length_mm` from the closed form, and the error of its Riemannian length, both
/// relative to the length.
fn off(
    backend: &Backend,
    analytic: &impl Geodesics,
    grid: Grid,
    seed: DVec3,
    direction: DVec3,
    length_mm: f64,
    step_mm: f64,
) -> [f64; 2] {
    let field = sampled(grid, analytic);
    let metric = as_they_are(backend, &field, SPLINE);
    let mut params = towards(&params(SPLINE), direction);
    params.curves.step_mm = step_mm;
    params.curves.max_length_mm = Some(length_mm);
    let (points, output) = ray_on(backend, &metric, seed, &params);
    assert_eq!(last_stop(&output), StopReason::MaxLength);
    // The metric's mean diffusivity is 1: the field's own lengths are longer by its root.
    let gain = metric.mean_diffusivity.sqrt().recip();
    let measures = &output.rays.kept.per_point["cm"];
    let mut worst = [0.0f64; 2];
    for (i, p) in points.iter().enumerate().skip(1) {
        let way = i as f64 * step_mm;
        let s = way / f64::from(measures[i]) * gain;
        let truth = analytic.geodesic(seed, direction, s);
        worst[0] = worst[0].max(p.distance(truth) / length_mm);
    }
    // From the length of the found polygon in the true metric.
    let sum: f64 = points
        .windows(2)
        .map(|w| analytic.length(0.5 * (w[0] + w[1]), w[1] - w[0]))
        .sum();
    let found = length_mm / f64::from(measures[points.len() - 1]) * gain;
    worst[1] = (found / sum - 1.0).abs();
    worst
}

/// A rotated, anisotropic grid about `centre` that extends to `reach_mm`.
fn rotated_grid(random: &mut Random, centre: DVec3, reach_mm: f64, spacing: f64) -> Grid {
    let stretch = DVec3::new(1.0, random.uniform(0.8, 1.2), random.uniform(0.8, 1.2)) * spacing;
    let mut shear = DMat3::IDENTITY;
    shear.y_axis.x = random.uniform(-0.2, 0.2);
    let linear = DMat3::from_quat(random.rotation()) * shear * DMat3::from_diagonal(stretch);
    let shape = [0, 1, 2].map(|a| (2.5 * reach_mm / stretch[a]) as usize + 1);
    let middle = (DVec3::from_array(shape.map(|n| n as f64)) - 1.0) * 0.5;
    let affine = DAffine3::from_mat3_translation(linear, centre - linear * middle);
    Grid::new(shape, affine, AffineSource::Computed).unwrap()
}

fn half_space(backend: &Backend) {
    let mut random = Random::fresh("half_space");
    for _ in 0..3 {
        let seed = DVec3::new(random.uniform(-5.0, 5.0), random.uniform(-5.0, 5.0), 40.0);
        let around = (random.uniform(0.0, 6.0), random.uniform(-0.4, 0.4));
        let direction = DVec3::new(around.0.cos(), around.0.sin(), around.1).normalize();
        let grid = rotated_grid(&mut random, seed, 18.0, 1.0);
        let [distance, length] = off(backend, &HalfSpace, grid, seed, direction, 15.0, 0.25);
        assert!(distance < 1e-4 && length < 1e-4, "{distance} {length}");
    }
}

fn linear_speed(backend: &Backend) {
    let mut random = Random::fresh("linear_speed");
    for _ in 0..3 {
        let analytic = LinearSpeed {
            speed_at_origin: 1.0,
            gradient: random.direction() * random.uniform(0.01, 0.02),
        };
        let seed = random.direction() * 3.0;
        let grid = rotated_grid(&mut random, seed, 18.0, 1.0);
        let [distance, length] = off(
            backend,
            &analytic,
            grid,
            seed,
            random.direction(),
            15.0,
            0.25,
        );
        assert!(distance < 1e-4 && length < 1e-4, "{distance} {length}");
    }
}

/// From P the ray passes the antipode −P/|P|² and returns to P.
fn fish_eye(backend: &Backend) {
    let mut random = Random::fresh("fish_eye");
    for _ in 0..2 {
        let start = random.direction() * random.uniform(0.8, 1.2);
        let direction = start.any_orthonormal_vector();
        let field = sampled(cube(81, 0.06), &FishEye);
        let metric = as_they_are(backend, &field, SPLINE);
        let mut params = towards(&params(SPLINE), direction);
        params.curves.step_mm = 0.01;
        params.curves.max_length_mm = Some(9.0);
        let (points, _) = ray_on(backend, &metric, start, &params);
        let antipode = -start / start.length_squared();
        let nearest = |to: DVec3, points: &[DVec3]| {
            let distances = points.iter().map(|p| p.distance(to));
            distances.fold(f64::INFINITY, f64::min)
        };
        // Half a step between points, and the spline's error.
        assert!(
            nearest(antipode, &points) < 6e-3,
            "{}",
            nearest(antipode, &points)
        );
        assert!(nearest(start, &points[200..]) < 6e-3);
    }
}

fn pulled_back(backend: &Backend) {
    let mut random = Random::fresh("pulled_back");
    for _ in 0..4 {
        let analytic = PulledBack {
            a: random.uniform(1.0, 3.0),
            b: random.uniform(1.0, 3.0),
            k: random.uniform(0.1, 0.25),
        };
        let seed = random.direction() * 4.0;
        let grid = rotated_grid(&mut random, seed, 30.0, 1.0);
        let [distance, length] = off(
            backend,
            &analytic,
            grid,
            seed,
            random.direction(),
            25.0,
            0.2,
        );
        assert!(distance < 4e-4 && length < 4e-4, "{distance} {length}");
    }
}

/// The ends of rays 20 mm long in many directions from a seed, by direction.
fn ends(
    backend: &Backend,
    metric: &RayMetric,
    seed: DVec3,
    integrator: Integrator,
    step_mm: f64,
) -> Vec<DVec3> {
    let mut params = params(metric.interpolation);
    params.directions = Directions::Sphere { count: 100 };
    params.curves.integrator = integrator;
    params.curves.step_mm = step_mm;
    params.curves.max_length_mm = Some(20.0);
    let output = run_on(backend, metric, &[sphere(Role::Seed, seed, 1e-3)], &params);
    let lines = output.rays.kept.streamlines();
    lines
        .map(|line| glam::Vec3::from(line[line.len() - 1]).as_dvec3())
        .collect()
}

/// Error relative to steps so small that they no longer matter, on the same samples: the median over many rays in
/// several grids.
fn orders(
    backend: &Backend,
    interpolation: Interpolation,
    small_mm: f64,
    spacing_mm: f64,
    steps_mm: [f64; 3],
    expected: [(f64, f64); 3],
) {
    let mut random = Random::fresh("orders");
    let integrators = [Integrator::Euler, Integrator::Rk2, Integrator::Rk4];
    let mut errors = [[(); 2]; 3].map(|pair| pair.map(|()| Vec::new()));
    for _ in 0..8 {
        let analytic = PulledBack {
            a: 3.0,
            b: 3.0,
            k: 0.2,
        };
        let seed = random.direction() * 4.0;
        let grid = rotated_grid(&mut random, seed, 26.0, spacing_mm);
        let field = sampled(grid, &analytic);
        let metric = as_they_are(backend, &field, interpolation);
        let truth = ends(backend, &metric, seed, Integrator::Rk4, small_mm);
        for ((integrator, step_mm), errors) in integrators.iter().zip(steps_mm).zip(&mut errors) {
            for (errors, step_mm) in errors.iter_mut().zip([step_mm, step_mm / 2.0]) {
                let found = ends(backend, &metric, seed, *integrator, step_mm);
                assert_eq!(found.len(), truth.len());
                let off = found.iter().zip(&truth).map(|(a, b)| a.distance(*b));
                errors.extend(off);
            }
        }
    }
    for ((integrator, [coarse, fine]), (low, high)) in
        integrators.iter().zip(&mut errors).zip(expected)
    {
        let median = |errors: &mut Vec<f64>| {
            errors.sort_by(f64::total_cmp);
            errors[errors.len() / 2]
        };
        let (coarse, fine) = (median(coarse), median(fine));
        let found = (coarse / fine).log2();
        println!("{interpolation:?} {integrator:?}: order {found:.2}, {fine:.1e} mm");
        assert!((low..high).contains(&found), "{integrator:?}: {found}");
    }
}

fn reversal(backend: &Backend) {
    let mut random = Random::fresh("reversal");
    for interpolation in [Interpolation::Trilinear, SPLINE] {
        let analytic = PulledBack {
            a: 3.0,
            b: 2.0,
            k: 0.2,
        };
        let seed = random.direction() * 4.0;
        let field = sampled(rotated_grid(&mut random, seed, 26.0, 1.0), &analytic);
        let metric = as_they_are(backend, &field, interpolation);
        let mut params = towards(&params(interpolation), random.direction());
        params.curves.step_mm = 0.1;
        params.curves.max_length_mm = Some(20.0);
        let (forward, _) = ray_on(backend, &metric, seed, &params);
        // The tangent at the end is that of the parabola through the last points.
        let [a, b, c] = [3, 2, 1].map(|i| forward[forward.len() - i]);
        let tangent = (3.0 * c - 4.0 * b + a).normalize();
        let (back, _) = ray_on(backend, &metric, c, &towards(&params, -tangent));
        let off = back[back.len() - 1].distance(seed);
        // The tangent is accurate to about 1e-4.
        assert!(off < 0.02, "{interpolation:?} {off}");
    }
}

/// In tensors that change along x alone the component of p along y is constant to the last bit, so (G x′)_y / √(x′ᵀGx′)
/// = p_y / √(pᵀDp) changes only through pᵀDp. The ray oscillates in a channel.
fn conserved(backend: &Backend) {
    let mut random = Random::fresh("conserved");
    // With linear interpolation each cell face causes an error of D″ h mm: the weaker channel has a fifth of it.
    let channel = |x: f64, depth: f64| 1.0 - depth * (std::f64::consts::TAU * x / 40.0).cos();
    let angle = random.uniform(-0.1, 0.1);
    let origin = DVec3::new(-22.0, -10.0, -4.0);
    let grid = Grid::axis_aligned([45, 240, 9], DVec3::ONE, origin).unwrap();
    for (interpolation, depth) in [(Interpolation::Trilinear, 0.1), (SPLINE, 0.5)] {
        let tensor = |x: DVec3| {
            let e = DVec3::new(angle.sin(), angle.cos(), 0.0);
            prolate(1.5, 1.0, e) * channel(x.x, depth)
        };
        let field = field(grid.clone(), |x| Some(tensor(x)));
        let metric = as_they_are(backend, &field, interpolation);
        let aslant = random.uniform(0.5, 1.0) * depth;
        let mut params = towards(&params(interpolation), DVec3::new(aslant, 1.0, 0.0));
        params.curves.integrator = Integrator::Rk2;
        params.curves.step_mm = 0.1;
        params.curves.max_length_mm = Some(204.8);
        let (points, output) = ray_on(
            backend,
            &metric,
            DVec3::new(random.uniform(-2.0, 2.0), 0.0, 0.0),
            &params,
        );
        assert_eq!(last_stop(&output), StopReason::MaxLength);
        assert_eq!(points.len(), 2049);
        let interpolated = |x: DVec3| match interpolation {
            // Samples lie at whole millimetres.
            Interpolation::Trilinear => {
                let [low, high] = [x.x.floor(), x.x.floor() + 1.0].map(|at| tensor(DVec3::X * at));
                low * (1.0 - x.x.rem_euclid(1.0)) + high * x.x.rem_euclid(1.0)
            }
            Interpolation::CubicBSpline => tensor(x),
        };
        let energy = |w: &[DVec3]| {
            let (way, middle) = (w[1] - w[0], 0.5 * (w[0] + w[1]));
            let lowered = interpolated(middle).inverse() * way;
            way.dot(lowered) / lowered.y.powi(2)
        };
        // Mean over a millimetre: coordinates are rounded to some 1e-5 of a step.
        let parts: Vec<f64> = points.windows(2).map(energy).collect();
        let means: Vec<f64> = parts
            .chunks_exact(16)
            .map(|p| p.iter().sum::<f64>() / 16.0)
            .collect();
        let drift = means
            .iter()
            .map(|e| (e / means[0] - 1.0).abs())
            .fold(0.0, f64::max);
        let across = || points.iter().map(|p| p.x);
        let width = across().fold(f64::MIN, f64::max) - across().fold(f64::MAX, f64::min);
        println!("{interpolation:?}: pᵀDp within {drift:.1e}, over {width:.1} mm of the channel");
        assert!(width > 2.0 && drift < 1e-3, "{width} {drift}");
    }
}

/// Rays along a U of fibres have a higher measure than those across the void between its legs.
fn u_fibre(backend: &Backend) {
    let truth = UFibre {
        along: 1.7e-3,
        across: 0.3e-3,
    };
    let void = 0.7e-3;
    let grid = cube(61, 1.0);
    let in_bundle = |x: DVec3| {
        let radius = if x.y >= 0.0 {
            x.truncate().length()
        } else {
            x.x.abs()
        };
        (12.0..20.0).contains(&radius) && x.z.abs() < 4.5
    };
    let field = field(grid, |x| {
        Some(if in_bundle(x) {
            truth.tensor(x)
        } else {
            DMat3::from_diagonal(DVec3::splat(void))
        })
    });
    let from = DVec3::new(16.0, -10.0, 0.0);
    assert!(truth.direction(from).dot(DVec3::Y) > 0.99);
    let sharpening = Sharpening::Power { alpha: 3.0 };
    let linear = Interpolation::Trilinear;
    let metric = prepared_on(backend, &field, sharpening, linear, Precision::Half);
    let mut params = params(linear);
    params.curves.max_length_mm = Some(110.0);
    params.curves.integrator = Integrator::Rk2;
    // The bundle's edges are as sharp as the grid allows.
    params.curves.step_mm = 0.25;
    params.directions = Directions::Sphere { count: 20_000 };
    let goal = DVec3::new(-16.0, -10.0, 0.0);
    let regions = [
        sphere(Role::Seed, from, 1e-3),
        sphere(Role::Target, goal, 4.0),
    ];
    let output = run_on(backend, &metric, &regions, &params);
    // The fraction of a ray within the bundle; rays that keep to it, and rays that mostly do not.
    let share = |line: &[[f32; 3]]| {
        let inside = line.iter().filter(|p| in_bundle(p.map(f64::from).into()));
        inside.count() as f64 / line.len() as f64
    };
    let split = |lines: &Tractogram| {
        let measures_in = |range: std::ops::RangeInclusive<f64>| -> Vec<f32> {
            let measures = lines.per_streamline["cm"].iter();
            let both = measures.zip(lines.streamlines());
            let chosen = both.filter(|(_, line)| range.contains(&share(line)));
            chosen.map(|(m, _)| *m).collect()
        };
        [measures_in(0.9..=1.0), measures_in(0.0..=0.5)]
    };
    let [u, void] = split(&output.rays.kept).map(|mut side| {
        side.sort_by(f32::total_cmp);
        side
    });
    println!("{} along the U: {u:?}", u.len());
    println!("{} across: {void:?}", void.len());
    assert!(u.len() > 20 && void.len() > 50);
    // Some weave through the bundle at a cost; none costs as much as those that cross the void.
    let cut = (u[u.len() / 2] * void[void.len() / 2]).sqrt();
    let [u_left, void_left] = split(&rank(&output.rays.kept, Cut::AtLeast(cut)).0);
    assert_eq!(void_left.len(), 0);
    assert!(
        u_left.len() * 10 >= u.len() * 8,
        "{} of {}",
        u_left.len(),
        u.len()
    );
}
