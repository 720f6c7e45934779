//! Displacement fields as maps of points, and their inverses.

use super::super::random_move;
use super::{any_grid, field, inner};
use crate::support::Random;
use arcuate::data::Grid;
use arcuate::data::warp::{DisplacementField, INVERSE_MM, Unmapped, Warp, WarpStep};
use glam::{DAffine3, DVec3};
use std::sync::Arc;

/// Trilinear interpolation is exact for affines, with any rotation and scale, and so is the affine that starts the
/// search.
pub fn linear() {
    let mut random = Random::fresh("warp linear");
    for _ in 0..40 {
        let grid = any_grid(&mut random, [9, 7, 11]);
        let scale = DVec3::from_array([0; 3].map(|_| random.uniform(0.4, 2.5)));
        let affine = random_move(&mut random, 90.0, 170.0) * DAffine3::from_scale(scale);
        let field = field(&grid, |p| affine.transform_point3(p));
        for _ in 0..20 {
            let from = inner(&mut random, &grid, 0.0);
            let to = affine.transform_point3(from);
            // Vectors of 300 mm in single precision.
            assert!(field.forward(from).unwrap().distance(to) < 1e-4);
            assert!(field.inverse(to).unwrap().distance(from) < 1e-3);
        }
    }
}

/// x + f(y) in the axes of the grid, with f linear between voxels: the inverse is x - f(y).
pub fn shears() {
    let mut random = Random::fresh("warp shears");
    for _ in 0..40 {
        let shape = [12, 10, 8];
        let grid = any_grid(&mut random, shape);
        let heights: Vec<f64> = (0..shape[1]).map(|_| random.uniform(-2.0, 2.0)).collect();
        let axis = grid.world_from_voxel.matrix3.x_axis;
        let vectors = (0..grid.voxel_count()).map(|i| {
            let [_, y, _] = grid.voxel(i);
            (axis * heights[y]).as_vec3().to_array()
        });
        let field = DisplacementField::new(grid.clone(), vectors.collect());
        for _ in 0..40 {
            let at = DVec3::new(
                random.uniform(3.0, 8.0),
                random.uniform(0.0, 9.0),
                random.uniform(0.0, 7.0),
            );
            let (low, share) = (at.y.floor() as usize, at.y.fract());
            let high = (low + 1).min(shape[1] - 1);
            let height = (1.0 - share) * heights[low] + share * heights[high];
            let image = grid.world(at);
            let expected = grid.world(at - DVec3::X * height);
            let found = field.inverse(image).unwrap();
            assert!(found.distance(expected) < 1e-3, "{found} {expected}");
            assert!(field.forward(found).unwrap().distance(image) < INVERSE_MM);
        }
    }
}

/// Waves of a size that cannot fold, after an affine, on grids from a few voxels to many.
pub fn round_trips() {
    let mut random = Random::fresh("warp round trips");
    for round in 0..30 {
        let edge = [4, 9, 40][round % 3];
        let grid = any_grid(&mut random, [edge, edge + 1, edge + 2]);
        let affine = random_move(&mut random, 30.0, 60.0);
        let length = random.uniform(15.0, 60.0);
        let direction = random.direction();
        let wave = random.direction() / length * std::f64::consts::TAU;
        // The derivative along the wave stays below 1.
        let height = 0.8 / wave.length();
        let map = |p: DVec3| affine.transform_point3(p + direction * height * wave.dot(p).sin());
        let field = Arc::new(field(&grid, map));
        let warp = Warp::new(vec![WarpStep::Field(field.clone())]);
        let back = Warp::new(vec![WarpStep::InverseField(field)]);
        let (mut mapped, mut tried) = (0, 0);
        for _ in 0..60 {
            let from = inner(&mut random, &grid, 0.0);
            let to = warp.pull(from).unwrap();
            tried += 1;
            // A coarse grid samples a wave of a few voxels so badly that cells may fold.
            match warp.push(to) {
                Ok(pushed) => {
                    mapped += 1;
                    assert!(pushed.error_mm <= INVERSE_MM);
                    let returned = warp.pull(pushed.point).unwrap();
                    assert!(returned.distance(to) <= INVERSE_MM);
                    assert!(back.pull(to).unwrap().distance(pushed.point) < 1e-9);
                    assert!(back.push(from).unwrap().point.distance(to) < 1e-9);
                }
                Err(reason) => assert_ne!(reason, Unmapped::NotFinite),
            }
        }
        assert!(mapped > tried / 2, "{mapped} of {tried}");
        if edge == 40 {
            assert!(mapped + 1 >= tried, "{mapped} of {tried}");
        }
    }
}

pub fn folds() {
    let grid = Grid::axis_aligned([20, 6, 6], DVec3::ONE, DVec3::ZERO).unwrap();
    // Between x = 8 and x = 11 the images run backwards.
    let backwards = field(&grid, |p| {
        let x = match p.x {
            x if x <= 8.0 => x,
            x if x <= 11.0 => 8.0 - (x - 8.0),
            x => x - 6.0,
        };
        DVec3::new(x, p.y, p.z)
    });
    let count = (0..grid.voxel_count()).filter(|i| backwards.folds_at(grid.voxel(*i)));
    assert_eq!(count.count(), 3 * 5 * 5);
    for x in [1.0, 4.0, 10.5] {
        // Where the images overlap, there is a right and a wrong side.
        let image = DVec3::new(x, 2.5, 2.5);
        match backwards.inverse(image) {
            Ok(found) => {
                assert!(backwards.forward(found).unwrap().distance(image) < INVERSE_MM);
                assert!(!(8.0..=11.0).contains(&found.x), "{found}");
            }
            Err(reason) => assert_eq!(reason, Unmapped::NotInvertible),
        }
    }
    let shift = field(&grid, |p| p + DVec3::new(5.0, 0.0, 0.0));
    assert_eq!(
        shift.inverse(DVec3::new(2.0, 2.0, 2.0)),
        Err(Unmapped::Outside)
    );
    assert_eq!(
        shift.forward(DVec3::new(-0.6, 2.0, 2.0)),
        Err(Unmapped::Outside)
    );
    // The outer half of the outer voxels belongs to the grid.
    assert!(shift.forward(DVec3::new(-0.4, 5.4, 2.0)).is_ok());
    for bad in [DVec3::NAN, DVec3::INFINITY] {
        assert_eq!(shift.forward(bad), Err(Unmapped::NotFinite));
        assert_eq!(shift.inverse(bad), Err(Unmapped::NotFinite));
    }
    // One voxel without a number spoils its own cells only.
    let mut vectors = vec![[0f32; 3]; grid.voxel_count()];
    vectors[grid.index([5, 3, 3])] = [f32::NAN; 3];
    let hole = DisplacementField::new(grid, vectors);
    assert_eq!(hole.not_finite(), 1);
    assert_eq!(
        hole.forward(DVec3::new(5.2, 3.0, 3.0)),
        Err(Unmapped::NotFinite)
    );
    assert!(hole.forward(DVec3::new(6.0, 3.0, 3.0)).is_ok());
    assert!(hole.inverse(DVec3::new(9.5, 3.0, 3.0)).is_ok());
    assert!(hole.inverse(DVec3::new(5.2, 3.0, 3.0)).is_err());
}
