//! The volume of surfaces around few voxels.

use super::{CURVATURE, begin, grid, ones, sphere};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::solvers::level_set::{Layout, measures};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;

pub fn tests() -> Vec<Trial> {
    vec![test("level_set::the volume of small balls", small)]
}

/// Balls of few voxels and less, anywhere between the voxels of grids with edges of three lengths: their volume is that
/// of the closed form, within limits that a sum over the same steps gives for 1,000 random places.
fn small() {
    let mut random = Random::fresh("level set small");
    for (edges, limits) in [
        (
            DVec3::ONE,
            [(0.5, 0.15), (0.8, 0.12), (1.0, 0.02), (2.0, 0.01)],
        ),
        (
            DVec3::new(1.0, 1.0, 2.0),
            [(1.0, 0.15), (1.5, 0.06), (2.0, 0.02), (4.0, 0.01)],
        ),
    ] {
        let grid = grid(DMat3::from_diagonal(edges), 20.0);
        for (radius_mm, limit) in limits {
            for _ in 0..4 {
                let at = random.direction() * random.uniform(0.0, 0.3);
                // Near the centre of a voxel: a ball around none has no surface.
                let centre = grid.world(grid.voxel_at(DVec3::ZERO).round()) + at * edges;
                let ball = [sphere(centre, radius_mm)];
                let evolution = begin(&ones(&grid), &ball, &CURVATURE, Layout::BEST);
                let field = evolution.field().unwrap();
                let found = backend(2).install(|| measures(&field));
                let exact = 4.0 / 3.0 * PI * radius_mm.powi(3) / 1000.0;
                // Of all bodies, a ball has the least surface and diameter for its volume.
                let diameter_mm = (6000.0 * found.volume_ml / PI).cbrt();
                assert!(found.diameter_mm > 0.999 * diameter_mm, "{found:?}");
                let area_mm2 = PI * diameter_mm.powi(2);
                assert!(found.area_mm2 > 0.999 * area_mm2, "{found:?}");
                let off = found.volume_ml / exact - 1.0;
                assert!(off.abs() < limit, "{edges}, radius {radius_mm}: {off}");
            }
        }
    }
    // A ball around a single voxel of long edges: too small to be measured, and yet something.
    let grid = grid(DMat3::from_diagonal(DVec3::new(1.0, 1.0, 2.0)), 20.0);
    let centre = grid.world(grid.voxel_at(DVec3::ZERO).round());
    let evolution = begin(
        &ones(&grid),
        &[sphere(centre, 0.4)],
        &CURVATURE,
        Layout::BEST,
    );
    let field = evolution.field().unwrap();
    let found = backend(2).install(|| measures(&field));
    assert!(found.voxels == 1 && found.volume_ml > 0.0, "{found:?}");
}
