//! Surfaces that split and merge.

use super::{CURVATURE, GROWTH, begin, grid, ones, run, run_for, sphere};
use crate::support::{Random, test};
use arcuate::data::Mask;
use arcuate::solvers::level_set::{Ended, Layout, Params};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::a dumbbell pinches in two", dumbbell),
        test("level_set::two spheres merge", merging),
    ]
}

/// Parts connected through faces, largest first.
pub fn parts(mask: &Mask) -> Vec<usize> {
    let grid = &mask.grid;
    let steps = [1, grid.shape[0], grid.shape[0] * grid.shape[1]];
    let mut left = mask.inside.to_vec();
    let mut sizes = Vec::new();
    for first in 0..left.len() {
        if left[first] == 0 {
            continue;
        }
        left[first] = 0;
        let (mut stack, mut size) = (vec![first], 0);
        while let Some(i) = stack.pop() {
            size += 1;
            let voxel = grid.voxel(i);
            for axis in 0..3 {
                let before = (voxel[axis] > 0).then(|| i - steps[axis]);
                let behind = (voxel[axis] + 1 < grid.shape[axis]).then(|| i + steps[axis]);
                for next in before.into_iter().chain(behind) {
                    if left[next] == 1 {
                        left[next] = 0;
                        stack.push(next);
                    }
                }
            }
        }
        sizes.push(size);
    }
    sizes.sort_by_key(|s| std::cmp::Reverse(*s));
    sizes
}

fn dumbbell() {
    let mut random = Random::fresh("level set dumbbell");
    let grid = grid(DMat3::IDENTITY, 48.0);
    let along = random.direction();
    let mut spheres = vec![sphere(along * 10.0, 7.0), sphere(along * -10.0, 7.0)];
    spheres.extend((-8..=8).map(|k| sphere(along * f64::from(k), 2.5)));
    let params = Params {
        rescaling: 0.05,
        ..CURVATURE
    };
    let mut evolution = begin(&ones(&grid), &spheres, &params, Layout::BEST);
    assert_eq!(parts(&evolution.field().unwrap().mask()).len(), 1);
    // The neck, a cylinder, has vanished after r²/2; the balls, r² = 49 − 4 t, still exist.
    run_for(&mut evolution, 5.0);
    let found = parts(&evolution.field().unwrap().mask());
    println!("{found:?} after {} steps", evolution.step());
    assert_eq!(found.len(), 2);
    let ball = 4.0 / 3.0 * PI * (49.0 - 4.0 * 5.0f64).powf(1.5);
    for part in found {
        assert!((part as f64 / ball - 1.0).abs() < 0.3, "{part} {ball}");
    }
    // Both have vanished after 49 / 4; the growth curve remains.
    assert_eq!(run(&mut evolution, 400), Ended::Vanished);
    assert!(evolution.growth().last().is_some_and(|n| *n > 0));
}

fn merging() {
    let mut random = Random::fresh("level set merging");
    let grid = grid(DMat3::IDENTITY, 44.0);
    let along = random.direction();
    let centres = [along * 7.0, along * -7.0];
    let spheres = centres.map(|c| sphere(c, 5.0));
    let mut evolution = begin(&ones(&grid), &spheres, &GROWTH, Layout::BEST);
    assert_eq!(parts(&evolution.field().unwrap().mask()).len(), 2);
    let time = run_for(&mut evolution, 5.0);
    let mask = evolution.field().unwrap().mask();
    assert_eq!(parts(&mask).len(), 1);
    // First-order upwinding lags by at most (h/2) ln(r/r₀), here a third of a voxel.
    let shape = |radius: f64| {
        let within = |i: usize| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            centres.iter().any(|c| at.distance(*c) < radius)
        };
        (0..grid.voxel_count()).filter(|i| within(*i)).count()
    };
    let (low, high) = (shape(5.0 + time - 0.4), shape(5.0 + time + 0.1));
    println!("{low} to {high}: {}", mask.count());
    assert!(
        (low..=high).contains(&mask.count()),
        "{low} {} {high}",
        mask.count()
    );
}
