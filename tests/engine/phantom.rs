//! The synthetic head and the analytic fields: closed forms, invariants, moments of the noise.

mod blocks;
mod bundles;
mod crossing;
mod fields;
mod images;
mod scan;

use arcuate::data::Grid;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let all = [
        blocks::tests(),
        bundles::tests(),
        crossing::tests(),
        fields::tests(),
        images::tests(),
        scan::tests(),
    ];
    all.into_iter().flatten().collect()
}

/// A cube of voxels around a world point.
fn cube(centre: DVec3, side: usize, spacing: f64) -> Arc<Grid> {
    let origin = centre - 0.5 * spacing * (side - 1) as f64;
    Arc::new(Grid::axis_aligned([side; 3], DVec3::splat(spacing), origin).unwrap())
}
