//! Cost fields: closed forms, orders of convergence, the discrete equation's residual, sweeping,
//! invariants, independence of the schedule.

mod closed_forms;
mod invariants;
mod lax_friedrichs;
mod parity;
mod sweeping;

use crate::support::Random;
use crate::support::fields::backend;
use arcuate::compute::{Backend, Control};
use arcuate::data::Grid;
use arcuate::phantom::fields::cylindrical;
use arcuate::solvers::eikonal::{
    CostField, CostSource, LocalSolver, Params, Prepared, Schedule, solve,
};
use arcuate::solvers::metric::Metric;
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let all = [
        closed_forms::tests(),
        invariants::tests(),
        lax_friedrichs::tests(),
        parity::tests(),
        sweeping::tests(),
    ];
    all.into_iter().flatten().collect()
}

pub const PARAMS: Params = Params {
    tolerance: 1e-6,
    schedule: None,
};

/// A field computed on two threads.
pub fn spread(metric: &Metric, local: LocalSolver, zero: &[[i64; 3]]) -> CostField {
    spread_by(metric, local, zero, None, 2)
}

pub fn spread_by(
    metric: &Metric,
    local: LocalSolver,
    zero: &[[i64; 3]],
    schedule: Option<Schedule>,
    threads: usize,
) -> CostField {
    let params = Params { schedule, ..PARAMS };
    spread_with(metric, local, zero, &params, threads)
}

pub fn spread_with(
    metric: &Metric,
    local: LocalSolver,
    zero: &[[i64; 3]],
    params: &Params,
    threads: usize,
) -> CostField {
    spread_on(metric, local, zero, params, &backend(threads))
}

pub fn spread_on(
    metric: &Metric,
    local: LocalSolver,
    zero: &[[i64; 3]],
    params: &Params,
    backend: &Backend,
) -> CostField {
    let control = Control::new();
    let prepared = Prepared::new(metric, local, backend, &control).unwrap();
    let sources = [Arc::new(source(metric, "A", zero))];
    let mut fields = solve(&prepared, &sources, params, backend, &control).unwrap();
    fields.remove(0)
}

pub fn source(metric: &Metric, name: &str, zero: &[[i64; 3]]) -> CostSource {
    let places = zero.iter().map(|v| metric.place_of(*v).unwrap() as u32);
    CostSource::places(metric, name, places.collect())
}

/// `n` voxels of 1 mm a side, the first at the origin.
pub fn cube(n: usize) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned([n; 3], DVec3::ONE, DVec3::ZERO).unwrap())
}

/// Fast along one direction by this factor, in a random orientation; the slow speeds differ as in white matter raised
/// to the third power.
pub fn oblique(random: &mut Random, anisotropy: f64) -> DMat3 {
    let turn = DMat3::from_quat(random.rotation());
    let slow = anisotropy.powi(-2);
    let speeds = DVec3::new(1.0, (slow * 2.7).min(1.0), slow);
    turn * DMat3::from_diagonal(speeds) * turn.transpose()
}

/// The paper's second example on `n`³ voxels: one turn over the height, 1 : 1e-4.
pub fn helix(n: usize) -> impl Fn([usize; 3]) -> DMat3 {
    let centre = (n - 1) as f64 / 2.0;
    let rise = n as f64 / std::f64::consts::TAU;
    move |voxel| {
        let [x, y, _] = voxel.map(|c| c as f64 - centre);
        cylindrical(DVec3::new(-y, x, rise).normalize(), 1.0, 1e-4)
    }
}

/// Speeds that rotate slowly, anisotropic by up to this factor.
pub fn swirl(
    random: &mut Random,
    grid: &Grid,
    anisotropy: f64,
) -> impl Fn([usize; 3]) -> DMat3 + use<> {
    let size = (grid.corners()[7] - grid.corners()[0]).length();
    let k: [DVec3; 2] = [0; 2].map(|_| random.direction() * random.uniform(2.0, 5.0) / size);
    let turn = DMat3::from_quat(random.rotation());
    let world = grid.world_from_voxel;
    move |voxel| {
        let x = world.transform_point3(DVec3::from_array(voxel.map(|v| v as f64)));
        let (a, b) = (k[0].dot(x), k[1].dot(x));
        let e = turn * DVec3::new(a.cos() * b.cos(), a.sin() * b.cos(), b.sin());
        let slow = anisotropy.powi(-2);
        let outer = DMat3::from_cols(e * e.x, e * e.y, e * e.z);
        (DMat3::from_diagonal(DVec3::splat(slow)) + outer * (1.0 - slow)) * (1.0 + 0.3 * a.sin())
    }
}

/// A swirl in a cube of 24 mm with voxels of 2, 1 and ½ mm, and the number of the finest voxels per side of each.
pub fn nested(random: &mut Random, anisotropy: f64) -> [(Metric, i64); 3] {
    let grid = |h: f64| {
        let n = (24.0 / h) as usize + 1;
        Arc::new(Grid::axis_aligned([n; 3], DVec3::splat(h), DVec3::ZERO).unwrap())
    };
    let speed = swirl(random, &grid(0.5), anisotropy);
    [4, 2, 1].map(|q| {
        let speed_at = |v: [usize; 3]| Some(speed(v.map(|c| c * q)));
        let metric = Metric::from_speed(&grid(0.5 * q as f64), speed_at).unwrap();
        (metric, q as i64)
    })
}
