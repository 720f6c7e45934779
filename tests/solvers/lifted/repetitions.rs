//! Repetitions of a pathway through distributions: the same on any number of threads and in any number of calls, the
//! pathway itself without noise, as spread as the noise; refusals.

use crate::csd::bootstrap::expressible;
use crate::csd::cases::{gradients, responses};
use crate::csd::params as csd_params;
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, OdfField, Volume, VolumeKind};
use arcuate::solvers::Error;
use arcuate::solvers::csd::{self, Precision};
use arcuate::solvers::lifted::{
    DirectionSet, LiftedPathway, Params, Prepared, Scan, Source, UNREACHED, repetitions, solve_both,
};
use arcuate::solvers::pathway::Repetitions;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("lifted::repetitions are the same every time", determined),
        test("lifted::without noise all repetitions agree", quiet),
        test("lifted::repetitions spread as the noise", spread),
        test(
            "lifted::repetitions need the scan of the distributions",
            refused,
        ),
    ]
}

const N: [usize; 3] = [18, 9, 7];
const ORDER: usize = 8;
const EPSILON: f64 = 0.2;
/// The signal of white matter without weighting.
const WHITE: f64 = 1000.0;

/// A straight bundle along x, three voxels wide, in grey matter.
struct Scene {
    dwi: Volume,
    pathway: LiftedPathway,
}

impl Scene {
    fn new(sigma: f64, random: &mut Random) -> Self {
        Self::with_costly(sigma, 1.0, random)
    }

    /// Where the middle of the bundle costs a multiple.
    fn with_costly(sigma: f64, factor: f64, random: &mut Random) -> Self {
        let dwi = scan(sigma, random);
        let field = fitted(&dwi);
        let (on, control) = (backend(2), Control::new());
        let params = Params {
            directions: DirectionSet::Lattice98,
            ..Params::defaults()
        };
        let prepared = Prepared::new(&field, &everywhere(), &params, &on, &control).unwrap();
        let prepared = match factor > 1.0 {
            true => {
                let places = prepared.places.clone();
                prepared.costlier(|place| places.voxel(place)[0] == 9, factor)
            }
            false => prepared,
        };
        let end = |x: i64| {
            let places = (3..6).flat_map(|y| (2..5).map(move |z| [x, y, z]));
            let zero = places.map(|at| prepared.places.place_of(at).unwrap() as u32);
            let mut zero: Vec<u32> = zero.collect();
            zero.sort_unstable();
            Arc::new(Source {
                name: "end".to_owned(),
                zero,
                direction: None,
            })
        };
        let ends = [end(2), end(15)];
        let [a, b] = solve_both(&prepared, &ends, 0.3, UNREACHED, &on, &control).unwrap();
        Self {
            pathway: on.install(|| LiftedPathway::new(a, b)).unwrap(),
            dwi,
        }
    }

    fn none_yet(&self, dwi: &Volume, random_seed: u64) -> Result<Repetitions, Error> {
        let (all, gradients) = (responses(ORDER), gradients());
        let scan = Scan {
            dwi,
            gradients: &gradients,
            responses: &all,
            // The order is that of the distributions.
            fit: &csd_params(6, Precision::Single),
        };
        let (on, control) = (backend(2), Control::new());
        repetitions(&self.pathway, scan, EPSILON, random_seed, &on, &control)
    }

    fn repeated(&self, count: usize, random_seed: u64, threads: usize) -> Repetitions {
        let mut all = self.none_yet(&self.dwi, random_seed).unwrap();
        all.extend(count, &backend(threads), &Control::new())
            .unwrap();
        all
    }
}

fn grid() -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(N, DVec3::splat(2.0), DVec3::ZERO).unwrap())
}

fn everywhere() -> Mask {
    Mask::new(grid(), vec![1u8; grid().voxel_count()])
}

/// Order 8 expresses the signal of every voxel, so that its residuals are the noise.
fn scan(sigma: f64, random: &mut Random) -> Volume {
    let grid = grid();
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let white = expressible(&[(DVec3::X, 1.0)]);
    let other = expressible(&axes.map(|axis| (axis, 0.05)));
    let mut values = Vec::new();
    for volume in 0..gradients().len() {
        for v in 0..grid.voxel_count() {
            let [_, y, z] = grid.voxel(v);
            let inside = (3..6).contains(&y) && (2..5).contains(&z);
            let clean = if inside { white[volume] } else { other[volume] };
            values.push((f64::from(clean) + sigma * random.normal()) as f32);
        }
    }
    Volume::new(grid, gradients().len(), VolumeKind::Scalar, values)
}

fn fitted(dwi: &Volume) -> OdfField {
    let (on, control) = (backend(2), Control::new());
    let (all, params) = (responses(ORDER), csd_params(ORDER, Precision::Single));
    let fit = csd::fit(
        dwi,
        &gradients(),
        &everywhere(),
        &all,
        &params,
        &on,
        &control,
    );
    fit.unwrap().field
}

fn determined() {
    let mut random = Random::fresh("lifted repetitions");
    let scene = Scene::new(WHITE / 20.0, &mut random);
    let one = scene.repeated(5, 7, 1);
    let three = scene.repeated(5, 7, 3);
    assert_eq!((&one.paths, &one.visits), (&three.paths, &three.visits));
    assert_eq!(one.without_path(), 0);
    let mut growing = scene.none_yet(&scene.dwi, 7).unwrap();
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

/// Without noise each repetition has the costs and the voxels of the pathway, also in the unit of cost, and where a region
/// is costly.
fn quiet() {
    let mut random = Random::fresh("quiet lifted repetitions");
    let mut least = Vec::new();
    for factor in [1.0, 4.0] {
        let scene = Scene::with_costly(0.0, factor, &mut random);
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
        let own = scene.pathway.joining_mask(EPSILON).unwrap().count();
        let count = found.mask(1.0).count();
        assert!(count.abs_diff(own) <= 2 + own / 50, "{count} {own}");
        least.push(found.costs().unwrap().median);
    }
    // One voxel of 2 mm that costs four times as much per mm.
    let more = least[1] - least[0];
    println!("{least:?}");
    assert!((4.0..9.0).contains(&more), "{least:?}");
}

/// Half the noise: half the spread of log E*.
fn spread() {
    let mut random = Random::fresh("spread of lifted repetitions");
    let spread = |sigma: f64, random: &mut Random| {
        let found = Scene::new(sigma, random).repeated(24, 1, 2);
        assert_eq!(found.without_path(), 0);
        let logs = found.paths.iter().flatten().map(|(cost, _)| cost.ln());
        let logs: Vec<f64> = logs.collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares = logs.iter().map(|log| (log - mean).powi(2));
        (squares.sum::<f64>() / (logs.len() - 1) as f64).sqrt()
    };
    let [high, low] = [WHITE / 15.0, WHITE / 45.0].map(|sigma| spread(sigma, &mut random));
    println!("spread of log E*: {high:.4} at SNR 15, {low:.4} at SNR 45");
    assert!(high > 1.7 * low && low > 0.0, "{high} {low}");
}

fn refused() {
    let mut random = Random::fresh("scan of another head");
    let scene = Scene::new(WHITE / 20.0, &mut random);
    let other = Volume::new(
        grid(),
        gradients().len(),
        VolumeKind::Scalar,
        scene
            .dwi
            .values
            .iter()
            .map(|v| 0.7 * v)
            .collect::<Vec<f32>>(),
    );
    let error = |dwi: &Volume| scene.none_yet(dwi, 1).unwrap_err().to_string();
    let other = error(&other);
    assert!(
        other.contains("differ by 30 % from those that the scan gives"),
        "{other}"
    );
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
