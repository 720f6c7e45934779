//! Contacts that the leak detector allows: those at the start, those of an added sphere, and those that the user lets
//! pass, but none because a run was rewound.

use super::{GROWTH, begin, grid, run, sphere};
use crate::support::fields::backend;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Volume;
use arcuate::solvers::level_set::{
    Cause, Contact, Ended, Evolution, Layout, Leak, LeakDetector, Params, SphereEdit,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::a sphere allows what it touches", spheres),
        test("level_set::rewinding allows no contact", rewound),
    ]
}

/// A surface that grows steadily, and touches this many voxels at the border when it is next checked.
fn next_check(mut detector: LeakDetector, inside: u64, border: u64) -> Option<Cause> {
    (1..=50).for_each(|n| detector.record(inside + 5 * n));
    assert!(detector.needs_contact());
    detector.record_contact(touches(border));
    detector.leak().map(|leak| leak.cause)
}

fn touches(border: u64) -> Contact {
    Contact {
        background: 0,
        border,
    }
}

fn spheres() {
    let before = || {
        let mut detector = LeakDetector::new(1000, Contact::default());
        (1..=50).for_each(|n| detector.record(1000 + 5 * n));
        detector.record_contact(touches(20));
        assert_eq!(detector.leak(), None);
        detector
    };
    // A sphere inside the surface, a new seed and a cut do not allow a contact that the surface already had.
    for (inside, placed) in [
        (1250, SphereEdit::Added(100)),
        (3000, SphereEdit::Added(1750)),
        (1200, SphereEdit::Cut),
    ] {
        let mut detector = before();
        detector.record_sphere(inside, placed, [touches(20), touches(20)]);
        let cause = next_check(detector, inside, 40);
        assert_eq!(cause, Some(Cause::Border), "{inside}");
    }
    // An added sphere may touch the border, up to twice as much.
    for (border, cause) in [(120, None), (400, Some(Cause::Border))] {
        let mut detector = before();
        detector.record_sphere(3000, SphereEdit::Added(1750), [touches(20), touches(100)]);
        assert_eq!(next_check(detector, 3000, border), cause, "{border}");
    }
    // Little is left of a surface: its contact counts as that of a start.
    let mut detector = before();
    detector.record_sphere(300, SphereEdit::Cut, [touches(20), touches(20)]);
    assert_eq!(next_check(detector, 300, 40), None);
}

/// Radius of the rod, mm.
const ROD: f64 = 9.0;

/// Voxels inside the surface in the last layer of the image.
fn at_the_end(evolution: &Evolution) -> usize {
    let mask = evolution.field().expect("a field").mask();
    let top = mask.grid.shape[2] - 1;
    mask.voxels_inside().filter(|v| v[2] == top).count()
}

/// A rod runs out of the image, like the spinal cord out of a head. The surface is rewound to a step at which it
/// already touches the border, then the run continues: it leaks again.
fn rewound() {
    let grid = grid(DMat3::IDENTITY, 48.0);
    let inside = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        f32::from(u8::from(at.x.hypot(at.y) < ROD && at.z > -20.0))
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(inside).collect();
    let image = Volume::scalar(grid.clone(), values);
    let params = Params {
        smoothness: 0.1,
        ..GROWTH
    };
    let (threads, control) = (backend(2), Control::new());
    let mut much = 0;
    for offset in 0..6 {
        let seed = DVec3::new(0.0, 0.0, -2.0 + f64::from(offset));
        let mut evolution = begin(&image, &[sphere(seed, 5.0)], &params, Layout::BEST);
        let leaks = |evolution: &mut Evolution| match run(evolution, 2000) {
            Ended::Leaked(leak) => leak,
            other => panic!("{offset}: {other:?} with {} voxels", at_the_end(evolution)),
        };
        let leak: Leak = leaks(&mut evolution);
        assert_eq!(leak.cause, Cause::Border, "{offset}");
        let touched = at_the_end(&evolution);
        let full = std::f64::consts::PI * ROD * ROD;
        // The detector allows twice what it allows: a rewind that allowed this much would allow the whole section.
        let share = touched as f64 / full;
        if !(0.5..0.9).contains(&share) {
            continue;
        }
        much += 1;
        for with_sphere in [false, true] {
            evolution
                .rewind(leak.noticed, &threads, &control)
                .expect("back");
            if with_sphere {
                evolution
                    .apply_sphere(&sphere(seed, 4.0), &threads)
                    .expect("added");
            }
            let repeated = leaks(&mut evolution);
            assert_eq!(repeated.cause, Cause::Border, "{offset} {with_sphere}");
            evolution
                .rewind(leak.noticed, &threads, &control)
                .expect("back");
        }
        // Let past, it may touch the whole section, also after a rewind to a later step.
        evolution.continue_past_leak(&threads).expect("a field");
        let ended = run(&mut evolution, 100);
        assert_eq!(ended, Ended::Steps, "{offset}");
        let later = evolution.step() - 20;
        evolution.rewind(later, &threads, &control).expect("back");
        assert_eq!(run(&mut evolution, 200), Ended::Steps, "{offset}");
    }
    assert!(much > 0, "no surface touched between a half and the whole");
}
