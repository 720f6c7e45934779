//! Random pairs of a synthetic head: bundles rank below false pairs, and the same arguments give the same result.

use super::phantom::fitted;
use crate::support::fields::{backend, sphere};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Mask, Region, Role, TensorField, Volume};
use arcuate::phantom::{Head, scan_grid};
use arcuate::solvers::eikonal::Prepared;
use arcuate::solvers::metric::{Metric, halved};
use arcuate::solvers::pathway;
use arcuate::solvers::pathway::{Domain, Ends, NoRates, Path, RandomPairs, Rates};
use arcuate::solvers::tensor_fit;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::OnceLock;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "pathway::random pairs rank bundles below false pairs",
            ranks,
        ),
        test("pathway::random pairs are the same every time", repeated),
        test("pathway::random pairs of a small domain", small),
        test("pathway::a straight path is compared", straight),
    ]
}

const RADIUS_MM: f64 = 6.0;
const VOLUME_MM3: f64 = 4.0 / 3.0 * std::f64::consts::PI * RADIUS_MM * RADIUS_MM * RADIUS_MM;
const PAIRS: usize = 200;

struct Scene {
    head: Head,
    field: TensorField,
    fa: Volume,
}

/// One head at 2.5 mm and SNR 25, with fixed seeds: ranks are fractions of few pairs.
fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| {
        let head = Head::new(5);
        let grid = scan_grid(2.5).unwrap();
        let field = fitted(&head, &grid, 25.0, 6).field;
        let (backend, control) = (backend(2), Control::new());
        let fa = tensor_fit::maps(&field, &backend, &control).unwrap().fa;
        Scene { head, field, fa }
    })
}

fn prepared(scene: &Scene, mask: &Mask) -> (Prepared, TensorField) {
    let (backend, control) = (backend(2), Control::new());
    let requested = pathway::Params::defaults();
    let (field, mask) = backend.install(|| halved(&scene.field, mask)).unwrap();
    let metric = Metric::new(&field, &requested.metric, Some(&mask), &backend, &control).unwrap();
    let prepared = Prepared::new(&metric, requested.local, &backend, &control).unwrap();
    (prepared, field)
}

fn domain(scene: &Scene, regions: &[Region]) -> Mask {
    let domain = Domain::of_tensors(&scene.fa, pathway::Params::defaults().min_fa, regions);
    backend(2).install(|| domain.mask()).unwrap()
}

fn random_pairs(scene: &Scene, mask: &Mask, pairs: usize, threads: usize) -> RandomPairs {
    let (prepared, field) = prepared(scene, mask);
    RandomPairs::solve(
        &prepared,
        &field,
        [VOLUME_MM3; 2],
        pairs,
        &backend(threads),
        &Control::new(),
    )
    .unwrap()
}

/// Fractions of random pairs that cost less than the path between two points.
fn shares(scene: &Scene, pairs: &RandomPairs, [from, to]: [DVec3; 2]) -> Option<Rates> {
    let regions = [
        sphere(Role::Seed, from, RADIUS_MM),
        sphere(Role::Target, to, RADIUS_MM),
    ];
    let domain = Domain::of_tensors(&scene.fa, pathway::Params::defaults().min_fa, &regions);
    let backend = backend(2);
    let source = |role| backend.install(|| domain.source(pairs.metric(), role));
    let ends = Ends {
        sources: [source(Role::Seed).ok()?, source(Role::Target).ok()?],
        holds: &|at| regions.iter().any(|r| r.shape.contains(at)),
    };
    let rates = pairs
        .rates_between(&ends, &backend, &Control::new())
        .unwrap()
        .ok()?;
    pairs.cheaper_share(rates)
}

/// Ends of a bundle from 10 to 90 % of its length against ends of different bundles.
fn ranks() {
    let scene = scene();
    let pairs = random_pairs(scene, &domain(scene, &[]), PAIRS, 2);
    assert_eq!(pairs.rates.len(), PAIRS, "of {} tried", pairs.tried);
    println!("{PAIRS} of {} random pairs have a path", pairs.tried);
    let bundles = scene.head.bundles();
    let ends: Vec<[DVec3; 2]> = bundles
        .iter()
        .map(|b| [0.1, 0.9].map(|t| b.centre_line(t)))
        .collect();
    let truly: Vec<Rates> = ends
        .iter()
        .filter_map(|e| shares(scene, &pairs, *e))
        .collect();
    let (mut falsely, mut tried) = (Vec::new(), 0);
    for (i, [from, _]) in ends.iter().enumerate() {
        // The next but one on the list is another tract, whose far end lies elsewhere.
        for skip in [2, 5, 8] {
            let [_, to] = ends[(i + skip) % ends.len()];
            let bundle = &bundles[i];
            let joined = bundle.distance(to) < 2.0 * RADIUS_MM || from.distance(to) < 30.0;
            if !joined {
                tried += 1;
                falsely.extend(shares(scene, &pairs, [*from, to]));
            }
        }
    }
    println!("{} of {tried} false pairs have a path", falsely.len());
    assert!(falsely.len() * 10 > tried * 9, "of {tried}");
    let mean = |rates: &[Rates], value: fn(&Rates) -> f64| {
        rates.iter().map(value).sum::<f64>() / rates.len() as f64
    };
    // The probability that a bundle has less than a false pair.
    let auc = |value: fn(&Rates) -> f64| {
        let below = truly.iter().flat_map(|t| {
            falsely
                .iter()
                .map(move |f| match value(t).total_cmp(&value(f)) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                })
        });
        below.sum::<f64>() / (truly.len() * falsely.len()) as f64
    };
    for (name, value) in [
        ("weakest stretch", (|r| r.weakest) as fn(&Rates) -> f64),
        ("cost per mm", |r| r.mean),
    ] {
        println!(
            "{name}: {} bundles above {:.2} of random pairs, {} false pairs above {:.2}; AUC {:.2}",
            truly.len(),
            mean(&truly, value),
            falsely.len(),
            mean(&falsely, value),
            auc(value)
        );
        assert!(mean(&truly, value) < 0.4, "{name}");
        assert!(auc(value) > 0.75, "{name}");
    }
    assert!(truly.len() > 8 && falsely.len() > 15);
}

/// The pairs of a smaller number are the first of a larger one, at any number of threads.
fn repeated() {
    let scene = scene();
    let mask = domain(scene, &[]);
    let [many, renewed] = [2, 1].map(|threads| random_pairs(scene, &mask, 40, threads));
    assert_eq!(many.tried, renewed.tried);
    let few = random_pairs(scene, &mask, 20, 2);
    let counts = [&many, &renewed, &few].map(|pairs| pairs.rates.len());
    assert_eq!(counts, [40, 40, 20]);
    for (a, b) in [(&many, &renewed), (&few, &many)] {
        for (a, b) in a.rates.iter().zip(b.rates.iter()) {
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
            assert!(
                near(a.mean, b.mean) && near(a.weakest, b.weakest),
                "{a:?} {b:?}"
            );
        }
    }
}

/// A ball in which no two regions are far enough apart: nothing is compared, and the computation ends.
fn small() {
    let scene = scene();
    let at = scene.head.bundles()[0].centre_line(0.5);
    let ball = [sphere(Role::Mask, at, 6.0)];
    let pairs = random_pairs(scene, &domain(scene, &ball), PAIRS, 2);
    assert_eq!(pairs.rates.len(), 0);
    let any = Rates {
        mean: 1.0,
        weakest: 1.0,
    };
    assert!(pairs.cheaper_share(any).is_none());
}

/// Near its source a path is one straight segment without further points: it is still compared, unless it is not longer
/// than a voxel beyond each region.
fn straight() {
    let scene = scene();
    let (prepared, _) = prepared(scene, &domain(scene, &[]));
    let metric = &prepared.metric;
    let from = scene.head.bundles()[0].centre_line(0.5);
    let rates = |mm: f64| {
        let ends = [from, from + DVec3::X * mm];
        let path = Path::new(metric, ends.to_vec());
        assert_eq!(path.points.len(), 2);
        let in_end = |at: DVec3| ends.iter().any(|end| at.distance(*end) < 3.0);
        Rates::from_path(&path, metric, in_end)
    };
    // Voxels of 5 mm, and ends of 3 mm.
    let found = rates(21.0).expect("5 mm between the ends");
    assert!(found.mean >= 0.0 && found.weakest >= 0.0, "{found:?}");
    assert_eq!(rates(8.0), None);
    // Regions that overlap are joined by a path that does not leave them.
    let pairs = random_pairs(scene, &domain(scene, &[]), 20, 2);
    let regions = [
        sphere(Role::Seed, from, RADIUS_MM),
        sphere(Role::Target, from + DVec3::X * 4.0, RADIUS_MM),
    ];
    let domain = Domain::of_tensors(&scene.fa, pathway::Params::defaults().min_fa, &regions);
    let backend = backend(2);
    let source = |role| backend.install(|| domain.source(pairs.metric(), role));
    let ends = Ends {
        sources: [source(Role::Seed).unwrap(), source(Role::Target).unwrap()],
        holds: &|at| regions.iter().any(|r| r.shape.contains(at)),
    };
    let none = pairs.rates_between(&ends, &backend, &Control::new());
    assert_eq!(none.unwrap(), Err(NoRates::TooShort));
}
