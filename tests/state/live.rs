//! Results that follow the controls: which are computed when, and which are shown until then.

mod settled;

use crate::support::test;
use Detail::{Coarse, Full};
use Pace::{InTurn, Newest};
use Row::{Always, Measured};
use Step::{Age, Done, Fail, Follow, Halt, Rest};
use arcuate::state::core::live::{
    CoarseFirst, Detail, LAG, Live, LiveKey, Order, Pace, QUICK_MS, Relation, SLOW_MS, Standing,
};
use libtest_mimic::Trial;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    vec![
        test("live::scheduling", scheduling),
        test("live::a drag always shows something", drags),
        test("live::results that come late", late),
        test("live::settled results", settled::settled),
        test("live::failures", failures),
        test("live::standing", standing),
        test("live::standing from all that decides it", relations),
        test("live::results that are kept elsewhere", shown_elsewhere),
    ]
}

/// A value of a control, of a method: results of one method never replace those of another.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Key(u32, char);

impl LiveKey for Key {
    fn stands_in_for(&self, requested: &Self) -> bool {
        self.1 == requested.1
    }
}

/// The pace of results whose full one takes as long as the last one; `None` if that time is unknown.
fn coarse_first(full_ms: Option<f64>, age: Duration) -> Pace {
    Pace::CoarseFirst(CoarseFirst {
        in_drag: full_ms.is_none_or(|ms| ms > QUICK_MS),
        at_rest: full_ms.is_none_or(|ms| ms > SLOW_MS),
        age,
    })
}

/// The pace at which results of a row follow.
#[derive(Clone, Copy)]
enum Row {
    Always(Pace),
    /// A coarse one first, by how long the last full one took.
    Measured,
}

const A: Key = Key(1, 'm');
const B: Key = Key(2, 'm');
const OTHER: Key = Key(3, 'n');

/// The events of a result, in sequence.
enum Step {
    /// The state changed: this is requested, while the control moves or not; and what is ordered.
    Follow(Option<Key>, bool, Order<Key>),
    /// A result comes, after this many ms of work, while this is requested; and whether it is shown.
    Done(Key, Detail, f64, Option<Key>, bool),
    Fail,
    /// The user stops the running job.
    Halt,
    /// The pointer rests in the middle of a drag, where this is requested.
    Rest(Key),
    /// The running job has this age from now on.
    Age(Duration),
}

const fn start(key: Key, detail: Detail) -> Order<Key> {
    Order::Start(key, detail)
}

/// Rows: a name, the order of results, and the events.
fn scheduling() {
    const DRAG: bool = true;
    const REST: bool = false;
    const NOTHING: Order<Key> = Order::Nothing;
    let rows: Vec<(&str, Row, Vec<Step>)> = vec![
        (
            "a coarse result first, since nobody knows how long the full one takes",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Follow(Some(A), REST, NOTHING),
                Done(A, Coarse, 5.0, Some(A), true),
                Follow(Some(A), REST, start(A, Full)),
                Follow(Some(A), REST, NOTHING),
                Done(A, Full, 400.0, Some(A), true),
                Follow(Some(A), REST, NOTHING),
            ],
        ),
        (
            "coarse work in flight is finished during a drag",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Follow(Some(B), DRAG, NOTHING),
                Done(A, Coarse, 5.0, Some(B), true),
                Follow(Some(B), DRAG, start(B, Coarse)),
                Done(B, Coarse, 5.0, Some(B), true),
                // The full result comes when the control rests.
                Follow(Some(B), DRAG, NOTHING),
                Follow(Some(B), REST, start(B, Full)),
            ],
        ),
        (
            "a coarse result of another value is replaced when the control rests",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Follow(Some(B), DRAG, NOTHING),
                Follow(Some(B), REST, start(B, Coarse)),
            ],
        ),
        (
            "full work gives way to a drag",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Coarse, 5.0, Some(A), true),
                Follow(Some(A), REST, start(A, Full)),
                Follow(Some(B), DRAG, start(B, Coarse)),
            ],
        ),
        (
            "full results alone where they are quick, also during a drag",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Full, 29.0, Some(A), true),
                Follow(Some(B), DRAG, start(B, Full)),
                Follow(Some(A), DRAG, Order::Cancel),
                Follow(Some(B), DRAG, start(B, Full)),
                Follow(Some(Key(4, 'm')), DRAG, NOTHING),
            ],
        ),
        (
            "a full result without a coarse one where it is neither quick nor slow",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Full, 200.0, Some(A), true),
                Follow(Some(B), REST, start(B, Full)),
            ],
        ),
        (
            "back to what is there: nobody waits for the other any more",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Full, 400.0, Some(A), true),
                Follow(Some(B), REST, start(B, Coarse)),
                Follow(Some(A), REST, Order::Cancel),
                Follow(Some(A), REST, NOTHING),
            ],
        ),
        (
            "nothing is requested any more",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Follow(None, DRAG, Order::Cancel),
                Done(A, Coarse, 5.0, None, false),
                Follow(None, REST, NOTHING),
            ],
        ),
        (
            "one after the other",
            Always(InTurn),
            vec![
                Follow(Some(A), DRAG, start(A, Full)),
                Follow(Some(B), DRAG, NOTHING),
                Follow(Some(B), REST, NOTHING),
                Done(A, Full, 900.0, Some(B), true),
                Follow(Some(B), REST, start(B, Full)),
            ],
        ),
        (
            "the newest replaces the running one",
            Always(Newest),
            vec![
                Follow(Some(A), DRAG, start(A, Full)),
                Follow(Some(B), DRAG, start(B, Full)),
                Done(A, Full, 900.0, Some(B), false),
                Done(B, Full, 900.0, Some(B), true),
                Follow(Some(B), REST, NOTHING),
            ],
        ),
        (
            "no second try of what failed, until something else is requested",
            Always(Newest),
            vec![
                Follow(Some(A), REST, start(A, Full)),
                Fail,
                Follow(Some(A), REST, NOTHING),
                Follow(Some(A), DRAG, NOTHING),
                Follow(Some(B), REST, start(B, Full)),
                Follow(Some(A), REST, start(A, Full)),
            ],
        ),
        (
            "a coarse result that failed is not a failure",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Fail,
                Follow(Some(A), REST, start(A, Full)),
                Fail,
                Follow(Some(A), REST, NOTHING),
            ],
        ),
        (
            "old coarse work gives way once, and the newer is finished however old it gets",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Age(LAG / 2),
                Follow(Some(B), DRAG, NOTHING),
                Age(LAG),
                Follow(Some(A), DRAG, NOTHING),
                Follow(Some(B), DRAG, start(B, Coarse)),
                Age(2 * LAG),
                Follow(Some(Key(4, 'm')), DRAG, NOTHING),
                Done(B, Coarse, 500.0, Some(Key(4, 'm')), true),
                Follow(Some(Key(4, 'm')), DRAG, start(Key(4, 'm'), Coarse)),
                Age(LAG),
                Follow(Some(Key(5, 'm')), DRAG, start(Key(5, 'm'), Coarse)),
            ],
        ),
        (
            "full results as quick as moves give way to no move, however old",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Full, 5.0, Some(A), true),
                Follow(Some(B), DRAG, start(B, Full)),
                Age(2 * LAG),
                Follow(Some(Key(4, 'm')), DRAG, NOTHING),
                Follow(Some(Key(4, 'm')), REST, start(Key(4, 'm'), Full)),
            ],
        ),
        (
            "the full result follows where the pointer rests in the middle of a drag",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Rest(A),
                // Coarse work that is nearly there is finished.
                Follow(Some(A), DRAG, NOTHING),
                Done(A, Coarse, 5.0, Some(A), true),
                Follow(Some(A), DRAG, start(A, Full)),
                Follow(Some(B), DRAG, start(B, Coarse)),
                Done(B, Coarse, 5.0, Some(B), true),
                Follow(Some(B), DRAG, NOTHING),
            ],
        ),
        (
            "a drag of other controls does not move this result",
            Measured,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Coarse, 5.0, Some(A), true),
                Follow(Some(A), DRAG, start(A, Full)),
                Follow(Some(A), DRAG, NOTHING),
                Done(A, Full, 900.0, Some(A), true),
                Follow(Some(B), DRAG, start(B, Coarse)),
            ],
        ),
        (
            "a rest ends with its drag",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Rest(A),
                Follow(Some(B), REST, start(B, Coarse)),
                Done(B, Coarse, 5.0, Some(B), true),
                Follow(Some(A), DRAG, start(A, Coarse)),
                Done(A, Coarse, 5.0, Some(A), true),
                Follow(Some(A), DRAG, NOTHING),
            ],
        ),
        (
            "what the user stops is not started again, coarse or full",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Halt,
                Follow(Some(A), DRAG, NOTHING),
                Follow(Some(A), REST, NOTHING),
                Follow(Some(B), REST, start(B, Coarse)),
                Done(B, Coarse, 5.0, Some(B), true),
                Follow(Some(B), REST, start(B, Full)),
                Halt,
                Follow(Some(B), REST, NOTHING),
            ],
        ),
        (
            "a coarse result that failed in a drag is not a failure",
            Measured,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Fail,
                Follow(Some(A), DRAG, start(A, Full)),
                Follow(Some(B), DRAG, start(B, Coarse)),
            ],
        ),
        (
            "a result of another method is not shown instead",
            Always(InTurn),
            vec![
                Follow(Some(A), REST, start(A, Full)),
                Follow(Some(OTHER), REST, NOTHING),
                Done(A, Full, 900.0, Some(OTHER), false),
                Follow(Some(OTHER), REST, start(OTHER, Full)),
            ],
        ),
    ];
    for (name, row, steps) in rows {
        let mut live = Live::<Key, Key>::default();
        let (mut full_ms, mut age) = (None, Duration::ZERO);
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Follow(requested, dragging, expected) => {
                    let pace = match row {
                        Always(pace) => pace,
                        Measured => coarse_first(full_ms, age),
                    };
                    let order = live.follow(requested.as_ref(), dragging, pace);
                    assert_eq!(order, expected, "{name}, step {i}");
                    if let Order::Start(..) = order {
                        age = Duration::ZERO;
                    }
                }
                Done(key, detail, wall_ms, requested, expected) => {
                    if detail == Full {
                        full_ms = Some(wall_ms);
                    }
                    let shown = live.done(key, detail, key, requested.as_ref());
                    assert_eq!(shown, expected, "{name}, step {i}");
                }
                Fail => live.fail(),
                Halt => live.halt(None, Some("Stopped")),
                Rest(key) => live.rest(Some(&key)),
                Age(is) => age = is,
            }
        }
    }
}

/// A thousand moves, one every few ms, with results that take their time: at least one is shown in every two
/// durations of a coarse one, none of them is cancelled unless old ones may be, and the full one of the last value
/// comes at the end.
fn drags() {
    let durations_ms = [
        (7, 2000, 1),
        (50, 2000, 8),
        (50, 2000, 120),
        (3, 400, 16),
        (400, 5000, 4),
        (20, 25, 8),
    ];
    let rows = durations_ms.into_iter();
    for (row, gives_way) in rows.flat_map(|row| [(row, false), (row, true)]) {
        let (coarse_ms, full_ms, move_ms) = row;
        let case = format!(
            "coarse {coarse_ms} ms, full {full_ms} ms, a move every {move_ms} ms, old work gives way: {gives_way}"
        );
        let mut live = Live::<Key, u64>::default();
        let mut known_ms = None;
        // The job that runs: when it began, its key, its detail.
        let mut job: Option<(u64, Key, Detail)> = None;
        let duration_ms = |detail: Detail| match detail {
            Coarse => coarse_ms,
            Full => full_ms,
        };
        let (mut replaced_coarse, mut shown_at) = (0, vec![0]);
        let mut requested = Key(0, 'm');
        let end = 1000 * move_ms;
        let mut now = 0;
        while now < end + 2 * (coarse_ms + full_ms) {
            let dragging = now < end;
            if dragging && now % move_ms == 0 {
                requested = Key(requested.0 + 1, 'm');
            }
            let ends =
                |(began, _, detail): &mut (u64, Key, Detail)| *began + duration_ms(*detail) <= now;
            if let Some((_, key, detail)) = job.take_if(ends) {
                if detail == Full {
                    known_ms = Some(full_ms as f64);
                }
                if live.done(key, detail, now, Some(&requested)) && dragging {
                    shown_at.push(now);
                }
            }
            let began = job.map_or(now, |(began, ..)| began);
            let age = match gives_way {
                true => Duration::from_millis(now - began),
                false => Duration::ZERO,
            };
            let pace = coarse_first(known_ms, age);
            if let Order::Start(key, detail) = live.follow(Some(&requested), dragging, pace) {
                let was_coarse = job.is_some_and(|(_, _, detail)| detail == Coarse);
                replaced_coarse += usize::from(dragging && was_coarse);
                job = Some((now, key, detail));
            }
            now += 1;
        }
        let may_be_replaced = gives_way && coarse_ms >= LAG.as_millis() as u64;
        assert_eq!(replaced_coarse > 0, may_be_replaced, "{case}");
        shown_at.push(end);
        // Each move has a coarse result if moves come more slowly than coarse results.
        let longest = 2 * coarse_ms.max(move_ms) + 1;
        for pair in shown_at.windows(2) {
            assert!(
                pair[1] - pair[0] <= longest,
                "{case}: nothing from {} to {}",
                pair[0],
                pair[1]
            );
        }
        assert_eq!(
            live.standing(Some(&requested)),
            Some(Standing::Final),
            "{case}"
        );
        assert_eq!(requested.0, 1000, "{case}");
    }
}

/// The latest full result wins, in any order of arrival.
fn late() {
    let mut live = Live::<Key, &str>::default();
    let pace = coarse_first(None, Duration::ZERO);
    live.follow(Some(&A), false, pace);
    live.follow(Some(&B), false, pace);
    assert!(live.done(B, Full, "full", Some(&B)));
    assert!(!live.done(B, Coarse, "coarse", Some(&B)));
    assert!(!live.done(A, Full, "older", Some(&B)));
    assert_eq!(live.value(), Some(&"full"));
    assert_eq!(live.standing(Some(&B)), Some(Standing::Final));
    assert_ne!(live.standing(Some(&A)), Some(Standing::Final));
    // A replaced result is no newer than the shown one.
    let next = Key(9, 'm');
    live.follow(Some(&next), false, pace);
    assert!(!live.done(A, Full, "older", Some(&next)));
    assert_eq!(live.shown(), Some((&B, &"full")));
}

/// A failure remains until the key changes, or until the user requests another attempt.
fn failures() {
    let mut live = Live::<Key, ()>::default();
    live.follow(Some(&A), false, Newest);
    live.fail();
    assert!(live.has_failed());
    assert!(live.has_failed_for(&A));
    live.retry();
    assert_eq!(live.follow(Some(&A), false, Newest), start(A, Full));
    // A job stopped for another has not failed.
    live.stop();
    assert_eq!(live.follow(Some(&A), false, Newest), start(A, Full));
    // Without a job nothing fails, unless it is known of the key.
    live.done(A, Full, (), Some(&A));
    live.fail();
    assert_eq!(live.standing(Some(&A)), Some(Standing::Final));
    assert_eq!(live.failure(), None);
    live.halt(Some(&A), Some("No card"));
    assert!(live.has_failed_for(&A));
    assert_eq!(live.failure(), Some("No card"));
    // A running job is the one that failed.
    assert_eq!(live.follow(Some(&B), false, Newest), start(B, Full));
    assert_eq!(live.failure(), None);
    live.halt(Some(&A), None);
    assert!(live.has_failed_for(&B));
    assert!(live.has_failed() && live.failure().is_none());
    // The user's stop holds for the requested key, although the running job is for an earlier one.
    let mut live = Live::<Key, ()>::default();
    let pace = coarse_first(None, Duration::ZERO);
    assert_eq!(live.follow(Some(&A), true, pace), start(A, Coarse));
    assert_eq!(live.follow(Some(&B), true, pace), Order::Nothing);
    live.give_up(Some(&B), Some("Stopped"));
    assert_eq!(live.follow(Some(&B), true, pace), Order::Nothing);
    assert_eq!(live.failure(), Some("Stopped"));
}

/// Results that wait for the pointer's rest, and those that others show.
fn shown_elsewhere() {
    let mut live = Live::<Key, ()>::default();
    let pace = coarse_first(None, Duration::ZERO);
    live.follow(Some(&A), true, pace);
    assert!(live.waits_for_rest());
    live.rest(Some(&A));
    live.follow(Some(&A), true, pace);
    assert!(!live.waits_for_rest());
    live.follow(Some(&B), true, pace);
    assert!(live.waits_for_rest());
    // The result is no longer visible: the job continues.
    live.pause();
    assert!(!live.waits_for_rest() && live.running().is_some());
    live.set_shown(Some((B, Full, ())));
    assert_eq!(live.standing(Some(&B)), Some(Standing::Final));
    assert_eq!(live.follow(Some(&B), true, pace), Order::Cancel);
    live.set_shown(None);
    assert_eq!(live.follow(Some(&B), true, pace), start(B, Coarse));
}

fn standing() {
    let mut live = Live::<Key, ()>::default();
    let pace = coarse_first(None, Duration::ZERO);
    assert_eq!(live.standing(None), None);
    live.follow(Some(&A), true, pace);
    assert_eq!(live.standing(Some(&A)), None);
    live.done(A, Coarse, (), Some(&A));
    assert_eq!(live.standing(Some(&A)), Some(Standing::Coarse));
    live.follow(Some(&B), true, pace);
    assert_eq!(live.standing(Some(&B)), Some(Standing::Updating));
    live.stop();
    assert_eq!(live.standing(Some(&B)), Some(Standing::OutOfDate));
    live.follow(Some(&B), false, pace);
    live.done(B, Full, (), Some(&B));
    assert_eq!(live.standing(Some(&B)), Some(Standing::Final));
    assert!(live.value().is_some());
    live.follow(None, false, pace);
    assert_eq!(live.standing(Some(&B)), None);
}

/// The standing of curves and pathways follows from their tensors and jobs, too.
fn relations() {
    use Standing::{Final, OutOfDate, Updating};
    let known = Relation {
        detail: Full,
        is_current: true,
        lacks_step: false,
        is_updating: false,
        may_lag: false,
        exceeds_lag: false,
    };
    let old = Relation {
        is_current: false,
        ..known
    };
    let uncut = Relation {
        lacks_step: true,
        ..known
    };
    let coarse = |relation| Relation {
        detail: Coarse,
        ..relation
    };
    let updating = |relation| Relation {
        is_updating: true,
        ..relation
    };
    let lagging = |relation| Relation {
        may_lag: true,
        ..coarse(updating(relation))
    };
    let late = |relation| Relation {
        exceeds_lag: true,
        ..relation
    };
    let cases = [
        ("full", known, Final, false),
        ("full, another running", updating(known), Final, false),
        ("coarse", coarse(known), Standing::Coarse, false),
        (
            "coarse of the drag's end",
            lagging(known),
            Standing::Coarse,
            false,
        ),
        ("earlier", old, OutOfDate, true),
        ("earlier and coarse", coarse(old), OutOfDate, true),
        ("replaced", updating(old), Updating, true),
        ("coarse and replaced", coarse(updating(old)), Updating, true),
        ("behind in a drag", lagging(old), Standing::Coarse, false),
        (
            "far behind in a drag",
            late(lagging(old)),
            Standing::Coarse,
            true,
        ),
        ("full and far behind", late(updating(old)), Updating, true),
        // The rays are those of the controls; only their cut is not.
        ("uncut", uncut, OutOfDate, false),
        ("being cut", updating(uncut), Updating, false),
        ("coarse and being cut", lagging(uncut), Updating, false),
    ];
    for (case, relation, standing, is_stale) in cases {
        assert_eq!(relation.standing(), standing, "{case}");
        assert_eq!(relation.is_stale(), is_stale, "{case}");
    }
}
