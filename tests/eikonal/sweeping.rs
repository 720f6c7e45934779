//! Against an independent solution: sweeping in double precision until nothing falls, with the quadratic
//! equations of the upwind scheme written out as in the paper.

use super::{cube, oblique, source, spread, swirl};
use crate::support::{Random, test};
use arcuate::solvers::eikonal::{CostField, LocalSolver, Source, simplex};
use arcuate::solvers::metric::{Metric, matrix};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("eikonal::godunov6 equals sweeping", godunov),
        test("eikonal::the discrete equation holds", residual),
    ]
}

/// Gauss-Seidel in 8 orders.
pub fn sweep(metric: &Metric, source: &Source) -> Vec<f64> {
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

/// The least of the solutions that are upwind: for each sign of the three differences, with all, two or
/// one of the axes; axes left out have no flow, (W p)_k = 0.
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
    let centre = (n - 1) as f64 / 2.0;
    let ex2 = |v: [usize; 3]| {
        let [x, y, _] = v.map(|c| c as f64 - centre);
        let t = DVec3::new(-y, x, n as f64 / std::f64::consts::TAU).normalize();
        let outer = DMat3::from_cols(t * t.x, t * t.y, t * t.z);
        DMat3::from_diagonal(DVec3::splat(1e-4)) + outer * (1.0 - 1e-4)
    };
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
        // Contracts slowly: what wakes nobody adds up.
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

/// Each value is what the local solver, written again in double precision, makes of its neighbours.
fn residual() {
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
            let field = spread(&metric, local, &[from]);
            let mut off = 0.0f64;
            let mut reached = 0;
            for place in 0..metric.len() {
                let value = f64::from(field.values[place]);
                let again = simplex(&field, place);
                if field.source.seed(place).is_some() || !value.is_finite() {
                    assert!(again.is_none() || value.is_finite());
                    continue;
                }
                reached += 1;
                let again = again.unwrap();
                let shares: f64 = again.corners.iter().map(|c| c.1).sum();
                assert!((shares - 1.0).abs() < 1e-9);
                off = off.max((again.value - value).abs() / value);
            }
            println!(
                "{} at {anisotropy}: largest residual {off:.1e}",
                local.name()
            );
            // A value that falls by less than the tolerance wakes nobody, and single precision rounds.
            assert!(reached > 3000 && off < 5e-5, "{off}");
        }
    }
}
