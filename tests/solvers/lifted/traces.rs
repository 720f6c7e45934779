//! Smoothed paths keep to the lobes from which they were traced.

use super::{SETS, cube, from_place, params, place};
use crate::support::fields::backend;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::solvers::lifted::{LiftedPathway, Params, Prepared, UNREACHED, solve_both};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("lifted::paths follow lobes that zigzag", zigzag)]
}

/// Lobes zigzag from slab to slab. An averaged path would cross all slabs straight, along no lobe; the path therefore
/// keeps to the states from which it was traced.
fn zigzag() {
    const SLAB: i64 = 3;
    for set in SETS {
        let places = cube(13);
        let axis = |place: usize| {
            let up = places.voxel(place)[0] / SLAB % 2 == 0;
            DVec3::new(1.0, if up { 1.0 } else { -1.0 }, 0.0).normalize()
        };
        let cost = |place: usize, d: DVec3| 1.0 / (0.03 + d.dot(axis(place)).powi(24) as f32);
        let params = Params {
            curvature_price_mm: 0.1,
            ..params(set)
        };
        let (on, control) = (backend(2), Control::new());
        let prepared = Prepared::from_costs(places.clone(), &params, cost, &on, &control).unwrap();
        let at = |x: f64| place(&prepared, DVec3::new(x, 6.0, 6.0));
        let ends = [at(0.0), at(12.0)].map(|place| from_place(place, None));
        let fields = solve_both(&prepared, &ends, 0.3, UNREACHED, &on, &control).unwrap();
        let [a, b] = fields;
        let pathway = on.install(|| LiftedPathway::new(a, b)).unwrap();
        let path = pathway.minimal_path().unwrap();
        let ends = [path.points[0], path.points[path.points.len() - 1]];
        let straight = (0..=24).map(|i| ends[0].lerp(ends[1], f64::from(i) / 24.0));
        let straight = prepared.path(straight.collect()).total_cost();
        let [path, straight] = [path.total_cost(), straight].map(|cost| cost / pathway.min_cost);
        println!(
            "{} directions: path {path:.2} of E*, straight {straight:.2}",
            set.key()
        );
        assert!(
            path < 1.3 && straight > 2.0 * path,
            "{}: {path}, {straight}",
            set.key()
        );
    }
}
