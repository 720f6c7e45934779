//! Random pairs through the distributions of a synthetic head: bundles rank below false pairs, and the same arguments give
//! the same result.

use crate::support::fields::{backend, sphere};
use crate::support::{cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{Mask, OdfField, Region, Role};
use arcuate::phantom::{Head, scan_grid};
use arcuate::solvers::Error;
use arcuate::solvers::lifted::{
    DirectionSet, Params, Prepared, RandomPairs, Source, halved_distributions, largest_amplitudes,
};
use arcuate::solvers::pathway::{Domain, NoRates, Rates};
use glam::DVec3;
use libtest_mimic::Trial;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

pub fn tests() -> Vec<Trial> {
    vec![
        test("lifted::random pairs rank bundles below false pairs", ranks),
        test("lifted::random pairs are the same every time", repeated),
        test("lifted::random pairs of a small domain", small),
        test("lifted::random pairs are cancelled", cancelled),
        cuda_test("parity::lifted random pairs", card),
    ]
}

const RADIUS_MM: f64 = 6.0;
const VOLUME_MM3: f64 = 4.0 / 3.0 * std::f64::consts::PI * RADIUS_MM * RADIUS_MM * RADIUS_MM;
const PAIRS: usize = 200;
const ORDER: usize = 8;

struct Scene {
    head: Head,
    /// On voxels of 2.5 mm.
    field: OdfField,
}

/// The lobes of all bundles of one head in each voxel, and little else in the white matter around them.
fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| {
        let head = Head::new(5);
        let grid = scan_grid(2.5).unwrap();
        let n = grid.voxel_count();
        let rule: Vec<(DVec3, f64, Vec<f64>)> = quadrature(2 * ORDER)
            .into_iter()
            .map(|(u, weight)| (u, weight, evaluate(ORDER, u)))
            .collect();
        let series = |v: usize| -> Option<Vec<f32>> {
            let at = grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
            let white = f64::from(head.tissues(at, 2.5).white());
            if white < 0.3 {
                return None;
            }
            let bundles = head.bundles().iter().filter(|b| b.contains(at));
            let axes: Vec<DVec3> = bundles.map(|b| b.direction(at)).collect();
            let share = 1.0 / axes.len().max(1) as f64;
            let mut sums = vec![0f32; count(ORDER)];
            for (u, weight, functions) in &rule {
                let lobes: f64 = axes.iter().map(|axis| u.dot(*axis).powi(8)).sum();
                let amplitude = white * (0.15 + share * lobes);
                for (sum, y) in sums.iter_mut().zip(functions) {
                    *sum += (weight * amplitude * y) as f32;
                }
            }
            Some(sums)
        };
        let all: Vec<Option<Vec<f32>>> = (0..n).into_par_iter().map(series).collect();
        let mut coefficients = vec![0f32; n * count(ORDER)];
        for (v, sums) in all.iter().enumerate() {
            for (i, sum) in sums.iter().flatten().enumerate() {
                coefficients[i * n + v] = *sum;
            }
        }
        let field = OdfField::new(grid, ORDER, coefficients);
        Scene { head, field }
    })
}

/// As in a comparison: on voxels of twice the size and in 42 directions, within regions.
fn prepared(scene: &Scene, regions: &[Region]) -> Prepared {
    let (on, control) = (backend(2), Control::new());
    let params = Params {
        directions: DirectionSet::Icosphere42,
        ..Params::defaults()
    };
    let amplitudes = largest_amplitudes(&scene.field, &on, &control).unwrap();
    let domain = Domain::of_distributions(&amplitudes, params.min_amplitude, regions);
    let mask: Mask = on.install(|| domain.mask()).unwrap();
    let halved = on.install(|| halved_distributions(&scene.field, &mask));
    let (field, mask) = halved.unwrap();
    Prepared::new(&field, &mask, &params, &on, &control).unwrap()
}

fn random_pairs(prepared: &Prepared, pairs: usize, on: &Backend) -> RandomPairs {
    RandomPairs::solve(prepared, [VOLUME_MM3; 2], pairs, on, &Control::new()).unwrap()
}

/// Fractions of random pairs that cost less than the path between two points.
fn shares(pairs: &RandomPairs, ends: [DVec3; 2]) -> Result<Option<Rates>, NoRates> {
    let places = &pairs.prepared().places;
    let on = backend(2);
    let sources = ends.map(|end| {
        let region = sphere(Role::Seed, end, RADIUS_MM);
        let within = |p: &u32| {
            let voxel = places.voxel(*p as usize).map(|v| v as f64);
            let at = places.grid.world(DVec3::from_array(voxel));
            region.shape.contains(at)
        };
        Arc::new(Source {
            name: "end".to_owned(),
            zero: (0..places.len() as u32).filter(within).collect(),
            direction: None,
        })
    });
    if sources.iter().any(|source| source.zero.is_empty()) {
        return Err(NoRates::NoPath);
    }
    let in_end = |at: DVec3| ends.iter().any(|end| at.distance(*end) < RADIUS_MM);
    let rates = pairs.rates_between(&sources, &in_end, &on, &Control::new());
    rates.unwrap().map(|rates| pairs.cheaper_share(rates))
}

/// Ends of a bundle from 10 to 90 % of its length against ends of different bundles.
fn ranks() {
    let scene = scene();
    let started = std::time::Instant::now();
    let pairs = random_pairs(&prepared(scene, &[]), PAIRS, &backend(2));
    println!(
        "{PAIRS} of {} random pairs have a path; {} voxels in {:.1} s",
        pairs.tried,
        pairs.prepared().places.len(),
        started.elapsed().as_secs_f64()
    );
    assert_eq!(pairs.rates.len(), PAIRS, "of {} tried", pairs.tried);
    let bundles = scene.head.bundles();
    let ends: Vec<[DVec3; 2]> = bundles
        .iter()
        .map(|b| [0.1, 0.9].map(|t| b.centre_line(t)))
        .collect();
    let ranked = |ends: [DVec3; 2]| shares(&pairs, ends).ok().flatten();
    let truly: Vec<Rates> = ends.iter().filter_map(|e| ranked(*e)).collect();
    let mut falsely = Vec::new();
    for (i, [from, _]) in ends.iter().enumerate() {
        // The next but one on the list is another tract, whose far end lies elsewhere.
        for skip in [2, 5, 8] {
            let [_, to] = ends[(i + skip) % ends.len()];
            let joined = bundles[i].distance(to) < 2.0 * RADIUS_MM || from.distance(to) < 30.0;
            if !joined {
                falsely.extend(ranked([*from, to]));
            }
        }
    }
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

/// The pairs of a smaller number are the first of a larger one; any number of threads gives the same bytes.
fn repeated() {
    let prepared = prepared(scene(), &[]);
    let [many, renewed] = [2, 1].map(|threads| random_pairs(&prepared, 40, &backend(threads)));
    assert_eq!((many.tried, &many.rates), (renewed.tried, &renewed.rates));
    let few = random_pairs(&prepared, 20, &backend(2));
    assert_eq!(few.rates[..], many.rates[..20]);
}

/// A ball in which no two regions are far enough apart: nothing is compared, and the computation ends. Regions that touch
/// have a path too short to compare.
fn small() {
    let scene = scene();
    let at = scene.head.bundles()[0].centre_line(0.5);
    let ball = prepared(scene, &[sphere(Role::Mask, at, 8.0)]);
    let pairs = random_pairs(&ball, PAIRS, &backend(2));
    assert_eq!(pairs.rates.len(), 0);
    let any = Rates {
        mean: 1.0,
        weakest: 1.0,
    };
    assert!(pairs.cheaper_share(any).is_none());
    let near = shares(&pairs, [at, at + DVec3::X * 4.0]);
    assert_eq!(near, Err(NoRates::TooShort));
}

fn cancelled() {
    let prepared = prepared(scene(), &[]);
    let control = Control::new();
    let from_another = control.clone();
    let cancel = move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        from_another.cancel();
    };
    let waiting = std::thread::Builder::new().spawn(cancel).unwrap();
    let many = 100_000;
    let outcome = RandomPairs::solve(&prepared, [VOLUME_MM3; 2], many, &backend(2), &control);
    waiting.join().unwrap();
    assert_eq!(outcome.unwrap_err(), Error::Cancelled);
    assert!(control.progress().total > 0, "progress is counted");
    let too_many = RandomPairs::solve(
        &prepared,
        [VOLUME_MM3; 2],
        many + 1,
        &backend(2),
        &Control::new(),
    );
    let sentence = too_many.unwrap_err().to_string();
    assert!(sentence.contains("expected at most 100"), "{sentence}");
}

/// Paths through values that differ by their tolerance may take other voxels, and hardly change what they cost.
fn card(card: Backend) {
    let prepared = prepared(scene(), &[]);
    let [cpu, gpu] = [&backend(2), &card].map(|on| random_pairs(&prepared, 100, on));
    assert_eq!(cpu.tried, gpu.tried);
    let mut off: Vec<f64> = cpu
        .rates
        .iter()
        .zip(gpu.rates.iter())
        .map(|(a, b)| (a.mean / b.mean - 1.0).abs())
        .collect();
    off.sort_by(f64::total_cmp);
    println!("median {:.1e}, 95 % {:.1e}", off[50], off[95]);
    assert!(off[50] < 1e-3 && off[95] < 0.1, "{} {}", off[50], off[95]);
}
