//! Spheres under curvature and under constant speed, at two voxel sizes.

use super::{
    CURVATURE, GROWTH, STILL, axes, begin, crossings, grid, ones, run, run_for, slopes, sphere,
};
use crate::support::{Random, test};
use arcuate::solvers::level_set::{Layout, Params};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::a sphere under curvature", curvature),
        test("level_set::curvature with rescaling", rescaled_curvature),
        test("level_set::a sphere of constant speed", growth),
        test(
            "level_set::what keeps distances leaves the surface",
            resting,
        ),
        test("level_set::distances in the band", distances),
    ]
}

/// Statistics of the surface's distances from the centre, in mm.
#[derive(Clone, Copy, Debug)]
struct Error {
    mean: f64,
    rms: f64,
    worst: f64,
}

impl Error {
    fn from_distances(off: &[f64]) -> Self {
        let count = off.len() as f64;
        let squares = off.iter().map(|d| d * d).sum::<f64>();
        Self {
            mean: off.iter().sum::<f64>() / count,
            rms: (squares / count).sqrt(),
            worst: off.iter().fold(0.0, |w, d| d.abs().max(w)),
        }
    }
}

/// Error when a sphere of `from` mm has the radius `to` by the closed form; voxels are `scale` times as large.
fn error(
    axes: DMat3,
    scale: f64,
    from: f64,
    to: f64,
    params: &Params,
    off: DVec3,
    band: f32,
) -> Error {
    let all = errors(axes, scale, (from, to), params, off, band);
    Error::from_distances(&all.into_iter().map(|(_, error)| error).collect::<Vec<_>>())
}

/// Error of each point of the surface, with its direction from the centre.
fn errors(
    axes: DMat3,
    scale: f64,
    (from, to): (f64, f64),
    params: &Params,
    off: DVec3,
    band: f32,
) -> Vec<(DVec3, f64)> {
    let side = 2.0 * from.max(to) + 8.0 * axes.col(2).length().max(1.0);
    let grid = grid(axes * scale, side);
    let layout = Layout {
        band,
        ..Layout::BEST
    };
    let mut evolution = begin(&ones(&grid), &[sphere(off, from)], params, layout);
    let h = evolution.field().unwrap().h_mm;
    let expected = |time: f64| match params.smoothness {
        // Units of h: κ̂ = 2 h / r, speeds in h per unit of time.
        1.0 => (from * from - 4.0 * time * h * h).max(0.0).sqrt(),
        _ => from + time * h,
    };
    let requested = match params.smoothness {
        1.0 => (from * from - to * to) / (4.0 * h * h),
        _ => (to - from) / h,
    };
    let time = run_for(&mut evolution, requested);
    let expected = expected(time);
    let points = crossings(&evolution.field().unwrap());
    let from_centre = points.iter().map(|p| *p - off);
    from_centre
        .map(|p| (p.normalize(), p.length() - expected))
        .collect()
}

fn curvature() {
    let mut random = Random::fresh("level set curvature");
    for (name, axes) in axes(&mut random) {
        let off = random.direction() * random.uniform(0.0, 0.5);
        let [coarse, fine] =
            [1.0, 0.5].map(|scale| error(axes, scale, 11.0, 8.0, &CURVATURE, off, 6.0));
        let order = (coarse.rms / fine.rms).log2();
        println!("{name}: {coarse:.4?} and {fine:.4?} mm at half the size, order {order:.2}");
        assert!(coarse.worst < 0.12, "{coarse:?}");
        assert!(fine.worst < 0.04, "{fine:?}");
        // Second order, down to the error of the band's end: a fortieth of a voxel, more where it is nearer.
        assert!(order > 1.5 || fine.rms < 0.025 * 0.5, "{order} {fine:?}");
        let default_value = error(axes, 0.5, 11.0, 8.0, &CURVATURE, off, 3.0);
        println!("{name}: {default_value:.4?} mm with the usual band");
        assert!(default_value.worst < 0.1 * 0.5, "{default_value:?}");
    }
}

/// Any rescaling slows curvature motion; it may cost 0.2 voxels.
fn rescaled_curvature() {
    let mut random = Random::fresh("level set rescaled curvature");
    let off = random.direction() * random.uniform(0.0, 0.5);
    let params = Params {
        rescaling: 0.1,
        redistance_every: 20,
        ..CURVATURE
    };
    let error = error(DMat3::IDENTITY, 1.0, 16.0, 10.0, &params, off, 3.0);
    println!("{error:.4?} voxels");
    assert!(error.worst < 0.2, "{error:?}");
}

fn growth() {
    let mut random = Random::fresh("level set growth");
    for (name, axes) in axes(&mut random) {
        let off = random.direction() * random.uniform(0.0, 0.5);
        let both = [1.0, 0.5].map(|scale| {
            let found = errors(axes, scale, (5.0, 10.0), &GROWTH, off, 3.0);
            let own = axes * scale;
            let more: Vec<f64> = found.iter().map(|(n, e)| e + lag(own, *n)).collect();
            let whole: Vec<f64> = found.iter().map(|(_, error)| *error).collect();
            (Error::from_distances(&whole), Error::from_distances(&more))
        });
        let [(coarse, more), (fine, fine_more)] = both;
        let order = (coarse.mean / fine.mean).log2();
        println!("{name}: {coarse:.4?} and {fine:.4?} mm at half the size, order {order:.2}");
        println!("{name}: beyond the lag {more:.4?} and {fine_more:.4?} mm");
        assert!(coarse.mean < 0.0, "{coarse:?}");
        assert!((0.7..1.3).contains(&order), "{order}");
        // The remaining error is of second order.
        assert!(more.mean.abs() < 0.09 && more.worst < 0.2, "{more:?}");
        assert!(
            fine_more.mean.abs() < 0.02 && fine_more.worst < 0.05,
            "{fine_more:?}"
        );
    }
}

/// How far a sphere of constant speed lags behind along n once it is twice as large: |∇φ|² is Σ ρ d² of one-sided
/// differences along offsets e, each off by ½ ∂²φ/∂e², which is (|e|² − (e·n)²) / r for a sphere; and r grows from r₀
/// to 2 r₀.
fn lag(axes: DMat3, n: DVec3) -> f64 {
    let along =
        |(e, rho): &(DVec3, f64)| rho * e.dot(n).abs() * (e.length_squared() - e.dot(n).powi(2));
    0.5 * 2f64.ln() * offsets(axes).iter().map(along).sum::<f64>()
}

/// Offsets and weights with Σ ρ e eᵀ = 1, by Selling's reduction (1874); for a grid without shear they are its axes.
fn offsets(axes: DMat3) -> Vec<(DVec3, f64)> {
    let metric = (axes.transpose() * axes).inverse();
    let mut base = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_ONE];
    let pairs = [
        [0, 1, 2, 3],
        [0, 2, 3, 1],
        [0, 3, 1, 2],
        [1, 2, 0, 3],
        [1, 3, 2, 0],
        [2, 3, 0, 1],
    ];
    let product = |base: &[DVec3; 4], i: usize, j: usize| base[i].dot(metric * base[j]);
    while let Some([i, _, k, l]) = pairs
        .into_iter()
        .find(|[i, j, ..]| product(&base, *i, *j) > 1e-12)
    {
        let turned = base[i];
        base[i] = -turned;
        base[k] += turned;
        base[l] += turned;
    }
    let all = pairs.into_iter();
    let all = all.map(|[i, j, k, l]| (axes * base[k].cross(base[l]), -product(&base, i, j)));
    all.filter(|(_, rho)| *rho > 1e-12).collect()
}

/// 200 steps of rescaling with redistancing, and of redistancing alone.
fn resting() {
    let mut random = Random::fresh("level set resting");
    let grid = grid(DMat3::IDENTITY, 36.0);
    let (a, b) = (random.direction() * 4.0, random.direction() * 3.0);
    let shape = [
        sphere(a, random.uniform(6.0, 8.0)),
        sphere(b, random.uniform(5.0, 8.0)),
    ];
    for (rescaling, redistance_every) in [(0.1, 20), (0.1, 0), (1e-6, 20)] {
        let params = Params {
            rescaling,
            redistance_every,
            ..STILL
        };
        for spheres in [&shape[..1], &shape[..]] {
            let mut evolution = begin(&ones(&grid), spheres, &params, Layout::BEST);
            let before = crossings(&evolution.field().unwrap());
            run(&mut evolution, 100);
            run(&mut evolution, 100);
            let after = crossings(&evolution.field().unwrap());
            // No voxel changed sides: crossings pair up.
            assert_eq!(before.len(), after.len());
            let moved = before.iter().zip(&after).map(|(p, q)| p.distance(*q));
            let moved: Vec<f64> = moved.collect();
            let mean = moved.iter().sum::<f64>() / moved.len() as f64;
            let worst = moved.iter().copied().fold(0.0, f64::max);
            let (low, high) = slopes(&evolution.field().unwrap(), 1.5);
            println!(
                "rescaling {rescaling}, every {redistance_every}, {} spheres: mean {mean:.4}, at most \
                 {worst:.4} voxels; slopes {low:.3} to {high:.3}",
                spheres.len()
            );
            assert!(mean < 0.05, "{mean}");
            if spheres.len() == 1 {
                assert!(worst < 0.05, "{worst}");
            }
        }
    }
}

/// |∇φ| stays near 1 while surfaces shrink and grow.
fn distances() {
    let mut random = Random::fresh("level set distances");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, 38.0);
        let off: DVec3 = random.direction();
        for (from, params) in [(13.0, CURVATURE), (6.0, GROWTH)] {
            let params = Params {
                rescaling: 0.1,
                redistance_every: 20,
                ..params
            };
            let mut evolution = begin(&ones(&grid), &[sphere(off, from)], &params, Layout::BEST);
            let steps = if params.smoothness > 0.0 { 120 } else { 10 };
            run(&mut evolution, steps);
            let (low, high) = slopes(&evolution.field().unwrap(), 1.5);
            println!("{name} from {from}: {low:.3} to {high:.3}");
            assert!(low > 0.8 && high < 1.2, "{name}: {low} {high}");
        }
    }
}
