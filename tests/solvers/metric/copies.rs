//! Metrics and steps of tensors that a graphics card computes, against those of the CPU.

use crate::eikonal::oblique;
use crate::support::fields::{backend, components, odd_grid};
use crate::support::{Random, cuda_test};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Tensor, TensorField};
use arcuate::solvers::eikonal::{self, Copies, CostSource, LocalSolver, Prepared, solve};
use arcuate::solvers::metric::{Cost, Metric, Params};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![cuda_test("metric::parity of copies of tensors", copies)]
}

const COPIES: usize = 3;

/// Tensors of a mask with holes; every twentieth has a negative eigenvalue.
fn tensors(count: usize, random: &mut Random) -> Vec<Tensor> {
    let tensor = |i: usize| {
        let mut d = oblique(random, 4.0) * 1e-3;
        if i % 20 == 7 {
            d -= DMat3::from_diagonal(DVec3::splat(0.4e-3));
        }
        Tensor::new(components(d))
    };
    (0..count).map(tensor).collect()
}

fn copies(card: Backend) {
    let mut random = Random::fresh("metrics on a card");
    let (cpu, control) = (backend(2), Control::new());
    let costs = [
        Cost::Sharpened,
        Cost::Inverse,
        Cost::Isotropic,
        Cost::Adjugate,
    ];
    // No card supports Selling's scheme: both sides are then computed on the CPU.
    let pairs = LocalSolver::ALL.into_iter().flat_map(|local| {
        match local {
            LocalSolver::Selling => &costs[..1],
            _ => &costs[..],
        }
        .iter()
        .map(move |cost| (local, *cost))
    });
    for (local, cost) in pairs {
        let grid = Arc::new(odd_grid(&mut random));
        let inside: Vec<bool> = (0..grid.voxel_count())
            .map(|v| grid.voxel(v)[2] > 2 && random.uniform(0.0, 1.0) < 0.9)
            .collect();
        let all = tensors(grid.voxel_count(), &mut random);
        let values = inside
            .iter()
            .zip(&all)
            .map(|(inside, tensor)| match inside {
                true => *tensor,
                false => Tensor::default(),
            });
        let field = TensorField::new(grid.clone(), values.collect::<Vec<_>>());
        let params = Params {
            cost,
            ..Params::defaults()
        };
        let whole = Metric::new(&field, &params, None, &cpu, &control).unwrap();
        let part = whole.costlier(|place| place % 5 == 0, 3.0);
        // Two tensor fields, so that the last copy has none of its own.
        let fields = [0, 1].map(|_| tensors(part.len(), &mut random));
        let copies = Copies::new(&part, COPIES, local).unwrap();
        let prepared =
            |on: &Backend| on.install(|| copies.prepared(&fields, &params, on, &control).unwrap());
        let (expected, found) = (prepared(&cpu), prepared(&card));
        same_matrices(&expected.metric, &found.metric);
        same_steps(&expected, &found);
        let zero = copies.stack.places(&[3, 4, 40]);
        let solved = |prepared: &Prepared, on: &Backend| {
            let source = Arc::new(CostSource::places(&prepared.metric, "start", zero.clone()));
            let params = eikonal::Params {
                tolerance: 0.0,
                schedule: None,
            };
            let mut fields = solve(prepared, &[source], &params, on, &control).unwrap();
            fields.remove(0).values
        };
        let reached = solved(&expected, &cpu);
        for (place, (cpu, card)) in reached.iter().zip(&*solved(&found, &card)).enumerate() {
            assert!(
                cpu == card || (cpu - card).abs() <= 1e-4 * cpu,
                "{local:?}, place {place}: {cpu} {card}"
            );
        }
        assert!(reached.iter().filter(|value| value.is_finite()).count() > reached.len() / 2);
    }
}

/// W and G to the rounding of single precision, against the largest number of each matrix.
fn same_matrices(expected: &Metric, found: &Metric) {
    let pairs = [
        (&expected.speed, &found.speed),
        (&expected.cost, &found.cost),
    ];
    for (expected, found) in pairs {
        assert_eq!(expected.len(), found.len());
        for (place, (a, b)) in expected.iter().zip(found.iter()).enumerate() {
            let largest = a.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
            for (a, b) in a.iter().zip(b) {
                // The inverse of rounded matrices of anisotropy up to 100² loses as many digits.
                assert!((a - b).abs() <= 2e-3 * largest, "{place}: {a} {b}");
            }
        }
    }
}

/// Selling's steps, which only rounding at a threshold changes.
fn same_steps(expected: &Prepared, found: &Prepared) {
    let places = expected.metric.len();
    let equal = |place: usize| {
        let (a, b) = (expected.offsets(place), found.offsets(place));
        let alike = |(a, b): (&eikonal::Offset, &eikonal::Offset)| {
            a.e == b.e && a.open == b.open && (a.rho - b.rho).abs() <= 1e-3 * a.rho.abs()
        };
        a.len() == b.len() && a.iter().zip(b.iter()).all(alike)
    };
    let different = (0..places).filter(|place| !equal(*place)).count();
    assert!(different * 1000 <= places, "{different} of {places}");
}
