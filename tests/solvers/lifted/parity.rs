//! The graphics card against the CPU.

use super::{SETS, cube, from_place, params, place, uneven};
use crate::support::cuda_test;
use crate::support::fields::backend;
use arcuate::compute::{Backend, Control};
use arcuate::data::Grid;
use arcuate::solvers::lifted::{
    LiftedField, Limits, Params, Prepared, UNREACHED, solve, solve_both,
};
use arcuate::solvers::metric::Places;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("parity::lifted fields in masks", fields),
        cuda_test("parity::lifted regions, capped", both),
        cuda_test("parity::lifted fields of several launches", launches),
        cuda_test("parity::lifted jobs can be cancelled", cancelled),
    ]
}

/// The values agree to the tolerance along a chain of states; `at_cap` states may lie on either side of a cap.
fn compare(cpu: &LiftedField, card: &LiftedField, at_cap: usize) {
    assert!(card.kernel_s.is_some() && cpu.kernel_s.is_none());
    let (mut off, mut otherwise) = (0f32, 0);
    for d in 0..cpu.prepared.directions.len() {
        for p in 0..cpu.prepared.places.len() {
            let (a, b) = (cpu.value(d, p), card.value(d, p));
            match (a < UNREACHED, b < UNREACHED) {
                (true, true) => off = off.max((a - b).abs() / a.max(1e-3)),
                (false, false) => {}
                _ => otherwise += 1,
            }
        }
    }
    println!(
        "{} states: {off:.1e}, {otherwise} on one side of the cap only",
        cpu.reached()
    );
    // Measured on an H200: 6e-5.
    assert!(off < 2e-4, "{off}");
    assert!(otherwise <= at_cap, "{otherwise}");
}

/// Costs between 1 and 5 on both sides of a wall with holes.
fn walled(params: &Params) -> Prepared {
    let grid = Arc::new(Grid::axis_aligned([13, 15, 11], DVec3::ONE, DVec3::ZERO).unwrap());
    let open = |v: &u32| {
        let [x, y, _] = grid.voxel(*v as usize);
        x != 6 || y % 5 == 2
    };
    let voxels = (0..grid.voxel_count() as u32).filter(open).collect();
    uneven(Places::new(&grid, voxels), params, 1.0)
}

fn fields(card: Backend) {
    for set in SETS {
        let prepared = walled(&params(set));
        let start = place(&prepared, DVec3::new(3.0, 6.0, 6.0));
        for direction in [None, Some(5)] {
            let source = from_place(start, direction);
            let [a, b] = [&backend(2), &card].map(|on| {
                solve(
                    &prepared,
                    &source,
                    &Limits::unlimited(),
                    on,
                    &Control::new(),
                )
                .unwrap()
            });
            compare(&a, &b, 0);
        }
    }
}

fn both(card: Backend) {
    for set in SETS {
        let prepared = walled(&params(set));
        let ends = [DVec3::new(2.0, 6.0, 6.0), DVec3::new(11.0, 4.0, 3.0)];
        let ends = ends.map(|at| from_place(place(&prepared, at), None));
        let [cpu, gpu] = [&backend(2), &card]
            .map(|on| solve_both(&prepared, &ends, 0.3, UNREACHED, on, &Control::new()).unwrap());
        for (a, b) in cpu.iter().zip(&gpu) {
            assert!(a.reached() < prepared.places.len() * prepared.directions.len());
            compare(a, b, 20);
        }
    }
}

/// A launch ends after about ten milliseconds, and the next one continues.
fn launches(card: Backend) {
    let limits = Limits::unlimited();
    let solved = |side: usize| {
        let prepared = uneven(cube(side), &params(SETS[2]), 1.0);
        let source = from_place(place(&prepared, DVec3::splat(7.0)), None);
        let gpu = solve(&prepared, &source, &limits, &card, &Control::new()).unwrap();
        let seconds = gpu.kernel_s.unwrap();
        (prepared, source, gpu, seconds)
    };
    // The faster the card, the larger the problem that takes several launches.
    let takes_several = |solved: &(_, _, _, f64)| solved.3 > 0.03;
    let mut all = [61, 81, 101, 121, 141].into_iter().map(solved);
    let (prepared, source, gpu, seconds) = all.find(takes_several).expect("several launches");
    let all = arcuate::compute::Backend::choose(&arcuate::compute::BackendChoice::cpu(None));
    let cpu = solve(&prepared, &source, &limits, &all.unwrap(), &Control::new()).unwrap();
    compare(&cpu, &gpu, 0);
    // Cancelled while it runs.
    let control = Control::new();
    let from_another = control.clone();
    let cancel = move || {
        std::thread::sleep(std::time::Duration::from_secs_f64(seconds / 4.0));
        from_another.cancel();
    };
    let waiting = std::thread::Builder::new().spawn(cancel).unwrap();
    let started = std::time::Instant::now();
    let outcome = solve(&prepared, &source, &limits, &card, &control);
    waiting.join().unwrap();
    assert_eq!(outcome.unwrap_err(), arcuate::solvers::Error::Cancelled);
    println!("cancelled after {:.3} s", started.elapsed().as_secs_f64());
}

fn cancelled(card: Backend) {
    let prepared = uneven(cube(9), &params(SETS[0]), 1.0);
    let source = from_place(0, None);
    let control = Control::new();
    control.cancel();
    let outcome = solve(&prepared, &source, &Limits::unlimited(), &card, &control);
    assert_eq!(outcome.unwrap_err(), arcuate::solvers::Error::Cancelled);
}
