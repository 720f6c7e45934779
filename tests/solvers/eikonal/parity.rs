//! The GPU against the CPU, on the same preparation.

use super::{PARAMS, cube, oblique, source, swirl};
use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, cuda_test, cuda_test_alone};
use arcuate::compute::{Backend, Control, cuda};
use arcuate::solvers::Error;
use arcuate::solvers::eikonal::{CostField, CostSource, LocalSolver, Params, Prepared, solve};
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway::Pathway;
use glam::DMat3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("parity::eikonal constant metrics", constant),
        cuda_test("parity::eikonal helix", helix),
        cuda_test("parity::eikonal fields in masks, several at once", masks),
        cuda_test("parity::eikonal pathways", pathways),
        cuda_test("parity::eikonal values come down from above", |cuda| {
            super::invariants::from_above(&cuda);
        }),
        cuda_test("parity::eikonal the discrete equation holds", |cuda| {
            super::sweeping::residual(
                &[1e-6, 1e-4, 1e-3].map(|tolerance| (tolerance, cuda.clone())),
            );
        }),
        cuda_test_alone("parity::eikonal on a card without room", full),
        cuda_test("parity::eikonal refusals are sentences", refusals),
    ]
}

/// Both backends' fields; prints and tests the largest relative difference.
fn compare(
    metric: &Metric,
    local: LocalSolver,
    ends: &[&[[i64; 3]]],
    tolerance: f32,
    cuda: &Backend,
) -> Vec<CostField> {
    let control = Control::new();
    let prepared = Prepared::new(metric, local, &backend(4), &control).unwrap();
    let source_at = |zero: &&[[i64; 3]]| Arc::new(source(metric, "A", zero));
    let sources: Vec<Arc<CostSource>> = ends.iter().map(source_at).collect();
    let [cpu, gpu] = [&backend(4), cuda]
        .map(|backend| solve(&prepared, &sources, &PARAMS, backend, &control).unwrap());
    for (cpu, gpu) in cpu.iter().zip(&gpu) {
        assert!(gpu.kernel_s.is_some() && cpu.kernel_s.is_none());
        let mut off = 0.0f32;
        for (a, b) in cpu.values.iter().zip(gpu.values.iter()) {
            assert_eq!(a.is_finite(), b.is_finite(), "{a} {b}");
            if a.is_finite() {
                off = off.max((a - b).abs() / a.max(1e-3));
            }
        }
        println!(
            "{} on {} voxels: {off:.1e}, {:.2} ms in kernels",
            local.key(),
            metric.len(),
            1e3 * gpu.kernel_s.unwrap()
        );
        assert!(off <= tolerance, "{off}");
    }
    gpu
}

fn constant(cuda: Backend) {
    let mut random = Random::fresh("parity constant");
    for anisotropy in [1.0, 5.3, 18.0, 60.0] {
        let speed = oblique(&mut random, anisotropy);
        let metric = Metric::from_speed(&cube(37), |_| Some(speed)).unwrap();
        for local in LocalSolver::ALL {
            compare(&metric, local, &[&[[18, 17, 19]]], 1e-4, &cuda);
        }
    }
}

/// The paper's second example: slow to converge with the upwind scheme.
fn helix(cuda: Backend) {
    let n = 64;
    let speed = super::helix(n);
    let metric = Metric::from_speed(&cube(n), |v| Some(speed(v))).unwrap();
    let from: &[[i64; 3]] = &[[32, 32, 0]];
    compare(&metric, LocalSolver::Godunov6, &[from], 5e-4, &cuda);
    compare(&metric, LocalSolver::HopfLax26, &[from], 1e-4, &cuda);
    compare(&metric, LocalSolver::Hybrid, &[from], 1e-4, &cuda);
}

fn masks(cuda: Backend) {
    let mut random = Random::fresh("parity masks");
    for round in 0..6 {
        let grid = match round {
            0 | 1 => cube(41),
            _ => Arc::new(odd_grid(&mut random)),
        };
        let speed = swirl(&mut random, &grid, 12.0);
        let share = random.uniform(0.0, 0.45);
        let holes: Vec<bool> = (0..grid.voxel_count())
            .map(|_| random.uniform(0.0, 1.0) < share)
            .collect();
        let metric =
            Metric::from_speed(&grid, |v| (!holes[grid.index(v)]).then(|| speed(v))).unwrap();
        let mut pick = || metric.voxel(random.bits() as usize % metric.len());
        let ends = [vec![pick()], vec![pick(), pick(), pick()], vec![pick()]];
        let ends: Vec<&[[i64; 3]]> = ends.iter().map(Vec::as_slice).collect();
        for local in LocalSolver::ALL {
            let all = compare(&metric, local, &ends, 1e-4, &cuda);
            let alone = compare(&metric, local, &ends[1..2], 1e-4, &cuda);
            let pairs = all[1].values.iter().zip(alone[0].values.iter());
            for (a, b) in pairs.filter(|(a, _)| a.is_finite()) {
                assert!((a - b).abs() <= 5e-5 * a, "{a} {b}");
            }
        }
    }
}

fn pathways(cuda: Backend) {
    let mut random = Random::fresh("parity pathways");
    let grid = cube(40);
    let speed = swirl(&mut random, &grid, 8.0);
    let metric = Metric::from_speed(&grid, |v| Some(speed(v))).unwrap();
    let control = Control::new();
    let prepared = Prepared::new(&metric, LocalSolver::Hybrid, &cuda, &control).unwrap();
    let sources = [[3, 4, 5], [35, 33, 30]].map(|v| Arc::new(source(&metric, "A", &[v])));
    let [cpu, gpu] = [&backend(4), &cuda].map(|backend| {
        let mut fields = solve(&prepared, &sources, &PARAMS, backend, &control).unwrap();
        let second = fields.remove(1);
        Pathway::new(fields.remove(0), second).unwrap()
    });
    assert!((cpu.min_cost / gpu.min_cost - 1.0).abs() < 1e-4);
    assert!((cpu.joining_epsilon - gpu.joining_epsilon).abs() < 1e-4);
    let [a, b] = [cpu.minimal_path().unwrap(), gpu.minimal_path().unwrap()];
    assert!((a.total_mm() / b.total_mm() - 1.0).abs() < 0.02);
}

fn refusals(cuda: Backend) {
    let metric = Metric::from_speed(&cube(8), |_| Some(DMat3::IDENTITY)).unwrap();
    let control = Control::new();
    let prepared = Prepared::new(&metric, LocalSolver::Hybrid, &cuda, &control).unwrap();
    let sources = [Arc::new(source(&metric, "A", &[[1, 1, 1]]))];
    let many = vec![sources[0].clone(); 8_000_000];
    let error = solve(&prepared, &many, &PARAMS, &cuda, &control).unwrap_err();
    assert!(
        error.to_string().starts_with(
            "8000000 cost fields of 512 voxels are more than a graphics card can index; choose a smaller mask"
        ),
        "{error}"
    );
    // The window offers the CPU.
    assert!(matches!(error, Error::Card(cuda::Error::TooMany { .. })));
    let params = Params {
        tolerance: -1.0,
        ..PARAMS
    };
    assert!(solve(&prepared, &sources, &params, &cuda, &control).is_err());
    control.cancel();
    let error = solve(&prepared, &sources, &PARAMS, &cuda, &control).unwrap_err();
    assert_eq!(error.to_string(), "Cancelled");
}

/// The data kept for a metric take most of the memory, which is requested before anything is laid out.
fn full(cuda: Backend) {
    let device = &cuda.devices()[0];
    let metric = Metric::from_speed(&cube(128), |_| Some(DMat3::IDENTITY)).unwrap();
    let control = Control::new();
    let prepared = Prepared::new(&metric, LocalSolver::Hybrid, &cuda, &control).unwrap();
    let sources = [Arc::new(source(&metric, "A", &[[64, 64, 64]]))];
    // Each voxel has a record of 64 bytes, 16 of floors, 80 of terms, a cell; its value twice.
    let least = (64 + 16 + 80 + 4 + 8) * metric.len() as u64;
    // Memory that other tests left behind is released, but that is not enough.
    let all = device.needs(2 * device.total(), "everything", "ask for less");
    assert!(all.is_err() && device.cached_bytes() == 0);
    let spare = least / 2 + (64 << 20);
    let (free, _) = device.memory().unwrap();
    let ballast = device.alloc_zeros::<u8>((free - spare) as usize).unwrap();
    let Err(error) = solve(&prepared, &sources, &PARAMS, &cuda, &control) else {
        panic!("there was room")
    };
    let message = error.to_string();
    println!("{message}");
    assert!(
        message.starts_with("Solving for cost fields of that size needs ")
            && message.contains("; choose a smaller mask, close"),
        "{message}"
    );
    let Error::Card(cuda::Error::OutOfMemory { needs, .. }) = error else {
        panic!("{error:?}")
    };
    assert!(needs >= least && needs < least * 5 / 4, "{needs} {least}");
    drop(ballast);
    device.synchronize("freeing memory").unwrap();
    let (before, _) = device.memory().unwrap();
    let field = solve(&prepared, &sources, &PARAMS, &cuda, &control).unwrap();
    let (after, _) = device.memory().unwrap();
    println!("asked for {needs}, took {}", before.saturating_sub(after));
    assert!(field[0].values.iter().all(|v| v.is_finite()));
    // The fields themselves are released, the metric's data stay.
    assert!(before - after <= needs + (32 << 20));
}
