//! Figure 4.1 of the thesis: a body in a wall with a gap, beyond which the same grey value continues.

use super::{DEFAULTS, begin, grid, leak_small, run, sphere};
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::solvers::level_set::{
    Cause, Contact, Ended, Layout, Leak, LeakDetector, Params, SphereEdit, recent_growth,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "level_set::smoothness closes a gap, the alarm sees leaks",
            gap,
        ),
        test("level_set::the place of a leak is its neck", neck),
        test("level_set::the leak detector counts steps", detector),
        test(
            "level_set::growth that sets in again is suspected",
            repeated,
        ),
        test("level_set::growth of the last steps", recent),
        test("level_set::edits leave the leak detector armed", cut),
        test(
            "level_set::the leak detector stays armed through changes",
            changes,
        ),
        test(
            "level_set::a contact leads back to the change that let it",
            contacts,
        ),
        test("level_set::a leak leads back to before a drag", drags),
        test(
            "level_set::a seed that shrinks first is not at rest",
            leak_small::shrinks,
        ),
        test(
            "level_set::small surfaces rest and do not creep",
            leak_small::small,
        ),
    ]
}

const RADIUS: f64 = 16.0;
/// The voxels on a line share faces, and their centres lie within √3/2 of it: from 1 + √3/2 on, a gap in any direction
/// contains such a chain and all neighbours that its steps read.
const GAP: f64 = 2.2;
/// D̂ in the gap. A voxel of φ = −x before one of p gains D̂ (p + x) and loses w x (1 − p − x) to the rescaling: it
/// enters if D̂ > w (1 − √p)², here from p = 0.36 on, and nearby walls hold p below that. Slow enough for the detector
/// to regard the body's surface as at rest meanwhile.
const CREEP: f64 = 0.016;

/// 1 inside and far outside, 0 in a wall of 3 voxels with a gap whose grey value lets a surface creep through.
fn phantom(random: &mut Random) -> Volume {
    let grid = grid(DMat3::IDENTITY, 58.0);
    let gap = random.direction();
    let noise = 0.002;
    let value = |i: usize, random: &mut Random| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let r = at.length();
        let wall = (RADIUS..RADIUS + 3.0).contains(&r);
        let within = gap.dot(at) > 0.0 && at.distance(gap * gap.dot(at)) < GAP;
        let value = match (wall, within) {
            (false, _) => 1.0,
            (true, true) => 1.0 - f64::from(DEFAULTS.tolerance) * (1.0 - CREEP),
            (true, false) => 0.0,
        };
        (value + noise * random.normal()) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(|i| value(i, random)).collect();
    Volume::scalar(grid.clone(), values)
}

/// A ball from which a thin neck leads to a large chamber, and a wide branch to a dead end. The branch is filled first,
/// and grows most at once; most of the surface's gain came through the neck.
fn neck() {
    const BALL: f64 = 10.0;
    let mut random = Random::fresh("level set neck");
    let grid = grid(DMat3::IDENTITY, 58.0);
    for (along, across) in [(0, 1), (1, 2), (2, 0)] {
        let sign = random.uniform(-1.0, 1.0).signum();
        let third = 3 - along - across;
        let value = |i: usize| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            let (x, y, z) = (sign * at[along], at[across], at[third]);
            let neck = (0.0..17.0).contains(&x) && y.hypot(z) < 2.3;
            let chamber = (17.0..27.0).contains(&x) && y.abs() < 18.0 && z.abs() < 18.0;
            let branch = (0.0..24.0).contains(&y) && x.hypot(z) < 5.0;
            f32::from(u8::from(at.length() < BALL || neck || chamber || branch))
        };
        let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
        let image = Volume::scalar(grid.clone(), values);
        let rough = Params {
            smoothness: 0.0,
            ..DEFAULTS
        };
        // From a surface that nearly fills the ball, and from a seed in it, whose growth fills ball and branch as well.
        for seed in [BALL - 1.0, 5.0] {
            let start = [sphere(DVec3::ZERO, seed)];
            let mut evolution = begin(&image, &start, &rough, Layout::BEST);
            evolution.watched = false;
            let _ = run(&mut evolution, 200);
            let grown = evolution.inside().1 as f64 / evolution.growth()[0] as f64;
            assert!(grown > 3.0, "{grown}");
            let now = evolution.field().expect("a field");
            let at = evolution.passage(0, &now).expect("a place");
            let (x, away) = (sign * at[along], at[across].hypot(at[third]));
            println!("{grown:.2} times the seed, through {x:.1} along, {away:.1} off the neck");
            assert!((BALL - 2.0..20.0).contains(&x) && away < 3.5, "{at:?}");
        }
    }
}

fn gap() {
    let mut random = Random::fresh("level set gap");
    let image = phantom(&mut random);
    let place = [sphere(random.direction() * 2.0, 4.0)];
    let body = 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3);
    // Without smoothing it leaks, and the detector pauses it before it is far.
    let rough = Params {
        smoothness: 0.0,
        ..DEFAULTS
    };
    let mut evolution = begin(&image, &place, &rough, Layout::BEST);
    let Ended::Leaked(leak) = run(&mut evolution, 3000) else {
        panic!(
            "no leak: {:?}",
            evolution.growth().iter().step_by(50).collect::<Vec<_>>()
        );
    };
    let inside = |step: u64| evolution.growth()[step as usize] as f64 / body;
    println!(
        "leaks from step {} ({:.3} of the body), noticed at {} ({:.3})",
        leak.rewind_step,
        inside(leak.rewind_step),
        leak.noticed,
        inside(leak.noticed)
    );
    assert!(
        (0.9..1.15).contains(&inside(leak.rewind_step)),
        "{}",
        inside(leak.rewind_step)
    );
    assert!(leak.noticed - leak.rewind_step <= 40);
    // It stays paused until the user continues it.
    assert_eq!(run(&mut evolution, 10), Ended::Leaked(leak));
    let backend = crate::support::fields::backend(2);
    evolution.continue_past_leak(&backend).expect("a field");
    assert_eq!(run(&mut evolution, 10), Ended::Steps);
    // If it had continued, it would have filled everything.
    let before = evolution.growth()[leak.rewind_step as usize];
    evolution.watched = false;
    let ended = run(&mut evolution, 300);
    let after = evolution.growth().last().copied().unwrap_or(0);
    assert!(
        ended == Ended::Filled || after > 2 * before,
        "{ended:?} {after}"
    );
    // One click rewinds, and the run continues smoothly from there.
    evolution
        .rewind(
            leak.rewind_step,
            &backend,
            &arcuate::compute::Control::new(),
        )
        .unwrap();
    assert_eq!(evolution.growth().last(), Some(&before));

    // Smoothing keeps the gap closed.
    let mut evolution = begin(&image, &place, &DEFAULTS, Layout::BEST);
    let ended = run(&mut evolution, 1500);
    let inside = evolution.growth().last().copied().unwrap_or(0) as f64 / body;
    println!(
        "smooth: {ended:?} after {} steps with {inside:.3} of the body",
        evolution.step()
    );
    assert!(!matches!(ended, Ended::Leaked(_)));
    assert!((0.9..1.1).contains(&inside), "{inside}");
}

fn detector() {
    let new = |inside| LeakDetector::new(inside, Contact::default());
    // Decaying growth, rest, then 60 voxels per step.
    let inside = |step: u64| match step {
        0..400 => 10_000 - (5_000.0 * (-(step as f64) / 30.0).exp()) as u64,
        _ => 10_000 + 60 * (step - 400),
    };
    let mut detector = new(inside(0));
    for step in 1..600 {
        detector.record(inside(step));
        assert_eq!(detector.leak().is_some(), step >= 430, "{step}");
    }
    let leak = detector.leak().unwrap();
    assert_eq!((leak.rewind_step, leak.noticed), (400, 430));
    assert_eq!(leak.cause, Cause::Growth);
    // A surface that slows down early and wanders on, before it leaks at step 700: rewind to then, not to the slowest
    // moment.
    let wanders = |step: u64| {
        let steps = |from: u64, to: u64| step.clamp(from, to) as f64 - from as f64;
        let [early, slow, on, out] = [(0, 100), (100, 300), (300, 700), (700, 900)];
        let length = [(early, 0.05), (slow, 0.02), (on, 0.03), (out, 0.08)];
        let root: f64 = length
            .iter()
            .map(|((a, b), pace)| pace * steps(*a, *b))
            .sum();
        (10.0 + root).powi(3) as u64
    };
    let wandered = || {
        let mut detector = new(wanders(0));
        (1..=700).for_each(|step| detector.record(wanders(step)));
        assert_eq!((detector.leak(), detector.suspected_since()), (None, None));
        (701..800).for_each(|step| detector.record(wanders(step)));
        detector
    };
    let mut detector = wandered();
    assert_eq!(detector.leak(), None, "not before what joined is known");
    detector.decide_suspicion(false);
    let leak = detector.leak().expect("a leak");
    assert!(
        (650..=700).contains(&leak.rewind_step) && leak.noticed <= 750,
        "{leak:?}"
    );
    // If the joined part belongs to it the run continues, suspected again only when it slows and speeds up once more.
    let mut detector = wandered();
    detector.decide_suspicion(true);
    (800..900).for_each(|step| detector.record(wanders(step)));
    let stands = wanders(900);
    (0..200).for_each(|n| detector.record(stands + 2 * n));
    assert_eq!((detector.leak(), detector.suspected_since()), (None, None));
    (0..200).for_each(|n| detector.record(stands + 400 + n * stands / 50));
    let from = detector.leak().map(|leak| leak.rewind_step);
    let repeated = detector.suspected_since().or(from);
    assert!(repeated.is_some_and(|from| from >= 1000), "{repeated:?}");
    // Steady growth is not a leak, nor is a single jump.
    let mut detector = new(1000);
    for step in 1..1000u64 {
        detector.record(1000 + 10 * step);
    }
    assert!(!detector.is_at_rest());
    let mut detector = new(1000);
    for step in 1..1000u64 {
        detector.record(1000 + if step > 500 { 300 } else { 0 });
    }
    assert!(detector.is_at_rest() && detector.leak().is_none());
}

/// A T1 head, 35 to 138, from one side of a ventricle: voxels at every 50th step. It nearly rests at 17 ml, then leaks
/// into the cisterns.
const CISTERNS: [u64; 25] = [
    113, 1141, 3114, 5022, 6123, 6864, 9186, 10676, 12136, 13297, 13933, 14197, 14476, 15311,
    15962, 16244, 16941, 17448, 19018, 22606, 25863, 28377, 30586, 33104, 36802,
];

/// Voxels inside the surface of [`CISTERNS`] after a step.
fn cisterns(step: u64) -> u64 {
    let (at, part) = ((step / 50) as usize, step % 50);
    let next = CISTERNS[(at + 1).min(CISTERNS.len() - 1)];
    (CISTERNS[at] * (50 - part) + next * part) / 50
}

/// A volume that grows by the same share in every hundred steps, recorded at every step or at a few.
fn recent() {
    let inside = |step: u64| (step, (1e6 * 1.07_f64.powf(step as f64 / 100.0)) as u64);
    let steps: Vec<u64> = (0..=1500).collect();
    for every in [1, 7, 30, 250] {
        let growth = recent_growth(steps.iter().step_by(every).map(|s| inside(*s)));
        let growth = growth.expect("more than a hundred steps");
        assert!((growth - 0.07).abs() < 1e-5, "{every}: {growth}");
    }
    assert_eq!(recent_growth(steps[..100].iter().map(|s| inside(*s))), None);
    assert_eq!(recent_growth(std::iter::empty()), None);
}

fn repeated() {
    // Long before the volume has multiplied, and back to the plateau.
    let mut detector = LeakDetector::new(cisterns(0), Contact::default());
    let mut step = 0;
    while detector.suspected_since().is_none() {
        step += 1;
        detector.record(cisterns(step));
        assert_eq!(detector.leak(), None, "{step}");
    }
    detector.decide_suspicion(false);
    let leak = detector.leak().expect("a leak");
    assert_eq!((leak.cause, leak.noticed), (Cause::Growth, step));
    assert!(
        step <= 1000 && (750..=900).contains(&leak.rewind_step),
        "{leak:?}"
    );
    // If contact reveals it, the rewind leads to the same plateau, not to the last check.
    let mut detector = LeakDetector::new(cisterns(0), Contact::default());
    for step in 1..=1200 {
        detector.record(cisterns(step));
        if step % 50 == 0 && detector.needs_contact() {
            let background = 500 * u64::from(step == 1200);
            detector.record_contact(Contact {
                background,
                border: 0,
            });
        }
    }
    let leak = detector.leak().expect("a leak");
    assert_eq!((leak.cause, leak.noticed), (Cause::Background, 1200));
    assert!((700..=900).contains(&leak.rewind_step), "{leak:?}");
}

/// The growth of [`CISTERNS`] after a small part was cut away or added on the plateau, just before the leak begins.
fn cut() {
    for (edited, added) in [(700, false), (800, false), (850, false), (800, true)] {
        let mut detector = LeakDetector::new(cisterns(0), Contact::default());
        for step in 1..=edited {
            detector.record(cisterns(step));
        }
        let left = |step: u64| cisterns(step) * if added { 101 } else { 99 } / 100;
        let placed = match added {
            true => SphereEdit::Added(left(edited)),
            false => SphereEdit::Cut,
        };
        detector.record_sphere(left(edited), placed, [Contact::default(); 2]);
        let mut step = edited;
        while detector.suspected_since().is_none() {
            step += 1;
            assert!(step <= 1100, "no suspicion after a cut at {edited}");
            detector.record(left(step));
        }
        detector.decide_suspicion(false);
        let leak = detector.leak().expect("a leak");
        assert_eq!(leak.cause, Cause::Growth, "{edited}");
        assert!(
            (edited..=950).contains(&leak.rewind_step),
            "{edited}: {leak:?}"
        );
    }
    // When little of a surface is left, its history has no meaning.
    let mut detector = LeakDetector::new(cisterns(0), Contact::default());
    (1..=850).for_each(|step| detector.record(cisterns(step)));
    let left = |step: u64| cisterns(step) / 4;
    detector.record_sphere(left(850), SphereEdit::Cut, [Contact::default(); 2]);
    for step in 851..=1000 {
        detector.record(left(step));
        assert!(
            detector.suspected_since().is_none() && detector.leak().is_none(),
            "{step}"
        );
    }
}

/// A ball that grows at a steady speed from a seed to a structure of this many voxels.
fn fills(structure: f64) -> impl Fn(u64) -> u64 {
    let last = (structure / (4.0 / 3.0 * std::f64::consts::PI)).cbrt();
    move |step| {
        let grows = 3.0 + 0.3 * step as f64;
        let radius = last - (last - 3.0) * (-(grows - 3.0) / (last - 3.0)).exp();
        (4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)) as u64
    }
}

fn changes() {
    let new = |inside| LeakDetector::new(inside, Contact::default());
    for structure in [500.0, 20_000.0, 1_500_000.0] {
        let volume = fills(structure);
        let mut detector = new(volume(0));
        for step in 1..2000 {
            detector.record(volume(step));
            // On the way to the structure the user moves sliders.
            if step < 300 && step % 7 == 0 {
                detector.record_change();
            }
            assert_eq!(detector.leak(), None, "{structure} {step}");
        }
        // It rests there. A slider moves and the volume grows by a half, then another and it doubles.
        let stands = volume(1999);
        detector.record_change();
        let grown =
            |n: u64, times: f64| stands + ((times * stands as f64) as u64).min(n * stands / 20);
        for n in 1..300 {
            detector.record(grown(n, 0.5));
            assert_eq!(detector.leak(), None, "{structure} {n}");
        }
        let before = 1999 + 299;
        detector.record_change();
        for n in 1..45 {
            detector.record(grown(10, 0.5) + n * stands / 10);
            // During the leak the slider keeps moving.
            if n == 5 && detector.leak().is_none() {
                detector.record_change();
            }
        }
        let leak = detector.leak().expect("a leak");
        assert_eq!((leak.rewind_step, leak.cause), (before, Cause::Change));
        // A narrower range withdraws the surface, which is not another leak.
        detector.record_change();
        for n in (1..40).rev() {
            detector.record(grown(10, 0.5) + n * stands / 10);
            assert_eq!(detector.leak(), None, "{structure} {n}");
        }
        // An added sphere is a new seed.
        let now = grown(10, 0.5) + stands / 10;
        detector.record_sphere(now + 100, SphereEdit::Added(100), [Contact::default(); 2]);
        for n in 0..200 {
            detector.record(now + 100 + n * now / 60);
            assert_eq!(detector.leak(), None, "{structure} {n}");
        }
    }
    // A seed that does not grow until the range is wide enough.
    let mut detector = new(500);
    for _ in 0..400 {
        detector.record(510);
    }
    detector.record_change();
    for n in 1..200 {
        detector.record(510 + 100 * n);
    }
    assert_eq!(detector.leak(), None);
    // It may touch what it touched at the start.
    let touches = |background, border| Contact { background, border };
    let growth: Vec<u64> = (0..=100).map(|n| 1000 + 100 * n).collect();
    for (contact, cause) in [
        (touches(40, 0), None),
        (touches(90, 20), Some(Cause::Background)),
        (touches(0, 40), Some(Cause::Border)),
    ] {
        let mut detector = new(1000);
        growth[1..].iter().for_each(|n| detector.record(*n));
        assert!(detector.needs_contact());
        detector.record_contact(contact);
        assert_eq!(detector.leak().map(|l| l.cause), cause);
        let mut detector = LeakDetector::new(1000, touches(60, 30));
        growth[1..].iter().for_each(|n| detector.record(*n));
        detector.record_contact(contact);
        assert_eq!(detector.leak(), None, "{contact:?}");
    }
}

/// The leak of a surface with this growth, while speeds change at these steps.
fn leak_of(inside: impl Fn(u64) -> u64, changes: &[u64]) -> Leak {
    let mut detector = LeakDetector::new(inside(0), Contact::default());
    for step in 1..4000 {
        detector.record(inside(step));
        if let Some(leak) = detector.leak() {
            return leak;
        }
        if changes.contains(&step) {
            detector.record_change();
        }
    }
    panic!("no leak");
}

/// Voxels of a surface that grows from a seed to a structure within a hundred steps.
fn settles(step: u64, structure: u64) -> u64 {
    structure * step.clamp(5, 100) / 100
}

fn drags() {
    // The first values of the drag hardly move the surface, the last ones multiply it.
    let drag = [1270, 1272, 1275, 1279, 1284];
    let slow = |step: u64| {
        let t = step.saturating_sub(drag[0]) as f64;
        settles(step, 6_670) + (6_670.0 * (0.008 * t + 1e-5 * t.powi(4))) as u64
    };
    let leak = leak_of(slow, &drag);
    assert_eq!(
        (leak.rewind_step, leak.cause),
        (drag[0], Cause::Change),
        "{leak:?}"
    );
    // Reversed on the way: part of the same change.
    let leak = leak_of(slow, &[1270, 1272, 1275, 1279, 1281]);
    assert_eq!(leak.rewind_step, drag[0], "{leak:?}");
    // The surface grows by a sixth, creeps or rests there for a long time, then leaks.
    let drag: Vec<u64> = (0..6).map(|i| 1200 + 8 * i).collect();
    for creeps in [0, 1] {
        let inside = |step: u64| {
            let rises = 30 * step.saturating_sub(1200).min(100);
            let creep = creeps * step.saturating_sub(1300) / 2;
            let out = 1_000 * step.saturating_sub(1552);
            settles(step, 18_300) + rises + creep + out
        };
        let leak = leak_of(inside, &drag);
        assert_eq!(leak.rewind_step, drag[0], "{creeps} {leak:?}");
        assert!(leak.noticed > 1552, "{leak:?}");
    }
    // Between two drags the surface rests: rewind to before the second.
    let inside = |step: u64| {
        let out = 1_000 * step.saturating_sub(1000);
        settles(step, 10_000) + 100 * step.saturating_sub(400).min(50) + out
    };
    let leak = leak_of(inside, &[400, 410, 420, 1000, 1003, 1006]);
    assert_eq!(
        (leak.rewind_step, leak.cause),
        (1000, Cause::Change),
        "{leak:?}"
    );
}

/// A surface at rest with 10,000 voxels; speeds change after `steps`; it grows by `pace` per step after `grows`. Checks
/// as on a CPU or on a GPU; background is reached after `after` steps of growth.
fn contact_from(
    seed: u64,
    steps: &[u64],
    (grows, pace, after): (u64, f64, u64),
    every: u64,
) -> Leak {
    let inside = |step: u64| 10_000 + (pace * step.saturating_sub(grows) as f64) as u64;
    let mut detector = LeakDetector::new(seed, Contact::default());
    for step in 1..3000 {
        // From the seed to the structure within a hundred steps.
        detector.record(inside(step).min(seed + 80 * step));
        if step % every == 0 && detector.needs_contact() {
            let background = 4 * step.saturating_sub(grows + after);
            detector.record_contact(Contact {
                background,
                border: 0,
            });
        }
        if let Some(leak) = detector.leak() {
            assert_eq!(leak.cause, Cause::Background, "{leak:?}");
            // Checks wait for half a percent of volume.
            assert!(leak.noticed <= grows + after + 110 + every, "{leak:?}");
            return leak;
        }
        if steps.contains(&step) {
            detector.record_change();
        }
    }
    panic!("no leak");
}

/// The leak that contact reveals, which is equal from a small seed and from one that nearly fills the structure.
fn contact_after(steps: &[u64], growth: (u64, f64, u64), every: u64) -> Leak {
    let [small, large] = [2_000, 8_000].map(|seed| contact_from(seed, steps, growth, every));
    assert_eq!(small, large);
    small
}

fn contacts() {
    for every in [50, 100] {
        // The change comes just before a check or just after one, or several checks find nothing at first.
        for change in [398, 400, 401, 449] {
            for (pace, after) in [(30.0, 0), (30.0, 120), (9.0, 200), (3.0, 400), (0.5, 300)] {
                let leak = contact_after(&[change], (change, pace, after), every);
                assert_eq!(leak.rewind_step, change, "{pace} {after} {leak:?}");
                // A dragged slider is one change: rewind to before its first value.
                let drag: Vec<u64> = (0..12).map(|i| change - 33 + 11 * i).collect();
                let leak = contact_after(&drag, (change, pace, after), every);
                assert_eq!(leak.rewind_step, drag[0], "{pace} {after} {leak:?}");
            }
        }
        // Without a change: rewind to the beginning of the growth, however long the surface had rested.
        for grows in [500, 1230] {
            let leak = contact_after(&[], (grows, 0.5, 400), every);
            assert!((grows..=grows + 40).contains(&leak.rewind_step), "{leak:?}");
            // A change after which it came to rest again is not to blame.
            let leak = contact_after(&[250], (grows, 0.5, 400), every);
            assert!((grows..=grows + 40).contains(&leak.rewind_step), "{leak:?}");
        }
    }
    // On the way from the seed: rewind to the change before the last check or near it, otherwise to that check.
    for (change, from) in [
        (None, 100),
        (Some(98), 98),
        (Some(104), 104),
        (Some(20), 20),
        (Some(140), 100),
    ] {
        let mut detector = LeakDetector::new(1_000, Contact::default());
        for step in 1..=150u64 {
            detector.record(1_000 + 100 * step);
            if change == Some(step) {
                detector.record_change();
            }
            if step % 50 == 0 {
                assert!(detector.needs_contact());
                let background = if step > 120 { 200 } else { 0 };
                detector.record_contact(Contact {
                    background,
                    border: 0,
                });
            }
        }
        let leak = detector.leak().expect("a leak");
        assert_eq!((leak.rewind_step, leak.noticed), (from, 150), "{change:?}");
    }
}
