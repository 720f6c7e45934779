//! Random pairs through the distributions of a synthetic head: bundles rank below false pairs, and the same arguments give
//! the same result. Pairs in given costs are drawn and summed independently; distributions on voxels of twice the size are
//! means.

use crate::support::fields::{backend, odd_grid, sphere};
use crate::support::{Random, cuda_test, test, wait_for};
use arcuate::compute::{Backend, Control};
use arcuate::data::random::Stream;
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{Grid, Mask, OdfField, Region, Role};
use arcuate::phantom::{Head, scan_grid};
use arcuate::solvers::Error;
use arcuate::solvers::lifted::{
    DirectionSet, LiftedField, LiftedPathway, Limits, Params, Prepared, RandomPairs, Source, angle,
    halved_distributions, largest_amplitudes, opposite, solve,
};
use arcuate::solvers::metric::Places;
use arcuate::solvers::pathway::{Domain, NoRates, Path, Rates, STRETCH_MM};
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
        test(
            "lifted::random pairs in costs of four times the size",
            scaled,
        ),
        test(
            "lifted::random pairs are those of a sum along paths",
            summed,
        ),
        test("lifted::distributions of larger voxels are means", halves),
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

/// Costs for a comparison in the whole head.
fn whole() -> &'static Prepared {
    static PREPARED: OnceLock<Prepared> = OnceLock::new();
    PREPARED.get_or_init(|| prepared(scene(), &[]))
}

/// Costs for a comparison: on voxels of twice the size, in 42 directions, confined to the regions.
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
    let pairs = random_pairs(whole(), PAIRS, &backend(2));
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
        // The fifth after it on the list is another tract, whose far end lies elsewhere.
        let [_, to] = ends[(i + 5) % ends.len()];
        let joined = bundles[i].distance(to) < 2.0 * RADIUS_MM || from.distance(to) < 30.0;
        if !joined {
            falsely.extend(ranked([*from, to]));
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
    let [many, renewed] = [2, 1].map(|threads| random_pairs(whole(), 40, &backend(threads)));
    assert_eq!((many.tried, &many.rates), (renewed.tried, &renewed.rates));
    let few = random_pairs(whole(), 20, &backend(2));
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
    let prepared = whole();
    let control = Control::new();
    let from_another = control.clone();
    let cancel = move || {
        wait_for("progress", || {
            (from_another.progress().total > 0).then_some(())
        });
        from_another.cancel();
    };
    let waiting = std::thread::Builder::new().spawn(cancel).unwrap();
    let many = 100_000;
    let outcome = RandomPairs::solve(prepared, [VOLUME_MM3; 2], many, &backend(2), &control);
    waiting.join().unwrap();
    assert_eq!(outcome.unwrap_err(), Error::Cancelled);
    let too_many = RandomPairs::solve(
        prepared,
        [VOLUME_MM3; 2],
        many + 1,
        &backend(2),
        &Control::new(),
    );
    let sentence = too_many.unwrap_err().to_string();
    assert!(sentence.contains("expected at most 100"), "{sentence}");
}

/// Where everything costs four times as much, which rounds nothing, the pairs are the same and cost four times as much:
/// white matter is recognised by its distributions, whatever a costly region makes of its costs.
fn scaled() {
    let costly = whole().clone().costlier(|_| true, 4.0);
    let [plain, costly] = [whole(), &costly].map(|costs| random_pairs(costs, 40, &backend(2)));
    assert_eq!(plain.rates.len(), 40, "of {}", plain.tried);
    assert_eq!(plain.tried, costly.tried);
    let four_times = |rates: &Rates| Rates {
        mean: 4.0 * rates.mean,
        weakest: 4.0 * rates.weakest,
    };
    let expected: Vec<Rates> = plain.rates.iter().map(four_times).collect();
    assert_eq!(*costly.rates, expected);
}

/// A ball of the pairs.
#[derive(Clone, Copy)]
struct Ball(DVec3);

impl Ball {
    fn contains(&self, at: DVec3) -> bool {
        at.distance_squared(self.0) <= RADIUS_MM * RADIUS_MM
    }

    fn places(&self, places: &Places) -> Vec<u32> {
        let all = 0..places.len() as u32;
        all.filter(|p| self.contains(centre(places, *p as usize)))
            .collect()
    }
}

fn centre(places: &Places, place: usize) -> DVec3 {
    let voxel = places.voxel(place).map(|c| c as f64);
    places.grid.world(DVec3::from_array(voxel))
}

/// The balls of a source and of its targets, at most eight of forty draws, at least a stretch away.
fn drawn(white: &[DVec3], number: u64) -> (Ball, Vec<Ball>) {
    let mut stream = Stream::new(1, number);
    let mut ball = || Ball(white[(stream.uniform() * white.len() as f64) as usize]);
    let source = ball();
    let far = |target: &Ball| target.0.distance(source.0) >= 2.0 * RADIUS_MM + STRETCH_MM;
    let targets: Vec<Ball> = (0..40).map(|_| ball()).filter(far).collect();
    (source, targets[..targets.len().min(8)].to_vec())
}

fn field(
    prepared: &Prepared,
    zero: Vec<u32>,
    direction: Option<usize>,
    limits: &Limits,
) -> LiftedField {
    let name = "ball".to_owned();
    let source = Arc::new(Source {
        name,
        zero,
        direction,
    });
    solve(prepared, &source, limits, &backend(2), &Control::new()).unwrap()
}

/// The cheapest path to a ball: through the state of least cost in it.
fn cheapest(from: &LiftedField, target: Ball) -> Path {
    let prepared = &from.prepared;
    let mut states = Vec::new();
    for place in target.places(&prepared.places) {
        states.extend((0..prepared.directions.len()).map(|d| (place, d)));
    }
    let value = |(place, d): &(u32, usize)| from.value(*d, *place as usize);
    let states = states.into_iter();
    let least = states.min_by(|a, b| value(a).total_cmp(&value(b)));
    let (place, direction) = least.unwrap();
    // A field of this state alone: the path through it is that of the other field.
    let limits = Limits {
        cap: 1e-3,
        target: None,
    };
    let to = field(prepared, vec![place], Some(opposite(direction)), &limits);
    let pathway = backend(1).install(|| LiftedPathway::new(from.clone(), to));
    pathway.unwrap().path_through(place as usize).unwrap()
}

/// C of a voxel along each segment, and the price of the turns between them, divided by the length: over the whole path, and
/// over the costliest stretch between the first and the last point that is farther than a voxel from the balls.
fn rates_along(path: &Path, prepared: &Prepared, cost: &[f32], balls: &[Ball]) -> Rates {
    let places = &prepared.places;
    let points = &path.points;
    let (mut costs, mut lengths) = (vec![0.0], vec![0.0]);
    let mut before: Option<DVec3> = None;
    for pair in points.windows(2) {
        let segment = pair[1] - pair[0];
        let middle = places.grid.voxel_at(pair[0] + segment * 0.5).round();
        let place = places.place_of(middle.to_array().map(|c| c as i64));
        let along = segment.normalize();
        let turn = before.map_or(0.0, |before| angle(before, along));
        before = Some(along);
        let priced = segment
            .length()
            .hypot(prepared.params.curvature_price_mm * turn);
        costs.push(costs[costs.len() - 1] + f64::from(cost[place.unwrap()]) * priced);
        lengths.push(lengths[lengths.len() - 1] + segment.length());
    }
    let spacing = places.grid.spacing().max_element();
    let mut around = Vec::new();
    for (x, y, z) in (0..27).map(|i| (i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1)) {
        let step = DVec3::new(f64::from(x), f64::from(y), f64::from(z));
        around.push(spacing * step.normalize_or_zero());
    }
    let is_away = |at: &DVec3| {
        let near = |step: &DVec3| balls.iter().any(|ball| ball.contains(*at + *step));
        !around.iter().any(near)
    };
    let first = points.iter().position(is_away).unwrap();
    let last = points.iter().rposition(is_away).unwrap();
    let mut weakest = f64::NEG_INFINITY;
    for start in first..=last {
        let reaches = |end: &usize| lengths[*end] - lengths[start] >= STRETCH_MM;
        if let Some(end) = (start..=last).find(reaches) {
            let rate = (costs[end] - costs[start]) / (lengths[end] - lengths[start]);
            weakest = weakest.max(rate);
        }
    }
    if weakest == f64::NEG_INFINITY {
        weakest = (costs[last] - costs[first]) / (lengths[last] - lengths[first]);
    }
    Rates {
        mean: costs[costs.len() - 1] / lengths[lengths.len() - 1],
        weakest,
    }
}

/// In costs that differ between voxels, random pairs are those of the stream of random numbers, between voxels whose speed
/// is that of white matter, and cost what a sum along their paths gives. Where C is 1, no path costs less than 1 per mm.
fn summed() {
    const FEW: usize = 20;
    let mut random = Random::fresh("costs of random pairs");
    let shape = [18, 15, 13];
    let grid = Arc::new(Grid::axis_aligned(shape, DVec3::splat(3.0), DVec3::ZERO).unwrap());
    let places = Places::new(&grid, (0..grid.voxel_count() as u32).collect());
    let params = Params {
        directions: DirectionSet::Icosphere42,
        ..Params::defaults()
    };
    let costs = |of_place: &[f32]| {
        let cost = |place: usize, _| of_place[place];
        let (on, control) = (backend(2), Control::new());
        Prepared::from_costs(places.clone(), &params, cost, &on, &control).unwrap()
    };
    let one = random_pairs(&costs(&vec![1.0; places.len()]), FEW, &backend(2));
    assert_eq!((one.rates.len(), one.tried), (FEW, FEW));
    for Rates { mean, weakest } in one.rates.iter() {
        assert!(
            *mean >= 1.0 - 1e-9 && *weakest >= 1.0 - 1e-9,
            "{mean} {weakest}"
        );
    }
    let of_place = (0..places.len()).map(|_| random.uniform(0.7, 4.0) as f32);
    let of_place: Vec<f32> = of_place.collect();
    let pairs = random_pairs(&costs(&of_place), FEW, &backend(2));
    // The largest lobe of white matter has at least half of the reference amplitude.
    let is_white =
        |place: &usize| f64::from(of_place[*place]).recip() - params.background_speed >= 0.5;
    let white = (0..places.len()).filter(is_white);
    let white: Vec<DVec3> = white.map(|place| centre(&places, place)).collect();
    assert!(4 * white.len() > places.len() && 2 * white.len() < places.len());
    let prepared = pairs.prepared();
    let (mut expected, mut without_target) = (Vec::new(), 0);
    for number in 0.. {
        let (source, targets) = drawn(&white, number);
        let zero = source.places(&places);
        let from = field(prepared, zero, None, &Limits::unlimited());
        for target in targets {
            let path = cheapest(&from, target);
            let rates = |balls: &[Ball]| rates_along(&path, prepared, &of_place, balls);
            expected.push(rates(&[source, target]));
            without_target += usize::from(rates(&[source]) != rates(&[source, target]));
        }
        if expected.len() >= FEW {
            break;
        }
    }
    for (rates, expected) in pairs.rates.iter().zip(&expected) {
        let off = |a: f64, b: f64| (a / b - 1.0).abs();
        let off = off(rates.mean, expected.mean).max(off(rates.weakest, expected.weakest));
        // Sums in double precision of costs in single precision.
        assert!(off < 1e-6, "{rates:?} {expected:?}");
    }
    // The costliest stretch lies within the target in some pairs if that counts.
    assert!(without_target > 0);
}

/// Coefficients of a voxel of twice the size are means over the voxels of the mask in it, and it is in the mask if there is
/// one.
fn halves() {
    const ORDER: usize = 2;
    let mut random = Random::fresh("halved distributions");
    for _ in 0..4 {
        let grid = Arc::new(odd_grid(&mut random));
        let n = grid.voxel_count();
        let coefficients = (0..n * count(ORDER)).map(|_| random.uniform(-1.0, 1.0) as f32);
        let field = OdfField::new(grid.clone(), ORDER, coefficients.collect::<Vec<f32>>());
        let inside = (0..n).map(|_| u8::from(random.uniform(0.0, 1.0) < 0.3));
        let mask = Mask::new(grid.clone(), inside.collect::<Vec<u8>>());
        let on = backend(2);
        let (halved, halved_mask) = on.install(|| halved_distributions(&field, &mask)).unwrap();
        assert_eq!(halved.grid.shape, grid.shape.map(|n| n.div_ceil(2)));
        assert!(halved_mask.grid.matches(&halved.grid));
        let coarse = halved.grid.voxel_count();
        let mut sums = vec![vec![0.0; count(ORDER)]; coarse];
        let mut counts = vec![0; coarse];
        for voxel in mask.voxels_inside() {
            let parent = voxel.map(|c| c / 2);
            let at = grid.world(DVec3::from_array(voxel.map(|c| c as f64)));
            assert_eq!(halved.grid.nearest(at), Some(parent));
            let parent = halved.grid.index(parent);
            counts[parent] += 1;
            let own = field.coefficients_at(grid.index(voxel));
            for (sum, c) in sums[parent].iter_mut().zip(own) {
                *sum += c;
            }
        }
        let partly = counts.iter().filter(|count| (1..8).contains(*count));
        assert!(partly.count() > coarse / 2);
        for (voxel, (sums, count)) in sums.iter().zip(&counts).enumerate() {
            assert_eq!(halved_mask.inside[voxel] != 0, *count > 0);
            let all = sums.iter().zip(halved.coefficients_at(voxel));
            for (sum, found) in all.filter(|_| *count > 0) {
                // Eight roundings of numbers below 8.
                let expected = sum / f64::from(*count);
                assert!((found - expected).abs() < 4e-6, "{found} {expected}");
            }
        }
    }
}

/// Paths through values that differ by their tolerance may take other voxels, and hardly change what they cost.
fn card(card: Backend) {
    let [cpu, gpu] = [&backend(2), &card].map(|on| random_pairs(whole(), 100, on));
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
