//! Fates, ends, joins, ranking.

use super::{as_they_are, last_stop, metric, params, ray, run, run_on, sampled, towards, try_run};
use crate::support::fields::{backend, cube, cuboid, fibre, field, sphere};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Grid, Role, Tractogram};
use arcuate::phantom::fields::{FishEye, PulledBack};
use arcuate::solvers::curves::{Integrator, Interpolation, Seeding, StopReason};
use arcuate::solvers::geodesic::{
    Cut, Directions, Form, Precision, RayMetric, Sharpening, rank, trace,
};
use arcuate::solvers::tensor_fit::eigen_symmetric;
use glam::{DMat3, DVec3, Vec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("geodesic::same bytes on any number of threads", threads),
        test(
            "geodesic::kept points are every n-th step, and the last",
            keeping,
        ),
        test(
            "geodesic::targets cut, terminate ends, exclude drops",
            regions,
        ),
        test(
            "geodesic::both ways is one curve through the seed",
            both_ways,
        ),
        test("geodesic::the loop guard stops rays that circle", loops),
        test("geodesic::stops for length, angle, FA and mask", stops),
        test("geodesic::sharpening keeps determinant or mean", sharpening),
        test("geodesic::half precision is 11 bits", half),
        test("geodesic::ranking keeps the strongest", ranking),
        test("geodesic::nonsense is refused in a sentence", nonsense),
        test("geodesic::the papers' form follows the same curves", paper),
        test("geodesic::limits below one step", no_step),
        test(
            "geodesic::volumes one voxel thick end at their faces",
            || {
                thin(&backend(2));
            },
        ),
        cuda_test("parity::geodesic thin volumes end at their faces", |cuda| {
            thin(&cuda);
        }),
        test("geodesic::FA does not fall beside the mask", || {
            fa_at_mask_edge(&backend(2));
        }),
        cuda_test(
            "parity::geodesic FA does not fall beside the mask",
            |cuda| {
                fa_at_mask_edge(&cuda);
            },
        ),
        test("geodesic::the papers' rays end before they leap", || {
            leaps(&backend(2));
        }),
        cuda_test(
            "parity::geodesic the papers' rays end before they leap",
            |cuda| leaps(&cuda),
        ),
        test("geodesic::no metric, no ray", || indefinite(&backend(2))),
        cuda_test("parity::geodesic no metric, no ray", |cuda| {
            indefinite(&cuda);
        }),
    ]
}

const LINEAR: Interpolation = Interpolation::Trilinear;

fn bent() -> PulledBack {
    PulledBack {
        a: 2.0,
        b: 3.0,
        k: 0.2,
    }
}

fn threads() {
    let mut random = Random::fresh("threads");
    let metric = metric(&sampled(cube(40, 1.0), &bent()), LINEAR, Precision::Half);
    let mut params = params(LINEAR);
    params.curves.seeding = Seeding::Random { count: 37 };
    params.directions = Directions::Sphere { count: 23 };
    let regions = [
        sphere(Role::Seed, DVec3::ZERO, 5.0),
        sphere(Role::Target, random.direction() * 10.0, 4.0),
    ];
    let on_threads = |threads| {
        let output = trace(
            &metric,
            &regions,
            &params,
            &backend(threads),
            &Control::new(),
        );
        output.unwrap().rays
    };
    let (one, three) = (on_threads(1), on_threads(3));
    assert!(!one.kept.is_empty());
    assert_eq!(one.kept.points, three.kept.points);
    assert_eq!(one.kept.offsets, three.kept.offsets);
    assert_eq!(one.kept.per_point, three.kept.per_point);
    assert_eq!(one.kept.per_streamline, three.kept.per_streamline);
    assert_eq!(one.missed.points, three.missed.points);
}

fn keeping() {
    let metric = metric(&sampled(cube(40, 1.0), &bent()), LINEAR, Precision::Single);
    for length in [10.0, 10.5] {
        let mut params = towards(&params(LINEAR), DVec3::new(1.0, 2.0, 0.5));
        params.curves.max_length_mm = Some(length);
        let (all, whole) = ray(&metric, DVec3::ZERO, &params);
        params.keep_every = 4;
        let (some, thinned) = ray(&metric, DVec3::ZERO, &params);
        let mut expected: Vec<DVec3> = all.iter().step_by(4).copied().collect();
        if !(all.len() - 1).is_multiple_of(4) {
            expected.push(all[all.len() - 1]);
        }
        assert_eq!(some, expected);
        let cm = |o: &super::Output| o.rays.kept.per_streamline["cm"][0];
        assert_eq!(cm(&whole), cm(&thinned));
        let along = &thinned.rays.kept.per_point["cm"];
        assert_eq!(along[along.len() - 1], cm(&thinned));
    }
}

fn regions() {
    let along_x = field(cube(60, 1.0), |_| Some(fibre(DVec3::X)));
    let metric = metric(&along_x, LINEAR, Precision::Single);
    let params = params(LINEAR);
    let seed = sphere(Role::Seed, DVec3::ZERO, 1e-3);
    let target = sphere(Role::Target, DVec3::X * 12.0, 3.0);
    let output = run(&metric, &[seed.clone(), target.clone()], &params);
    let line = output.rays.kept.streamline(0);
    assert!(
        (line[line.len() - 1][0] - 9.0).abs() < 1e-4,
        "cut at the ball"
    );
    assert!((output.rays.kept.length_mm(0) - 9.0).abs() < 1e-4);
    assert_eq!(output.rays.per_target, [1]);
    let wall = cuboid(Role::Terminate, DVec3::X * 5.0, DVec3::splat(1.0));
    let output = run(
        &metric,
        &[seed.clone(), target.clone(), wall.clone()],
        &params,
    );
    assert_eq!(output.rays.seed_outcomes[1], 1, "stopped before the target");
    assert_eq!(output.rays.stops[StopReason::Terminated as usize], 1);
    let behind = cuboid(Role::Exclude, DVec3::X * 15.0, DVec3::splat(1.0));
    let output = run(
        &metric,
        &[seed.clone(), target.clone(), behind.clone()],
        &params,
    );
    assert_eq!(
        output.rays.seed_outcomes[0], 1,
        "points behind the cut do not count"
    );
    let before = cuboid(Role::Exclude, DVec3::X * 5.0, DVec3::splat(1.0));
    let output = run(&metric, &[seed.clone(), target.clone(), before], &params);
    assert_eq!(output.rays.seed_outcomes[3], 1);
    let adjacent = cuboid(Role::Include, DVec3::Y * 9.0, DVec3::splat(1.0));
    let output = run(&metric, &[seed, target, adjacent], &params);
    assert_eq!(output.rays.seed_outcomes[2], 1);
}

fn both_ways() {
    let metric = metric(&sampled(cube(40, 1.0), &bent()), LINEAR, Precision::Single);
    let mut params = towards(&params(LINEAR), DVec3::new(1.0, 0.3, 0.4));
    params.curves.max_length_mm = Some(8.0);
    let (ahead, _) = ray(&metric, DVec3::ZERO, &params);
    let (behind, _) = ray(
        &metric,
        DVec3::ZERO,
        &towards(&params, -DVec3::new(1.0, 0.3, 0.4)),
    );
    params.curves.both_ways = true;
    let (both, output) = ray(&metric, DVec3::ZERO, &params);
    let expected: Vec<DVec3> = behind.iter().rev().chain(&ahead[1..]).copied().collect();
    assert_eq!(both, expected);
    assert!((output.rays.kept.length_mm(0) - 16.0).abs() < 0.01);
}

fn loops() {
    const SPLINE: Interpolation = Interpolation::CubicBSpline;
    let through = |field: &arcuate::data::TensorField, seed: DVec3, guard: bool| {
        let metric = metric(field, SPLINE, Precision::Single);
        let mut params = towards(&params(SPLINE), DVec3::Y);
        params.curves.max_length_mm = Some(200.0);
        params.loop_guard = guard;
        let (_, output) = ray(&metric, seed, &params);
        (last_stop(&output), output.rays.kept.length_mm(0))
    };
    // The fish-eye's circle of 2π · 4.775 = 30 mm: a ray that returns after the guard's 30 mm is stopped.
    let round = field(cube(50, 0.5), |x| {
        use arcuate::phantom::fields::Field as _;
        Some(FishEye.tensor(x / 4.775))
    });
    let seed = DVec3::X * 4.775;
    assert_eq!(through(&round, seed, false).0, StopReason::MaxLength);
    let (stop, length_mm) = through(&round, seed, true);
    assert_eq!(stop, StopReason::Loop);
    assert!((length_mm - 30.0).abs() < 0.5);
    let straight = field(cube(90, 1.0), |_| Some(fibre(DVec3::Y)));
    let (stop, _) = through(&straight, DVec3::Y * -44.0, true);
    assert_eq!(stop, StopReason::LeftVolume);
}

fn stops() {
    let grid = || cube(60, 1.0);
    let along_x = field(grid(), |x| (x.x < 10.2).then_some(fibre(DVec3::X)));
    let through = |field: &arcuate::data::TensorField, change: &dyn Fn(&mut super::Params)| {
        let metric = metric(field, LINEAR, Precision::Single);
        let mut params = params(LINEAR);
        change(&mut params);
        let seed = [sphere(Role::Seed, DVec3::new(0.25, 0.0, 0.0), 1e-3)];
        let output = run(&metric, &seed, &params);
        let end = output.rays.kept.streamline(0).last().unwrap()[0];
        let stop = output.rays.kept.per_streamline["stop_end"][0];
        (end, stop)
    };
    let is = |found: (f32, f32), reason: StopReason, low: f32, high: f32| {
        assert_eq!(found.1, f32::from(reason as u8), "{reason:?}");
        assert!((low..=high).contains(&found.0), "{reason:?} {}", found.0);
    };
    // Voxels up to 9.5 are fitted (centres at halves): the border is halfway to the next.
    is(through(&along_x, &|_| ()), StopReason::LeftMask, 9.4, 10.0);
    let far = |p: &mut super::Params| p.curves.max_length_mm = Some(4.0);
    is(through(&along_x, &far), StopReason::MaxLength, 4.249, 4.251);
    let few = |p: &mut super::Params| p.curves.max_steps = 3;
    is(through(&along_x, &few), StopReason::MaxSteps, 1.749, 1.751);
    let fading = field(grid(), |x| {
        let k = ((15.0 - x.x) / 15.0).clamp(0.0, 1.0);
        Some(fibre(DVec3::X) * k + DMat3::from_diagonal(DVec3::splat(0.7e-3)) * (1.0 - k))
    });
    let fa = |p: &mut super::Params| p.curves.min_fa = Some(0.3);
    is(through(&fading, &fa), StopReason::LowFa, 2.0, 12.0);
    let kink = field(grid(), |x| {
        let speed = if x.x < 5.0 { 1e-3 } else { 9e-3 };
        Some(DMat3::from_diagonal(DVec3::splat(speed)))
    });
    let steep = |p: &mut super::Params| {
        p.directions = Directions::Towards {
            direction: [1.0, 1.2, 0.0],
        };
        p.curves.max_angle_rad = Some(0.05);
    };
    is(through(&kink, &steep), StopReason::Angle, 3.0, 6.5);
}

fn sharpening() {
    let mut random = Random::fresh("sharpening");
    let turn = DMat3::from_quat(random.rotation());
    let diagonal = DVec3::new(1.7e-3, 0.5e-3, 0.2e-3);
    let tensor = turn * DMat3::from_diagonal(diagonal) * turn.transpose();
    let field = field(cube(3, 1.0), |_| Some(tensor));
    let mean = diagonal.element_sum() / 3.0;
    let prepared = |sharpening| {
        let control = Control::new();
        let metric = RayMetric::new(
            &field,
            sharpening,
            Precision::Single,
            LINEAR,
            &backend(1),
            &control,
        );
        let metric = metric.unwrap();
        assert_eq!(metric.repaired, 0);
        let r = metric.records[13];
        let (values, vectors) =
            eigen_symmetric([r[0], r[1], r[2], r[3], r[4], r[5]].map(f64::from));
        assert!(vectors[0].dot(turn.x_axis).abs() > 1.0 - 1e-5);
        values
    };
    for alpha in [1.0, random.uniform(0.5, 4.0), 3.0] {
        let values = prepared(Sharpening::Power { alpha });
        let product = |v: [f64; 3]| v[0] * v[1] * v[2];
        let scaled = diagonal.to_array().map(|v| v / mean);
        assert!(
            (product(values) / product(scaled) - 1.0).abs() < 1e-4,
            "volume is kept"
        );
        let ratio = (scaled[0] / scaled[2]).powf(alpha);
        assert!(
            (values[0] / values[2] / ratio - 1.0).abs() < 1e-4,
            "κ to the power α"
        );
    }
    let paper = |below_fa| prepared(Sharpening::Paper { power: 3, below_fa });
    let unchanged = paper(0.1);
    assert!((unchanged[0] * mean / diagonal.x - 1.0).abs() < 1e-5);
    let changed = paper(1.0);
    assert!(
        (changed.iter().sum::<f64>() / 3.0 - 1.0).abs() < 1e-4,
        "mean is kept"
    );
    let ratio = (diagonal.x / diagonal.z).powi(3);
    assert!((changed[0] / changed[2] / ratio - 1.0).abs() < 1e-3);
    let broken = super::field(cube(3, 1.0), |_| {
        Some(DMat3::from_diagonal(DVec3::new(1e-3, 0.5e-3, -1e-4)))
    });
    let metric = super::metric(&broken, LINEAR, Precision::Single);
    assert_eq!(metric.repaired, 27);
    assert!(metric.records.iter().all(|r| r[5] > 0.0));
}

fn half() {
    let field = sampled(cube(20, 1.0), &bent());
    let [single, half] = [Precision::Single, Precision::Half].map(|p| metric(&field, LINEAR, p));
    let mut differ = 0;
    for (a, b) in single.records.iter().zip(half.records.iter()) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= a.abs() * 2f32.powi(-11) + 1e-7, "{a} {b}");
            differ += usize::from(a != b);
        }
    }
    assert!(differ > 1000);
}

fn ranking() {
    let mut random = Random::fresh("ranking");
    let count = 40;
    let offsets: Vec<u64> = (0..=count as u64).map(|i| 2 * i).collect();
    let points: Vec<[f32; 3]> = (0..2 * count).map(|i| [i as f32, 0.0, 0.0]).collect();
    let measures: Vec<f32> = (0..count)
        .map(|_| random.uniform(0.5, 2.0) as f32)
        .collect();
    let along: Vec<f32> = (0..2 * count).map(|i| i as f32).collect();
    let lines = Tractogram::new(points, offsets)
        .with_per_streamline("cm", measures.clone())
        .with_per_point("x", along);
    let mut sorted = measures.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    for n in [0, 1, 7, count, count + 5] {
        let (kept, least) = rank(&lines, Cut::Top(n));
        assert_eq!(kept.len(), n.min(count));
        assert_eq!(least, n.min(count).checked_sub(1).map(|i| sorted[i]));
        for (line, x) in kept.streamlines().zip(kept.per_point["x"].chunks(2)) {
            assert_eq!([line[0][0], line[1][0]], x);
        }
        let old: Vec<f32> = kept.points.iter().map(|p| p[0]).collect();
        assert!(old.windows(2).all(|w| w[0] < w[1]), "the order stays");
    }
    let (share, _) = rank(&lines, Cut::TopShare(0.26));
    assert_eq!(share.len(), 11);
    let limit = sorted[12];
    let (above, least) = rank(&lines, Cut::AtLeast(limit));
    assert_eq!((above.len(), least), (13, Some(limit)));
    assert_eq!(rank(&lines, Cut::All).0.len(), count);
}

fn nonsense() {
    let metric = metric(&sampled(cube(9, 1.0), &bent()), LINEAR, Precision::Single);
    let seed = [sphere(Role::Seed, DVec3::ZERO, 2.0)];
    type Change = fn(&mut super::Params);
    let cases: [(Change, &str); 7] = [
        (|p| p.curves.step_mm = 0.0, "step"),
        (
            |p| p.directions = Directions::Sphere { count: 0 },
            "--directions",
        ),
        (
            |p| p.directions = Directions::Icosphere { level: 40 },
            "--directions",
        ),
        (
            |p| {
                p.directions = Directions::Cone {
                    count: 5,
                    half_angle_rad: f64::NAN,
                }
            },
            "--directions",
        ),
        (
            |p| {
                p.directions = Directions::Towards {
                    direction: [0.0; 3],
                }
            },
            "direction",
        ),
        (|p| p.keep_every = 0, "--keep-every"),
        (
            |p| p.curves.interpolation = Interpolation::CubicBSpline,
            "metric",
        ),
    ];
    for (change, word) in cases {
        let mut params = params(LINEAR);
        change(&mut params);
        let sentence = try_run(&metric, &seed, &params).unwrap_err().to_string();
        assert!(sentence.contains(word), "{sentence}");
        assert!(
            sentence.contains("expected") && sentence.contains(';'),
            "{sentence}"
        );
    }
    let far = [sphere(Role::Seed, DVec3::splat(500.0), 2.0)];
    assert!(try_run(&metric, &far, &params(LINEAR)).is_err());
}

fn paper() {
    let field = sampled(cube(60, 1.0), &bent());
    let metric = metric(&field, LINEAR, Precision::Single);
    let mut params = towards(&params(LINEAR), DVec3::new(1.0, 0.4, 0.3));
    params.curves.integrator = Integrator::Rk2;
    params.curves.max_length_mm = Some(20.0);
    let (ours, _) = ray(&metric, DVec3::ZERO, &params);
    params.form = Form::Christoffel;
    let ends = [0.4, 0.2, 0.0125].map(|step_mm| {
        params.curves.step_mm = step_mm;
        params.curves.max_steps = (14.0 / step_mm) as usize;
        let (theirs, _) = ray(&metric, DVec3::ZERO, &params);
        let near = |p: &DVec3| {
            let distances = ours.windows(2).map(|w| {
                let along = w[1] - w[0];
                let t = ((*p - w[0]).dot(along) / along.length_squared()).clamp(0.0, 1.0);
                p.distance(w[0] + t * along)
            });
            distances.fold(f64::INFINITY, f64::min)
        };
        let largest = theirs.iter().map(near).fold(0.0, f64::max);
        // The remaining difference at small steps: four interpolated fields are not one field and its derivatives.
        assert!(largest < 0.1, "{largest} mm at steps of {step_mm} mm");
        theirs[theirs.len() - 1]
    });
    let errors = [0, 1].map(|i: usize| ends[i].distance(ends[2]));
    let order = (errors[0] / errors[1]).log2();
    println!("papers' form: order {order:.2}");
    assert!((0.7..1.5).contains(&order), "{errors:?}");
}

/// A ray that may not take a step stays at its seed, and is counted.
fn no_step() {
    let metric = metric(&sampled(cube(20, 1.0), &bent()), LINEAR, Precision::Single);
    let mut params = params(LINEAR);
    params.curves.max_length_mm = Some(0.3);
    let output = run(&metric, &[sphere(Role::Seed, DVec3::ZERO, 2.0)], &params);
    let rays = output.seeds * output.directions;
    assert!(rays > 20);
    assert_eq!(output.rays.stops[StopReason::MaxLength as usize], rays);
    assert_eq!((output.rays.kept.len(), output.rays.steps), (0, 0));
}

fn thin(backend: &Backend) {
    for axis in 0..3 {
        let mut shape = [24; 3];
        shape[axis] = 1;
        let mut origin = DVec3::splat(-11.5);
        origin[axis] = 0.0;
        let grid = Grid::axis_aligned(shape, DVec3::ONE, origin).unwrap();
        let field = field(grid, |_| Some(fibre(DVec3::AXES[(axis + 1) % 3])));
        for interpolation in [LINEAR, Interpolation::CubicBSpline] {
            let metric = as_they_are(backend, &field, interpolation);
            let mut params = params(interpolation);
            params.directions = Directions::Sphere { count: 200 };
            params.curves.step_mm = 0.05;
            params.curves.integrator = Integrator::Rk2;
            let seed = [sphere(Role::Seed, DVec3::ZERO, 0.3)];
            let output = run_on(backend, &metric, &seed, &params);
            assert!(output.rays.kept.len() > 100);
            let out = output
                .rays
                .kept
                .points
                .iter()
                .filter(|p| p[axis].abs() > 0.5 + 1e-5);
            assert_eq!(out.count(), 0, "{interpolation:?}, axis {axis}");
        }
    }
}

/// Rays leave a mask of uniform FA because of the mask.
fn fa_at_mask_edge(backend: &Backend) {
    let mut random = Random::fresh("FA beside the mask");
    let edge = random.uniform(3.0, 5.0);
    let field = field(cube(24, 1.0), |x| (x.x < edge).then(|| fibre(DVec3::X)));
    for (interpolation, form) in [
        (LINEAR, Form::Hamiltonian),
        (LINEAR, Form::Christoffel),
        (Interpolation::CubicBSpline, Form::Hamiltonian),
    ] {
        let metric = as_they_are(backend, &field, interpolation);
        let mut params = params(interpolation);
        params.form = form;
        params.curves.step_mm = 0.1;
        // 0.799 everywhere.
        params.curves.min_fa = Some(0.75);
        let seed = [sphere(Role::Seed, DVec3::ZERO, 2.0)];
        let stops = run_on(backend, &metric, &seed, &params).rays.stops;
        let number = |reason: StopReason| stops[reason as usize];
        assert_eq!(
            number(StopReason::LowFa),
            0,
            "{interpolation:?} {form:?} {stops:?}"
        );
        assert!(number(StopReason::LeftMask) > 10, "{stops:?}");
    }
}

/// Where neighbours have nothing in common, steps of equal parameter grow without limit.
fn leaps(backend: &Backend) {
    let mut random = Random::fresh("leaps");
    for (spacing, step_mm) in [(2.0, 0.2), (2.0, 1.0)] {
        let grid = cube(40, spacing);
        let tensors: Vec<DMat3> = (0..grid.voxel_count())
            .map(|_| fibre(random.direction()) * random.uniform(0.05, 20.0))
            .collect();
        let field = field(grid.clone(), |x| {
            let [i, j, k] = grid.voxel_at(x).round().to_array().map(|v| v as usize);
            Some(tensors[i + 40 * (j + 40 * k)])
        });
        let metric = as_they_are(backend, &field, LINEAR);
        let mut params = params(LINEAR);
        params.form = Form::Christoffel;
        params.loop_guard = false;
        params.curves.seeding = Seeding::Random { count: 2000 };
        params.curves.step_mm = step_mm;
        let rays = &run_on(backend, &metric, &[], &params).rays;
        let (ends, kept) = (rays.stops[StopReason::Leap as usize], &rays.kept);
        let steps = kept.streamlines().flat_map(|s| s.windows(2));
        let longest = steps.map(|w| Vec3::from(w[0]).distance(w[1].into()));
        let longest = longest.fold(0.0, f32::max);
        println!("steps of {step_mm} mm: {ends} leaps, longest step {longest} mm");
        let limit = spacing.max(4.0 * step_mm) as f32;
        let valid = longest > 0.5 * limit && longest <= limit * 1.0001;
        assert!(ends > 100 && valid, "{ends} {longest}");
    }
}

/// A cubic B-spline falls below zero next to a steep step.
fn indefinite(backend: &Backend) {
    let field = field(cube(30, 1.0), |x| {
        Some(DMat3::from_diagonal(DVec3::splat(if x.x > 0.0 {
            1e-5
        } else {
            3.0
        })))
    });
    let metric = as_they_are(backend, &field, Interpolation::CubicBSpline);
    let mut params = params(Interpolation::CubicBSpline);
    params.curves.step_mm = 0.1;
    for integrator in [Integrator::Euler, Integrator::Rk2, Integrator::Rk4] {
        params.curves.integrator = integrator;
        let seed = [sphere(Role::Seed, DVec3::new(-5.0, 0.0, 0.0), 1.0)];
        // Checks that every measure is finite and above 0.
        let output = run_on(backend, &metric, &seed, &params);
        let ends = output.rays.stops[StopReason::Indefinite as usize];
        assert!(ends > 0, "{:?}", output.rays.stops);
    }
}
