//! The noise of a pathway: the same repetitions on any number of threads, the tensors of the tracking's bootstrap, and a
//! range that holds the truth as often as it says.

use crate::support::fields::{backend, prolate, sphere};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Mask, Region, Role, Tensor, TensorField, Volume, VolumeKind};
use arcuate::phantom::directions::half_sphere;
use arcuate::solvers::eikonal::{self, Prepared, solve};
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway::{
    self, Distances, Domain, MaskDistance, Pathway, Range90, RepetitionParams, Repetitions, Scan,
};
use arcuate::solvers::tensor_fit;
use glam::{DMat3, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("pathway::repetitions are the same every time", repeated),
        test(
            "pathway::repetitions are those of the tracking",
            same_tensors,
        ),
        test("pathway::without noise all repetitions agree", quiet),
        test("pathway::distances of repetitions from a mask", distances),
    ]
}

const B: f64 = 1000.0;
const S0: f64 = 100.0;
const EPSILON: f64 = 0.2;

/// An arc of fibres around the origin, 2 mm a voxel.
fn grid() -> Arc<Grid> {
    let grid = Grid::axis_aligned([26, 16, 9], DVec3::splat(2.0), dvec3(-25.0, -2.0, -8.0));
    Arc::new(grid.unwrap())
}

const RADIUS_MM: f64 = 18.0;
const THICK_MM: f64 = 5.0;

/// Fibres within the arc, grey matter around it.
fn tensor(at: DVec3) -> DMat3 {
    let radius = at.truncate().length();
    let off = (radius - RADIUS_MM).hypot(at.z);
    match off < THICK_MM {
        true => prolate(1.6e-3, 0.35e-3, dvec3(-at.y, at.x, 0.0).normalize()),
        false => DMat3::from_diagonal(DVec3::splat(0.9e-3)),
    }
}

fn gradients() -> Gradients {
    let mut gradients = Gradients {
        b_s_per_mm2: vec![0.0; 3],
        directions: vec![DVec3::ZERO; 3],
    };
    for direction in half_sphere(30) {
        gradients.b_s_per_mm2.push(B);
        gradients.directions.push(direction);
    }
    gradients
}

/// The scan at this noise, Rician; `None`: without.
fn scan(gradients: &Gradients, snr: Option<f64>, random: &mut Random) -> Volume {
    let grid = grid();
    let mut values = Vec::new();
    for (b, g) in gradients.b_s_per_mm2.iter().zip(&gradients.directions) {
        for v in 0..grid.voxel_count() {
            let at = grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
            let clean = S0 * (-b * g.dot(tensor(at) * *g)).exp();
            let noise = snr.map_or(0.0, |snr| S0 / snr);
            let [real, imaginary] = [0; 2].map(|_| noise * random.normal());
            values.push((clean + real).hypot(imaginary) as f32);
        }
    }
    Volume::new(grid, gradients.len(), VolumeKind::Scalar, values)
}

fn regions() -> [Region; 2] {
    let end = |turn: f64| RADIUS_MM * dvec3(turn.cos(), turn.sin(), 0.0);
    [
        sphere(Role::Seed, end(0.3), 5.0),
        sphere(Role::Target, end(2.8), 5.0),
    ]
}

/// A fitted scan with its pathway.
struct Scene {
    dwi: Volume,
    gradients: Gradients,
    fit: tensor_fit::Params,
    pathway: Pathway,
}

fn whole() -> Mask {
    let grid = grid();
    let all = vec![1; grid.voxel_count()];
    Mask::new(grid, all)
}

fn pathway(field: &TensorField, domain: &Mask) -> Pathway {
    let (backend, control) = (backend(1), Control::new());
    let params = pathway::Params::defaults();
    let metric = Metric::new(field, &params.metric, Some(domain), &backend, &control).unwrap();
    let prepared = Prepared::new(&metric, params.local, &backend, &control).unwrap();
    let regions = regions();
    let sources = regions
        .each_ref()
        .map(|region| Arc::new(eikonal::CostSource::region(&metric, region).unwrap()));
    let solver = eikonal::Params {
        tolerance: params.tolerance,
        schedule: None,
    };
    let mut fields = solve(&prepared, &sources, &solver, &backend, &control).unwrap();
    let second = fields.remove(1);
    Pathway::new(fields.remove(0), second).unwrap()
}

fn scene(snr: Option<f64>, random: &mut Random) -> Scene {
    scene_of(scan(&gradients(), snr, random))
}

fn scene_of(dwi: Volume) -> Scene {
    let (backend, control) = (backend(1), Control::new());
    let gradients = gradients();
    let fit = tensor_fit::Params::defaults();
    let fitted = tensor_fit::fit(&dwi, &gradients, &whole(), &fit, &backend, &control).unwrap();
    let fa = tensor_fit::maps(&fitted.field, &backend, &control)
        .unwrap()
        .fa;
    let regions = regions();
    let domain = Domain::of_tensors(&fa, pathway::Params::defaults().min_fa, &regions);
    let domain = backend.install(|| domain.mask()).unwrap();
    Scene {
        pathway: pathway(&fitted.field, &domain),
        dwi,
        gradients,
        fit,
    }
}

fn repetitions(scene: &Scene, repetitions: usize, random_seed: u64, threads: usize) -> Repetitions {
    let params = pathway::Params::defaults();
    Repetitions::solve(
        &scene.pathway,
        Scan {
            dwi: &scene.dwi,
            gradients: &scene.gradients,
            fit: &scene.fit,
        },
        (&params.metric, params.tolerance, EPSILON),
        &RepetitionParams {
            repetitions,
            random_seed,
        },
        &backend(threads),
        &Control::new(),
        |_| (),
    )
    .unwrap()
}

fn repeated() {
    let mut random = Random::fresh("repetitions");
    let scene = scene(Some(20.0), &mut random);
    let one = repetitions(&scene, 12, 7, 1);
    let three = repetitions(&scene, 12, 7, 3);
    assert_eq!((&one.paths, &one.visits), (&three.paths, &three.visits));
    // A repetition depends on the seed and its own number alone.
    let more = repetitions(&scene, 20, 7, 2);
    assert_eq!(one.paths[..], more.paths[..12]);
    assert_ne!(one.paths, repetitions(&scene, 12, 8, 2).paths);
    let mut counts = Vec::new();
    let params = pathway::Params::defaults();
    let scan = Scan {
        dwi: &scene.dwi,
        gradients: &scene.gradients,
        fit: &scene.fit,
    };
    let given = RepetitionParams {
        repetitions: 12,
        random_seed: 7,
    };
    let grown = Repetitions::solve(
        &scene.pathway,
        scan,
        (&params.metric, params.tolerance, EPSILON),
        &given,
        &backend(1),
        &Control::new(),
        |so_far| counts.push(so_far.paths.len()),
    );
    assert_eq!(grown.unwrap().paths, one.paths);
    assert!(
        counts.is_sorted() && counts.last() == Some(&12),
        "{counts:?}"
    );
    let cancelled = Control::new();
    cancelled.cancel();
    let stopped = Repetitions::solve(
        &scene.pathway,
        scan,
        (&params.metric, params.tolerance, EPSILON),
        &given,
        &backend(1),
        &cancelled,
        |_| (),
    );
    assert!(stopped.is_err());
}

/// The tensors of a repetition are those of the whole bootstrap, in its voxels.
fn same_tensors() {
    let mut random = Random::fresh("tensors of repetitions");
    let scene = scene(Some(20.0), &mut random);
    let (backend, control) = (backend(2), Control::new());
    let residuals = |mask: &Mask| {
        let (dwi, gradients) = (&scene.dwi, &scene.gradients);
        tensor_fit::residuals(dwi, gradients, mask, &scene.fit, None, &backend, &control).unwrap()
    };
    let all = residuals(&whole());
    let some = residuals(&scene.pathway.metric().mask);
    let field = backend.install(|| all.field(3, 5, &control)).unwrap();
    let tensors: Vec<Tensor> = some.voxels().iter().map(|v| field.tensors[*v]).collect();
    assert_eq!(some.tensors(3, 5), tensors);
    assert_ne!(some.tensors(3, 6), tensors);
}

fn quiet() {
    let mut random = Random::fresh("quiet repetitions");
    let scene = scene(None, &mut random);
    let found = repetitions(&scene, 10, 1, 2);
    let costs = found.costs().unwrap();
    for cost in [costs.low, costs.median, costs.high] {
        assert!(
            (cost / found.measured - 1.0).abs() < 1e-5,
            "{costs:?}, {}",
            found.measured
        );
    }
    let shown = scene.pathway.minimal_path().unwrap();
    assert_eq!(found.near(&shown, |_| false), 10);
    assert_eq!(found.without_path(), 0);
    // All repetitions hold the same voxels.
    let own = scene.pathway.mask(EPSILON).count();
    for share in [0.05, 1.0] {
        let count = found.mask(share).count();
        assert!(count.abs_diff(own) <= 2 + own / 50, "{count} {own}");
    }
    let share = found.share();
    assert!(share.values.iter().all(|s| (0.0..=1.0).contains(s)));
}

fn distances() {
    let mut random = Random::fresh("distances of repetitions");
    let scene = scene(Some(20.0), &mut random);
    let found = repetitions(&scene, 10, 1, 2);
    let shown = scene.pathway.minimal_path().unwrap();
    // A box beyond the top of the arc.
    let grid = grid();
    let inside = (0..grid.voxel_count()).map(|v| u8::from(grid.voxel(v)[1] >= 14));
    let mask = Mask::new(grid.clone(), inside.collect::<Vec<u8>>());
    let from = MaskDistance::new(&mask).unwrap();
    // The lower face of its first row of voxels.
    let face = grid.world(dvec3(0.0, 14.0, 0.0)).y - 1.0;
    for _ in 0..100 {
        let at = dvec3(
            random.uniform(-20.0, 20.0),
            random.uniform(0.0, face),
            random.uniform(-6.0, 6.0),
        );
        assert!((from.to(at) - (face - at.y)).abs() < 1e-9);
    }
    assert_eq!(from.to(grid.world(dvec3(3.0, 15.0, 3.0))), 0.0);
    let all = Distances::new(&found, &shown, &from, &backend(2));
    let nearest = all.nearest.unwrap();
    let top = shown.points.iter().map(|p| p.y).fold(0.0, f64::max);
    assert!((all.shown - (face - top)).abs() < 0.3, "{}", all.shown);
    assert!(nearest.low <= nearest.median && nearest.median <= nearest.high);
    assert!((nearest.median - all.shown).abs() < 4.0);
    for (mm, Range90 { low, median, high }) in &all.along {
        assert!((0.0..=shown.total_mm() + 1.0).contains(mm));
        assert!(0.0 < *low && low <= median && median <= high);
    }
    let (mm, ml) = from.to_mask(&found.mask(0.5)).unwrap();
    assert!(mm > 0.0 && ml == 0.0);
    let (mm, ml) = from.to_mask(&mask).unwrap();
    assert!(mm == 0.0 && (ml / mask.volume_ml() - 1.0).abs() < 1e-9);
    assert!(MaskDistance::new(&Mask::new(grid.clone(), vec![0; grid.voxel_count()])).is_none());
}
