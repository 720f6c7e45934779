//! A mask is a structure from the first step on, whereas spheres are seeds: the leak detector treats growth from each
//! accordingly.

use super::{GROWTH, begin, begin_from, grid, run, sphere};
use crate::support::fields::backend;
use crate::support::test;
use arcuate::data::{Mask, Shape, Volume};
use arcuate::solvers::level_set::{Cause, Contact, Ended, Layout, LeakDetector, Params};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::a mask is not a seed", counted),
        test("level_set::a mask at rest leaks after a change", widened),
    ]
}

/// At rest at its start, then growth after a change of speeds.
fn counted() {
    for (structure, leaks) in [(true, true), (false, false)] {
        let start = match structure {
            true => LeakDetector::from_structure,
            false => LeakDetector::new,
        };
        let mut detector = start(1000, Contact::default());
        // A mask shrinks a little before it rests.
        (1..=200).for_each(|n| detector.record(1000 - n.min(50)));
        detector.record_change();
        for n in 1..=300 {
            detector.record(950 + 10 * n);
        }
        let leak = detector.leak();
        assert_eq!(leak.is_some(), leaks, "{structure}: {leak:?}");
        if let Some(leak) = leak {
            assert_eq!((leak.cause, leak.rewind_step), (Cause::Change, 200));
            assert!(leak.noticed <= 200 + 160, "{leak:?}");
        }
    }
}

/// A ball in a body of other values, begun from a mask of the ball or from a sphere in it; then the range includes the
/// body.
fn widened() {
    let grid = grid(DMat3::IDENTITY, 56.0);
    let at = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let value = |i: usize| match at(i).length() {
        r if r < 7.0 => 1.0,
        r if r < 25.0 => 0.5,
        _ => 0.0,
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let image = Volume::scalar(grid.clone(), values);
    let ball = Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 7.0,
    };
    let mask: Mask = ball.mask_on(&grid);
    let params = Params {
        tolerance: 0.3,
        smoothness: 0.1,
        ..GROWTH
    };
    let wide = Params {
        target: 0.75,
        tolerance: 0.5,
        ..params.clone()
    };
    for from_mask in [true, false] {
        let mut evolution = match from_mask {
            true => begin_from(&image, mask.clone(), &params),
            false => begin(&image, &[sphere(DVec3::ZERO, 3.0)], &params, Layout::BEST),
        };
        let ended = run(&mut evolution, 400);
        assert!(!matches!(ended, Ended::Leaked(_)), "{from_mask}: {ended:?}");
        let rested = evolution.inside().1;
        let step = evolution.step();
        evolution.set(&wide, &backend(2)).expect("set");
        let Ended::Leaked(leak) = run(&mut evolution, 1000) else {
            panic!("{from_mask}: no leak, {} of {rested}", evolution.inside().1);
        };
        assert_eq!(
            (leak.cause, leak.rewind_step),
            (Cause::Change, step),
            "{from_mask}"
        );
        assert!(evolution.inside().1 < 4 * rested, "{from_mask}: {leak:?}");
    }
}
