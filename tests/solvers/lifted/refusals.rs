//! Distributions and regions without a pathway are refused with one sentence.

use super::{constant, cube, from_place, params, place, uneven};
use crate::support::fields::backend;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, OdfField};
use arcuate::solvers::lifted::{
    DirectionSet, LiftedPathway, Limits, Params, Prepared, Source, UNREACHED, solve, solve_both,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("lifted::regions that overlap are named", overlap),
        test("lifted::refusals are sentences", refusals),
    ]
}

/// Regions with a common voxel have no pathway, and the sentence says why.
fn overlap() {
    let prepared = uneven(cube(9), &params(DirectionSet::Icosphere42), 1.0);
    let [a, b] = [3.0, 4.0].map(|x| place(&prepared, DVec3::new(x, 4.0, 4.0)) as u32);
    let ends = [vec![a], vec![a, b]].map(|zero| {
        Arc::new(Source {
            name: "A".to_owned(),
            zero,
            direction: None,
        })
    });
    let (on, control) = (backend(2), Control::new());
    let [first, second] = solve_both(&prepared, &ends, 0.3, UNREACHED, &on, &control).unwrap();
    let error = on
        .install(|| LiftedPathway::new(first, second))
        .unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

fn refusals() {
    let grid = Arc::new(Grid::axis_aligned([3; 3], DVec3::ONE, DVec3::ZERO).unwrap());
    let mask = arcuate::data::Mask::new(grid.clone(), vec![1u8; 27]);
    let sentence = |field: OdfField| {
        let (on, control) = (backend(1), Control::new());
        let created = Prepared::new(&field, &mask, &Params::defaults(), &on, &control);
        created.unwrap_err().to_string()
    };
    let empty = OdfField::new(grid.clone(), 2, vec![0.0; 27 * 6]);
    assert!(sentence(empty).starts_with("The mask holds no voxel with a distribution"));
    let flat = OdfField::new(grid.clone(), 0, vec![1.0; 27]);
    assert!(sentence(flat).starts_with("Found distributions of order 0"));
    let prepared = constant(cube(3), &params(DirectionSet::Icosphere42));
    let elsewhere = from_place(27, None);
    let outcome = solve(
        &prepared,
        &elsewhere,
        &Limits::unlimited(),
        &backend(1),
        &Control::new(),
    );
    assert!(
        outcome
            .unwrap_err()
            .to_string()
            .contains("was placed in another mask")
    );
    let control = Control::new();
    control.cancel();
    let source = from_place(0, None);
    let outcome = solve(
        &prepared,
        &source,
        &Limits::unlimited(),
        &backend(1),
        &control,
    );
    assert_eq!(outcome.unwrap_err(), arcuate::solvers::Error::Cancelled);
}
