//! The sensitivity of a lifted pathway: against finite differences of costs and of distributions, Euler's relation, closed
//! forms, and independence from threads.

use super::{cube, from_place, params, place};
use crate::support::fields::backend;
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{Grid, Mask, OdfField};
use arcuate::solvers::lifted::{
    DirectionSet, LiftedField, LiftedPathway, LiftedSensitivity, Params, Prepared, SensitivityTo,
    UNREACHED, derivative_by_log_cost, opposite, solve_both,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "lifted::sensitivities equal finite differences of costs",
            by_cost,
        ),
        test(
            "lifted::sensitivities equal finite differences of distributions",
            by_amplitude,
        ),
        test("lifted::sensitivities add up to the cost", sums),
        test("lifted::uniform amplitudes have a closed form", uniform),
        cuda_test("parity::lifted sensitivities", card),
    ]
}

/// A larger step crosses to other vertices, above all those of the turns; a smaller one loses digits of single precision.
const STEP: f64 = 0.002;
const VOXELS: usize = 20;

fn between(prepared: &Prepared, ends: [DVec3; 2], on: &Backend) -> LiftedPathway {
    let ends = ends.map(|at| from_place(place(prepared, at), None));
    let [a, b] = solve_both(prepared, &ends, 0.3, UNREACHED, on, &Control::new()).unwrap();
    on.install(|| LiftedPathway::new(a, b)).unwrap()
}

fn sensitivity(pathway: &LiftedPathway, threads: usize) -> LiftedSensitivity {
    let control = Control::new();
    pathway.sensitivity(&backend(threads), &control).unwrap()
}

/// Compares the shares of random voxels with d ln E* / d ln x, x the input of a voxel by a factor.
fn compare(what: &str, shares: &[f32], chosen: &[usize], least_cost: impl Fn(usize, f64) -> f64) {
    let (mut sums, mut worst) = ([0.0; 2], 0.0f64);
    for &place in chosen {
        let cost = |sense: f64| least_cost(place, (sense * STEP).exp());
        let slope = (cost(1.0) / cost(-1.0)).ln() / (2.0 * STEP);
        let share = f64::from(shares[place]);
        worst = worst.max((slope / share - 1.0).abs());
        sums[0] += (slope - share).abs();
        sums[1] += share.abs();
    }
    println!("{what}: mean {:.4}, largest {worst:.4}", sums[0] / sums[1]);
    assert!(worst < 0.05, "{what}: {worst:.3} of the share of a voxel");
}

/// This many of some places.
fn drawn(random: &mut Random, mut candidates: Vec<usize>, count: usize) -> Vec<usize> {
    assert!(candidates.len() >= count, "{}", candidates.len());
    let mut draw = || {
        let chosen = random.uniform(0.0, candidates.len() as f64) as usize;
        candidates.swap_remove(chosen.min(candidates.len() - 1))
    };
    (0..count).map(|_| draw()).collect()
}

/// Costs that vary between voxels and with the direction.
fn rough(random: &mut Random, side: usize) -> Vec<(DVec3, f64)> {
    let of_voxel = |_| (random.direction(), random.uniform(0.6, 1.6));
    (0..side * side * side).map(of_voxel).collect()
}

fn prepared(
    rough: &[(DVec3, f64)],
    side: usize,
    params: &Params,
    changed: (usize, f64),
) -> Prepared {
    let cost = |place: usize, d: DVec3| {
        let (axis, size) = rough[place];
        let factor = if place == changed.0 { changed.1 } else { 1.0 };
        (factor * size * (1.0 + 3.0 * (1.0 - d.dot(axis).powi(2)))) as f32
    };
    let prepared = Prepared::from_costs(cube(side), params, cost, &backend(2), &Control::new());
    prepared.unwrap().with_tolerance(0.0)
}

/// Random voxels among those that matter, in each set of directions. Each comparison solves twice: the larger sets compare
/// fewer voxels in a smaller cube.
fn by_cost() {
    let from = DVec3::new(1.0, 2.0, 3.0);
    let large = (21, DVec3::new(19.0, 17.0, 10.0), 10);
    let small = (15, DVec3::new(13.0, 12.0, 8.0), 4);
    let mut random = Random::fresh("lifted sensitivity");
    for set in super::SETS {
        let (side, to, count) = match set {
            DirectionSet::Icosphere42 => large,
            _ => small,
        };
        let (params, rough) = (params(set), rough(&mut random, side));
        let solved = |changed| {
            let prepared = prepared(&rough, side, &params, changed);
            between(&prepared, [from, to], &backend(2))
        };
        let pathway = solved((0, 1.0));
        let found = sensitivity(&pathway, 2);
        assert!(found.by_amplitude.is_none(), "costs were given");
        let shares = &found.by_cost.shares;
        let matter = (0..shares.len()).filter(|p| shares[*p] > 1.5e-3).collect();
        let chosen = drawn(&mut random, matter, count);
        compare(set.key(), shares, &chosen, |place, factor| {
            solved((place, factor)).min_cost
        });
    }
}

/// The lobes of a bundle along x that ends where another one along y begins, with a voxel scaled by a factor.
struct Corner {
    grid: Arc<Grid>,
    sizes: Vec<f64>,
    lobes: [Vec<f64>; 2],
}

impl Corner {
    const ENDS: [DVec3; 2] = [DVec3::new(1.0, 3.0, 2.0), DVec3::new(11.0, 13.0, 2.0)];

    fn new(random: &mut Random) -> Self {
        let grid = Grid::axis_aligned([15, 15, 5], DVec3::splat(2.0), DVec3::ZERO).unwrap();
        let lobes = [DVec3::X, DVec3::Y].map(|axis| {
            let mut lobe = vec![0.0; count(8)];
            for (u, weight) in quadrature(16) {
                let amplitude = 0.1 + u.dot(axis).powi(8);
                for (sum, y) in lobe.iter_mut().zip(evaluate(8, u)) {
                    *sum += weight * amplitude * y;
                }
            }
            lobe
        });
        let sizes = (0..grid.voxel_count()).map(|_| random.uniform(0.5, 0.9));
        Self {
            sizes: sizes.collect(),
            grid: Arc::new(grid),
            lobes,
        }
    }

    fn field(&self, scaled: (usize, f64)) -> OdfField {
        let n = self.grid.voxel_count();
        let mut coefficients = vec![0f32; n * count(8)];
        for v in 0..n {
            let [x, y, z] = self.grid.voxel(v).map(|c| c as f64);
            let along = [
                (y - 3.0).hypot(z - 2.0) < 1.5,
                (x - 11.0).hypot(z - 2.0) < 1.5,
            ];
            // A slab that no path reaches sets the reference amplitude, which the bundles do not have.
            let weights = match x > 13.0 || y < 1.0 {
                true => [4.0, 0.0],
                false => along.map(|within| if within { self.sizes[v] } else { 0.05 }),
            };
            let factor = if v == scaled.0 { scaled.1 } else { 1.0 };
            for (weight, lobe) in weights.into_iter().zip(&self.lobes) {
                for (i, value) in lobe.iter().enumerate() {
                    coefficients[i * n + v] += (factor * weight * value) as f32;
                }
            }
        }
        OdfField::new(self.grid.clone(), 8, coefficients)
    }

    /// All voxels but those between the bundles and the slab.
    fn mask(&self) -> Mask {
        let is_inside = |v: usize| {
            let [x, y, _] = self.grid.voxel(v);
            u8::from(x != 13 && y != 1)
        };
        let voxels = 0..self.grid.voxel_count();
        Mask::new(
            self.grid.clone(),
            voxels.map(is_inside).collect::<Vec<u8>>(),
        )
    }

    fn solved(&self, scaled: (usize, f64)) -> LiftedPathway {
        let mask = self.mask();
        let (on, control) = (backend(2), Control::new());
        let field = self.field(scaled);
        let prepared = Prepared::new(
            &field,
            &mask,
            &params(DirectionSet::Icosphere162),
            &on,
            &control,
        );
        between(&prepared.unwrap().with_tolerance(0.0), Self::ENDS, &on)
    }
}

/// 20 random voxels among those that matter, on the straight bundles and where the path turns from one to the other.
fn by_amplitude() {
    let mut random = Random::fresh("lifted sensitivity by amplitude");
    let corner = Corner::new(&mut random);
    let pathway = corner.solved((0, 1.0));
    let reference = |pathway: &LiftedPathway| pathway.prepared().amplitudes().unwrap().reference;
    let before = reference(&pathway);
    let found = sensitivity(&pathway, 2);
    let by_amplitude = found.by_amplitude.expect("from distributions");
    let shares = &by_amplitude.shares;
    assert!(shares.iter().all(|s| *s >= 0.0));
    let matter = (0..shares.len()).filter(|p| shares[*p] > 2e-3).collect();
    let chosen = drawn(&mut random, matter, VOXELS);
    let voxel = |place: usize| corner.grid.voxel(pathway.places.voxels[place] as usize);
    let turning = chosen.iter().filter(|p| {
        let [x, y, _] = voxel(**p);
        x.abs_diff(11) <= 2 && y.abs_diff(3) <= 2
    });
    let turning = turning.count();
    println!("{turning} of {VOXELS} voxels where the path turns");
    assert!(turning > 0 && turning < VOXELS, "{turning}");
    let minus: Vec<f32> = shares.iter().map(|share| -share).collect();
    compare("amplitudes", &minus, &chosen, |place, factor| {
        let solved = corner.solved((pathway.places.voxels[place] as usize, factor));
        assert!((reference(&solved) / before - 1.0).abs() < 1e-6, "constant");
        solved.min_cost
    });
}

/// Costs that are c times as high give a cost that is c times as high: the derivatives of a field add up to its value
/// (Euler). They are the same on any number of threads, and 0 outside the mask.
fn sums() {
    const SIDE: usize = 15;
    let mut random = Random::fresh("sums of lifted sensitivities");
    for set in super::SETS {
        let rough = rough(&mut random, SIDE);
        let grid = cube(SIDE).grid;
        let is_open = |v: &u32| *v % 11 != 5;
        let voxels = (0..grid.voxel_count() as u32).filter(is_open).collect();
        let places = arcuate::solvers::metric::Places::new(&grid, voxels);
        let of_voxel = places.voxels.clone();
        let cost = |place: usize, d: DVec3| {
            let (axis, size) = rough[of_voxel[place] as usize];
            (size * (1.0 + 3.0 * (1.0 - d.dot(axis).powi(2)))) as f32
        };
        let prepared =
            Prepared::from_costs(places, &params(set), cost, &backend(2), &Control::new());
        let ends = [DVec3::new(1.0, 1.0, 1.0), DVec3::new(12.0, 9.0, 14.0)];
        let pathway = between(&prepared.unwrap(), ends, &backend(2));
        let found = sensitivity(&pathway, 1);
        let shares = &found.by_cost.shares;
        assert!(shares.iter().all(|s| *s >= 0.0));
        assert_eq!(*shares, sensitivity(&pathway, 3).by_cost.shares);
        let prepared = pathway.prepared();
        let [a, b] = &pathway.fields;
        let derivative = |field: &LiftedField, direction: usize, at: usize| -> f64 {
            let parts = derivative_by_log_cost(field, direction, at, &Control::new());
            parts.unwrap().iter().sum()
        };
        // In the middle, both fields together add up to E*: the divisor of the shares.
        let directions = 0..prepared.directions.len();
        let middle = pathway.middle;
        let both = |d: &usize| a.value(*d, middle) + b.value(opposite(*d), middle);
        let best = directions
            .clone()
            .min_by(|d, e| both(d).total_cmp(&both(e)));
        let best = best.unwrap();
        let sum = derivative(a, best, middle) + derivative(b, opposite(best), middle);
        let ratio = sum / pathway.min_cost;
        assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
        let mut reached = 0;
        for (field, end) in pathway.fields.iter().zip([ends[1], ends[0]]) {
            let at = place(prepared, end);
            let value = |d: &usize| field.value(*d, at);
            let least = directions
                .clone()
                .min_by(|d, e| value(d).total_cmp(&value(e)));
            for direction in [0, 7, 20, least.unwrap()] {
                let value = f64::from(field.value(direction, at));
                let sum = derivative(field, direction, at);
                reached += usize::from(value < f64::from(UNREACHED));
                // Values beyond the cap are unknown. The solver stops at its tolerance, the adjoint repeats its steps in
                // double precision.
                let expected = if value < f64::from(UNREACHED) {
                    value
                } else {
                    0.0
                };
                assert!(
                    (sum - expected).abs() <= 1e-4 * pathway.min_cost,
                    "{sum} {expected}"
                );
            }
        }
        assert!(reached >= 2, "{reached} states at the far ends are reached");
        let image = found.by_cost.percent(&pathway.places);
        let inside: std::collections::HashMap<u32, f32> = pathway
            .places
            .voxels
            .iter()
            .copied()
            .zip(shares.iter().copied())
            .collect();
        for (voxel, value) in image.values.iter().enumerate() {
            let share = inside.get(&(voxel as u32)).copied().unwrap_or(0.0);
            assert_eq!(*value, 100.0 * share);
        }
    }
}

/// Where all amplitudes are g times the reference, C = 1 / (δ + g), and E* falls by g / (δ + g) percent for each percent by
/// which they grow; where they are the reference itself, growth changes nothing. A region in which everything costs four
/// times as much changes neither.
fn uniform() {
    let grid = Grid::axis_aligned([13, 9, 9], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let n = grid.voxel_count();
    let mut coefficients = vec![0f32; n * count(2)];
    // Two blocks without a connection: most voxels have the reference amplitude.
    let mut inside = vec![1u8; n];
    for (v, inside) in inside.iter_mut().enumerate() {
        let x = grid.voxel(v)[0];
        coefficients[v] = if x < 5 { 0.4 } else { 1.0 };
        *inside = u8::from(x != 5);
    }
    let field = OdfField::new(grid.clone(), 2, coefficients);
    let mask = Mask::new(grid, inside);
    let (on, control) = (backend(2), Control::new());
    let params = params(DirectionSet::Icosphere42);
    let plain = Prepared::new(&field, &mask, &params, &on, &control).unwrap();
    let costly = plain.clone().costlier(|_| true, 4.0);
    let cases = [(1.0, 0.4), (8.0, 1.0)];
    let cases = [plain, costly]
        .into_iter()
        .flat_map(|prepared| cases.map(|case| (prepared.clone(), case)));
    for (prepared, (x, share)) in cases {
        let ends = [DVec3::new(x, 1.0, 2.0), DVec3::new(x + 2.0, 7.0, 6.0)];
        let pathway = between(&prepared, ends, &on);
        let found = sensitivity(&pathway, 2).by_amplitude.unwrap();
        let sum: f64 = found.shares.iter().map(|s| f64::from(*s)).sum();
        let expected = match share {
            1.0 => 0.0,
            share => share / (params.background_speed + share),
        };
        assert!((sum - expected).abs() < 1e-4, "{sum} {expected}");
    }
}

/// From the fields of a graphics card, whose values agree with those of the CPU to their tolerance. The parts
/// by amplitude are those by cost times 1 − δ C, which lies between 0 and 1.
fn card(card: Backend) {
    let mut random = Random::fresh("lifted sensitivity on a card");
    let corner = Corner::new(&mut random);
    let mask = corner.mask();
    let (on, control) = (backend(2), Control::new());
    let field = corner.field((0, 1.0));
    let params = params(DirectionSet::Icosphere162);
    let prepared = Prepared::new(&field, &mask, &params, &on, &control).unwrap();
    let [cpu, gpu] = [&on, &card].map(|on| {
        let pathway = between(&prepared, Corner::ENDS, on);
        pathway.sensitivity(on, &control).unwrap()
    });
    for input in [SensitivityTo::Cost, SensitivityTo::Amplitude] {
        let [cpu, gpu] = [&cpu, &gpu].map(|found| &found.to(input).unwrap().shares);
        let moved: f32 = cpu.iter().zip(gpu.iter()).map(|(a, b)| (a - b).abs()).sum();
        let all: f32 = cpu.iter().sum();
        let share = 0.5 * moved / all;
        println!("{input:?}: {:.2} % in other voxels", 100.0 * share);
        assert!(share < 0.01, "{input:?}: {share}");
    }
}
