//! Distances of a path at the surface of a mask.

use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask};
use arcuate::solvers::pathway::{Path, path_distances_on_surface};
use arcuate::solvers::region::distances_around;
use glam::{DAffine3, DMat3, DVec3, dvec3};
use std::sync::Arc;

/// Distances from a straight line have a closed form; all voxels that touch the surface have them, and voxels away from it
/// have none.
pub fn distances() {
    let mut random = Random::fresh("distances at a surface");
    let control = Control::new();
    for _ in 0..6 {
        let spacing = dvec3(2.0, 1.5, 1.0) * random.uniform(0.7, 1.3);
        let matrix = DMat3::from_quat(random.rotation()) * DMat3::from_diagonal(spacing);
        let affine = DAffine3::from_mat3_translation(matrix, random.direction() * 30.0);
        let grid = Grid::new([20, 22, 24], affine, AffineSource::Computed).unwrap();
        let grid = Arc::new(grid);
        let centre = grid.world(dvec3(9.5, 10.5, 11.5));
        let at = |v: usize| grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
        let inside = (0..grid.voxel_count()).map(|v| u8::from(at(v).distance(centre) < 9.0));
        let mask = Mask::new(grid.clone(), inside.collect::<Vec<u8>>());
        let around = distances_around(&mask, 10.0, &control).unwrap().unwrap();
        let foot = centre + 14.0 * random.direction();
        let along = random.direction().cross(foot - centre).normalize();
        let line = [-60.0, 60.0].map(|mm| (foot + mm * along).as_vec3().to_array());
        let from_line = |p: DVec3| (p - foot - (p - foot).dot(along) * along).length();
        let path = Path::of_streamline(&line);
        let found = path_distances_on_surface(&around, &path, &control).unwrap();
        let (mut known, mut deep) = (0, 0);
        for v in 0..found.grid.voxel_count() {
            let voxel = DVec3::from_array(found.grid.voxel(v).map(|c| c as f64));
            let (place, mm) = (found.grid.world(voxel), found.frame(0)[v]);
            if mm.is_nan() {
                let from_mask = around.frame(0)[v];
                assert!(from_mask <= 0.0 || f64::from(from_mask) > spacing.length());
                deep += usize::from(from_mask <= 0.0);
            } else {
                assert!((f64::from(mm) - from_line(place)).abs() < 1e-3);
                known += 1;
            }
        }
        assert!(known > 500 && deep > 0, "{known} {deep}");
        // Both sides of every face, edge and corner that the mask has in common with its surroundings.
        for v in mask.voxels_inside() {
            for step in 0..27 {
                let step = [step % 3, step / 3 % 3, step / 9].map(|s| f64::from(s) - 1.0);
                let inner = DVec3::from_array(v.map(|c| c as f64));
                let [inner, other] =
                    [inner, inner + DVec3::from_array(step)].map(|p| grid.world(p));
                if !mask.contains(other) {
                    for place in [inner, other] {
                        let mm = found.nearest(0, place).expect("in the grid");
                        assert!((f64::from(mm) - from_line(place)).abs() < 1e-3, "{mm}");
                    }
                }
            }
        }
    }
}
