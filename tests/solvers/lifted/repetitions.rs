//! Repetitions of a pathway through distributions: the same on any number of threads and in any number of calls, each a
//! pathway in the distributions of the same repetition in tracking, the pathway itself without noise, as spread as new
//! scans; refusals.

use crate::csd::bootstrap::expressible;
use crate::csd::cases::{gradients, responses};
use crate::csd::params as csd_params;
use crate::support::fields::backend;
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::evaluate;
use arcuate::data::{Grid, Mask, OdfField, Volume, VolumeKind};
use arcuate::solvers::Error;
use arcuate::solvers::csd::{self, Precision};
use arcuate::solvers::lifted::{
    DirectionSet, LiftedPathway, Params, Prepared, Scan, Source, UNREACHED, repetitions, solve_both,
};
use arcuate::solvers::metric::Places;
use arcuate::solvers::pathway::Repetitions;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::ops::Range;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("lifted::repetitions are the same every time", determined),
        test("lifted::a repetition is a pathway", as_pathway),
        test("lifted::without noise all repetitions agree", quiet),
        test("lifted::repetitions of the least width", narrowest),
        cuda_test("lifted::parity of repetitions", parity),
        test(
            "lifted::only voxels that join the regions are counted",
            joined,
        ),
        test(
            "lifted::repetitions follow a thin bundle across the grid",
            diagonal,
        ),
        test("lifted::repetitions spread as new scans", spread),
        test(
            "lifted::repetitions need the scan of the distributions",
            refused,
        ),
    ]
}

const ORDER: usize = 8;
const EPSILON: f64 = 0.2;
/// The signal of white matter without weighting.
const WHITE: f64 = 1000.0;

/// A straight bundle along x in grey matter, on voxels of 2 mm.
struct Bundle {
    shape: [usize; 3],
    y: Range<usize>,
    z: Range<usize>,
}

const NARROW: Bundle = Bundle {
    shape: [18, 9, 7],
    y: 3..6,
    z: 2..5,
};
/// Costs are sampled in chunks of 512 voxels; this bundle has more.
const WIDE: Bundle = Bundle {
    shape: [26, 10, 9],
    y: 2..8,
    z: 2..7,
};

impl Bundle {
    /// The direction of fibres in a voxel.
    fn along(&self, [_, y, z]: [usize; 3]) -> Option<DVec3> {
        (self.y.contains(&y) && self.z.contains(&z)).then_some(DVec3::X)
    }

    /// Its cross-sections two voxels from both ends of the grid.
    fn ends(&self) -> [Vec<[usize; 3]>; 2] {
        [2, self.shape[0] - 3].map(|x| {
            let rows = self
                .z
                .clone()
                .flat_map(|z| self.y.clone().map(move |y| [x, y, z]));
            rows.collect()
        })
    }
}

/// A scan, and a pathway through its distributions.
struct Scene {
    dwi: Volume,
    pathway: LiftedPathway,
}

impl Scene {
    fn new(bundle: &Bundle, sigma: f64, random: &mut Random) -> Self {
        Self::with_costly(bundle, sigma, 1.0, random)
    }

    /// Where the middle of the bundle costs a multiple.
    fn with_costly(bundle: &Bundle, sigma: f64, factor: f64, random: &mut Random) -> Self {
        let grid = grid(bundle.shape);
        let dwi = scan(&grid, |voxel| bundle.along(voxel), sigma, random);
        let mask = everywhere(&grid);
        Self::between(dwi, &mask, &bundle.ends(), |prepared| match factor > 1.0 {
            true => {
                let places = prepared.places.clone();
                prepared.costlier(|place| places.voxel(place)[0] == 9, factor)
            }
            false => prepared,
        })
    }

    /// Between voxels, with costs that a function changes.
    fn between(
        dwi: Volume,
        mask: &Mask,
        ends: &[Vec<[usize; 3]>; 2],
        changed: impl Fn(Prepared) -> Prepared,
    ) -> Self {
        let field = fitted(&dwi, mask);
        let (on, control) = (backend(2), Control::new());
        let params = Params {
            directions: DirectionSet::Lattice98,
            ..Params::defaults()
        };
        let prepared = changed(Prepared::new(&field, mask, &params, &on, &control).unwrap());
        let ends = ends.each_ref().map(|voxels| {
            let voxels = voxels.iter().map(|v| mask.grid.index(*v) as u32);
            source(&prepared.places, voxels)
        });
        let [a, b] = solve_both(&prepared, &ends, 0.3, UNREACHED, &on, &control).unwrap();
        Self {
            pathway: on.install(|| LiftedPathway::new(a, b)).unwrap(),
            dwi,
        }
    }

    fn none_yet(&self, dwi: &Volume, epsilon: f64, random_seed: u64) -> Result<Repetitions, Error> {
        let (all, gradients) = (responses(ORDER), gradients());
        let scan = Scan {
            dwi,
            gradients: &gradients,
            responses: &all,
            // The order is that of the distributions.
            fit: &csd_params(6, Precision::Single),
        };
        let (on, control) = (backend(2), Control::new());
        repetitions(&self.pathway, scan, epsilon, random_seed, &on, &control)
    }

    fn repeated(&self, count: usize, random_seed: u64, threads: usize) -> Repetitions {
        self.repeated_with(EPSILON, count, random_seed, threads)
    }

    fn repeated_with(
        &self,
        epsilon: f64,
        count: usize,
        random_seed: u64,
        threads: usize,
    ) -> Repetitions {
        let mut all = self.none_yet(&self.dwi, epsilon, random_seed).unwrap();
        all.extend(count, &backend(threads), &Control::new())
            .unwrap();
        all
    }

    /// The places that the pathway reaches from both regions.
    fn reached(&self) -> Places {
        let whole = &self.pathway.places;
        let is_reached = |place: &usize| self.pathway.total[*place].is_finite();
        let places = (0..whole.len()).filter(is_reached);
        Places::new(&whole.grid, places.map(|p| whole.voxels[p]).collect())
    }

    /// The pathway through other distributions, in the reached places and with the unit of cost of this one. Costs are
    /// C = 1 / (δ + min(1, f / f_ref)).
    fn through(&self, field: &OdfField) -> LiftedPathway {
        let whole = self.pathway.prepared();
        let reference = whole.amplitudes().unwrap().reference;
        let places = self.reached();
        let directions = whole.directions.iter().map(|d| (*d, evaluate(ORDER, *d)));
        let directions: Vec<(DVec3, Vec<f64>)> = directions.collect();
        let cost = |place: usize, direction: DVec3| {
            let coefficients = field.coefficients_at(places.voxels[place] as usize);
            let functions = directions.iter().find(|(known, _)| *known == direction);
            let terms = functions.unwrap().1.iter().zip(coefficients);
            let amplitude: f64 = terms.map(|(y, c)| y * c).sum();
            let share = (amplitude / reference).clamp(0.0, 1.0);
            (whole.params.background_speed + share).recip() as f32
        };
        let (on, control) = (backend(2), Control::new());
        let prepared = Prepared::from_costs(places.clone(), &whole.params, cost, &on, &control);
        let ends = self.pathway.fields.each_ref().map(|field| {
            let voxels = field.source.zero.iter();
            source(&places, voxels.map(|p| whole.places.voxels[*p as usize]))
        });
        let (prepared, limit) = (prepared.unwrap(), EPSILON as f32);
        let [a, b] = solve_both(&prepared, &ends, limit, UNREACHED, &on, &control).unwrap();
        on.install(|| LiftedPathway::new(a, b)).unwrap()
    }
}

/// A repetition also has a path if the width is 0.
fn narrowest() {
    let mut random = Random::fresh("narrowest repetitions");
    let scene = Scene::new(&NARROW, WHITE / 20.0, &mut random);
    let all = scene.repeated_with(0.0, 2, 3, 2);
    assert_eq!((all.paths.len(), all.without_path()), (2, 0));
}

/// The card solves the same costs in another order of updates.
fn parity(card: Backend) {
    let mut random = Random::fresh("lifted repetitions on a card");
    let scene = Scene::new(&WIDE, WHITE / 20.0, &mut random);
    let repeated = |on: &Backend| {
        let mut all = scene.none_yet(&scene.dwi, EPSILON, 7).unwrap();
        all.extend(6, on, &Control::new()).unwrap();
        all
    };
    let (cpu, card) = (repeated(&backend(2)), repeated(&card));
    assert_eq!(cpu.paths.len(), card.paths.len());
    for (a, b) in cpu.paths.iter().zip(&card.paths) {
        let [a, b] = [a, b].map(|path| path.as_ref().unwrap().0);
        assert!((a / b - 1.0).abs() < 2e-4, "{a} {b}");
    }
    let counts = [&cpu, &card].map(|all| all.visits.iter().map(|v| f64::from(*v)).sum::<f64>());
    assert!((counts[0] / counts[1] - 1.0).abs() < 0.01, "{counts:?}");
}

/// Those of some voxels (by index) that are places.
fn source(places: &Places, voxels: impl Iterator<Item = u32>) -> Arc<Source> {
    let zero = voxels.filter_map(|v| places.voxels.binary_search(&v).ok());
    Arc::new(Source {
        name: "end".to_owned(),
        zero: zero.map(|place| place as u32).collect(),
        direction: None,
    })
}

fn grid(shape: [usize; 3]) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, DVec3::splat(2.0), DVec3::ZERO).unwrap())
}

fn everywhere(grid: &Arc<Grid>) -> Mask {
    Mask::new(grid.clone(), vec![1u8; grid.voxel_count()])
}

/// Fibres along a direction, grey matter for `None`. Order 8 expresses the signal of every voxel, so that its residuals are
/// the noise.
fn scan(
    grid: &Arc<Grid>,
    along: impl Fn([usize; 3]) -> Option<DVec3>,
    sigma: f64,
    random: &mut Random,
) -> Volume {
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let grey = expressible(&axes.map(|axis| (axis, 0.05)));
    let mut signals: Vec<(DVec3, Vec<f32>)> = Vec::new();
    let n = grid.voxel_count();
    let of_voxel: Vec<Option<usize>> = (0..n)
        .map(|v| {
            let axis = along(grid.voxel(v))?;
            let known = signals.iter().position(|(known, _)| *known == axis);
            Some(known.unwrap_or_else(|| {
                signals.push((axis, expressible(&[(axis, 1.0)])));
                signals.len() - 1
            }))
        })
        .collect();
    let mut values = Vec::new();
    for volume in 0..gradients().len() {
        for bundle in &of_voxel {
            let signal = bundle.map_or(&grey, |number| &signals[number].1);
            values.push((f64::from(signal[volume]) + sigma * random.normal()) as f32);
        }
    }
    Volume::new(grid.clone(), gradients().len(), VolumeKind::Scalar, values)
}

fn fitted(dwi: &Volume, mask: &Mask) -> OdfField {
    let (on, control) = (backend(2), Control::new());
    let (all, params) = (responses(ORDER), csd_params(ORDER, Precision::Single));
    let fit = csd::fit(dwi, &gradients(), mask, &all, &params, &on, &control);
    fit.unwrap().field
}

/// Voxels that are in one of two masks only.
fn differing(a: &Mask, b: &Mask) -> Vec<usize> {
    let both = a.inside.iter().zip(b.inside.iter()).enumerate();
    both.filter(|(_, (a, b))| a != b).map(|(v, _)| v).collect()
}

fn determined() {
    let mut random = Random::fresh("lifted repetitions");
    let scene = Scene::new(&NARROW, WHITE / 20.0, &mut random);
    let one = scene.repeated(5, 7, 1);
    let three = scene.repeated(5, 7, 3);
    assert_eq!((&one.paths, &one.visits), (&three.paths, &three.visits));
    assert_eq!(one.without_path(), 0);
    let mut twice = one.clone();
    twice.paths = [&one.paths[..], &one.paths[..]].concat();
    let different = one.different_paths();
    assert!((1..=5).contains(&different) && twice.different_paths() == different);
    let mut growing = scene.none_yet(&scene.dwi, EPSILON, 7).unwrap();
    for up_to in [1, 4, 7] {
        growing.extend(up_to, &backend(2), &Control::new()).unwrap();
    }
    assert_eq!(one.paths[..], growing.paths[..5]);
    assert_ne!(one.paths, scene.repeated(5, 8, 2).paths);
    let cancelled = Control::new();
    cancelled.cancel();
    let stopped = growing.extend(9, &backend(2), &cancelled);
    assert!(matches!(stopped, Err(Error::Cancelled)) && growing.paths.len() == 7);
}

/// E* and the voxels of a repetition are those of a pathway through its distributions, which are those of the bootstrap of
/// the whole scan, with costs that this test computes.
fn as_pathway() {
    const SEED: u64 = 9;
    let mut random = Random::fresh("a lifted repetition alone");
    let scene = Scene::new(&WIDE, WHITE / 20.0, &mut random);
    // Some of the voxels, in more than one chunk.
    let (some, all) = (scene.reached().len(), scene.pathway.places.len());
    assert!(some > 512 && some < all, "{some} of {all}");
    let (on, control) = (backend(2), Control::new());
    let (mask, responses) = (everywhere(&scene.dwi.grid), responses(ORDER));
    let params = csd_params(ORDER, Precision::Single);
    let (dwi, gradients) = (&scene.dwi, gradients());
    let residuals = csd::residuals(dwi, &gradients, &mask, &responses, &params, &on, &control);
    let residuals = residuals.unwrap();
    let found = scene.repeated(3, SEED, 2);
    let mut alone = Vec::new();
    for (number, path) in found.paths.iter().enumerate() {
        let field = residuals.field(SEED, number as u64, &on, &control).unwrap();
        let pathway = scene.through(&field);
        let (cost, path) = path.as_ref().unwrap();
        let ratio = cost / pathway.min_cost;
        println!("{number}: {cost:.3} mm, {:.1e} from alone", ratio - 1.0);
        assert!((ratio - 1.0).abs() < TOLERANCE, "{number}: {ratio}");
        let length = pathway.minimal_path().unwrap().total_mm();
        assert!((path.total_mm() / length - 1.0).abs() < 0.02, "{number}");
        alone.push(pathway);
    }
    // Other signs change E* by far more.
    let costs = alone.iter().map(|pathway| pathway.min_cost);
    let [low, high] = [
        costs.clone().fold(f64::MAX, f64::min),
        costs.fold(0.0, f64::max),
    ];
    assert!(high / low - 1.0 > 10.0 * TOLERANCE, "{low} {high}");
    // Voxels differ only where their cost is that of the rim, to the tolerance.
    let first = scene.repeated(1, SEED, 1).mask(1.0);
    let own = alone[0].joining_mask(EPSILON).unwrap();
    assert!(own.count() > 100, "{}", own.count());
    for voxel in differing(&first, &own) {
        let place = alone[0].places.voxels.binary_search(&(voxel as u32));
        let total = f64::from(alone[0].total[place.unwrap()]);
        let off = total / alone[0].min_cost - 1.0 - EPSILON;
        assert!(off.abs() < 2.0 * TOLERANCE, "voxel {voxel}: {off}");
    }
}

/// Two solutions of equal costs agree to this fraction.
const TOLERANCE: f64 = 1e-4;

/// Without noise each repetition has the costs and the voxels of the pathway, also in the unit of cost, and where a region
/// is costly.
fn quiet() {
    let mut random = Random::fresh("quiet lifted repetitions");
    let mut least = Vec::new();
    for factor in [1.0, 4.0] {
        let scene = Scene::with_costly(&NARROW, 0.0, factor, &mut random);
        let found = scene.repeated(3, 1, 2);
        for path in &found.paths {
            let (cost, path) = path.as_ref().unwrap();
            let ratio = cost / scene.pathway.min_cost;
            assert!((ratio - 1.0).abs() < 2e-3, "{ratio}");
            let along = path.points.iter().map(|p| (p.y - 8.0).hypot(p.z - 6.0));
            assert!(along.fold(0.0, f64::max) < 3.0);
        }
        let shown = scene.pathway.minimal_path().unwrap();
        let near = found.near(&shown, |_| false, &backend(2), &Control::new());
        assert_eq!(near.unwrap(), 3);
        // Some of the places, so that their numbers differ from those in the part that is solved.
        assert!(scene.reached().len() < scene.pathway.places.len());
        let own = scene.pathway.joining_mask(EPSILON).unwrap();
        let differ = differing(&found.mask(1.0), &own).len();
        println!("{differ} of {} voxels differ", own.count());
        assert!(differ <= 2 + own.count() / 50, "{differ}");
        least.push(found.costs().unwrap().median);
    }
    // One voxel of 2 mm that costs four times as much per mm.
    let more = least[1] - least[0];
    println!("{least:?}");
    assert!((4.0..9.0).contains(&more), "{least:?}");
}

const ALONG_DIAGONAL: usize = 10;

/// The voxels of a row along x, which is a little shorter than a diagonal in another layer.
fn row() -> impl Iterator<Item = [usize; 3]> {
    (1..16).map(|x| [x, 1, 1])
}

/// The voxels of a diagonal, whose voxels share no face.
fn diagonal_voxels() -> impl Iterator<Item = [usize; 3]> {
    (0..=ALONG_DIAGONAL).map(|i| [1 + i, 2 + i, 3])
}

/// One voxel of grey matter at each diagonal step, without which it would leave the mask.
fn corners() -> impl Iterator<Item = [usize; 3]> {
    (0..ALONG_DIAGONAL).map(|i| [2 + i, 2 + i, 3])
}

/// Fibres along a row or a diagonal, or both, between their ends; without noise.
fn thin(with_row: bool) -> Scene {
    let grid = grid([18, 14, 5]);
    let rows: Vec<[usize; 3]> = row().filter(|_| with_row).collect();
    let diagonals: Vec<[usize; 3]> = diagonal_voxels().collect();
    let along = |voxel: [usize; 3]| {
        let diagonal = dvec3(1.0, 1.0, 0.0).normalize();
        let is_diagonal = diagonals.contains(&voxel).then_some(diagonal);
        is_diagonal.or(rows.contains(&voxel).then_some(DVec3::X))
    };
    let mut inside = vec![0u8; grid.voxel_count()];
    for voxel in rows
        .iter()
        .copied()
        .chain(diagonal_voxels())
        .chain(corners())
    {
        inside[grid.index(voxel)] = 1;
    }
    let mut random = Random::fresh("thin bundles");
    let dwi = scan(&grid, along, 0.0, &mut random);
    let ends = [0, 1].map(|end: usize| {
        let each = [&rows, &diagonals].into_iter();
        let each = each.filter_map(|all| if end == 0 { all.first() } else { all.last() });
        each.copied().collect()
    });
    Scene::between(dwi, &Mask::new(grid, inside), &ends, |prepared| prepared)
}

/// Only the part of a repetition's pathway that joins the regions counts; where a pathway is too narrow to join them, all
/// of its voxels do, and the repetition is counted.
fn joined() {
    let mut random = Random::fresh("joined lifted repetitions");
    let scene = Scene::new(&NARROW, WHITE / 20.0, &mut random);
    // Nearly all of the cheapest paths are straight, and their voxels have exactly equal costs.
    let narrow = scene.repeated_with(1e-5, 32, 3, 2);
    assert_eq!(narrow.without_path(), 0);
    println!("{} of 32 are not joined", narrow.not_joined);
    assert!(narrow.not_joined > 0, "{}", narrow.not_joined);
    assert!(narrow.mask(0.01).count() > 0);
    // The diagonal costs hardly more than the row and belongs to the pathway, but its voxels share no face.
    let scene = thin(true);
    let own = scene.pathway.joining_mask(EPSILON).unwrap();
    let all = scene.pathway.mask(EPSILON);
    println!("{} of {} voxels join", own.count(), all.count());
    assert!(
        all.count() >= own.count() + ALONG_DIAGONAL,
        "{}",
        all.count()
    );
    let found = scene.repeated(2, 1, 2);
    assert_eq!((found.without_path(), found.not_joined), (0, 0));
    assert_eq!(differing(&found.mask(1.0), &own), Vec::<usize>::new());
}

/// The diagonal steps of a pathway are open in its repetitions, too, where the voxels at their corners cost so much that
/// the pathway does not reach them.
fn diagonal() {
    let scene = thin(false);
    let reached = scene.reached();
    let is_reached = |voxel: [usize; 3]| reached.place_of(voxel.map(|c| c as i64)).is_some();
    let missing = corners().filter(|voxel| !is_reached(*voxel)).count();
    println!("{missing} corners are not reached");
    assert!(missing > 0 && diagonal_voxels().all(is_reached));
    let found = scene.repeated(2, 1, 2);
    assert_eq!(found.without_path(), 0);
    for (cost, _) in found.paths.iter().flatten() {
        let ratio = cost / scene.pathway.min_cost;
        assert!((ratio - 1.0).abs() < 2e-3, "{ratio}");
    }
}

/// The standard deviation of log E* over repetitions is that over new scans with the same noise, and a third of it where the
/// noise is a third.
fn spread() {
    const COUNT: usize = 48;
    let deviation = |costs: &[f64]| {
        let logs: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares = logs.iter().map(|log| (log - mean).powi(2));
        (squares.sum::<f64>() / (logs.len() - 1) as f64).sqrt()
    };
    let mut random = Random::fresh("spread of lifted repetitions");
    let [noisy, quieter] = [15.0, 45.0].map(|snr| Scene::new(&NARROW, WHITE / snr, &mut random));
    let [high, low] = [&noisy, &quieter].map(|scene| {
        let found = scene.repeated(COUNT, 1, 2);
        assert_eq!(found.without_path(), 0);
        let costs = found.paths.iter().flatten().map(|(cost, _)| *cost);
        deviation(&costs.collect::<Vec<f64>>())
    });
    let mask = noisy.reached().mask;
    let renewed: Vec<f64> = (0..COUNT)
        .map(|_| {
            let along = |voxel| NARROW.along(voxel);
            let dwi = scan(&mask.grid, along, WHITE / 15.0, &mut random);
            noisy.through(&fitted(&dwi, &mask)).min_cost
        })
        .collect();
    let renewed = deviation(&renewed);
    println!(
        "spread of log E*: {high:.4} at SNR 15, of new scans {renewed:.4}; {low:.4} at SNR 45"
    );
    // Each of them has an error of chance of 10 % (1 / √(2 · 47)), a ratio of two 15 %.
    let ratio = high / renewed;
    assert!((1.0 / 1.7..1.7).contains(&ratio), "{high} {renewed}");
    assert!((1.7..5.0).contains(&(high / low)), "{high} {low}");
}

/// Distributions that differ by less than 5 % count as those of the scan; others, and another grid, are refused.
fn refused() {
    let mut random = Random::fresh("scan of another head");
    let scene = Scene::new(&NARROW, WHITE / 20.0, &mut random);
    let scaled = |factor: f32| {
        let values = scene.dwi.values.iter().map(|v| factor * v);
        let values: Vec<f32> = values.collect();
        let grid = scene.dwi.grid.clone();
        Volume::new(grid, gradients().len(), VolumeKind::Scalar, values)
    };
    let error = |dwi: &Volume| scene.none_yet(dwi, EPSILON, 1).unwrap_err().to_string();
    assert!(scene.none_yet(&scaled(0.97), EPSILON, 1).is_ok());
    for (factor, percent) in [(0.93, 7), (0.7, 30)] {
        let error = error(&scaled(factor));
        let expected = format!("differ by {percent} % from those that the scan gives");
        assert!(error.contains(&expected), "{error}");
    }
    let small = Grid::axis_aligned([17, 9, 7], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let small = Arc::new(small);
    let n = small.voxel_count() * gradients().len();
    let small = Volume::new(small, gradients().len(), VolumeKind::Scalar, vec![1.0; n]);
    let small = error(&small);
    assert!(
        small.contains("a scan on another grid than the distributions"),
        "{small}"
    );
}
