//! Connectomes of streamlines whose points are on a card, against those of the CPU: all numbers are equal.

use crate::density::walks;
use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, cuda_test, lines};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Tractogram, Volume};
use arcuate::solvers::connectivity::{Connectome, Params, connectome};
use arcuate::solvers::on_card::on_cards_alone;
use arcuate::solvers::region::numbers;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("connectivity::parity on any grid", any_grid),
        cuda_test("connectivity::parity of odd ends", odd),
    ]
}

fn run(
    lines: &Tractogram,
    among: Option<&[bool]>,
    labels: &Volume,
    radius_mm: f64,
    values: Option<&[f32]>,
    backend: &Backend,
) -> Connectome {
    let control = Control::new();
    let known = numbers(labels, 0, &control).expect("labels");
    let params = Params { radius_mm };
    let labels = (labels, 0, &known);
    connectome(lines, among, labels, &params, values, backend, &control).expect("a connectome")
}

fn check(host: &Tractogram, labels: &Volume, radius_mm: f64, card: &Backend) {
    let card_curves = on_cards_alone(host, 83, card).expect("on the cards");
    let marks: Vec<bool> = (0..host.len()).map(|i| i % 3 != 0).collect();
    let values: Vec<f32> = (0..host.len()).map(|i| (i as f32).sin()).collect();
    for among in [None, Some(&marks[..])] {
        let on_card = run(&card_curves, among, labels, radius_mm, Some(&values), card);
        assert!(!card_curves.points.is_on_host());
        assert!(on_card.kernel_s.is_some());
        let cpu = run(host, among, labels, radius_mm, Some(&values), &backend(2));
        let on_card = Connectome {
            kernel_s: None,
            ..on_card
        };
        assert!(on_card == cpu, "another connectome");
    }
}

fn any_grid(card: Backend) {
    let mut random = Random::fresh("connectivity parity");
    for _ in 0..8 {
        let grid = Arc::new(odd_grid(&mut random));
        // Labels in a tenth of the voxels.
        let value = |_| match random.uniform(0.0, 1.0) {
            share if share < 0.1 => random.uniform(1.0, 6.0).floor() as f32,
            _ => 0.0,
        };
        let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
        let labels = Volume::scalar(grid, values);
        let host = walks(&mut random, 900, 25.0);
        for radius_mm in [0.0, 2.0, 5.5] {
            check(&host, &labels, radius_mm, &card);
        }
    }
}

/// Ends on faces of voxels, at equal distances from labels, far away, and not finite.
fn odd(card: Backend) {
    let grid = arcuate::data::Grid::axis_aligned([9, 8, 7], DVec3::ONE, DVec3::ZERO).expect("grid");
    let value = |i: usize| match i % 7 {
        0 => 1.0,
        3 => 40.0,
        _ => 0.0,
    };
    let values = (0..grid.voxel_count()).map(value).collect::<Vec<f32>>();
    let labels = Volume::scalar(Arc::new(grid), values);
    let mut random = Random::fresh("connectivity parity odd");
    let mut all: Vec<Vec<DVec3>> = vec![
        vec![],
        vec![DVec3::ONE],
        vec![DVec3::splat(f64::NAN), DVec3::ONE],
        vec![DVec3::ONE, DVec3::splat(f64::INFINITY)],
        vec![DVec3::splat(-1e30), DVec3::splat(1e30)],
        vec![DVec3::splat(-1e7), DVec3::splat(3.0)],
    ];
    for _ in 0..500 {
        let half = |random: &mut Random| random.uniform(-6.0, 24.0).floor() * 0.5;
        let point = |_| DVec3::from_array([0; 3].map(|_| half(&mut random)));
        all.push((0..5).map(point).collect());
    }
    for radius_mm in [0.0, 1.0, 1.5, 3.0] {
        check(&lines(&all), &labels, radius_mm, &card);
    }
}
