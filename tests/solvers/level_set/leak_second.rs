//! A second structure, which the user begins next to a first one at rest: its growth is not a leak, and the leak detector
//! stays armed.

use super::{GROWTH, begin, grid, run, sphere};
use crate::support::fields::backend;
use crate::support::test;
use arcuate::data::Volume;
use arcuate::solvers::level_set::{
    Cause, Contact, Ended, Layout, LeakDetector, Params, SphereEdit,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::a second structure is not a leak", counted),
        test(
            "level_set::a sphere that vanishes disarms nothing",
            vanished,
        ),
        test(
            "level_set::a seed that multiplies all is suspected",
            multiplied,
        ),
        test(
            "level_set::the first structure leaks beside a second",
            first_leaks,
        ),
        test("level_set::two chambers grow one after the other", chambers),
    ]
}

/// The growth of a structure of this many voxels to rest, and a sphere of [`SPHERE`] voxels next to it.
fn second_begins() -> LeakDetector {
    let mut detector = LeakDetector::new(113, Contact::default());
    (1..=BEGINS).for_each(|step| detector.record((113 + 20 * step).min(FIRST)));
    assert!(detector.is_at_rest() && detector.leak().is_none());
    detector.record_sphere(
        FIRST + SPHERE,
        SphereEdit::Added(SPHERE),
        [Contact::default(); 2],
    );
    detector
}

const FIRST: u64 = 7100;
const SPHERE: u64 = 113;
/// Steps before the sphere.
const BEGINS: u64 = 600;

/// Voxels of a structure as large as the first, this many steps after its sphere: like in a ventricle from its rim, the
/// surface is twice as fast after a while.
fn second(steps: u64, structure: u64) -> u64 {
    let pace = |n: u64| 0.012 + 0.014 * (n as f64 / 300.0).min(1.0);
    let root: f64 = (SPHERE as f64).cbrt() + (0..steps).map(pace).sum::<f64>();
    (root.powi(3) as u64).min(structure)
}

/// A T1 head: voxels of the right lateral ventricle at every 20th step from a sphere of 3 mm, next to the left one.
const VENTRICLE: [u64; 25] = [
    113, 208, 474, 870, 1429, 2212, 3038, 3744, 4371, 4878, 5235, 5464, 5630, 5751, 5838, 5905,
    5944, 5994, 6029, 6084, 6147, 6244, 6340, 6469, 6606,
];

fn counted() {
    let mut detector = second_begins();
    for pair in VENTRICLE.windows(2) {
        for n in 1..=20 {
            detector.record(FIRST + (pair[0] * (20 - n) + pair[1] * n) / 20);
            let state = (detector.leak(), detector.suspected_since());
            assert_eq!(state, (None, None), "{pair:?}");
        }
    }
    let mut detector = second_begins();
    for n in 1..1500 {
        detector.record(FIRST + second(n, FIRST));
        let state = (detector.leak(), detector.suspected_since());
        assert_eq!(state, (None, None), "{n}");
    }
    // Both rest: growth that sets in again is a leak.
    let rested = detector.clone();
    assert!(detector.is_at_rest());
    (1..=60).for_each(|n| detector.record(2 * FIRST + 60 * n));
    let leak = detector.leak().expect("a leak");
    assert_eq!(leak.cause, Cause::Growth);
    assert!(leak.rewind_step >= BEGINS + 1400, "{leak:?}");
    // So is a multiple of both after a change of speeds.
    let mut detector = rested;
    detector.record_change();
    (1..=300).for_each(|n| detector.record(2 * FIRST + 100 * n));
    let leak = detector.leak().expect("a leak");
    assert_eq!(leak.cause, Cause::Change);
    assert_eq!(leak.rewind_step, BEGINS + 1499, "{leak:?}");
}

fn vanished() {
    let mut detector = second_begins();
    for n in 1..=300u64 {
        // A surface at rest fluctuates.
        detector.record(FIRST + SPHERE.saturating_sub(3 * n) + n % 20 / 10 * 4);
        assert_eq!(detector.leak(), None, "{n}");
    }
    (1..=60).for_each(|n| detector.record(FIRST + 60 * n));
    let leak = detector.leak().expect("a leak");
    assert_eq!(leak.cause, Cause::Growth);
    assert!((BEGINS + 250..=BEGINS + 310).contains(&leak.rewind_step));
}

fn multiplied() {
    let mut detector = second_begins();
    let mut n = 0;
    while detector.suspected_since().is_none() {
        n += 1;
        detector.record(FIRST + second(n, u64::MAX));
        assert_eq!(detector.leak(), None, "{n}");
        assert!(second(n, u64::MAX) < 2 * FIRST, "no suspicion");
    }
    assert!(second(n, u64::MAX) > FIRST, "{n}");
    detector.decide_suspicion(false);
    let leak = detector.leak().expect("a leak");
    assert_eq!((leak.cause, leak.rewind_step), (Cause::Growth, BEGINS));
}

fn first_leaks() {
    // While the second structure grows …
    let mut detector = second_begins();
    (1..=350).for_each(|n| detector.record(FIRST + second(n, FIRST)));
    assert_eq!(detector.suspected_since(), None);
    let mut n = 350;
    while detector.suspected_since().is_none() && detector.leak().is_none() {
        n += 1;
        assert!(n <= 450, "no suspicion");
        detector.record(FIRST + second(n, FIRST) + 200 * (n - 350));
    }
    detector.decide_suspicion(false);
    let leak = detector.leak().expect("a leak");
    assert!(
        (BEGINS + 250..=BEGINS + 350).contains(&leak.rewind_step),
        "{leak:?}"
    );
    // … and a contact is a leak at any time.
    let mut detector = second_begins();
    (1..=50).for_each(|n| detector.record(FIRST + second(n, FIRST) + 2 * n));
    assert!(detector.needs_contact());
    detector.record_contact(Contact {
        background: 100,
        border: 0,
    });
    assert_eq!(detector.leak().map(|l| l.cause), Some(Cause::Background));
}

/// Two chambers in a body of other values. The second is begun when the first is at rest; then the range includes the
/// body.
fn chambers() {
    const RADIUS: f64 = 7.0;
    let grid = grid(DMat3::IDENTITY, 60.0);
    let places = [-12.0, 12.0].map(|x| x * DVec3::X);
    let value = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        match at.length() {
            _ if places.iter().any(|place| at.distance(*place) < RADIUS) => 1.0,
            r if r < 27.0 => 0.5,
            _ => 0.0,
        }
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let image = Volume::scalar(grid.clone(), values);
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
    let mut evolution = begin(&image, &[sphere(places[0], 3.0)], &params, Layout::BEST);
    let ended = run(&mut evolution, 400);
    assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
    let first = evolution.inside().1 as f64;
    // A sphere at the rim, where it grows to one side.
    let added = sphere(places[1] + 3.0 * DVec3::Y, 3.0);
    evolution.apply_sphere(&added, &backend(2)).expect("added");
    let ended = run(&mut evolution, 600);
    assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
    let both = evolution.inside().1 as f64;
    assert!((1.9..2.1).contains(&(both / first)), "{both} of {first}");
    evolution.set(&wide, &backend(2)).expect("set");
    let Ended::Leaked(leak) = run(&mut evolution, 1000) else {
        panic!("no leak, {} of {both}", evolution.inside().1);
    };
    assert_eq!((leak.cause, leak.rewind_step), (Cause::Change, 1000));
}
