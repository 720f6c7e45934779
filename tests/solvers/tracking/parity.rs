//! GPUs against the CPU, on the same tensors.

use crate::support::fields::{
    Helix, backend, ball, cube, cuboid, fibre, field, odd_grid, params, prolate, region, sphere,
    stops,
};
use crate::support::{Random, cuda_test};
use arcuate::compute::{Backend, Control};
use arcuate::data::{AffineSource, Grid, Region, Role, Shape, TensorField};
use arcuate::solvers::curves::{
    Deflection, Integrator, Interpolation, Output, Params, Seeding, StopReason,
};
use arcuate::solvers::tracking::{track, track_within};
use glam::swizzles::Vec3Swizzles as _;
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("parity::streamlines along helices", helices),
        cuda_test("parity::streamlines in noise, with regions", noisy),
        cuda_test("parity::deflected streamlines", deflected),
        cuda_test("parity::streamline fates", outcomes),
        cuda_test("parity::streamlines at their limits", limits),
        cuda_test("parity::streamlines in thin volumes", thin),
        cuda_test("parity::streamline refusals are sentences", refusals),
    ]
}

/// Largest distance in voxels between two curves: of each one's points from the other's polygon.
pub fn hausdorff(a: &[[f32; 3]], b: &[[f32; 3]], grid: &Grid) -> f64 {
    let voxel = |p: &[f32; 3]| grid.voxel_at(DVec3::from_array(p.map(f64::from)));
    let [a, b] = [a, b].map(|line| line.iter().map(voxel).collect::<Vec<_>>());
    let one_way = |from: &[DVec3], to: &[DVec3]| {
        let nearest = |(i, p): (usize, &DVec3)| {
            // Points of nearly the same length lie near the same index.
            let low = i.saturating_sub(3).min(to.len() - 2);
            let window = &to[low..to.len().min(i + 4).max(low + 2)];
            let distances = window.windows(2).map(|w| {
                let along = w[1] - w[0];
                let t = (*p - w[0]).dot(along) / along.length_squared().max(1e-30);
                p.distance(w[0] + t.clamp(0.0, 1.0) * along)
            });
            distances.fold(f64::INFINITY, f64::min)
        };
        from.iter().enumerate().map(nearest).fold(0.0, f64::max)
    };
    one_way(&a, &b).max(one_way(&b, &a))
}

fn seeds(output: &Output) -> Vec<u32> {
    let all = output.kept.per_streamline["seed"].iter();
    all.map(|s| *s as u32).collect()
}

/// Both backends' streamlines, matched by their seeds; prints and tests the distances.
fn compare(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    cuda: &Backend,
) -> [Output; 2] {
    let control = Control::new();
    let [cpu, gpu] =
        [&backend(8), cuda].map(|b| track(field, regions, params, b, &control).unwrap());
    assert!(gpu.kernel_s.is_some() && cpu.kernel_s.is_none());
    let total = |o: &Output| o.seed_outcomes.iter().sum::<u64>();
    assert_eq!(total(&cpu), total(&gpu));
    assert_eq!(
        cpu.seed_outcomes[5], gpu.seed_outcomes[5],
        "starts are the host's"
    );
    let steps = [&cpu, &gpu].map(|o| o.steps as f64);
    assert!((steps[0] / steps[1] - 1.0).abs() < 0.01, "{steps:?}");
    let (of_cpu, of_gpu) = (seeds(&cpu), seeds(&gpu));
    assert!(!of_cpu.is_empty());
    let mut distances = Vec::new();
    let mut alone = 0;
    for (i, seed) in of_cpu.iter().enumerate() {
        match of_gpu.binary_search(seed) {
            Ok(j) => {
                let (a, b) = (cpu.kept.streamline(i), gpu.kept.streamline(j));
                distances.push(hausdorff(a, b, &field.grid));
            }
            Err(_) => alone += 1,
        }
    }
    distances.sort_by(f64::total_cmp);
    let at = |share: f64| distances[((distances.len() - 1) as f64 * share) as usize];
    println!(
        "{:?} {:?}: {} streamlines, {alone} without a twin; Hausdorff distance median {:.2e}, 99 % \
         {:.2e}, largest {:.2e} voxels, {} beyond 0.1",
        params.integrator,
        params.interpolation,
        distances.len(),
        at(0.5),
        at(0.99),
        at(1.0),
        distances.iter().filter(|d| **d > 0.1).count(),
    );
    assert!(alone * 100 <= of_cpu.len());
    assert!(at(0.5) < 0.01 && at(0.99) < 0.1);
    [cpu, gpu]
}

/// Sums of absolute differences of counts.
fn off(a: &[u64], b: &[u64]) -> u64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum()
}

const KINDS: [(Integrator, Interpolation); 6] = [
    (Integrator::Euler, Interpolation::Trilinear),
    (Integrator::Rk2, Interpolation::Trilinear),
    (Integrator::Rk4, Interpolation::Trilinear),
    (Integrator::Euler, Interpolation::CubicBSpline),
    (Integrator::Rk2, Interpolation::CubicBSpline),
    (Integrator::Rk4, Interpolation::CubicBSpline),
];

fn helices(cuda: Backend) {
    let mut random = Random::fresh("parity helices");
    for (integrator, interpolation) in KINDS {
        let helix = Helix::random(&mut random);
        let field = field(odd_grid(&mut random), |x| Some(fibre(helix.direction(x))));
        for count in [1000, 20_000] {
            let params = Params {
                integrator,
                interpolation,
                seeding: Seeding::Random { count },
                both_ways: random.uniform(0.0, 1.0) < 0.5,
                step_mm: random.uniform(0.1, 0.6),
                ..params()
            };
            let [_, gpu] = compare(&field, &[], &params, &cuda);
            // Every half leaves the volume, whose lines never close.
            let left = gpu.stops[StopReason::LeftVolume as usize];
            let halves = if params.both_ways { 2 } else { 1 };
            assert!(left >= count as u64 * halves * 95 / 100, "{:?}", gpu.stops);
        }
    }
}

/// A helix with noise, in a mask with holes.
fn rough(random: &mut Random) -> TensorField {
    let helix = Helix::random(random);
    let grid = odd_grid(random);
    let reach = 0.8 * grid.centre().distance(grid.corners()[0]);
    let noise: Vec<DVec3> = (0..grid.voxel_count())
        .map(|_| DVec3::new(random.normal(), random.normal(), random.normal()))
        .collect();
    let shape = grid.shape;
    field(grid.clone(), move |x| {
        let v = grid.voxel_at(x).round();
        let n = noise[v.x as usize + shape[0] * (v.y as usize + shape[1] * v.z as usize)];
        let jitter = prolate(1.2e-3, 0.5e-3, n.normalize());
        (x.length() < reach && n.x > -2.2).then(|| fibre(helix.direction(x)) * 0.7 + jitter * 0.3)
    })
}

/// Regions of every shape and role, more than 32 of them.
fn obstacles(random: &mut Random, field: &TensorField) -> Vec<Region> {
    let centre = field.grid.centre();
    let mut somewhere = |far: f64| centre + random.direction() * far;
    let ball = ball(&field.grid, somewhere(6.0), 5.0);
    let mut all = vec![
        sphere(Role::Seed, centre, 5.0),
        sphere(Role::Target, somewhere(9.0), 4.0),
        cuboid(Role::Target, somewhere(8.0), DVec3::new(3.0, 4.0, 5.0)),
        region(Role::Target, Shape::Mask(ball)),
        sphere(Role::Terminate, somewhere(10.0), 3.0),
        sphere(Role::Include, centre, 7.0),
        sphere(Role::Mask, centre, 18.0),
        cuboid(Role::Mask, centre, DVec3::new(30.0, 4.0, 4.0)),
    ];
    all.extend((0..40).map(|_| sphere(Role::Exclude, somewhere(7.0), 0.3)));
    all
}

fn noisy(cuda: Backend) {
    let mut random = Random::fresh("parity noisy streamlines");
    // Counts of stops by low FA and by the angle.
    let mut stopped = [0; 2];
    for (integrator, interpolation) in KINDS {
        let field = rough(&mut random);
        let regions = obstacles(&mut random, &field);
        // Limits that noise breaks seldom, and often.
        for (count, min_fa, max_angle, min_length_mm, regions) in [
            (2000, 0.3, 0.4, 3.0, &regions[..]),
            (20_000, 0.3, 0.4, 3.0, &regions[..]),
            (10_000, 0.6, 0.4, 0.0, &[]),
            (10_000, 0.3, 0.04, 0.0, &[]),
        ] {
            let params = Params {
                integrator,
                interpolation,
                seeding: Seeding::Random { count },
                step_mm: 0.3,
                min_fa: Some(min_fa),
                max_angle_rad: Some(max_angle),
                min_length_mm,
                max_length_mm: Some(25.0),
                ..params()
            };
            let [cpu, gpu] = compare(&field, regions, &params, &cuda);
            for stop in [StopReason::LowFa, StopReason::Angle] {
                stopped[usize::from(stop == StopReason::Angle)] += gpu.stops[stop as usize];
            }
            for (a, b) in [
                (&cpu.seed_outcomes[..], &gpu.seed_outcomes[..]),
                (&cpu.stops[..], &gpu.stops[..]),
                (&cpu.per_target[..], &gpu.per_target[..]),
            ] {
                println!("{a:?} {b:?}");
                // A few streamlines pass a border on the other side.
                assert!(off(a, b) <= 10 + count as u64 / 50);
            }
        }
    }
    assert!(stopped.iter().all(|n| *n > 1000), "{stopped:?}");
}

/// The tensors of a noisy helix deflect the directions, little and much.
fn deflected(cuda: Backend) {
    let mut random = Random::fresh("parity deflected streamlines");
    let centre = DVec3::ZERO;
    let regions = [
        sphere(Role::Seed, centre, 6.0),
        sphere(Role::Exclude, DVec3::new(0.0, 9.0, 0.0), 2.0),
    ];
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let field = rough(&mut random);
        for (f, g) in [(0.0, 1.0), (0.2, 0.9), (0.5, 0.3), (1.0, 0.0)] {
            let params = Params {
                integrator: Integrator::Euler,
                interpolation,
                deflection: Some(Deflection { f, g }),
                seeding: Seeding::Random { count: 5000 },
                step_mm: 0.3,
                max_length_mm: Some(25.0),
                ..params()
            };
            let [cpu, gpu] = compare(&field, &regions, &params, &cuda);
            println!("f {f}, g {g}: {:?} {:?}", cpu.stops, gpu.stops);
            assert!(off(&cpu.stops, &gpu.stops) <= 10 + 5000 / 50);
        }
    }
}

/// Straight streamlines through boxes: every outcome and every stop is the same to the last one.
fn outcomes(cuda: Backend) {
    let field = field(cube(60, 1.0), |x| (x.x < 20.2).then_some(fibre(DVec3::X)));
    let wall =
        |role, x: f64, y: f64| cuboid(role, DVec3::new(x, y, 0.0), DVec3::new(0.6, 0.9, 9.0));
    let through = DVec3::new(10.0, 1.0, 0.0);
    let regions = [
        cuboid(Role::Seed, DVec3::ZERO, DVec3::splat(8.0)),
        wall(Role::Target, 15.0, 0.0),
        wall(Role::Target, 15.3, 2.0),
        wall(Role::Terminate, 12.0, 4.0),
        wall(Role::Exclude, 11.0, 1.3),
        cuboid(Role::Include, through, DVec3::new(0.6, 3.4, 9.0)),
    ];
    for both_ways in [false, true] {
        let params = Params {
            seeding: Seeding::Random { count: 30_000 },
            both_ways,
            ..params()
        };
        let [cpu, gpu] = compare(&field, &regions, &params, &cuda);
        // f32 and f64 occasionally disagree on a line that touches an edge.
        assert!(off(&cpu.seed_outcomes, &gpu.seed_outcomes) <= 4);
        assert!(off(&cpu.stops, &gpu.stops) <= 8);
        assert!(off(&cpu.per_target, &gpu.per_target) <= 8);
        assert!(gpu.per_target.iter().all(|n| *n > 0));
        assert_eq!(cpu.missed.len(), gpu.missed.len());
        let repeated = track(&field, &regions, &params, &cuda, &Control::new()).unwrap();
        assert_eq!(
            repeated.kept.points, gpu.kept.points,
            "the same bytes once more"
        );
    }
}

/// Lengths and steps count alike; a half that takes more steps than a launch continues in the next.
fn limits(cuda: Backend) {
    let field = field(cube(60, 1.0), |_| Some(fibre(DVec3::X)));
    let seed = [cuboid(Role::Seed, DVec3::ZERO, DVec3::new(25.0, 5.0, 5.0))];
    let base = Params {
        integrator: Integrator::Rk2,
        seeding: Seeding::Random { count: 3000 },
        ..params()
    };
    let cases = [
        ("length", 0.5, Some(33.0), 0.0, 1000),
        ("too short", 0.5, Some(33.0), 32.9, 1000),
        ("steps", 0.5, None, 0.0, 20),
        ("no step", 0.5, Some(0.3), 0.0, 1000),
        ("many launches", 0.004, None, 0.0, 100_000),
    ];
    for (what, step_mm, max_length_mm, min_length_mm, max_steps) in cases {
        let params = Params {
            step_mm,
            max_length_mm,
            min_length_mm,
            max_steps,
            ..base.clone()
        };
        let control = Control::new();
        let [cpu, gpu] =
            [&backend(8), &cuda].map(|b| track(&field, &seed, &params, b, &control).unwrap());
        println!(
            "{what}: {:?} {:?}, {:?}",
            cpu.seed_outcomes, cpu.stops, gpu.stops
        );
        // Rounding decides which step is the first outside.
        assert!(
            off(&cpu.seed_outcomes, &gpu.seed_outcomes) <= 4 && off(&cpu.stops, &gpu.stops) <= 8
        );
        assert!(cpu.steps.abs_diff(gpu.steps) <= 3000 + cpu.steps / 1000);
        for i in 0..gpu.kept.len() {
            assert!(gpu.kept.length_mm(i) >= min_length_mm as f32);
            assert!(!stops(&gpu, i).contains(&StopReason::Seed));
        }
    }
}

/// Grids one voxel thick along any axis.
fn thin(cuda: Backend) {
    let mut random = Random::fresh("parity thin");
    for axis in 0..3 {
        let mut shape = [30; 3];
        shape[axis] = 1;
        let origin = DAffine3::from_translation(DVec3::splat(-15.0));
        let grid = Grid::new(shape, origin, AffineSource::Computed).unwrap();
        let across = DVec3::AXES[axis];
        let turn = random.uniform(0.0, 3.0);
        let field = field(grid, |x| {
            let bend = turn + 0.05 * x.dot(DVec3::ONE - across);
            let [u, v] = [across.zxy(), across.yzx()];
            Some(fibre(u * bend.cos() + v * bend.sin()))
        });
        for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
            let params = Params {
                interpolation,
                seeding: Seeding::Random { count: 2000 },
                ..params()
            };
            compare(&field, &[], &params, &cuda);
        }
    }
}

fn refusals(cuda: Backend) {
    let field = field(cube(20, 1.0), |_| Some(fibre(DVec3::X)));
    let seed = [sphere(Role::Seed, DVec3::ZERO, 2.0)];
    let control = Control::new();
    control.cancel();
    let cancelled = track(&field, &seed, &params(), &cuda, &control);
    assert_eq!(cancelled.unwrap_err().to_string(), "Cancelled");
    let few = Params {
        seeding: Seeding::Random { count: 500 },
        ..params()
    };
    let many = Params {
        seeding: Seeding::Random { count: 500_000 },
        ..params()
    };
    for (params, reason) in [(&few, "fill the"), (&many, "would take about")] {
        let full = track_within(&field, &seed, params, Some(10_000), &cuda, &Control::new());
        let sentence = full.unwrap_err().to_string();
        assert!(sentence.contains(reason), "{sentence}");
    }
    // A point on each of this many steps fits on no small card.
    let endless = Params {
        max_steps: 100_000_000,
        ..few
    };
    match track(&field, &seed, &endless, &cuda, &Control::new()) {
        // 2.4 GB per streamline: a large card follows a few at a time.
        Ok(output) => assert_eq!(output.seed_outcomes[0], 500),
        Err(error) => assert!(error.to_string().contains("--backend cpu"), "{error}"),
    }
}
