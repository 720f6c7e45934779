//! Streamlines through distributions and peaks: the law of a step, closed forms, anatomical rules, selection, cards.

mod bootstrap;
mod law;
mod lines;
mod parity;
mod rules;
mod select;
mod tissues;

use arcuate::compute::Control;
use arcuate::data::region::RegionId;
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{Grid, OdfField, Region, Role, Shape, TissueMap};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{Output, Seeding};
use arcuate::solvers::odf_tracking::{Fibres, Method, Params, track};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let all = [
        bootstrap::tests(),
        law::tests(),
        lines::tests(),
        parity::tests(),
        rules::tests(),
        select::tests(),
        tissues::tests(),
    ];
    all.into_iter().flatten().collect()
}

/// Coefficients of Σ share (u · axis)^8 in order 8, which is nowhere negative.
fn lobes(lobes: &[(DVec3, f64)]) -> Vec<f64> {
    let mut out = vec![0.0; count(8)];
    for (u, weight) in quadrature(16) {
        let f: f64 = lobes
            .iter()
            .map(|(axis, share)| share * u.dot(*axis).powi(8))
            .sum();
        for (sum, y) in out.iter_mut().zip(evaluate(8, u)) {
            *sum += weight * f * y;
        }
    }
    out
}

fn grid(shape: [usize; 3], spacing: f64) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, DVec3::splat(spacing), DVec3::ZERO).unwrap())
}

/// A field of order 8 from the coefficients at the world points of its voxels; none where there are none.
fn field(grid: &Arc<Grid>, at: impl Fn(DVec3) -> Vec<f64>) -> OdfField {
    let n = grid.voxel_count();
    let mut values = vec![0f32; n * count(8)];
    for voxel in 0..n {
        let centre = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        for (i, c) in at(centre).into_iter().enumerate() {
            values[i * n + voxel] = c as f32;
        }
    }
    OdfField::new(grid.clone(), 8, values)
}

fn sphere(role: Role, centre: DVec3, radius_mm: f64) -> Region {
    Region {
        id: RegionId(1),
        name: "Region".into(),
        role,
        shape: Arc::new(Shape::Sphere { centre, radius_mm }),
        colour: None,
        visible: true,
        label_number: None,
    }
}

fn params(method: Method, seeds: usize) -> Params {
    Params {
        seeding: Seeding::Random { count: seeds },
        ..Params::defaults_for(method, 1.0, false)
    }
}

fn run(
    fibres: &Fibres,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
    threads: usize,
) -> Result<Output, Error> {
    let backend = super::csd::backend(threads);
    track(
        fibres,
        tissues,
        regions,
        params,
        None,
        &backend,
        &Control::new(),
    )
}
