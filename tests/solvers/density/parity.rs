//! Density maps of streamlines whose points are on a card, against those of the CPU: all numbers are equal.

use super::{Params, walks};
use crate::support::fields::{backend, cube, field, odd_grid, params, prolate};
use crate::support::{Random, cuda_test, lines};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Grid, Tractogram};
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::density::{Measure, Output, density};
use arcuate::solvers::on_card::on_cards_alone;
use arcuate::solvers::tracking::track;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("density::parity on any grid", any_grid),
        cuda_test("density::parity of odd streamlines", odd),
        cuda_test("density::parity of streamlines of a card", tracked),
    ]
}

fn all_params() -> Vec<Params> {
    let mut all = Vec::new();
    for measure in [Measure::Visits, Measure::Length] {
        for by_direction in [false, true] {
            all.push(Params {
                measure,
                by_direction,
                sent: None,
            });
        }
    }
    all
}

fn run(lines: &Tractogram, grid: &Arc<Grid>, params: &Params, backend: &Backend) -> Output {
    density(lines, grid, params, None, backend, &Control::new()).expect("a map")
}

fn compare(card: &Output, cpu: &Output) {
    assert!(card.kernel_s.is_some() && cpu.kernel_s.is_none());
    let bits =
        |map: &Output| -> Vec<u32> { map.volume.values.iter().map(|v| v.to_bits()).collect() };
    assert!(bits(card) == bits(cpu), "other values");
    assert_eq!(card.volume.frames, cpu.volume.frames);
    assert_eq!(
        (
            card.inside_mm,
            card.outside_mm,
            card.voxels,
            card.not_finite
        ),
        (cpu.inside_mm, cpu.outside_mm, cpu.voxels, cpu.not_finite)
    );
}

/// All maps of streamlines in parts of `size`, before and after the host has the points.
fn check(host: &Tractogram, size: usize, grid: &Arc<Grid>, card: &Backend) {
    let cpu = backend(2);
    let card_curves = on_cards_alone(host, size, card).expect("on the cards");
    for params in all_params() {
        let reference = run(host, grid, &params, &cpu);
        compare(&run(&card_curves, grid, &params, card), &reference);
        assert!(!card_curves.points.is_on_host());
    }
    // Without a card, the CPU counts the host's copy; the card still has its own.
    let params = Params::defaults();
    let reference = run(host, grid, &params, &cpu);
    let copied = run(&card_curves, grid, &params, &cpu);
    assert!(card_curves.points.is_on_host() && copied.kernel_s.is_none());
    assert_eq!(copied.volume.values, reference.volume.values);
    compare(&run(&card_curves, grid, &params, card), &reference);
}

fn any_grid(card: Backend) {
    let mut random = Random::fresh("density parity");
    for round in 0..12 {
        let grid = Arc::new(odd_grid(&mut random));
        let host = walks(&mut random, 1200, 25.0);
        check(&host, [97, 1200, 500][round % 3], &grid, &card);
        // Some of them, in their order.
        let card_curves = on_cards_alone(&host, 101, &card).expect("on the cards");
        let marks: Vec<bool> = (0..host.len()).map(|i| i % 5 != round % 5).collect();
        let (some, reference) = (card_curves.filtered(&marks), host.filtered(&marks));
        for params in all_params() {
            let expected = run(&reference, &grid, &params, &backend(2));
            compare(&run(&some, &grid, &params, &card), &expected);
        }
        assert!(!card_curves.points.is_on_host());
    }
}

/// Points on faces, edges and corners of voxels, single points, empty streamlines, distant ends, numbers that are not
/// finite, and a streamline that returns to its voxels many times.
fn odd(card: Backend) {
    let grid = Grid::axis_aligned([6, 5, 7], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let grid = Arc::new(grid);
    let mut random = Random::fresh("density parity odd");
    let mut all: Vec<Vec<DVec3>> = vec![
        vec![],
        vec![DVec3::ONE],
        vec![DVec3::splat(-0.5)],
        vec![DVec3::splat(90.0)],
        vec![DVec3::splat(f64::NAN)],
        vec![DVec3::splat(f64::INFINITY)],
        vec![DVec3::new(-1e7, 1.0, 1.0), DVec3::new(1e7, 1.0, 1.0)],
        vec![DVec3::new(-1e30, 1.0, 1.0), DVec3::new(1e30, 1.0, 1.5)],
        vec![DVec3::new(0.5, 0.0, 0.0), DVec3::new(0.5, 3.0, 0.0)],
        vec![DVec3::splat(-0.5), DVec3::splat(4.5)],
        vec![DVec3::splat(4.5), DVec3::splat(-0.5)],
        vec![
            DVec3::ZERO,
            DVec3::ZERO,
            DVec3::new(2.0, 0.0, 0.0),
            DVec3::ZERO,
        ],
        vec![
            DVec3::ZERO,
            DVec3::splat(f64::NAN),
            DVec3::X,
            DVec3::new(f64::INFINITY, 0.0, 0.0),
            DVec3::new(3.0, 2.0, 1.0),
            DVec3::new(3.0, 2.5, 1.5),
        ],
    ];
    // Half voxels: many points lie exactly on faces.
    for _ in 0..400 {
        let count = random.uniform(1.0, 300.0) as usize;
        let half = |random: &mut Random| (random.uniform(-4.0, 16.0)).floor() * 0.5;
        let line = (0..count).map(|_| DVec3::from_array([0; 3].map(|_| half(&mut random))));
        all.push(line.collect());
    }
    check(&lines(&all), 60, &grid, &card);
}

fn tracked(card: Backend) {
    let field = field(cube(40, 2.0), |at| {
        let along = DVec3::new(-at.y, at.x, 0.3 * at.length());
        (at.length() > 4.0).then(|| prolate(1.7e-3, 0.3e-3, along.normalize()))
    });
    let params = arcuate::solvers::curves::Params {
        seeding: Seeding::Random { count: 20_000 },
        min_length_mm: 5.0,
        max_length_mm: Some(150.0),
        ..params()
    };
    let tracked = track(&field, &[], &params, &card, &Control::new());
    let card_curves = tracked.expect("streamlines").kept;
    assert!(!card_curves.points.is_on_host() && card_curves.len() > 5_000);
    let grid = field.grid.clone();
    let maps: Vec<Output> = all_params()
        .iter()
        .map(|params| run(&card_curves, &grid, params, &card))
        .collect();
    assert!(!card_curves.points.is_on_host());
    let host = Tractogram::new(
        card.install(|| card_curves.points.to_vec()),
        card_curves.offsets.clone(),
    );
    for (map, params) in maps.iter().zip(all_params()) {
        compare(map, &run(&host, &grid, &params, &backend(2)));
    }
}
