//! The GPU against the CPU, on the same stored tensors.

use super::{Output, params, sampled, sharpened};
use crate::support::fields::{backend, ball, cuboid, odd_grid, prolate, region, sphere};
use crate::support::{Random, cuda_test};
use crate::tracking::parity::hausdorff;
use arcuate::compute::{Backend, Control};
use arcuate::data::{Region, Role, Shape, TensorField};
use arcuate::phantom::fields::{Field, PulledBack};
use arcuate::solvers::curves::{Integrator, Interpolation, Seeding, StopReason};
use arcuate::solvers::geodesic::{
    Directions, Form, Params, Precision, RayMetric, Sharpening, trace,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("parity::geodesic media", prepared),
        cuda_test("parity::geodesic rays in a bent space", smooth),
        cuda_test("parity::geodesic rays in noise, with regions", noisy),
        cuda_test("parity::geodesic rays on splines", splines),
        cuda_test("parity::geodesic rays in the papers' form", papers),
        cuda_test("parity::geodesic fates", outcomes),
        cuda_test("parity::geodesic rays that pause", pauses),
        cuda_test("parity::geodesic refusals are sentences", refusals),
    ]
}

fn media(field: &TensorField, interpolation: Interpolation, precision: Precision) -> RayMetric {
    sharpened(field, 1.5, interpolation, precision)
}

/// Records made on the GPU and on the CPU, from tensors some of which are not positive definite.
fn prepared(cuda: Backend) {
    let mut random = Random::fresh("parity media");
    for sharpening in [
        Sharpening::Power { alpha: 1.0 },
        Sharpening::Power {
            alpha: random.uniform(1.5, 4.0),
        },
        Sharpening::Paper {
            power: 2,
            below_fa: 0.6,
        },
    ] {
        let mut field = rough(&mut random);
        let mut tensors = field.tensors.to_vec();
        let mut spoilt = 0;
        for tensor in tensors.iter_mut().filter(|t| t.inside > 0.5).step_by(37) {
            tensor.d[3] = -0.1 * tensor.d[0];
            spoilt += 1;
        }
        field = TensorField::new(field.grid.clone(), tensors);
        for precision in [Precision::Half, Precision::Single] {
            let linear = Interpolation::Trilinear;
            let [a, b] = [&backend(4), &cuda].map(|backend| {
                let control = Control::new();
                RayMetric::new(&field, sharpening, precision, linear, backend, &control).unwrap()
            });
            assert!(
                spoilt > 0 && a.repaired >= spoilt && a.repaired == b.repaired,
                "{spoilt} {} {}",
                a.repaired,
                b.repaired
            );
            assert!((a.mean_diffusivity / b.mean_diffusivity - 1.0).abs() < 1e-12);
            assert!(b.kernel_s.is_some());
            // Single precision on the GPU, raised to a power; half-precision numbers may round to a neighbour.
            let tolerance = match precision {
                Precision::Half => 1.0 / 1024.0,
                Precision::Single => 2e-5,
            };
            let mut worst = 0.0f32;
            for (a, b) in a.records.iter().zip(b.records.iter()) {
                let size = a[0].max(a[3]).max(a[5]).max(1e-3);
                worst = (0..6).fold(worst, |w, k| w.max((a[k] - b[k]).abs() / size));
                assert_eq!(a[6], b[6]);
                assert!((a[7] - b[7]).abs() < 1e-3);
            }
            println!("{sharpening:?} {precision:?}: records differ by {worst:.1e}");
            // A neighbour at a power of two is exactly this far away.
            assert!(worst <= tolerance);
        }
    }
}

/// Both backends' rays, matched by their numbers; prints and tests the distances.
fn compare(metric: &RayMetric, regions: &[Region], params: &Params, cuda: &Backend) -> [Output; 2] {
    let control = Control::new();
    let [cpu, gpu] =
        [&backend(8), cuda].map(|b| trace(metric, regions, params, b, &control).unwrap());
    let steps = [&cpu, &gpu].map(|o| o.rays.steps as f64);
    assert!((steps[0] / steps[1] - 1.0).abs() < 0.01, "{steps:?}");
    if params.directions.count() == 1 {
        let seeds = |o: &Output| -> Vec<u32> {
            let all = o.rays.kept.per_streamline["seed"].iter();
            all.map(|s| *s as u32).collect()
        };
        let (of_cpu, of_gpu) = (seeds(&cpu), seeds(&gpu));
        let mut distances = Vec::new();
        let mut measures = Vec::new();
        let (mut alone, mut beyond, mut ended) = (0, 0, 0);
        for (i, seed) in of_cpu.iter().enumerate() {
            let Ok(j) = of_gpu.binary_search(seed) else {
                alone += 1;
                continue;
            };
            let (a, b) = (cpu.rays.kept.streamline(i), gpu.rays.kept.streamline(j));
            let distance = hausdorff(a, b, &metric.field.grid);
            distances.push(distance);
            if distance > 0.1 {
                beyond += 1;
                let stop = |o: &Output, i: usize| {
                    ["stop_start", "stop_end"].map(|end| o.rays.kept.per_streamline[end][i])
                };
                let longer = cpu.rays.kept.length_mm(i) - gpu.rays.kept.length_mm(j);
                let one_ends = stop(&cpu, i) != stop(&gpu, j)
                    || f64::from(longer.abs()) > params.curves.step_mm;
                ended += usize::from(one_ends);
            }
            let cm = |o: &Output, i: usize| f64::from(o.rays.kept.per_streamline["cm"][i]);
            measures.push((cm(&cpu, i) / cm(&gpu, j) - 1.0).abs());
        }
        assert!(distances.len() > 100, "{} rays kept", distances.len());
        distances.sort_by(f64::total_cmp);
        measures.sort_by(f64::total_cmp);
        let at = |v: &[f64], share: f64| v[((v.len() - 1) as f64 * share) as usize];
        println!(
            "{} rays, {alone} without a twin; Hausdorff distance median {:.2e}, 99 % {:.2e}, \
             largest {:.2e} voxels, {beyond} beyond 0.1 ({ended} where one ends before the other, the \
             others part); measure median {:.1e}, 99 % {:.1e}",
            distances.len(),
            at(&distances, 0.5),
            at(&distances, 0.99),
            at(&distances, 1.0),
            at(&measures, 0.5),
            at(&measures, 0.99),
        );
        assert!(alone * 100 <= of_cpu.len());
        assert!(at(&distances, 0.5) < 0.01 && at(&distances, 0.99) < 0.1);
        assert!(at(&measures, 0.99) < 1e-2);
    }
    [cpu, gpu]
}

fn bent(random: &mut Random) -> PulledBack {
    PulledBack {
        a: random.uniform(1.0, 3.0),
        b: random.uniform(1.0, 3.0),
        k: random.uniform(0.1, 0.25),
    }
}

fn base(interpolation: Interpolation) -> Params {
    let mut params = params(interpolation);
    params.curves.seeding = Seeding::Random { count: 3000 };
    params.curves.max_length_mm = Some(40.0);
    params.curves.step_mm = 0.2;
    params.directions = Directions::Principal;
    params
}

fn smooth(cuda: Backend) {
    let mut random = Random::fresh("parity smooth");
    for precision in [Precision::Half, Precision::Single] {
        for integrator in [Integrator::Euler, Integrator::Rk2, Integrator::Rk4] {
            let field = sampled(odd_grid(&mut random), &bent(&mut random));
            let metric = media(&field, Interpolation::Trilinear, precision);
            // A few rays share four threads each; many have one each.
            for count in [3000, 20_000] {
                let mut params = base(Interpolation::Trilinear);
                params.curves.integrator = integrator;
                params.curves.seeding = Seeding::Random { count };
                params.curves.both_ways = random.uniform(0.0, 1.0) < 0.5;
                params.keep_every = 1 + (random.bits() % 4) as usize;
                compare(&metric, &[], &params, &cuda);
            }
        }
    }
}

/// Tensors with noise, in a mask with holes.
fn rough(random: &mut Random) -> TensorField {
    let analytic = bent(random);
    let grid = odd_grid(random);
    let reach = 0.8 * grid.centre().distance(grid.corners()[0]);
    let mut noise = || DVec3::new(random.normal(), random.normal(), random.normal());
    let noise: Vec<DVec3> = (0..grid.voxel_count()).map(|_| noise()).collect();
    let shape = grid.shape;
    crate::support::fields::field(grid.clone(), move |x| {
        let v = grid.voxel_at(x).round();
        let i = v.x as usize + shape[0] * (v.y as usize + shape[1] * v.z as usize);
        let n = noise[i];
        let jitter = prolate(1.2, 0.9, n.normalize());
        let d = analytic.tensor(x);
        let inside = x.length() < reach && n.x > -2.2;
        inside.then(|| d * 0.7 + jitter * 0.3 * d.determinant().cbrt())
    })
}

fn obstacles(random: &mut Random, field: &TensorField) -> Vec<Region> {
    let centre = field.grid.centre();
    let mut somewhere = |far: f64| centre + random.direction() * far;
    let ball = ball(&field.grid, somewhere(6.0), 5.0);
    vec![
        sphere(Role::Seed, centre, 5.0),
        sphere(Role::Target, somewhere(9.0), 4.0),
        cuboid(Role::Target, somewhere(8.0), DVec3::new(3.0, 4.0, 5.0)),
        region(Role::Target, Shape::Mask(ball)),
        sphere(Role::Terminate, somewhere(10.0), 3.0),
        sphere(Role::Exclude, somewhere(7.0), 1.0),
        sphere(Role::Mask, centre, 18.0),
    ]
}

fn noisy(cuda: Backend) {
    let mut random = Random::fresh("parity noisy");
    for _ in 0..4 {
        let field = rough(&mut random);
        let regions = obstacles(&mut random, &field);
        for precision in [Precision::Half, Precision::Single] {
            let metric = media(&field, Interpolation::Trilinear, precision);
            for count in [3000, 20_000] {
                let mut params = base(Interpolation::Trilinear);
                params.curves.integrator = Integrator::Rk2;
                params.curves.both_ways = true;
                params.curves.min_fa = Some(0.05);
                params.curves.max_angle_rad = Some(0.5);
                params.curves.seeding = Seeding::Random { count };
                params.loop_guard = true;
                let [cpu, gpu] = compare(&metric, &regions, &params, &cuda);
                for (a, b) in [
                    (&cpu.rays.seed_outcomes[..], &gpu.rays.seed_outcomes[..]),
                    (&cpu.rays.stops[..], &gpu.rays.stops[..]),
                    (&cpu.rays.per_target[..], &gpu.rays.per_target[..]),
                ] {
                    println!("{a:?} {b:?}");
                    for (a, b) in a.iter().zip(b) {
                        // A few rays pass a border on the other side.
                        assert!(a.abs_diff(*b) <= 5 + count as u64 / 100, "{a} {b}");
                    }
                }
            }
        }
    }
}

fn splines(cuda: Backend) {
    let mut random = Random::fresh("parity splines");
    for integrator in [Integrator::Euler, Integrator::Rk2, Integrator::Rk4] {
        let field = rough(&mut random);
        let metric = media(&field, Interpolation::CubicBSpline, Precision::Half);
        let mut params = base(Interpolation::CubicBSpline);
        params.curves.integrator = integrator;
        params.curves.min_fa = Some(0.05);
        compare(&metric, &[], &params, &cuda);
    }
}

/// The CPU computes the papers' form in double precision.
fn papers(cuda: Backend) {
    let mut random = Random::fresh("parity papers");
    for (rough_field, count) in [(false, 3000), (true, 20_000)] {
        let field = if rough_field {
            rough(&mut random)
        } else {
            sampled(odd_grid(&mut random), &bent(&mut random))
        };
        let regions = obstacles(&mut random, &field);
        for precision in [Precision::Half, Precision::Single] {
            let metric = media(&field, Interpolation::Trilinear, precision);
            let mut params = base(Interpolation::Trilinear);
            params.form = Form::Christoffel;
            params.curves.seeding = Seeding::Random { count };
            params.curves.both_ways = true;
            params.curves.min_fa = Some(0.05);
            params.loop_guard = true;
            params.keep_every = 3;
            let [cpu, gpu] = compare(&metric, &regions, &params, &cuda);
            println!("{:?} {:?}", cpu.rays.seed_outcomes, gpu.rays.seed_outcomes);
            println!("{:?} {:?}", cpu.rays.stops, gpu.rays.stops);
            for (a, b) in cpu.rays.stops.iter().zip(&gpu.rays.stops) {
                assert!(a.abs_diff(*b) <= 5 + count as u64 / 100, "{a} {b}");
            }
            assert!(gpu.kernel_s.is_some());
        }
    }
}

/// Rays with more steps than one launch takes.
fn pauses(cuda: Backend) {
    let mut random = Random::fresh("parity pauses");
    let field = sampled(odd_grid(&mut random), &bent(&mut random));
    // Few leave the volume, which is at least eight voxels wide.
    let step_mm = field.grid.spacing().min_element() * 2.4e-4;
    for interpolation in [Interpolation::Trilinear, Interpolation::CubicBSpline] {
        let metric = media(&field, interpolation, Precision::Single);
        let mut params = base(interpolation);
        params.curves.seeding = Seeding::Random { count: 500 };
        params.curves.step_mm = step_mm;
        params.curves.max_length_mm = Some(12_000.0 * step_mm);
        params.keep_every = 7;
        params.loop_guard = false;
        let [cpu, gpu] = compare(&metric, &[], &params, &cuda);
        let longest = StopReason::MaxLength as usize;
        assert!(gpu.rays.stops[longest] > 100, "{:?}", gpu.rays.stops);
        let off = |i: usize| cpu.rays.stops[i].abs_diff(gpu.rays.stops[i]);
        assert!((0..StopReason::COUNT).all(|i| off(i) <= 5));
    }
}

/// Straight rays through boxes: every outcome and every stop is the same, except for rays that touch an edge.
fn outcomes(cuda: Backend) {
    let field = crate::support::fields::field(crate::support::fields::cube(60, 1.0), |x| {
        (x.x < 20.2).then_some(prolate(1.7e-3, 0.3e-3, DVec3::X))
    });
    let metric = media(&field, Interpolation::Trilinear, Precision::Half);
    let wall =
        |role, x: f64, y: f64| cuboid(role, DVec3::new(x, y, 0.0), DVec3::new(0.6, 0.9, 9.0));
    let regions = [
        cuboid(Role::Seed, DVec3::ZERO, DVec3::splat(8.0)),
        wall(Role::Target, 15.0, 0.0),
        wall(Role::Target, 15.3, 2.0),
        wall(Role::Terminate, 12.0, 4.0),
        wall(Role::Exclude, 11.0, 1.3),
        cuboid(
            Role::Include,
            DVec3::new(10.0, 1.0, 0.0),
            DVec3::new(0.6, 3.4, 9.0),
        ),
    ];
    for both_ways in [false, true] {
        for count in [4000, 30_000] {
            let mut params = base(Interpolation::Trilinear);
            params.curves.step_mm = 0.5;
            params.curves.max_length_mm = None;
            params.curves.seeding = Seeding::Random { count };
            params.curves.both_ways = both_ways;
            let [cpu, gpu] = compare(&metric, &regions, &params, &cuda);
            let off =
                |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>();
            // f32 and f64 occasionally disagree on a ray that touches an edge.
            assert!(off(&cpu.rays.seed_outcomes, &gpu.rays.seed_outcomes) <= 4);
            assert!(off(&cpu.rays.stops, &gpu.rays.stops) <= 8);
            assert!(off(&cpu.rays.per_target, &gpu.rays.per_target) <= 8);
            assert!(gpu.rays.per_target.iter().all(|n| *n > 0) && gpu.kernel_s.is_some());
            let repeated = trace(&metric, &regions, &params, &cuda, &Control::new()).unwrap();
            assert_eq!(
                repeated.rays.kept.points, gpu.rays.kept.points,
                "the same bytes again"
            );
        }
    }
}

fn refusals(cuda: Backend) {
    let field = sampled(
        crate::support::fields::cube(20, 1.0),
        &PulledBack {
            a: 1.0,
            b: 1.0,
            k: 0.1,
        },
    );
    let metric = media(&field, Interpolation::Trilinear, Precision::Half);
    let control = Control::new();
    control.cancel();
    let seed = [sphere(Role::Seed, DVec3::ZERO, 2.0)];
    let cancelled = trace(
        &metric,
        &seed,
        &base(Interpolation::Trilinear),
        &cuda,
        &control,
    );
    assert_eq!(cancelled.unwrap_err().to_string(), "Cancelled");
    // A point kept on each of this many steps fits on no card.
    let mut endless = base(Interpolation::Trilinear);
    endless.curves.max_length_mm = None;
    endless.curves.max_steps = 100_000_000;
    endless.curves.seeding = Seeding::Random { count: 500 };
    match trace(&metric, &seed, &endless, &cuda, &Control::new()) {
        // 1.6 GB a ray: a large card follows them one after the other.
        Ok(output) => assert_eq!(output.rays.seed_outcomes[0], 500),
        Err(error) => assert!(error.to_string().contains("--backend cpu"), "{error}"),
    }
}
