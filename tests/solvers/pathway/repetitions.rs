//! Repetitions of a pathway: the same on any number of threads, each a pathway in the tensors of the same repetition in
//! tracking; distances from a mask, on any grid.

mod any_grid;
mod on_surface;

use crate::support::fields::{backend, prolate, sphere};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Gradients, Grid, Mask, Region, Role, Tensor, TensorField, Volume, VolumeKind};
use arcuate::phantom::directions::half_sphere;
use arcuate::solvers::eikonal::{self, Prepared, solve};
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway::{
    self, Distances, Domain, MaskDistance, Path, Pathway, Range90, Repetitions, Scan,
};
use arcuate::solvers::{Error, tensor_fit};
use glam::{DMat3, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("pathway::repetitions are the same every time", repeated),
        test("pathway::repetitions grow", grown),
        test(
            "pathway::tensors of a repetition in a part of the mask",
            same_tensors,
        ),
        test("pathway::a repetition is a pathway", as_pathway),
        test("pathway::without noise all repetitions agree", quiet),
        test(
            "pathway::only voxels that join the regions are counted",
            joined,
        ),
        test("pathway::distances of repetitions from a mask", distances),
        test(
            "pathway::distances from a mask on any grid",
            any_grid::distances,
        ),
        test(
            "pathway::distances of a path at the surface of a mask",
            on_surface::distances,
        ),
        cuda_test("parity::repetitions of a pathway", card),
    ]
}

const B: f64 = 1000.0;
const S0: f64 = 100.0;
const EPSILON: f64 = 0.2;

/// An arc of fibres around the origin, in voxels of 2 mm.
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
    scan_of(gradients, snr, random, tensor)
}

fn scan_of(
    gradients: &Gradients,
    snr: Option<f64>,
    random: &mut Random,
    tensor: impl Fn(DVec3) -> DMat3,
) -> Volume {
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
    pathway_between(&regions(), field, domain)
}

fn pathway_between(regions: &[Region; 2], field: &TensorField, domain: &Mask) -> Pathway {
    let (backend, control) = (backend(1), Control::new());
    let params = pathway::Params::defaults();
    let metric = Metric::new(field, &params.metric, Some(domain), &backend, &control).unwrap();
    let prepared = Prepared::new(&metric, params.local, &backend, &control).unwrap();
    let sources = regions
        .each_ref()
        .map(|region| Arc::new(eikonal::CostSource::region(&metric, region).unwrap()));
    let solver = eikonal::Params {
        tolerance: pathway::TOLERANCE,
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
    repetitions_of_width(scene, EPSILON, repetitions, random_seed, threads)
}

fn repetitions_of_width(
    scene: &Scene,
    epsilon: f64,
    repetitions: usize,
    random_seed: u64,
    threads: usize,
) -> Repetitions {
    let mut all = none_yet(scene, epsilon, random_seed, threads);
    all.extend(repetitions, &backend(threads), &Control::new())
        .unwrap();
    all
}

fn none_yet(scene: &Scene, epsilon: f64, random_seed: u64, threads: usize) -> Repetitions {
    let params = pathway::Params::defaults();
    Repetitions::of_tensors(
        &scene.pathway,
        Scan {
            dwi: &scene.dwi,
            gradients: &scene.gradients,
            fit: &scene.fit,
        },
        (&params.metric, epsilon),
        random_seed,
        &backend(threads),
        &Control::new(),
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
    let cancelled = Control::new();
    cancelled.cancel();
    let stopped = none_yet(&scene, EPSILON, 7, 1).extend(12, &backend(1), &cancelled);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    let shown = scene.pathway.minimal_path().unwrap();
    let stopped = one.near(&shown, |_| false, &backend(1), &cancelled);
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

/// In several calls, after a cancellation and after another width, repetitions are those of one call.
fn grown() {
    let mut random = Random::fresh("growing repetitions");
    let scene = scene(Some(20.0), &mut random);
    let same = |a: &Repetitions, b: &Repetitions| {
        assert_eq!((&a.paths, &a.visits), (&b.paths, &b.visits));
        assert_eq!((a.not_joined, a.measured), (b.not_joined, b.measured));
    };
    let at_once = repetitions(&scene, 30, 7, 2);
    let mut growing = none_yet(&scene, EPSILON, 7, 2);
    assert!(growing.costs().is_none() && growing.mask(0.5).count() == 0);
    for (up_to, threads) in [(1, 2), (5, 1), (3, 1), (18, 3), (30, 2)] {
        let before = growing.paths.len();
        growing
            .extend(up_to, &backend(threads), &Control::new())
            .unwrap();
        assert_eq!(growing.paths.len(), up_to.max(before));
    }
    same(&growing, &at_once);
    let shifts = at_once.paths.iter().flatten();
    let shifts: Vec<f64> = shifts
        .map(|(cost, _)| (cost / at_once.measured).ln())
        .collect();
    let mean_square = shifts.iter().map(|shift| shift * shift).sum::<f64>() / shifts.len() as f64;
    for (end, sign) in at_once.band().unwrap().into_iter().zip([-1.0, 1.0]) {
        let half_width = sign * (end / at_once.measured).ln();
        assert!(
            (half_width / mean_square.sqrt() - 2.2).abs() < 1e-9,
            "{half_width}"
        );
    }
    // Cancelled on the way: what is complete is kept, and continued.
    let mut cut = none_yet(&scene, EPSILON, 7, 2);
    let control = Control::new();
    let stopped = std::thread::scope(|scope| {
        let running = scope.spawn(|| cut.extend(30, &backend(2), &control));
        while control.progress().done < 9 && !running.is_finished() {
            std::thread::yield_now();
        }
        control.cancel();
        running.join().unwrap()
    });
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
    let complete = cut.paths.len();
    assert!((1..30).contains(&complete), "{complete}");
    assert_eq!(cut.paths[..], at_once.paths[..complete]);
    cut.extend(30, &backend(2), &Control::new()).unwrap();
    same(&cut, &at_once);
    // Another width and seed of the same residuals.
    let mut narrow = growing.restarted(0.1, 8);
    assert!(narrow.paths.is_empty() && narrow.visits.iter().all(|v| *v == 0));
    narrow.extend(6, &backend(2), &Control::new()).unwrap();
    same(&narrow, &repetitions_of_width(&scene, 0.1, 6, 8, 1));
}

/// On a card, where the repetitions of a task are solved as one, they agree with the CPU to the tolerance of its fields.
fn card(card: Backend) {
    let mut random = Random::fresh("repetitions on a card");
    let scene = scene(Some(20.0), &mut random);
    let cpu = repetitions(&scene, 40, 7, 2);
    let mut found = none_yet(&scene, EPSILON, 7, 2);
    for up_to in [1, 13, 40] {
        found.extend(up_to, &card, &Control::new()).unwrap();
    }
    assert_eq!(found.without_path(), cpu.without_path());
    for (number, pair) in cpu.paths.iter().zip(&found.paths).enumerate() {
        let (Some((cpu, path)), Some((card, other))) = pair else {
            panic!("{number}: {pair:?}")
        };
        assert!((card / cpu - 1.0).abs() < 1e-4, "{number}: {card} {cpu}");
        let ratio = other.total_mm() / path.total_mm();
        assert!((ratio - 1.0).abs() < 0.05, "{number}: {ratio}");
        let ends = [path, other].map(|path| path.points[0]);
        assert!(ends[0].distance(ends[1]) < 6.0, "{number}: {ends:?}");
    }
    let differ = cpu.visits.iter().zip(&found.visits);
    let differ: u32 = differ.map(|(a, b)| a.abs_diff(*b)).sum();
    let all: u32 = cpu.visits.iter().sum();
    assert!(differ * 100 < all, "{differ} of {all}");
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
    assert_eq!(some.tensors(3, 5, &control).unwrap(), tensors);
    assert_ne!(some.tensors(3, 6, &control).unwrap(), tensors);
    let both = backend.install(|| some.tensors_of_all(3, 5..7, &control));
    let both = both.unwrap();
    assert!(both[0] == tensors && both[1] == some.tensors(3, 6, &control).unwrap());
}

/// E* of a repetition is that of a pathway of its tensors, solved on its own in the same domain.
fn as_pathway() {
    let mut random = Random::fresh("a repetition alone");
    let scene = scene(Some(15.0), &mut random);
    let found = repetitions(&scene, 3, 9, 1);
    let (backend, control) = (backend(2), Control::new());
    let domain = &scene.pathway.metric().mask;
    let (dwi, gradients) = (&scene.dwi, &scene.gradients);
    let all = tensor_fit::residuals(
        dwi,
        gradients,
        &whole(),
        &scene.fit,
        None,
        &backend,
        &control,
    );
    let all = all.unwrap();
    let fitted = tensor_fit::fit(dwi, gradients, &whole(), &scene.fit, &backend, &control);
    let fitted = fitted.unwrap().field;
    let diffusivity = |field: &TensorField| -> f64 {
        let inside = (0..domain.inside.len()).filter(|v| domain.inside[*v] != 0);
        let trace = |v: usize| {
            let d = field.tensors[v].d;
            f64::from(d[0]) + f64::from(d[3]) + f64::from(d[5])
        };
        inside.map(trace).sum()
    };
    for (number, path) in found.paths.iter().enumerate() {
        let field = backend.install(|| all.field(9, number as u64, &control));
        let field = field.unwrap();
        let alone = pathway(&field, domain);
        // The repetitions share the unit of cost of the fitted tensors.
        let unit = (diffusivity(&fitted) / diffusivity(&field)).sqrt();
        let (cost, path) = path.as_ref().unwrap();
        let ratio = cost / (alone.min_cost * unit);
        assert!((ratio - 1.0).abs() < 1e-4, "{number}: {ratio}");
        let length = alone.minimal_path().unwrap().total_mm();
        assert!((path.total_mm() / length - 1.0).abs() < 0.02, "{number}");
    }
}

fn quiet() {
    let mut random = Random::fresh("quiet repetitions");
    let scene = scene(None, &mut random);
    let found = repetitions(&scene, 10, 1, 2);
    let costs = found.costs().unwrap();
    assert!(found.band().is_none(), "10 repetitions are too few");
    for cost in [costs.low, costs.median, costs.high] {
        assert!(
            (cost / found.measured - 1.0).abs() < 1e-5,
            "{costs:?}, {}",
            found.measured
        );
    }
    let shown = scene.pathway.minimal_path().unwrap();
    let near = |from: &Path| {
        let near = found.near(from, |_| false, &backend(2), &Control::new());
        near.unwrap()
    };
    assert_eq!(near(&shown), 10);
    // A path shifted by 4.5 mm is farther away than the 4 mm that count as near.
    let aside = shown.points.iter().map(|p| *p + 4.5 * DVec3::Z).collect();
    let aside = Path::new(scene.pathway.metric(), aside);
    assert_eq!(near(&aside), 0);
    // Points in the regions do not count: without any others, every path is near.
    let all_inside = found.near(&aside, |_| true, &backend(2), &Control::new());
    assert_eq!(all_inside.unwrap(), 10);
    assert_eq!(found.without_path(), 0);
    // All repetitions hold the same voxels.
    let own = scene.pathway.joining_mask(EPSILON).unwrap().count();
    for share in [0.05, 1.0] {
        let count = found.mask(share).count();
        assert!(count.abs_diff(own) <= 2 + own / 50, "{count} {own}");
    }
    let share = found.share();
    assert!(share.values.iter().all(|s| (0.0..=1.0).contains(s)));
}

/// Only the part of a repetition's pathway that joins the regions counts; where a pathway is too narrow to join them, all
/// of its voxels do, and the repetition is counted.
fn joined() {
    let mut random = Random::fresh("joined repetitions");
    let scene = scene(Some(20.0), &mut random);
    let wide = repetitions_of_width(&scene, EPSILON, 8, 3, 2);
    assert_eq!((wide.without_path(), wide.not_joined), (0, 0));
    // The voxels of all repetitions together reach both regions.
    let any = wide.mask(0.01);
    for end in regions() {
        let at = |v: [usize; 3]| any.grid.world(DVec3::from_array(v.map(|c| c as f64)));
        assert!(any.voxels_inside().any(|v| end.shape.contains(at(v))));
    }
    let narrow = repetitions_of_width(&scene, 1e-5, 8, 3, 2);
    assert_eq!(narrow.without_path(), 0);
    assert!(narrow.not_joined > 0, "{}", narrow.not_joined);
    assert!(narrow.mask(0.01).count() > 0);
    // Without noise, a repetition counts the voxels of the pathway itself: all of them where nothing joins the regions.
    let arc = scene_of(scan(&gradients(), None, &mut random));
    for epsilon in [0.01, 0.02, 0.05, 0.1] {
        let found = repetitions_of_width(&arc, epsilon, 2, 1, 2);
        let joining = arc.pathway.joining_mask(epsilon);
        assert_eq!(found.not_joined, if joining.is_none() { 2 } else { 0 });
        let own = joining.unwrap_or_else(|| arc.pathway.mask(epsilon)).count();
        let count = found.mask(1.0).count();
        assert!(
            count.abs_diff(own) <= 2 + own / 50,
            "{epsilon}: {count} {own}"
        );
    }
    // A straight bundle, and a detour along diagonals, whose voxels share no face: once its cost is within ε, it belongs to
    // the pathway but does not join the regions.
    let quiet = {
        let fibres = scan_of(&gradients(), None, &mut random, detour);
        let fit = tensor_fit::Params::defaults();
        let (on, control) = (backend(1), Control::new());
        let fitted = tensor_fit::fit(&fibres, &gradients(), &whole(), &fit, &on, &control).unwrap();
        let end = |role, x: f64| sphere(role, grid().world(dvec3(x, 4.0, 4.0)), 2.5);
        let ends = [end(Role::Seed, 2.0), end(Role::Target, 22.0)];
        Scene {
            pathway: pathway_between(&ends, &fitted.field, &whole()),
            dwi: fibres,
            gradients: gradients(),
            fit,
        }
    };
    let counts = |epsilon: &f64| {
        let joining = quiet.pathway.joining_mask(*epsilon)?.count();
        Some((joining, quiet.pathway.mask(*epsilon).count()))
    };
    let widths = (1..100).map(|i| 0.01 * f64::from(i));
    let epsilon = widths
        .clone()
        .find(|epsilon| counts(epsilon).is_some_and(|(joining, all)| all > joining + 3))
        .unwrap_or_else(|| panic!("{:?}", widths.map(|e| counts(&e)).collect::<Vec<_>>()));
    println!("at {epsilon}: {:?}", counts(&epsilon));
    let found = repetitions_of_width(&quiet, epsilon, 2, 1, 2);
    assert_eq!(found.not_joined, 0);
    let joining = counts(&epsilon).unwrap().0;
    let count = found.mask(1.0).count();
    assert!(count.abs_diff(joining) <= 1, "{count} {joining}");
}

/// Fibres along x in a row of voxels, and along diagonals from it and back to it.
fn detour(at: DVec3) -> DMat3 {
    let voxel = grid().voxel_at(at).round();
    let (x, y) = (voxel.x - 12.0, voxel.y - 4.0);
    let is_row = y == 0.0 && x.abs() <= 10.0;
    let is_diagonal = x.abs() <= 6.0 && y == 6.0 - x.abs();
    let along = match (is_row, is_diagonal) {
        (true, _) => DVec3::X,
        (_, true) => dvec3(1.0, -x.signum(), 0.0).normalize(),
        _ => return DMat3::from_diagonal(DVec3::splat(0.9e-3)),
    };
    match voxel.z == 4.0 {
        true => prolate(1.6e-3, 0.35e-3, along),
        false => DMat3::from_diagonal(DVec3::splat(0.9e-3)),
    }
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
    let control = Control::new();
    let paths: Vec<&Path> = found.existing_paths().collect();
    let all = Distances::new(&paths, &shown, &from, &backend(2), &control).unwrap();
    let nearest = all.nearest.unwrap();
    let top = shown.points.iter().map(|p| p.y).fold(0.0, f64::max);
    assert!((all.shown - (face - top)).abs() < 1e-3, "{}", all.shown);
    // The shortest line: from the top of the path straight to the face.
    let [from_path, to_mask] = all.shortest.expect("a line");
    assert!((from_path.distance(to_mask) - all.shown).abs() < 1e-9);
    assert!((from_path.y - top).abs() < 1e-3 && (to_mask.y - face).abs() < 1e-9);
    assert!(nearest.low <= nearest.median && nearest.median <= nearest.high);
    assert!((nearest.median - all.shown).abs() < 4.0);
    for (mm, Range90 { low, median, high }) in &all.along {
        assert!((0.0..=shown.total_mm() + 1.0).contains(mm));
        assert!(0.0 < *low && low <= median && median <= high);
    }
    let to_mask = |other: &Mask| from.to_mask(other, &backend(2), &control).unwrap();
    let half = found.mask(0.5);
    let highest = half.voxels_inside().map(|v| v[1]).max().unwrap();
    let away = to_mask(&half).unwrap();
    // Between the upper faces of its highest voxels and the lower face of the mask.
    let gap = 2.0 * (13 - highest) as f64;
    assert!(
        (away.nearest_mm - gap).abs() < 1e-3 && away.shared_ml == 0.0,
        "{away:?}, {gap}"
    );
    let own = to_mask(&mask).unwrap();
    assert!(own.nearest_mm == 0.0 && (own.shared_ml / mask.volume_ml() - 1.0).abs() < 1e-9);
    assert!(to_mask(&Mask::new(grid.clone(), vec![0; grid.voxel_count()])).is_none());
    assert!(MaskDistance::new(&Mask::new(grid.clone(), vec![0; grid.voxel_count()])).is_none());
}
