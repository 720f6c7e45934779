//! The comparator of the paper's Table 1: exact for plane waves, and convergent from points.

use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Grid;
use arcuate::solvers::eikonal::{CostSource, lax_friedrichs};
use arcuate::solvers::metric::Metric;
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("eikonal::Lax–Friedrichs plane waves are exact", plane),
        test("eikonal::Lax–Friedrichs converges from a point", point),
        test("eikonal::Lax–Friedrichs stays in the mask", mask),
    ]
}

const MAX_SWEEPS: usize = 4000;

/// A cube of edge 1 with this many voxels along each edge, whose costs per mm are those of an oblique tensor.
fn cube(side: usize, is_inside: impl Fn([usize; 3]) -> bool) -> Metric {
    let speed = DMat3::from_cols(
        DVec3::new(1.0, 0.4, 0.0),
        DVec3::new(0.4, 0.8, 0.2),
        DVec3::new(0.0, 0.2, 0.6),
    );
    let edge = 1.0 / (side - 1) as f64;
    let grid = Grid::axis_aligned([side; 3], DVec3::splat(edge), DVec3::ZERO).unwrap();
    Metric::from_speed(&Arc::new(grid), |v| is_inside(v).then_some(speed)).unwrap()
}

/// From a face, the cost grows linearly, which is a fixed point of the scheme: central differences are exact, and the
/// viscosity adds nothing.
fn plane() {
    let metric = {
        let grid = Grid::axis_aligned([24, 7, 6], DVec3::ONE, DVec3::ZERO).unwrap();
        let speed = DMat3::from_diagonal(DVec3::new(4.0, 1.0, 0.5));
        Metric::from_speed(&Arc::new(grid), |_| Some(speed)).unwrap()
    };
    let face = (0..metric.len()).filter(|p| metric.voxel(*p)[0] == 0);
    let source = CostSource::places(&metric, "face", face.map(|p| p as u32).collect());
    let found = lax_friedrichs(&metric, &source, 1e-9, MAX_SWEEPS, &Control::new()).unwrap();
    assert!(found.has_converged, "{} sweeps", found.sweeps);
    for (place, value) in found.values.iter().enumerate() {
        let exact = metric.voxel(place)[0] as f64 / 2.0;
        assert!((f64::from(*value) - exact).abs() < 1e-4, "{value} {exact}");
    }
}

/// The mean error falls with the size of voxels, slowly, since the viscosity smooths the cone at the point; it is positive:
/// the viscosity raises costs.
fn point() {
    let error = |side: usize| {
        let metric = cube(side, |_| true);
        let middle = [side as i64 / 2; 3];
        let place = metric.place_of(middle).unwrap();
        let source = CostSource::places(&metric, "middle", vec![place as u32]);
        let found = lax_friedrichs(&metric, &source, 1e-7, MAX_SWEEPS, &Control::new()).unwrap();
        assert!(found.has_converged, "{} sweeps", found.sweeps);
        let (mut off, mut sum) = (0.0, 0.0);
        for (place, value) in found.values.iter().enumerate() {
            let way = [0, 1, 2].map(|a| (metric.voxel(place)[a] - middle[a]) as f64);
            let exact = metric.step_cost(place, DVec3::from_array(way));
            off += f64::from(*value) - exact;
            sum += exact;
        }
        off / sum
    };
    let errors = [17, 33, 65].map(error);
    println!("{errors:.3?}");
    assert!(errors.iter().all(|e| *e > 0.0 && *e < 0.5), "{errors:?}");
    assert!(errors.windows(2).all(|e| e[1] < 0.9 * e[0]), "{errors:?}");
}

/// Beyond a wall there is no value, and around its end the way is longer than the straight line.
fn mask() {
    let open = |hole: bool| move |v: [usize; 3]| v[0] != 8 || hole && v[1] == 0;
    let far = |hole: bool| {
        let metric = cube(17, open(hole));
        let place = |v| metric.place_of(v).unwrap();
        let source = CostSource::places(&metric, "corner", vec![place([2, 14, 8]) as u32]);
        let found = lax_friedrichs(&metric, &source, 1e-7, MAX_SWEEPS, &Control::new()).unwrap();
        let to = place([14, 14, 8]);
        (
            f64::from(found.values[to]),
            metric.step_cost(to, DVec3::new(12.0, 0.0, 0.0)),
        )
    };
    assert!(far(false).0.is_infinite());
    let (around, straight) = far(true);
    assert!(
        around.is_finite() && around > 1.5 * straight,
        "{around} {straight}"
    );
}
