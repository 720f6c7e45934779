//! Rays through a point: closed forms, orders of convergence, refusals, regions.

use super::{as_they_are, params, sampled, try_run};
use crate::support::fields::{backend, cube, cuboid, field, prolate, sphere};
use crate::support::test;
use arcuate::data::Role;
use arcuate::phantom::fields::{Field, FishEye, Geodesics, HalfSpace, PulledBack};
use arcuate::solvers::curves::{Interpolation, SeedOutcome, Seeding, StopReason};
use arcuate::solvers::geodesic::Params;
use arcuate::solvers::geodesic::two_point::{Accuracy, Connection, Medium, NotConnected, connect};
use glam::{DMat3, DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("geodesic::two points in a constant metric", constant),
        test("geodesic::two points in a round metric", round),
        test("geodesic::two points, order of the step", order),
        test("geodesic::two points, quadratic convergence", quadratic),
        test("geodesic::two points without a ray are refused", refused),
        test(
            "geodesic::rays through a point in straight fibres",
            straight,
        ),
        test("geodesic::rays through a point in a bent space", bent),
        test("geodesic::rays through a point obey regions", regions),
        test("geodesic::a point without tensors is refused", outside),
    ]
}

/// An analytic field with derivatives by central differences, which are exact to about 1e-9.
struct Analytic<F>(F);

impl<F: Field + Sync> Medium for Analytic<F> {
    fn tensor(&self, at: DVec3) -> (DMat3, [DMat3; 3]) {
        const OFFSET: f64 = 1e-5;
        let slope = |axis: DVec3| {
            let [above, below] = [1.0, -1.0].map(|sign| self.0.tensor(at + axis * (sign * OFFSET)));
            (above - below) * (0.5 / OFFSET)
        };
        (self.0.tensor(at), DVec3::AXES.map(slope))
    }
}

/// The fish-eye with its exact derivatives.
struct Eye;

impl Medium for Eye {
    fn tensor(&self, at: DVec3) -> (DMat3, [DMat3; 3]) {
        let q = 0.5 * (1.0 + at.length_squared());
        let slope = |x: f64| DMat3::IDENTITY * (2.0 * q * x);
        (DMat3::IDENTITY * (q * q), at.to_array().map(slope))
    }
}

/// A medium that ends at x = 2.
struct Bounded;

impl Medium for Bounded {
    fn tensor(&self, at: DVec3) -> (DMat3, [DMat3; 3]) {
        let d = if at.x < 2.0 { 1.0 } else { f64::NAN };
        (DMat3::IDENTITY * d, [DMat3::ZERO; 3])
    }
}

struct Constant(DMat3);

impl Medium for Constant {
    fn tensor(&self, _: DVec3) -> (DMat3, [DMat3; 3]) {
        (self.0, [DMat3::ZERO; 3])
    }
}

const EXACT: Accuracy = Accuracy {
    step_mm: 0.01,
    end_mm: 1e-10,
};

fn found(medium: &dyn Medium, ends: [DVec3; 2], guess: DVec3, accuracy: Accuracy) -> Connection {
    connect(medium, ends, guess, accuracy).expect("a ray")
}

fn riemann(connection: &Connection) -> f64 {
    *connection.riemann.last().expect("points")
}

/// Straight, with the length √(dᵀ G d), from a guess that is far off.
fn constant() {
    let d = DMat3::from_cols(
        dvec3(1.7, 0.3, 0.1),
        dvec3(0.3, 0.6, -0.2),
        dvec3(0.1, -0.2, 0.4),
    );
    let ends = [dvec3(1.0, -2.0, 0.5), dvec3(9.0, 4.0, -3.0)];
    let way = ends[1] - ends[0];
    let accuracy = Accuracy {
        step_mm: 0.5,
        end_mm: 1e-10,
    };
    let ray = found(&Constant(d), ends, dvec3(5.0, -3.0, 2.0), accuracy);
    assert!((ray.length_mm - way.length()).abs() < 1e-9, "{ray:?}");
    assert!(ray.direction.distance(way.normalize()) < 1e-9);
    let length = way.dot(d.inverse() * way).sqrt();
    assert!((riemann(&ray) - length).abs() < 1e-9 * length);
    let last = ray.points.len() - 1;
    for (i, point) in ray.points.iter().enumerate() {
        let on_line = ends[0].lerp(ends[1], i as f64 / last as f64);
        assert!(point.distance(on_line) < 1e-8, "{point}");
    }
}

/// Maxwell's fish-eye and the half-space: known distances between any two points.
fn round() {
    let cases = [
        [dvec3(0.1, 0.0, 0.2), dvec3(-0.4, 0.6, 0.3)],
        [dvec3(0.5, -0.3, 0.0), dvec3(0.4, 0.7, -0.6)],
        [dvec3(0.0, 0.0, 0.0), dvec3(0.3, 0.3, 0.3)],
    ];
    for ends in cases {
        let ray = found(&Eye, ends, ends[1] - ends[0], EXACT);
        let exact = FishEye.distance(ends[0], ends[1]);
        assert!(
            (riemann(&ray) - exact).abs() < 1e-7,
            "{} {exact}",
            riemann(&ray)
        );
        // All points lie on the geodesic with this direction.
        for (point, s) in ray.points.iter().zip(&ray.riemann) {
            let on = FishEye.geodesic(ends[0], ray.direction, *s);
            assert!(point.distance(on) < 1e-6, "{point} {on}");
        }
    }
    let ends = [dvec3(-1.0, 0.3, 0.5), dvec3(1.2, 0.0, 0.8)];
    // A ray that leaves horizontally falls to the border, where the metric has no end.
    let guess = dvec3(0.44, -0.06, 0.9).normalize() * 2.6;
    let ray = found(&Analytic(HalfSpace), ends, guess, EXACT);
    let exact = HalfSpace.distance(ends[0], ends[1]);
    assert!(
        (riemann(&ray) - exact).abs() < 1e-7,
        "{} {exact}",
        riemann(&ray)
    );
    // It arches over the straight line: high z is cheap.
    let top = ray.points.iter().map(|p| p.z).fold(0.0, f64::max);
    assert!(top > 1.2, "{top}");
}

/// Halved steps divide the error of the length by 2⁴.
fn order() {
    let ends = [dvec3(0.5, -0.3, 0.0), dvec3(-0.6, 0.7, -0.4)];
    let exact = FishEye.distance(ends[0], ends[1]);
    let error = |step_mm: f64| {
        let accuracy = Accuracy {
            step_mm,
            end_mm: 1e-12,
        };
        let ray = found(&Eye, ends, ends[1] - ends[0], accuracy);
        (ray.points.len() as f64, (riemann(&ray) - exact).abs())
    };
    let errors = [0.08, 0.04, 0.02].map(error);
    for pair in errors.windows(2) {
        let [(few, coarse), (many, fine)] = [pair[0], pair[1]];
        // The number of steps is rounded up.
        let slope = (coarse / fine).ln() / ((many - 1.0) / (few - 1.0)).ln();
        assert!((3.5..4.6).contains(&slope), "{slope} {errors:?}");
    }
}

/// Near the solution the miss is squared by each iteration, until the differences of rays limit it.
fn quadratic() {
    let ends = [dvec3(0.5, -0.3, 0.0), dvec3(-0.6, 0.7, -0.4)];
    let ray = found(&Eye, ends, ends[1] - ends[0], EXACT);
    let misses = &ray.misses_mm;
    assert!(misses.len() <= 9, "{misses:?}");
    let near: Vec<&[f64]> = misses
        .windows(2)
        .filter(|pair| pair[0] < 0.1 && pair[1] > 1e-9)
        .collect();
    assert!(!near.is_empty(), "{misses:?}");
    for pair in near {
        assert!(
            pair[1] < 10.0 * pair[0] * pair[0] + 1e-5 * pair[0],
            "{misses:?}"
        );
    }
}

fn refused() {
    // The point lies beyond the end of the medium: the best ray ends before it.
    let beyond = [DVec3::ZERO, DVec3::X * 3.0];
    let refusal = connect(&Bounded, beyond, DVec3::X * 1.5, EXACT);
    assert!(
        matches!(refusal, Err(NotConnected { miss_mm }) if (0.9..1.6).contains(&miss_mm)),
        "{refusal:?}"
    );
    let refusal = connect(&Bounded, beyond, DVec3::X * 3.0, EXACT);
    assert!(matches!(refusal, Err(NotConnected { miss_mm }) if miss_mm.is_infinite()));
    // A guess without a direction, and a medium without tensors.
    let ends = [DVec3::ZERO, DVec3::X];
    for (medium, guess) in [(DMat3::IDENTITY, DVec3::ZERO), (DMat3::ZERO, DVec3::X)] {
        let refusal = connect(&Constant(medium), ends, guess, EXACT);
        assert!(matches!(refusal, Err(NotConnected { miss_mm }) if miss_mm.is_infinite()));
    }
}

/// One ray from each seed to the point.
fn through(point: DVec3, interpolation: Interpolation, seeds: usize) -> Params {
    let mut params = params(interpolation);
    params.through = Some(point.to_array());
    params.curves.seeding = Seeding::Random { count: seeds };
    params
}

/// Parallel fibres: straight rays that end at the point, ranked by what they cost.
fn straight() {
    let tensors = field(cube(20, 1.0), |_| Some(prolate(1.7e-3, 3e-4, DVec3::X)));
    let point = dvec3(6.3, 2.1, -1.4);
    let seed = sphere(Role::Seed, dvec3(-6.0, 0.0, 0.0), 2.0);
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let metric = as_they_are(&backend(2), &tensors, interpolation);
        let output = run_through(
            &metric,
            std::slice::from_ref(&seed),
            &through(point, interpolation, 20),
        );
        assert_eq!((output.seeds, output.directions), (20, 1));
        let kept = &output.rays.kept;
        assert_eq!(kept.len(), 20);
        for line in 0..kept.len() {
            let points = kept.streamline(line);
            let [first, last] =
                [points[0], points[points.len() - 1]].map(|p| DVec3::from_array(p.map(f64::from)));
            assert!(last.distance(point) < 2e-3, "{last}");
            assert!((f64::from(kept.length_mm(line)) - first.distance(last)).abs() < 1e-2);
            // D is scaled to a mean diffusivity of 1; the measure is Euclidean over Riemannian length.
            let way = point - first;
            let scale = (1.7e-3 + 2.0 * 3e-4) / 3.0;
            let riemann = (way.x * way.x / (1.7e-3 / scale)
                + (way.y * way.y + way.z * way.z) / (3e-4 / scale))
                .sqrt();
            let measure = f64::from(kept.per_streamline["cm"][line]);
            assert!(
                (measure / (way.length() / riemann) - 1.0).abs() < 2e-3,
                "{measure}"
            );
        }
        assert_eq!(output.rays.stops[StopReason::ReachedTarget as usize], 20);
    }
}

fn run_through(
    metric: &arcuate::solvers::geodesic::RayMetric,
    regions: &[arcuate::data::Region],
    params: &Params,
) -> arcuate::solvers::geodesic::Output {
    let output = try_run(metric, regions, params).expect("rays");
    let count: u64 = output.rays.seed_outcomes.iter().sum();
    assert_eq!(count, output.seeds);
    output
}

/// A bent flat space, sampled: the rays are the images of straight lines.
fn bent() {
    let space = PulledBack {
        a: 2.0,
        b: 1.0,
        k: 0.25,
    };
    let grid = cube(41, 0.5);
    let tensors = sampled(grid, &space);
    let metric = as_they_are(&backend(2), &tensors, Interpolation::CubicBSpline);
    let point = dvec3(5.0, 3.0, -2.0);
    let seed = sphere(Role::Seed, dvec3(-5.0, -3.0, 1.0), 1.0);
    let params = through(point, Interpolation::CubicBSpline, 12);
    let output = run_through(&metric, &[seed], &params);
    let kept = &output.rays.kept;
    assert_eq!(kept.len(), 12, "{:?}", output.rays.seed_outcomes);
    let mean = metric.mean_diffusivity;
    for line in 0..kept.len() {
        let points = kept.streamline(line);
        let at = |i: usize| DVec3::from_array(points[i].map(f64::from));
        let first = at(0);
        let last = at(points.len() - 1);
        assert!(last.distance(point) < 2e-3, "{last}");
        // The Riemannian length is the distance of the images, in units of the mean diffusivity.
        let measure = f64::from(kept.per_streamline["cm"][line]);
        let riemann = f64::from(kept.length_mm(line)) / measure;
        let exact = space.distance(first, last) * mean.sqrt();
        assert!((riemann / exact - 1.0).abs() < 3e-3, "{riemann} {exact}");
        // No other curve is shorter: the middle is where the geodesic with its direction is.
        let middle = at(points.len() / 2);
        let sum = space.distance(first, middle) + space.distance(middle, last);
        assert!(
            (sum / space.distance(first, last) - 1.0).abs() < 1e-3,
            "{sum}"
        );
    }
}

fn regions() {
    let tensors = field(cube(20, 1.0), |_| Some(prolate(1.7e-3, 3e-4, DVec3::X)));
    let metric = as_they_are(&backend(2), &tensors, Interpolation::Trilinear);
    let params = through(dvec3(6.0, 0.0, 0.0), Interpolation::Trilinear, 30);
    let seed = sphere(Role::Seed, dvec3(-6.0, 0.0, 0.0), 2.0);
    let wall = |role| cuboid(role, dvec3(0.0, 2.0, 0.0), dvec3(0.5, 2.0, 9.0));
    // Rays from the upper half pass the wall; a target changes nothing.
    let target = sphere(Role::Target, dvec3(0.0, -8.0, 0.0), 1.0);
    let passing = run_through(&metric, &[seed.clone(), wall(Role::Include)], &params);
    let avoiding = run_through(
        &metric,
        &[seed.clone(), wall(Role::Exclude), target],
        &params,
    );
    let (some, others) = (passing.rays.kept.len(), avoiding.rays.kept.len());
    assert_eq!(some + others, 30);
    assert!(some > 5 && others > 5, "{some} {others}");
    let outcome = |o: SeedOutcome| avoiding.rays.seed_outcomes[o as usize];
    assert_eq!(outcome(SeedOutcome::TouchedExclude), some as u64);
    // A mask that rays would have to leave: none arrives, which is refused.
    let mask = sphere(Role::Mask, dvec3(-6.0, 0.0, 0.0), 4.0);
    let refusal = try_run(&metric, &[seed, mask], &params).expect_err("no ray");
    assert!(
        refusal.to_string().contains("no ray from 30 seeds"),
        "{refusal}"
    );
}

fn outside() {
    let tensors = field(cube(12, 1.0), |x| {
        (x.x < 3.0).then(|| prolate(1.7e-3, 3e-4, DVec3::X))
    });
    let metric = as_they_are(&backend(2), &tensors, Interpolation::Trilinear);
    let seed = sphere(Role::Seed, DVec3::ZERO, 2.0);
    for point in [dvec3(4.6, 0.0, 0.0), dvec3(400.0, 0.0, 0.0)] {
        let params = through(point, Interpolation::Trilinear, 5);
        let refusal = try_run(&metric, std::slice::from_ref(&seed), &params).expect_err("no point");
        assert!(
            refusal.to_string().contains("outside the fitted voxels"),
            "{refusal}"
        );
    }
}
