//! The callosal radiation of the built-in head: it has 30 % of its voxels where it runs alone, 23 % within the corticospinal
//! tract and where it leaves the corpus callosum, at less than 30 degrees, an angle at which lobes merge.

use crate::support::fields::{backend, sphere};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::spherical_harmonics::{gauss_legendre, zonal};
use arcuate::data::{Grid, Mask, OdfField, Response, Role};
use arcuate::phantom::{Bundle, Head, ScanOptions, Shell};
use arcuate::solvers::csd;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::lifted::{
    DirectionSet, LiftedPathway, Params, Prepared, Source, UNREACHED, solve_both,
};
use arcuate::solvers::odf_tracking::{self, Fibres, Method};
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "lifted::the callosal radiation is found from end to end",
        from_end_to_end,
    )]
}

/// A true end point is reached by a curve that passes within this distance; a curve runs in the bundle if it keeps within
/// it of true fibres.
const NEAR_MM: f64 = 4.0;
const B0_S_PER_MM2: [f64; 3] = [0.0, 1000.0, 2500.0];

/// Closed forms for the diffusivities of the built-in heads and the default shells of their scans.
pub fn responses() -> [Response; 3] {
    let rows = B0_S_PER_MM2.map(|b| {
        let mut out = vec![0.0; 7];
        for (z, weight) in gauss_legendre(64) {
            let signal = 1000.0 * (-b * (0.3e-3 + 1.4e-3 * z * z)).exp();
            for (sum, y) in out.iter_mut().zip(zonal(12, z)) {
                *sum += 2.0 * PI * weight * signal * y;
            }
        }
        out
    });
    let isotropic = |signal: f64, diffusivity: f64| {
        let values = B0_S_PER_MM2.map(|b| signal * (-b * diffusivity).exp());
        Response::isotropic(&B0_S_PER_MM2, &values)
    };
    [
        Response::new(Some(B0_S_PER_MM2.to_vec()), rows.to_vec()),
        isotropic(1380.0, 0.8e-3),
        isotropic(2700.0, 3.0e-3),
    ]
}

/// Distributions of order 12 within 8 mm of a bundle, from a scan of 2 mm with an SNR of 30.
fn distributions(head: &Head, fibres: &[Vec<DVec3>]) -> OdfField {
    const REACH_MM: f64 = 8.0;
    const SPACING_MM: f64 = 2.0;
    let points = || fibres.iter().flatten().copied();
    let low = points().reduce(DVec3::min).unwrap() - REACH_MM;
    let high = points().reduce(DVec3::max).unwrap() + REACH_MM;
    let shape = ((high - low) / SPACING_MM).ceil().to_array();
    let shape = shape.map(|n| n as usize + 1);
    let grid = Arc::new(Grid::axis_aligned(shape, DVec3::splat(SPACING_MM), low).unwrap());
    let shell = |b_s_per_mm2, directions| Shell {
        b_s_per_mm2,
        directions,
    };
    let options = ScanOptions {
        grid: grid.clone(),
        b0_count: 6,
        shells: vec![shell(1000.0, 30), shell(2500.0, 60)],
        snr: Some(30.0),
        noise_seed: 1,
    };
    let (on, control) = (backend(2), Control::new());
    let scan = on.install(|| head.diffusion_scan(&options, &control));
    let (dwi, gradients) = scan.unwrap();
    let inside = (0..grid.voxel_count()).map(|v| {
        let at = grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
        u8::from(nearest_mm(fibres.iter().flatten(), at) < REACH_MM)
    });
    let inside: Vec<u8> = inside.collect();
    let mask = Mask::new(grid, inside);
    let params = csd::Params {
        order: Some(12),
        ..csd::Params::defaults()
    };
    let responses = responses();
    let fitted = csd::fit(&dwi, &gradients, &mask, &responses, &params, &on, &control);
    fitted.unwrap().field
}

fn nearest_mm<'a>(points: impl IntoIterator<Item = &'a DVec3>, at: DVec3) -> f64 {
    let squares = points.into_iter().map(|p| p.distance_squared(at));
    squares.fold(f64::INFINITY, f64::min).sqrt()
}

/// True fibres of a bundle.
fn true_fibres(bundle: &Bundle) -> Vec<Vec<DVec3>> {
    let world = |p: [f32; 3]| Vec3::from(p).as_dvec3();
    let fibres = bundle.fibres(60);
    fibres
        .map(|fibre| fibre.into_iter().map(world).collect())
        .collect()
}

/// Whether a curve keeps near the true fibres.
fn runs_inside(curve: &[DVec3], fibres: &[Vec<DVec3>]) -> bool {
    let near = |p: &&DVec3| nearest_mm(fibres.iter().flatten(), **p) <= NEAR_MM;
    curve.iter().filter(near).count() as f64 > 0.95 * curve.len() as f64
}

fn from_end_to_end() {
    let head = Head::new(1);
    let bundle = head.bundle("Callosal radiation").unwrap();
    let fibres = true_fibres(bundle);
    let ends = [0, 1].map(|side| -> Vec<DVec3> {
        let point = |f: &Vec<DVec3>| f[[0, f.len() - 1][side]];
        fibres.iter().map(point).collect()
    });
    let field = distributions(&head, &fibres);
    streamlines(&field, &fibres, &ends);
    // With 162 directions, which overestimate costs more, the same width holds more of the bundle and of its surroundings.
    paths(
        &field,
        &fibres,
        &ends,
        (DirectionSet::Icosphere162, 0.6, 0.25),
    );
    paths(&field, &fibres, &ends, (DirectionSet::Lattice98, 0.5, 0.15));
}

/// About a dozen of 4000 streamlines from each end reach the other end if steps turn by at most 35°, and they meet nearly
/// all true end points there.
fn streamlines(field: &OdfField, fibres: &[Vec<DVec3>], ends: &[Vec<DVec3>; 2]) {
    let (on, control) = (backend(2), Control::new());
    let distributions = Fibres::Distributions(field.clone());
    let prepared = odf_tracking::Prepared::new(&distributions, &on, &control).unwrap();
    let params = odf_tracking::Params {
        seeding: Seeding::Random { count: 4000 },
        max_angle_rad: 35f64.to_radians(),
        ..odf_tracking::Params::defaults_for(Method::Probabilistic, 2.0, false)
    };
    for (from, to) in [(0, 1), (1, 0)] {
        let centre = ends[from].iter().sum::<DVec3>() / ends[from].len() as f64;
        let seed = [sphere(Role::Seed, centre, 5.0)];
        let output =
            odf_tracking::track_prepared(&prepared, None, &seed, &params, None, &on, &control);
        let kept = output.unwrap().kept;
        let mut valid: Vec<Vec<DVec3>> = Vec::new();
        for curve in kept.streamlines() {
            let curve: Vec<DVec3> = curve.iter().map(|p| Vec3::from(*p).as_dvec3()).collect();
            let meets = |end: &[DVec3]| curve.iter().any(|p| nearest_mm(end, *p) <= NEAR_MM);
            if meets(&ends[to]) && meets(&ends[from]) && runs_inside(&curve, fibres) {
                valid.push(curve);
            }
        }
        let reached = |end: &&DVec3| nearest_mm(valid.iter().flatten(), **end) <= NEAR_MM;
        let reached = ends[to].iter().filter(reached).count();
        println!(
            "{} of {} streamlines run from end to end and reach {reached} of {} end points",
            valid.len(),
            kept.len(),
            ends[to].len()
        );
        assert!(valid.len() >= 6 && 10 * reached >= 9 * ends[to].len());
    }
}

/// The cheapest path through each true end point keeps to the bundle, from end to end, and the pathway fills much of it.
fn paths(
    field: &OdfField,
    fibres: &[Vec<DVec3>],
    ends: &[Vec<DVec3>; 2],
    (directions, least_overlap, most_overreach): (DirectionSet, f64, f64),
) {
    let (on, control) = (backend(2), Control::new());
    let grid = &field.grid;
    let all = (0..grid.voxel_count()).map(|v| u8::from(field.has_distribution(v)));
    let mask = Mask::new(grid.clone(), all.collect::<Vec<u8>>());
    let params = Params {
        directions,
        ..Params::defaults()
    };
    let prepared = Prepared::new(field, &mask, &params, &on, &control).unwrap();
    let place = |at: &DVec3| {
        let voxel = grid.voxel_at(*at).round().to_array().map(|c| c as i64);
        prepared.places.place_of(voxel).unwrap() as u32
    };
    let sources = ends.each_ref().map(|end| {
        let mut zero: Vec<u32> = end.iter().map(place).collect();
        zero.sort_unstable();
        zero.dedup();
        Arc::new(Source {
            name: "end".to_owned(),
            zero,
            direction: None,
        })
    });
    let [a, b] = solve_both(&prepared, &sources, 0.3, UNREACHED, &on, &control).unwrap();
    let pathway = on.install(|| LiftedPathway::new(a, b)).unwrap();
    let through = |at: &DVec3| pathway.path_through(place(at) as usize);
    for end in ends {
        let paths: Vec<_> = end.iter().filter_map(through).collect();
        let inside = |path: &&arcuate::solvers::pathway::Path| runs_inside(&path.points, fibres);
        let inside = paths.iter().filter(inside).count();
        println!(
            "{} of {} end points have a path, {inside} of them keep to the bundle",
            paths.len(),
            end.len()
        );
        assert!(10 * inside >= 8 * end.len());
    }
    let path = pathway.minimal_path().unwrap();
    assert!(runs_inside(&path.points, fibres));
    let voxels: std::collections::BTreeSet<u32> = fibres.iter().flatten().map(place).collect();
    let within = |place: u32| f64::from(pathway.total[place as usize]) <= 1.3 * pathway.min_cost;
    let filled = voxels.iter().filter(|place| within(**place)).count();
    let beyond = (0..prepared.places.len() as u32).filter(|p| within(*p) && !voxels.contains(p));
    let [overlap, overreach] = [filled, beyond.count()].map(|n| n as f64 / voxels.len() as f64);
    println!("at 30 %: overlap {overlap:.2}, overreach {overreach:.2}");
    assert!(
        overlap > least_overlap && overreach < most_overreach,
        "{overlap} {overreach}"
    );
}
