//! Mosaics of turned slices: parallel slices, between the ends of the image.

use crate::oblique::{SIZE, SLICES, act, state, turn, with_image};
use crate::support::{Random, test};
use arcuate::data::{Grid, Mask, Volume};
use arcuate::state::ViewAction;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("mosaic::slices are parallel to that of the view", parallel),
        test("mosaic::slices end where the image does", ends),
    ]
}

fn parallel() {
    let mut random = Random::fresh("mosaic");
    for _ in 0..50 {
        let mut state = state(&mut random);
        turn(&mut state, random.rotation());
        let pane = SLICES[(random.bits() % 3) as usize];
        act(&mut state, ViewAction::SetMosaic(pane, 5.0));
        let axis = pane.normal_axis().unwrap();
        let plane = state.plane(pane, SIZE).unwrap();
        let places = state.mosaic_slices();
        let here = state.view.place(axis);
        let steps = |place: &f64| (place - here) / 5.0;
        assert!(
            places
                .iter()
                .all(|p| (steps(p) - steps(p).round()).abs() < 1e-9)
        );
        for place in places {
            let mut seen = state.clone();
            seen.view.look_at_place(axis, place);
            let off = plane.distance(seen.view.crosshair);
            assert!((off.abs() - (place - here).abs()).abs() < 1e-9);
            let other = seen.plane(pane, SIZE).unwrap();
            assert!(other.right.distance(plane.right) < 1e-12);
            assert!(other.position(plane.centre).distance(SIZE * 0.5) < 1e-6);
        }
    }
}

/// Every slice of a turned mosaic cuts the ball that the image shows, and the next ones beyond the ends do not.
fn ends() {
    const RADIUS_MM: f64 = 40.0;
    const STEP_MM: f64 = 4.0;
    let mut random = Random::fresh("mosaic ends");
    for _ in 0..30 {
        let centre = random.direction() * 12.0;
        let grid = Grid::axis_aligned([81, 91, 71], DVec3::splat(1.5), dvec3(-60.0, -67.5, -52.5));
        let grid = Arc::new(grid.unwrap());
        let voxels = (0..grid.voxel_count()).map(|i| grid.voxel(i));
        let inside = voxels.map(|v| {
            let world = grid.world(DVec3::from_array(v.map(|v| v as f64)));
            u8::from(world.distance(centre) <= RADIUS_MM)
        });
        let inside: Vec<u8> = inside.collect();
        let ball = Mask::new(grid.clone(), inside.clone());
        // The ends of the rows are the ends of the set in any direction.
        let normal = random.direction();
        let along = |v: [usize; 3]| {
            grid.world(DVec3::from_array(v.map(|v| v as f64)))
                .dot(normal)
        };
        let last = |voxels: &mut dyn Iterator<Item = [usize; 3]>| {
            voxels.map(along).fold(f64::NEG_INFINITY, f64::max)
        };
        let ends = last(&mut ball.row_ends().iter().copied());
        assert_eq!(ends, last(&mut ball.voxels_inside()));

        let values: Vec<f32> = inside.iter().map(|v| 100.0 * f32::from(*v)).collect();
        let image = Volume::scalar(grid.clone(), values);
        let mut state = with_image(image);
        turn(&mut state, random.rotation());
        let pane = SLICES[(random.bits() % 3) as usize];
        act(&mut state, ViewAction::SetMosaic(pane, STEP_MM));
        let axis = pane.normal_axis().unwrap();
        let places = state.mosaic_slices();
        let middle = state.view.turn.straight_point(centre)[axis];
        let away = |place: &f64| (place - middle).abs();
        // Half a voxel's diagonal, and the rows that are not sampled.
        const SLACK_MM: f64 = 4.0;
        assert!(
            places.iter().all(|p| away(p) < RADIUS_MM + SLACK_MM),
            "{places:?} {middle}"
        );
        for beyond in [places[0] - STEP_MM, places[places.len() - 1] + STEP_MM] {
            assert!(away(&beyond) > RADIUS_MM - SLACK_MM, "{places:?} {middle}");
        }
    }
}
