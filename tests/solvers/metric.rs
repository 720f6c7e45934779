//! The matrix of each cost, and Selling's decomposition of its inverse.

mod copies;

use crate::eikonal::{cube, oblique};
use crate::support::fields::{backend, components, odd_grid};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Tensor, TensorField};
use arcuate::solvers::eikonal::{self, CostSource, LocalSolver, Prepared, solve};
use arcuate::solvers::metric::{Cost, Metric, Params, Stack, halved, matrix};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

/// A metric with the default exponent.
fn with_cost(cost: Cost) -> Params {
    Params {
        cost,
        ..Params::defaults()
    }
}

pub fn tests() -> Vec<Trial> {
    let mut all = vec![
        test("metric::costs and speeds", costs),
        test("metric::Selling's decomposition", decomposition),
        test("metric::on voxels of twice the size", halves),
        test("metric::refusals are sentences", refusals),
        test("metric::costlier places", costlier),
        test("metric::several metrics solved as one", stacked),
        test("metric::several metrics beside each other", gaps),
    ];
    all.extend(copies::tests());
    all
}

/// Each cost against its matrix formula, on a grid with any axes.
fn costs() {
    let mut random = Random::fresh("costs");
    let grid = Arc::new(odd_grid(&mut random));
    let tensors: Vec<DMat3> = (0..grid.voxel_count())
        .map(|_| oblique(&mut random, 2.5) * random.uniform(0.5e-3, 2e-3))
        .collect();
    let values: Vec<Tensor> = tensors
        .iter()
        .map(|d| Tensor::new(components(*d)))
        .collect();
    let field = TensorField::new(grid.clone(), values);
    let traces: f64 = tensors
        .iter()
        .map(|d| d.x_axis.x + d.y_axis.y + d.z_axis.z)
        .sum();
    let scale = 3.0 * tensors.len() as f64 / traces;
    let turn = grid.voxel_from_world.matrix3;
    let metric_of =
        |params: Params| Metric::new(&field, &params, None, &backend(2), &Control::new()).unwrap();
    let cases = [
        with_cost(Cost::Inverse),
        Params::sharpened(2.0),
        with_cost(Cost::Isotropic),
        with_cost(Cost::Adjugate),
    ];
    for params in cases {
        let metric = metric_of(params);
        assert_eq!((metric.len(), metric.repaired), (tensors.len(), 0));
        for (place, tensor) in tensors.iter().enumerate() {
            let d = *tensor * scale;
            let det = d.determinant();
            let speed = match params.cost {
                Cost::Inverse => d,
                // |D|^⅓ (D / |D|^⅓)² = D² / |D|^⅓
                Cost::Sharpened => d * d * (1.0 / det.cbrt()),
                Cost::Isotropic => DMat3::IDENTITY * det.cbrt(),
                Cost::Adjugate => d * (1.0 / det),
            };
            let expected = turn * speed * turn.transpose();
            let size = expected.x_axis.x + expected.y_axis.y + expected.z_axis.z;
            let off = matrix(&metric.speed[place]) - expected;
            assert!(off.to_cols_array().iter().all(|v| v.abs() < 1e-5 * size));
            let product = matrix(&metric.speed[place]) * matrix(&metric.cost[place]);
            let off = product - DMat3::IDENTITY;
            assert!(off.to_cols_array().iter().all(|v| v.abs() < 1e-3));
        }
    }
    // Any power keeps the determinant of D.
    let [one, three] = [1.0, 3.0].map(|alpha| metric_of(Params::sharpened(alpha)));
    for (a, b) in one.speed.iter().zip(three.speed.iter()) {
        let ratio = matrix(a).determinant() / matrix(b).determinant();
        assert!((ratio - 1.0).abs() < 1e-3);
    }
}

fn decomposition() {
    let mut random = Random::fresh("Selling");
    for anisotropy in [1.0, 3.0, 8.0] {
        let grid = cube(33);
        let speed = oblique(&mut random, anisotropy);
        let metric = Metric::from_speed(&grid, |_| Some(speed)).unwrap();
        let (backend, control) = (backend(1), Control::new());
        let prepared = Prepared::new(&metric, LocalSolver::Selling, &backend, &control).unwrap();
        let at = |v| metric.place_of(v).unwrap();
        let terms = prepared.offsets(at([16; 3]));
        let far = terms.iter().flat_map(|t| t.e).map(i8::abs).max();
        println!("{anisotropy}: {} terms, farthest {far:?}", terms.len());
        let mut sum = DMat3::ZERO;
        for term in terms.iter() {
            let e = DVec3::from_array(term.e.map(f64::from));
            sum += DMat3::from_cols(e * e.x, e * e.y, e * e.z) * f64::from(term.rho);
            assert!(term.rho > 0.0 && term.open == [true; 2]);
        }
        let off = sum - speed;
        assert!(off.to_cols_array().iter().all(|v| v.abs() < 1e-5));
        // At a corner no end leaves the mask.
        for term in prepared.offsets(at([0; 3])).iter() {
            for (open, sign) in term.open.into_iter().zip([1, -1]) {
                let end = term.e.map(|c| sign * i64::from(c));
                assert_eq!(open, metric.place_of(end).is_some());
            }
        }
    }
}

fn refusals() {
    let grid = cube(3);
    let tensor = Tensor::new(components(DMat3::IDENTITY * 1e-3));
    let field = TensorField::new(grid.clone(), vec![tensor; 27]);
    let refused = |params: Params, mask: Option<&Mask>| {
        let metric = Metric::new(&field, &params, mask, &backend(1), &Control::new());
        metric.unwrap_err().to_string()
    };
    for alpha in [0.0, -1.0, 17.0, f64::NAN] {
        let message = refused(Params::sharpened(alpha), None);
        assert!(
            message.starts_with(&format!(
                "Found {alpha} for Sharpening α (--alpha), expected"
            )),
            "{message}"
        );
    }
    let message = refused(with_cost(Cost::Inverse), Some(&Mask::empty(&grid)));
    assert!(
        message.starts_with("The mask holds no voxel with a tensor"),
        "{message}"
    );
}

/// A uniform tensor on any grid keeps its cost; structures too thin for the mask are kept.
fn halves() {
    let mut random = Random::fresh("halves");
    let shape = [17, 12, 9];
    let turn = DMat3::from_quat(random.rotation());
    let shear = DMat3::from_cols_array(&[2.0, 0.0, 0.0, 0.3, 1.5, 0.0, -0.2, 0.4, 2.5]);
    let affine = DAffine3::from_mat3_translation(turn * shear, random.direction() * 50.0);
    let grid = Arc::new(Grid::new(shape, affine, AffineSource::Computed).unwrap());
    let tensor = Tensor::new([1.2e-3, 1e-4, 0.0, 6e-4, -1e-4, 4e-4]);
    let field = TensorField::new(grid.clone(), vec![tensor; grid.voxel_count()]);
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|v| u8::from(grid.voxel(v)[2] == 4 || grid.voxel(v)[0] > 8))
        .collect();
    let mask = Mask::new(grid.clone(), inside);
    let (coarse, coarse_mask) = halved(&field, &mask).unwrap();
    assert_eq!(coarse.grid.shape, [9, 6, 5]);
    for voxel in mask.voxels_inside() {
        let world = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
        let here = coarse.grid.nearest(world).unwrap();
        assert_eq!(here, voxel.map(|v| v / 2), "the voxel that holds it");
        let index = coarse.grid.index(here);
        assert_eq!(coarse_mask.inside[index], 1);
        for (a, b) in coarse.tensors[index].d.iter().zip(tensor.d) {
            assert!((a - b).abs() < 1e-9);
        }
    }
    let parents = coarse_mask.voxels_inside().filter(|v| {
        let holds = |fine: [usize; 3]| fine.map(|c| c / 2) == *v;
        mask.voxels_inside().any(holds)
    });
    assert_eq!(parents.count(), coarse_mask.count());
}

/// A factor on the cost of some places squares G and divides W; it stays with other tensors, and in a part of the voxels.
fn costlier() {
    let mut random = Random::fresh("costlier");
    let grid = Arc::new(odd_grid(&mut random));
    let mut tensors = || -> Vec<Tensor> {
        let of_voxel = |_| oblique(&mut random, 2.5) * 1e-3;
        let all = (0..grid.voxel_count()).map(of_voxel);
        all.map(|d| Tensor::new(components(d))).collect()
    };
    let (first, second) = (tensors(), tensors());
    let (backend, params) = (backend(2), Params::defaults());
    let field = TensorField::new(grid.clone(), first.clone());
    let plain = Metric::new(&field, &params, None, &backend, &Control::new()).unwrap();
    let is_costly = |place: usize| place.is_multiple_of(3);
    let costlier = backend.install(|| plain.clone().costlier(is_costly, 4.0));
    let repeated = costlier.with_tensors(&first, &params);
    let other = costlier.with_tensors(&second, &params);
    let part: Vec<u32> = (0..plain.len() as u32).filter(|p| p % 2 == 1).collect();
    let within = costlier.within(&part).with_tensors(
        &part.iter().map(|p| second[*p as usize]).collect::<Vec<_>>(),
        &params,
    );
    let along = DVec3::new(0.4, -1.0, 0.7);
    let plain_other = plain.with_tensors(&second, &params);
    for place in 0..plain.len() {
        let factor = if is_costly(place) { 4.0 } else { 1.0 };
        let same = |found: f64, cost: f64| assert!((found / (factor * cost) - 1.0).abs() < 1e-4);
        same(
            costlier.step_cost(place, along),
            plain.step_cost(place, along),
        );
        same(
            repeated.step_cost(place, along),
            plain.step_cost(place, along),
        );
        same(
            other.step_cost(place, along),
            plain_other.step_cost(place, along),
        );
        let product = matrix(&costlier.speed[place]) * matrix(&costlier.cost[place]);
        let off = product - DMat3::IDENTITY;
        assert!(off.to_cols_array().iter().all(|v| v.abs() < 1e-3));
    }
    for (own, place) in part.iter().enumerate() {
        let cost = other.step_cost(*place as usize, along);
        assert!((within.step_cost(own, along) / cost - 1.0).abs() < 1e-6);
    }
}

const COPIES: usize = 3;

/// Costs in each copy are those of its metric alone, and its voxels lie where those of the mask do. The voxels begin beyond
/// the first brick along each axis, so that the copies have another origin than the mask.
fn stacked() {
    let mut random = Random::fresh("metrics solved as one");
    for local in LocalSolver::ALL {
        let grid = Arc::new(odd_grid(&mut random));
        let inside: Vec<bool> = (0..grid.voxel_count())
            .map(|v| grid.voxel(v).iter().all(|c| *c > 4) && random.uniform(0.0, 1.0) < 0.85)
            .collect();
        let metrics = metrics(&grid, &inside, &mut random);
        let first = (0..metrics[0].len()).map(|p| *metrics[0].voxel(p).iter().min().unwrap());
        assert!(first.min() >= Some(4), "copies begin at the origin");
        let stack = Stack::new(&metrics[0], COPIES).unwrap();
        as_alone(&stack, &metrics, local);
    }
    let none = Grid::axis_aligned([2; 3], DVec3::ONE, DVec3::ZERO).unwrap();
    let one = Metric::from_speed(&Arc::new(none), |_| Some(DMat3::IDENTITY)).unwrap();
    assert!(Stack::new(&one, 0).is_none());
}

/// Where the extent along the third axis is a whole number of bricks, copies still have a gap: a front that starts in one
/// of them does not reach the next.
fn gaps() {
    let mut random = Random::fresh("metrics beside each other");
    let (on, control) = (backend(2), Control::new());
    let grid = Arc::new(Grid::axis_aligned([5, 6, 8], DVec3::ONE, DVec3::ZERO).unwrap());
    let metrics = metrics(&grid, &vec![true; grid.voxel_count()], &mut random);
    let stack = Stack::new(&metrics[0], COPIES).unwrap();
    let all = stack.metric(&metrics);
    for local in LocalSolver::ALL {
        as_alone(&stack, &metrics, local);
        let prepared = Prepared::new(&all, local, &on, &control).unwrap();
        // The last place of the second copy, whose upper neighbour would be the third copy's first.
        let start = stack.first(2) as u32 - 1;
        let source = Arc::new(CostSource::places(&all, "start", vec![start]));
        let fields = solve(&prepared, &[source], &EXACT, &on, &control).unwrap();
        let own = stack.first(1)..stack.first(2);
        for (place, value) in fields[0].values.iter().enumerate() {
            assert_eq!(value.is_finite(), own.contains(&place), "place {place}");
        }
    }
}

const EXACT: eikonal::Params = eikonal::Params {
    tolerance: 0.0,
    schedule: None,
};

/// Metrics of the same voxels, with different counts; the second one has costly places.
fn metrics(grid: &Arc<Grid>, inside: &[bool], random: &mut Random) -> Vec<Metric> {
    let mut metric = |copy: usize| {
        let speeds = inside.iter().map(|_| oblique(random, 4.0));
        let speeds: Vec<DMat3> = speeds.collect();
        let speed = |v: [usize; 3]| inside[grid.index(v)].then(|| speeds[grid.index(v)]);
        let mut metric = Metric::from_speed(grid, speed).unwrap();
        (metric.repaired, metric.limited) = (1 + copy as u64, 7 * copy as u64);
        match copy {
            1 => backend(2).install(|| metric.costlier(|place| place.is_multiple_of(3), 4.0)),
            _ => metric,
        }
    };
    (0..COPIES).map(&mut metric).collect()
}

/// Compares the copies with their metrics.
fn as_alone(stack: &Stack, metrics: &[Metric], local: LocalSolver) {
    let (on, control) = (backend(2), Control::new());
    let all = stack.metric(metrics);
    let counts = |count: fn(&Metric) -> u64| metrics.iter().map(count).sum::<u64>();
    assert!(counts(|m| m.repaired) > 0 && counts(|m| m.limited) > 0);
    assert_eq!(all.repaired, counts(|m| m.repaired));
    assert_eq!(all.limited, counts(|m| m.limited));
    let zero = [3, 4, metrics[0].len() as u32 - 1];
    let fields = |metric: &Metric, zero: Vec<u32>| {
        let prepared = Prepared::new(metric, local, &on, &control).unwrap();
        let source = Arc::new(CostSource::places(metric, "start", zero));
        let mut fields = solve(&prepared, &[source], &EXACT, &on, &control).unwrap();
        fields.remove(0).values
    };
    let together = fields(&all, stack.places(&zero));
    for (copy, metric) in metrics.iter().enumerate() {
        let alone = fields(metric, zero.to_vec());
        for (place, alone) in alone.iter().enumerate() {
            let found = together[stack.first(copy) + place];
            assert!(
                found == *alone || (found - alone).abs() <= 1e-5 * alone,
                "{local:?}, copy {copy}, place {place}: {found} {alone}"
            );
            let at = |metric: &Metric, place: usize| {
                let voxel = metric.voxel(place).map(|c| c as f64);
                metric.grid.world(DVec3::from_array(voxel))
            };
            let off = stack
                .in_mask(copy, at(&all, stack.first(copy) + place))
                .distance(at(metric, place));
            assert!(off < 1e-9, "{off}");
        }
    }
}
