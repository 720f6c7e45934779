//! The leak detector on surfaces of few voxels.

use arcuate::solvers::level_set::{Cause, Contact, LeakDetector};

/// Voxels at every tenth step from a sphere of 4 mm at the rim of a ventricle (T1, ε = 35 of 108): it shrinks, follows
/// the ventricle's rim and ends at 603 voxels.
pub fn shrinks() {
    let shrinking = [
        272, 236, 215, 216, 205, 211, 210, 219, 209, 216, 212, 225, 224, 228, 230, 236, 237,
    ];
    let later = (17..70).map(|window| 237 + 7 * (window - 16));
    let mut detector = LeakDetector::new(272, Contact::default());
    let windows: Vec<u64> = shrinking.into_iter().chain(later).collect();
    for pair in windows.windows(2) {
        for n in 1..=10 {
            detector.record((pair[0] * (10 - n) + pair[1] * n) / 10);
        }
        assert_eq!(detector.leak(), None, "{pair:?}");
    }
    // A small surface at rest fluctuates by some voxels; a later steady growth is a leak.
    for n in 0..400 {
        detector.record(603 + n % 20 / 10 * 4);
    }
    assert!(detector.is_at_rest() && detector.leak().is_none());
    (0..60).for_each(|n| detector.record(603 + 3 * n));
    assert_eq!(detector.leak().map(|leak| leak.cause), Some(Cause::Growth));
}

/// A few voxels are a large share of a small surface: a surface that changes by them is not at rest, and no later
/// growth is a leak. One that fluctuates by less is at rest, and its later growth is a leak.
pub fn small() {
    let mut detector = LeakDetector::new(20, Contact::default());
    let course = (0..150u64).map(|n| 20 - n / 30);
    for inside in course.chain(16..216) {
        detector.record(inside);
        let moves = !detector.is_at_rest() && detector.leak().is_none();
        assert!(moves, "{inside} voxels");
    }
    let mut detector = LeakDetector::new(20, Contact::default());
    for inside in (0..200u64).map(|n| 20 + n / 25).chain(28..228) {
        detector.record(inside);
        let moves = !detector.is_at_rest() && detector.leak().is_none();
        assert!(moves, "{inside} voxels");
    }
    let mut detector = LeakDetector::new(20, Contact::default());
    for n in 0..400 {
        detector.record(40 + n % 20 / 10 * 2);
    }
    assert!(detector.is_at_rest() && detector.leak().is_none());
    // A few voxels more are not yet a leak.
    for n in 0..40 {
        detector.record(40 + n / 10);
        assert_eq!(detector.leak(), None);
    }
    for n in 0..60 {
        detector.record(44 + 3 * n);
    }
    assert_eq!(detector.leak().map(|leak| leak.cause), Some(Cause::Growth));
}
