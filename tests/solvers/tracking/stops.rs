//! The reasons why streamlines stop, and the counts.

use crate::support::fields::{
    Helix, backend, cube, cuboid, fibre, field, max_distance, odd_grid, one_seed, params, points,
    prolate, run, sphere, stops,
};
use crate::support::{Random, test, thread_time};
use arcuate::compute::Control;
use arcuate::data::{Role, TensorField};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{
    Integrator, Interpolation, Output, Params, SeedOutcome, Seeding, StopReason,
};
use arcuate::solvers::tracking::{track, track_within};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        test("tracking::leaves the mask", leaves_mask),
        test("tracking::stops at low FA", low_fa),
        test("tracking::stops at a turn", turn),
        test("tracking::length and step limits", limits),
        test("tracking::terminate and mask regions", walls),
        test("tracking::one way is half of both ways", halves),
        test("tracking::same bytes on any number of threads", threads),
        test("tracking::grids one voxel thick", thin),
        test("tracking::cancel", cancel),
        test("tracking::stops where memory ends", memory),
    ]
}

fn count(output: &Output, reason: StopReason) -> u64 {
    output.stops[reason as usize]
}

/// With as much memory as the result takes the run succeeds, with a little less it ends with a sentence; many seeds are
/// refused by a sample, before most of the work.
fn memory() {
    let mut random = Random::fresh("memory");
    let e = random.direction();
    let ball = field(cube(31, 1.0), |x| (x.length() < 12.0).then(|| fibre(e)));
    let with = |count, memory| {
        let params = Params {
            seeding: Seeding::Random { count },
            ..params()
        };
        let control = Control::new();
        let outcome = track_within(&ball, &[], &params, memory, &backend(2), &control);
        (outcome, control.progress().done)
    };
    let all = with(2_000, None).0.unwrap();
    // 52 bytes per point and 150 per streamline: see `solvers::curves::memory_budget`.
    let bytes = all.kept.points.len() as u64 * 52 + all.kept.len() as u64 * 150;
    let enough = with(2_000, Some(bytes)).0.unwrap();
    assert_eq!(enough.kept.points, all.kept.points);
    let Err(Error::Input(sentence)) = with(2_000, Some(bytes - 1)).0 else {
        panic!("went on without memory");
    };
    assert!(
        sentence.contains("of 2\u{202F}000 seeds fill"),
        "{sentence}"
    );
    let (outcome, done) = with(400_000, Some(bytes));
    let Err(Error::Input(sentence)) = outcome else {
        panic!("started without memory");
    };
    assert!(
        sentence.contains("400\u{202F}000 seeds would take"),
        "{sentence}"
    );
    assert_eq!(done, 0);
}

fn leaves_mask() {
    let mut random = Random::fresh("mask");
    let e = random.direction();
    let ball = field(cube(31, 1.0), |x| (x.length() < 12.0).then(|| fibre(e)));
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let params = Params {
            interpolation,
            ..params()
        };
        let output = run(&ball, &[], &params);
        let started = 50 - output.seed_outcomes[SeedOutcome::NoStart as usize];
        assert_eq!(count(&output, StopReason::LeftMask), 2 * started);
        for i in 0..output.kept.len() {
            let line = points(&output, i);
            for end in [line[0], line[line.len() - 1]] {
                // Within a step and a voxel's diagonal of the ball's surface, and beyond it by at most half of that
                // diagonal.
                let r = end.length();
                assert!(r > 12.0 - 0.5 - 1.8 && r < 12.0 + 0.9, "{r}");
            }
        }
    }
}

fn low_fa() {
    // FA falls with |z| and is known in closed form.
    let anisotropy = |x: DVec3| prolate(1e-3 + 1e-4 * (10.0 - x.z.abs()), 1e-3, DVec3::Z);
    let fa = |d: DMat3| {
        let l = DVec3::new(d.x_axis.x, d.y_axis.y, d.z_axis.z);
        let deviator = l - l.element_sum() / 3.0;
        (1.5 * deviator.length_squared() / l.length_squared()).sqrt()
    };
    let fading = field(cube(21, 1.0), |x| Some(anisotropy(x)));
    let limit = fa(anisotropy(DVec3::Z * 6.25));
    let (region, params) = one_seed(
        DVec3::new(0.3, 0.2, 0.0),
        &Params {
            min_fa: Some(limit),
            ..params()
        },
    );
    let output = run(&fading, &[region], &params);
    assert_eq!(stops(&output, 0), [StopReason::LowFa; 2]);
    // Points at multiples of half a mm: the last one that passes is at 6.
    let line = points(&output, 0);
    assert!((line[0].z + 6.0).abs() < 1e-4 && (line[line.len() - 1].z - 6.0).abs() < 1e-4);
    assert_eq!(count(&output, StopReason::LowFa), 2);
}

fn turn() {
    // A bend of 50° between the layers z = 0 and z = 1.
    let bend = 50f64.to_radians();
    let bent = field(cube(21, 1.0), |x| {
        Some(fibre(if x.z < 0.5 {
            DVec3::Z
        } else {
            DVec3::new(bend.sin(), 0.0, bend.cos())
        }))
    });
    let at = DVec3::new(0.0, 0.0, -5.0);
    let with = |degrees: Option<f64>| {
        let max_angle_rad = degrees.map(f64::to_radians);
        // A step of 2 mm turns at once.
        let base = Params {
            integrator: Integrator::Euler,
            step_mm: 2.0,
            max_angle_rad,
            ..params()
        };
        let (region, params) = one_seed(at, &base);
        run(&bent, &[region], &params)
    };
    let stopped = with(Some(45.0));
    assert_eq!(
        stops(&stopped, 0),
        [StopReason::LeftVolume, StopReason::Angle]
    );
    // It ends where it would have to turn.
    let line = points(&stopped, 0);
    assert!((line[line.len() - 1].z - 1.0).abs() < 1e-4);
    for passes in [Some(55.0), None] {
        assert_eq!(stops(&with(passes), 0), [StopReason::LeftVolume; 2]);
    }
}

fn limits() {
    let mut random = Random::fresh("limits");
    let e = random.direction();
    let constant = field(cube(61, 1.0), |_| Some(fibre(e)));
    let limited = Params {
        max_length_mm: Some(20.0),
        ..params()
    };
    let (region, limited) = one_seed(DVec3::ZERO, &limited);
    let seed = [region];
    // Both halves share the length equally.
    let output = run(&constant, &seed, &limited);
    assert_eq!(stops(&output, 0), [StopReason::MaxLength; 2]);
    assert!((output.kept.length_mm(0) - 20.0).abs() < 1e-3);
    let line = points(&output, 0);
    assert!(line[line.len() / 2].length() < 1e-4);
    // One direction gets all of it.
    let one_way = Params {
        both_ways: false,
        ..limited.clone()
    };
    let output = run(&constant, &seed, &one_way);
    assert_eq!(stops(&output, 0), [StopReason::Seed, StopReason::MaxLength]);
    assert!((output.kept.length_mm(0) - 20.0).abs() < 1e-3);
    // A half that ends early leaves its share to the other.
    let up = if e.z < 0.0 { -e } else { e };
    let output = run(
        &constant,
        &[seed[0].clone(), sphere(Role::Terminate, up * 9.0, 5.0)],
        &limited,
    );
    assert_eq!(
        stops(&output, 0),
        [StopReason::MaxLength, StopReason::Terminated]
    );
    // Whole steps: the cut one is 4 mm long to within rounding, so 16 mm remain.
    assert!((output.kept.length_mm(0) - 20.0).abs() < 0.5 + 1e-3);
    assert!((points(&output, 0).last().unwrap().distance(up * 4.0)) < 1e-4);
    // Steps per half.
    let steps = Params {
        max_steps: 7,
        max_length_mm: None,
        ..limited.clone()
    };
    let output = run(&constant, &seed, &steps);
    assert_eq!(stops(&output, 0), [StopReason::MaxSteps; 2]);
    assert_eq!(output.kept.points.len(), 15);
    assert_eq!(output.steps, 14);
    // Too short: one half takes all its steps, the other ends after 4 mm.
    let short = Params {
        min_length_mm: 20.5,
        max_length_mm: None,
        max_steps: 21,
        ..limited
    };
    let wall = sphere(Role::Terminate, up * 9.0, 5.0);
    let output = run(&constant, &[seed[0].clone(), wall], &short);
    assert_eq!(output.seed_outcomes[SeedOutcome::TooShort as usize], 1);
    assert_eq!(count(&output, StopReason::MaxSteps), 1);
    assert_eq!(count(&output, StopReason::Terminated), 1);
}

fn walls() {
    let mut random = Random::fresh("walls");
    let e = random.direction();
    let up = if e.z < 0.0 { -e } else { e };
    let constant = field(cube(61, 1.0), |_| Some(fibre(e)));
    let (seed, params) = one_seed(DVec3::ZERO, &params());
    let stay = sphere(Role::Mask, DVec3::ZERO, 10.2);
    // The union of mask regions counts.
    let further = sphere(Role::Mask, -up * 12.0, 6.2);
    let output = run(&constant, &[seed.clone(), stay, further], &params);
    assert_eq!(stops(&output, 0), [StopReason::LeftMask; 2]);
    let line = points(&output, 0);
    assert!(line[0].distance(-up * 18.0) < 1e-3 && line.last().unwrap().distance(up * 10.0) < 1e-3);
    let end = sphere(Role::Terminate, up * 12.0, 3.3);
    let output = run(&constant, &[seed.clone(), end], &params);
    assert_eq!(
        stops(&output, 0),
        [StopReason::LeftVolume, StopReason::Terminated]
    );
    assert!(points(&output, 0).last().unwrap().distance(up * 8.7) < 1e-4);
    // A seed inside a terminate region does not move.
    let output = run(
        &constant,
        &[seed, sphere(Role::Terminate, DVec3::ZERO, 1.0)],
        &params,
    );
    assert_eq!(
        (
            output.seed_outcomes[SeedOutcome::TooShort as usize],
            count(&output, StopReason::Terminated)
        ),
        (1, 2)
    );
}

fn messy(random: &mut Random) -> TensorField {
    let helix = Helix::random(random);
    let noise: Vec<DVec3> = (0..2000).map(|_| random.direction() * 0.15).collect();
    let grid = cube(31, 1.5);
    field(grid, |x| {
        let i = ((x.x * 31.0 + x.y * 7.0 + x.z).abs() * 10.0) as usize % noise.len();
        let e = (helix.direction(x) + noise[i]).normalize();
        (x.length() < 20.0).then(|| prolate(1.5e-3, 0.4e-3 + 0.03e-3 * x.length(), e))
    })
}

/// Each half is followed independently.
fn halves() {
    let mut random = Random::fresh("halves");
    let messy = messy(&mut random);
    let both = Params {
        min_fa: Some(0.2),
        max_angle_rad: Some(0.7),
        ..params()
    };
    let one = Params {
        both_ways: false,
        ..both.clone()
    };
    let (both, one) = (run(&messy, &[], &both), run(&messy, &[], &one));
    let seeds = &both.kept.per_streamline["seed"];
    let mut compared = 0;
    for i in 0..one.kept.len() {
        let forward = points(&one, i);
        let Some(j) = seeds
            .iter()
            .position(|s| *s == one.kept.per_streamline["seed"][i])
        else {
            panic!("a streamline of two halves is at least as long as one");
        };
        let whole = points(&both, j);
        assert_eq!(
            max_distance(&whole[whole.len() - forward.len()..], &forward),
            0.0
        );
        assert_eq!([StopReason::Seed, stops(&both, j)[1]], stops(&one, i));
        // The streamline is smooth through the seed.
        let at = whole.len() - forward.len();
        if at > 0 && forward.len() > 1 {
            compared += 1;
            assert!((whole[at] - whole[at - 1]).dot(whole[at + 1] - whole[at]) > 0.0);
        }
    }
    assert!(compared > 20);
}

fn threads() {
    let mut random = Random::fresh("threads");
    let messy = messy(&mut random);
    let seed = sphere(Role::Seed, random.direction() * 3.0, 8.0);
    let alone = Params {
        seeding: Seeding::Random { count: 50 },
        min_fa: Some(0.15),
        max_angle_rad: Some(0.8),
        max_length_mm: Some(60.0),
        ..params()
    };
    // One target lies where streamlines certainly pass.
    let found = track(
        &messy,
        std::slice::from_ref(&seed),
        &alone,
        &backend(1),
        &Control::new(),
    );
    let found = found.unwrap().kept;
    let longest =
        (0..found.len()).max_by(|&a, &b| found.length_mm(a).total_cmp(&found.length_mm(b)));
    let end = found.streamline(longest.unwrap())[0].map(f64::from);
    let regions = [
        seed,
        sphere(Role::Target, DVec3::from_array(end), 5.0),
        sphere(Role::Target, random.direction() * 12.0, 5.0),
        cuboid(Role::Exclude, random.direction() * 14.0, DVec3::splat(2.0)),
    ];
    let mut reached = 0;
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let params = Params {
            interpolation,
            seeding: Seeding::Random { count: 3000 },
            min_fa: Some(0.15),
            max_angle_rad: Some(0.8),
            max_length_mm: Some(60.0),
            ..params()
        };
        let [one, four] =
            [1, 4].map(|n| track(&messy, &regions, &params, &backend(n), &Control::new()).unwrap());
        reached += one.kept.len();
        assert!(!one.missed.is_empty());
        for (a, b) in [(&one.kept, &four.kept), (&one.missed, &four.missed)] {
            assert_eq!(
                bytemuck::cast_slice::<_, u8>(&a.points),
                bytemuck::cast_slice::<_, u8>(&b.points)
            );
            assert_eq!(a.offsets, b.offsets);
            assert_eq!(a.per_streamline, b.per_streamline);
        }
        assert_eq!(
            (one.seed_outcomes, one.stops, one.steps),
            (four.seed_outcomes, four.stops, four.steps)
        );
        assert_eq!(one.per_target, four.per_target);
    }
    assert!(reached > 0);
}

fn thin() {
    let mut random = Random::fresh("thin");
    for axis in 0..3 {
        let mut grid = odd_grid(&mut random);
        grid.shape[axis] = 1;
        // Along another axis of the grid, which stays inside.
        let e = grid
            .world_from_voxel
            .matrix3
            .col((axis + 1) % 3)
            .normalize();
        let slice = field(grid, |_| Some(fibre(e)));
        for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
            let output = run(
                &slice,
                &[],
                &Params {
                    interpolation,
                    ..params()
                },
            );
            assert_eq!(output.seed_outcomes[SeedOutcome::Kept as usize], 50);
            assert_eq!(count(&output, StopReason::LeftVolume), 100);
        }
    }
}

fn cancel() {
    let ring = field(cube(41, 1.0), |x| {
        let around = DVec3::new(-x.y, x.x, 0.0);
        (around.length() > 0.0).then(|| fibre(around.normalize()))
    });
    // Endless circles, 16 million times.
    let params = Params {
        seeding: Seeding::Random { count: 1 << 24 },
        ..params()
    };
    let control = Control::new();
    control.cancel();
    let refused = track(&ring, &[], &params, &backend(2), &control);
    assert!(matches!(refused, Err(Error::Cancelled)));
    let control = Control::new();
    let started = Instant::now();
    // CPU time of the only worker, which other programs do not change.
    let worker = std::thread::Builder::new()
        .spawn({
            let (control, backend) = (control.clone(), backend(1));
            move || {
                backend.clone().install(|| {
                    let before = thread_time();
                    let tracked = track(&ring, &[], &params, &backend, &control).map(|_| ());
                    (tracked, thread_time() - before)
                })
            }
        })
        .expect("a thread");
    std::thread::sleep(Duration::from_millis(100));
    control.cancel();
    let most = started.elapsed();
    let (tracked, worked) = worker.join().unwrap();
    assert_eq!(tracked, Err(Error::Cancelled));
    // Before the cancellation the worker cannot have worked longer than the elapsed time; it usually works 20 ms more.
    let after = worked.saturating_sub(most);
    assert!(after < Duration::from_secs(1), "{after:?}");
}
