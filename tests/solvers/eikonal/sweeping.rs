//! Against an independent solution: sweeping in double precision until no value falls, with the quadratic equations of
//! the upwind scheme written out as in the paper.

use super::{PARAMS, cube, helix, oblique, source, spread, spread_on, swirl};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Backend;
use arcuate::solvers::eikonal::{CostField, CostSource, LocalSolver, Params, simplex};
use arcuate::solvers::metric::{Metric, matrix};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        test("eikonal::godunov6 equals sweeping", godunov),
        test("eikonal::the discrete equation holds", || {
            let runs = [(1e-6, 2), (1e-4, 1), (1e-4, 4), (1e-3, 2)];
            residual(&runs.map(|(tolerance, threads)| (tolerance, backend(threads))));
        }),
        test("eikonal::the active simplex is the least of all", simplices),
    ]
}

/// Gauss-Seidel in 8 orders.
pub fn sweep(metric: &Metric, source: &CostSource) -> Vec<f64> {
    let grid = &metric.grid;
    let mut u = vec![f64::INFINITY; metric.len()];
    for seed in &source.seeds {
        u[seed.place as usize] = f64::from(seed.value);
    }
    let around: Vec<[[Option<usize>; 2]; 3]> = (0..metric.len())
        .map(|place| {
            let voxel = metric.voxel(place);
            std::array::from_fn(|axis| {
                [-1, 1].map(|step| {
                    let mut next = voxel;
                    next[axis] += step;
                    metric.place_of(next)
                })
            })
        })
        .collect();
    let speeds: Vec<DMat3> = metric.speed.iter().map(matrix).collect();
    for _ in 0..400 {
        let mut change = 0.0f64;
        for order in 0..8 {
            let along = |axis: usize, i: usize| {
                let n = grid.shape[axis];
                if order >> axis & 1 == 1 { n - 1 - i } else { i }
            };
            for k in 0..grid.shape[2] {
                for j in 0..grid.shape[1] {
                    for i in 0..grid.shape[0] {
                        let voxel = [along(0, i), along(1, j), along(2, k)].map(|v| v as i64);
                        let Some(place) = metric.place_of(voxel) else {
                            continue;
                        };
                        let near = around[place]
                            .map(|ends| ends.map(|p| p.map_or(f64::INFINITY, |p| u[p])));
                        let value = upwind(speeds[place], near);
                        if value < u[place] {
                            let fell = (u[place] - value) / value;
                            change = change.max(if fell.is_finite() { fell } else { 1.0 });
                            u[place] = value;
                        }
                    }
                }
            }
        }
        if change < 1e-11 {
            return u;
        }
    }
    panic!("sweeping did not end");
}

/// The smallest upwind solution: for each sign of the three differences, with all, two or one of the axes; axes left
/// out have no flow, (W p)_k = 0.
fn upwind(w: DMat3, near: [[f64; 2]; 3]) -> f64 {
    let mut best = f64::INFINITY;
    for signs in 0..8 {
        let s: [f64; 3] = std::array::from_fn(|a| if signs >> a & 1 == 1 { -1.0 } else { 1.0 });
        let v: [f64; 3] = std::array::from_fn(|a| near[a][signs >> a & 1]);
        for used in 1..8u32 {
            let axes: Vec<usize> = (0..3).filter(|a| used >> a & 1 == 1).collect();
            if axes.iter().any(|a| !v[*a].is_finite()) {
                continue;
            }
            // The Schur complement over the axes in use is the inverse of the inverse's block.
            let inverse = w.inverse();
            let mut block = DMat3::IDENTITY;
            for (i, a) in axes.iter().enumerate() {
                for (j, b) in axes.iter().enumerate() {
                    block.col_mut(j)[i] = inverse.col(*b)[*a] * s[*a] * s[*b];
                }
            }
            let speed = block.inverse();
            let n = axes.len();
            let ones = DVec3::from_array(std::array::from_fn(|i| f64::from(u8::from(i < n))));
            let low = axes.iter().map(|a| v[*a]).fold(f64::INFINITY, f64::min);
            let values = |i: usize| if i < n { v[axes[i]] - low } else { 0.0 };
            let values = DVec3::from_array(std::array::from_fn(values));
            let (a, b) = (ones.dot(speed * ones), ones.dot(speed * values));
            let c = values.dot(speed * values) - 1.0;
            let u = (b + (b * b - a * c).sqrt()) / a;
            let flow = speed * (ones * u - values);
            if (0..n).all(|i| flow[i] >= 0.0) && u + low < best {
                best = u + low;
            }
        }
    }
    best
}

fn worst(field: &CostField, known: &[f64]) -> f64 {
    let pairs = field.values.iter().zip(known);
    let errors = pairs.map(|(u, known)| {
        assert_eq!(u.is_finite(), known.is_finite());
        let off = (f64::from(*u) - known).abs() / known.max(1.0);
        if known.is_finite() { off } else { 0.0 }
    });
    errors.fold(0.0, f64::max)
}

/// The paper's examples on smaller cubes, a swirl behind a mask with holes.
fn godunov() {
    let mut random = Random::fresh("sweeping");
    let n = 24;
    let grid = cube(n);
    let ex1 = DMat3::from_cols(
        DVec3::new(1.0, 0.9, 0.9),
        DVec3::new(0.9, 1.0, 0.9),
        DVec3::new(0.9, 0.9, 1.0),
    );
    let ex2 = helix(n);
    let field = swirl(&mut random, &grid, 6.0);
    let holes: Vec<bool> = (0..grid.voxel_count())
        .map(|_| random.uniform(0.0, 1.0) < 0.3)
        .collect();
    let middle = [n as i64 / 2; 3];
    let open = |v: [usize; 3]| !holes[grid.index(v)] || v.map(|c| c as i64) == middle;
    let cases: [(&str, Metric, [i64; 3], f64); 3] = [
        (
            "Ex1",
            Metric::from_speed(&grid, |_| Some(ex1)).unwrap(),
            middle,
            5e-5,
        ),
        // Contracts slowly: changes too small to wake a voxel add up.
        (
            "Ex2",
            Metric::from_speed(&grid, |v| Some(ex2(v))).unwrap(),
            [middle[0], middle[1], 0],
            5e-4,
        ),
        (
            "swirl with holes",
            Metric::from_speed(&grid, |v| open(v).then(|| field(v))).unwrap(),
            middle,
            5e-5,
        ),
    ];
    for (name, metric, from, tolerance) in cases {
        let known = sweep(&metric, &source(&metric, "A", &[from]));
        let field = spread(&metric, LocalSolver::Godunov6, &[from]);
        let off = worst(&field, &known);
        println!("{name}: largest relative difference {off:.1e}");
        assert!(off <= tolerance, "{name}: {off}");
    }
}

/// Each value equals the local solver's result for its neighbours, reimplemented in double precision, to the relative
/// change by which a value may fall without waking a voxel, in any order of visits.
pub fn residual(runs: &[(f32, Backend)]) {
    let mut random = Random::fresh("residual");
    let grid = cube(20);
    for local in LocalSolver::ALL {
        for anisotropy in [1.0, 7.0, 25.0] {
            let turn = oblique(&mut random, 1.5);
            let swirl = swirl(&mut random, &grid, anisotropy);
            let holes: Vec<bool> = (0..grid.voxel_count())
                .map(|_| random.uniform(0.0, 1.0) < 0.2)
                .collect();
            let from = [10; 3];
            let open = |v: [usize; 3]| !holes[grid.index(v)] || v.map(|c| c as i64) == from;
            let speed = |v| open(v).then(|| turn * swirl(v) * turn);
            let metric = Metric::from_speed(&grid, speed).unwrap();
            for &(tolerance, ref backend) in runs {
                let params = Params {
                    tolerance,
                    ..PARAMS
                };
                let field = spread_on(&metric, local, &[from], &params, backend);
                let (too_high, too_low) = residuals(&field);
                println!(
                    "{} at {anisotropy} to {tolerance:.0e} on {}: values up to {too_high:.1e} too high, \
                     {too_low:.1e} too low",
                    local.key(),
                    backend.label()
                );
                // Single precision rounds. A corner of the active simplex may lie above the value itself.
                assert!(too_low < 1e-6, "{too_low}");
                let most = 1.1 * f64::from(tolerance) + 1e-6;
                assert!(too_high < most, "{too_high} above {most}");
            }
        }
    }
}

/// Relative deviations of values above and below the local solver's result for their neighbours.
fn residuals(field: &CostField) -> (f64, f64) {
    let (mut too_high, mut too_low) = (0.0f64, 0.0f64);
    let mut reached = 0;
    for place in 0..field.values.len() {
        let value = f64::from(field.values[place]);
        let repeated = simplex(field, place);
        if field.source.seed(place).is_some() || !value.is_finite() {
            assert!(repeated.is_none() || value.is_finite());
            continue;
        }
        reached += 1;
        let repeated = repeated.unwrap();
        let shares: f64 = repeated.corners().iter().map(|c| c.1).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        too_high = too_high.max((value - repeated.value) / value);
        too_low = too_low.max((repeated.value - value) / value);
    }
    assert!(reached > 3000, "{reached}");
    (too_high, too_low)
}

/// The smallest value over all corners, edges and triangles, one triangle at a time, with the cost of each step
/// computed separately: 336 parts on 26 neighbours, of which 146 differ.
fn least_of_all(field: &CostField, place: usize) -> Option<f64> {
    let metric = &field.prepared.metric;
    let (voxel, g) = (metric.voxel(place), matrix(&metric.cost[place]));
    let corner = |step: [i64; 3]| {
        let to = metric.place_of([0, 1, 2].map(|a| voxel[a] + step[a]))?;
        let value = f64::from(field.values[to]);
        let way = DVec3::from_array(step.map(|s| s as f64));
        (metric.is_step_open(voxel, step) && value.is_finite()).then_some((way, value))
    };
    let mut best = f64::INFINITY;
    for octant in 0..8 {
        let sign = |a: usize| if octant >> a & 1 == 1 { 1 } else { -1 };
        for (a, b, c) in [
            (0, 1, 2),
            (0, 2, 1),
            (1, 0, 2),
            (1, 2, 0),
            (2, 0, 1),
            (2, 1, 0),
        ] {
            let mut steps = [[0; 3]; 3];
            for (k, axis) in [a, b, c].into_iter().enumerate() {
                if field.prepared.local == LocalSolver::Godunov6 {
                    steps[k][axis] = sign(axis);
                } else {
                    steps[k..].iter_mut().for_each(|s| s[axis] = sign(axis));
                }
            }
            let corners = steps.map(corner);
            for part in 1..8u32 {
                let chosen = (0..3).filter(|k| part >> k & 1 == 1).map(|k| corners[k]);
                if let Some(chosen) = chosen.collect::<Option<Vec<_>>>()
                    && let Some(value) = over(g, &chosen)
                {
                    best = best.min(value);
                }
            }
        }
    }
    best.is_finite().then_some(best)
}

/// min Σ λ U + |Σ λ e| where its λ are not negative, by the equations of its Lagrangian.
fn over(g: DMat3, corners: &[(DVec3, f64)]) -> Option<f64> {
    let n = corners.len();
    let mut gram = DMat3::IDENTITY;
    for (i, a) in corners.iter().enumerate() {
        for (j, b) in corners.iter().enumerate() {
            gram.col_mut(j)[i] = a.0.dot(g * b.0);
        }
    }
    let inverse = gram.inverse();
    let vector = |f: &dyn Fn(usize) -> f64| {
        DVec3::from_array(std::array::from_fn(|i| if i < n { f(i) } else { 0.0 }))
    };
    let low = corners.iter().map(|c| c.1).fold(f64::INFINITY, f64::min);
    let (ones, values) = (vector(&|_| 1.0), vector(&|i| corners[i].1 - low));
    let (a, b) = (ones.dot(inverse * ones), ones.dot(inverse * values));
    let c = values.dot(inverse * values) - 1.0;
    let value = (b + (b * b - a * c).sqrt()) / a;
    let shares = inverse * (ones * value - values);
    (0..n).all(|i| shares[i] >= 0.0).then_some(value + low)
}

/// Parts shared between triangles are examined once, and parts that cannot be the minimum not at all.
fn simplices() {
    let mut random = Random::fresh("simplices");
    let grid = cube(16);
    for local in [LocalSolver::Godunov6, LocalSolver::HopfLax26] {
        for anisotropy in [1.0, 9.0, 100.0] {
            let swirl = swirl(&mut random, &grid, anisotropy);
            let holes: Vec<bool> = (0..grid.voxel_count())
                .map(|_| random.uniform(0.0, 1.0) < 0.3)
                .collect();
            let open = |v: [usize; 3]| !holes[grid.index(v)] || v == [8; 3];
            let speed = |v| open(v).then(|| swirl(v));
            let metric = Metric::from_speed(&grid, speed).unwrap();
            let field = spread(&metric, local, &[[8; 3]]);
            let timed = |value: &dyn Fn(usize) -> Option<f64>| {
                let started = Instant::now();
                let values: Vec<Option<f64>> = (0..metric.len()).map(value).collect();
                (
                    values,
                    started.elapsed().as_secs_f64() * 1e6 / metric.len() as f64,
                )
            };
            let (found, us) = timed(&|place| simplex(&field, place).map(|s| s.value));
            let (all, all_us) = timed(&|place| least_of_all(&field, place));
            for (found, all) in found.iter().zip(&all) {
                assert_eq!(found.is_some(), all.is_some());
                let off = found.zip(*all).map_or(0.0, |(a, b)| (a / b - 1.0).abs());
                assert!(off < 1e-9, "{found:?} {all:?}");
            }
            println!(
                "{} at {anisotropy}: {us:.2} µs a voxel, all parts {all_us:.1} µs",
                local.key()
            );
            // Four to ten times as fast on an otherwise idle machine.
            assert!(us < 0.5 * all_us, "{us} {all_us}");
        }
    }
}
