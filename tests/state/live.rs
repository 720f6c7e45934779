//! Results that follow the controls: which are computed when, and which are shown meanwhile.

use crate::support::test;
use arcuate::state::core::live::{Detail, Live, LiveKey, Order, Pace, Standing};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("live::scheduling", scheduling),
        test("live::a drag always shows something", drags),
        test("live::results that come late", late),
        test("live::failures", failures),
        test("live::standing", standing),
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

use Detail::{Coarse, Full};
use Pace::{CoarseFirst, InTurn, Newest};

const A: Key = Key(1, 'm');
const B: Key = Key(2, 'm');
const OTHER: Key = Key(3, 'n');

/// The events of a result, in sequence.
enum Step {
    /// The state changed: this key is requested, while the control moves or not; and the resulting order.
    Follow(Option<Key>, bool, Order<Key>),
    /// A result arrives, after this many ms of work, while this key is requested; and whether it is shown.
    Done(Key, Detail, f64, Option<Key>, bool),
    Fail,
}
use Step::{Done, Fail, Follow};

const fn start(key: Key, detail: Detail) -> Order<Key> {
    Order::Start(key, detail)
}

/// Rows: a name, the order of results, and the events.
fn scheduling() {
    const DRAG: bool = true;
    const REST: bool = false;
    const NOTHING: Order<Key> = Order::Nothing;
    let rows: Vec<(&str, Pace, Vec<Step>)> = vec![
        (
            "a coarse result first, since nobody knows how long the full one takes",
            CoarseFirst,
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
            CoarseFirst,
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
            CoarseFirst,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Follow(Some(B), DRAG, NOTHING),
                Follow(Some(B), REST, start(B, Coarse)),
            ],
        ),
        (
            "full work gives way to a drag",
            CoarseFirst,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Coarse, 5.0, Some(A), true),
                Follow(Some(A), REST, start(A, Full)),
                Follow(Some(B), DRAG, start(B, Coarse)),
            ],
        ),
        (
            "full results alone where they are quick, also during a drag",
            CoarseFirst,
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
            CoarseFirst,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Full, 200.0, Some(A), true),
                Follow(Some(B), REST, start(B, Full)),
            ],
        ),
        (
            "back to what is there: nobody waits for the other any more",
            CoarseFirst,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Done(A, Full, 400.0, Some(A), true),
                Follow(Some(B), REST, start(B, Coarse)),
                Follow(Some(A), REST, Order::Cancel),
                Follow(Some(A), REST, NOTHING),
            ],
        ),
        (
            "nothing is wanted any more",
            CoarseFirst,
            vec![
                Follow(Some(A), DRAG, start(A, Coarse)),
                Follow(None, DRAG, Order::Cancel),
                Done(A, Coarse, 5.0, None, false),
                Follow(None, REST, NOTHING),
            ],
        ),
        (
            "one after the other",
            InTurn,
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
            Newest,
            vec![
                Follow(Some(A), DRAG, start(A, Full)),
                Follow(Some(B), DRAG, start(B, Full)),
                Done(A, Full, 900.0, Some(B), false),
                Done(B, Full, 900.0, Some(B), true),
                Follow(Some(B), REST, NOTHING),
            ],
        ),
        (
            "no second try of what failed, until something else is wanted",
            Newest,
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
            "a coarse result that failed is no failure",
            CoarseFirst,
            vec![
                Follow(Some(A), REST, start(A, Coarse)),
                Fail,
                Follow(Some(A), REST, start(A, Full)),
                Fail,
                Follow(Some(A), REST, NOTHING),
            ],
        ),
        (
            "a result of another method is not shown instead",
            InTurn,
            vec![
                Follow(Some(A), REST, start(A, Full)),
                Follow(Some(OTHER), REST, NOTHING),
                Done(A, Full, 900.0, Some(OTHER), false),
                Follow(Some(OTHER), REST, start(OTHER, Full)),
            ],
        ),
    ];
    for (name, pace, steps) in rows {
        let mut live = Live::<Key, Key>::default();
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Follow(wanted, dragging, expected) => {
                    let order = live.follow(wanted.as_ref(), dragging, pace);
                    assert_eq!(order, expected, "{name}, step {i}");
                }
                Done(key, detail, wall_ms, wanted, expected) => {
                    let shown = live.done(key, detail, key, wall_ms, wanted.as_ref());
                    assert_eq!(shown, expected, "{name}, step {i}");
                }
                Fail => live.fail(),
            }
        }
    }
}

/// A thousand moves, one every few ms, with slow results: at least one is shown in every two durations of a coarse one,
/// none of them is cancelled, and the full one of the last value comes at the end.
fn drags() {
    for (coarse_ms, full_ms, move_ms) in [
        (7, 2000, 1),
        (50, 2000, 8),
        (50, 2000, 120),
        (3, 400, 16),
        (400, 5000, 4),
        (20, 25, 8),
    ] {
        let of = format!("coarse {coarse_ms} ms, full {full_ms} ms, a move every {move_ms} ms");
        let mut live = Live::<Key, u64>::default();
        // The running job: its end, its key, its detail.
        let mut job: Option<(u64, Key, Detail)> = None;
        let (mut replaced_coarse, mut shown_at) = (0, vec![0]);
        let mut requested = Key(0, 'm');
        let end = 1000 * move_ms;
        let mut now = 0;
        while now < end + 2 * (coarse_ms + full_ms) {
            let dragging = now < end;
            if dragging && now % move_ms == 0 {
                requested = Key(requested.0 + 1, 'm');
            }
            if let Some((_, key, detail)) = job.take_if(|(until, ..)| *until <= now) {
                let took = if detail == Coarse { coarse_ms } else { full_ms };
                if live.done(key, detail, now, took as f64, Some(&requested)) && dragging {
                    shown_at.push(now);
                }
            }
            if let Order::Start(key, detail) = live.follow(Some(&requested), dragging, CoarseFirst)
            {
                let was_coarse = job.is_some_and(|(_, _, detail)| detail == Coarse);
                replaced_coarse += usize::from(dragging && was_coarse);
                let took = if detail == Coarse { coarse_ms } else { full_ms };
                job = Some((now + took, key, detail));
            }
            now += 1;
        }
        assert_eq!(replaced_coarse, 0, "{of}");
        shown_at.push(end);
        // Where moves come more slowly than coarse results, each move has one.
        let longest = 2 * coarse_ms.max(move_ms) + 1;
        for pair in shown_at.windows(2) {
            assert!(
                pair[1] - pair[0] <= longest,
                "{of}: nothing from {} to {}",
                pair[0],
                pair[1]
            );
        }
        assert_eq!(live.standing(Some(&requested)), Standing::Final, "{of}");
        assert_eq!(requested.0, 1000, "{of}");
    }
}

/// The latest full result wins, in whatever order results arrive.
fn late() {
    let mut live = Live::<Key, &str>::default();
    live.follow(Some(&A), false, CoarseFirst);
    live.follow(Some(&B), false, CoarseFirst);
    assert!(live.done(B, Full, "full", 500.0, Some(&B)));
    assert!(!live.done(B, Coarse, "coarse", 5.0, Some(&B)));
    assert!(!live.done(A, Full, "older", 500.0, Some(&B)));
    assert_eq!(live.final_value(Some(&B)), Some(&"full"));
    assert_eq!(live.final_value(Some(&A)), None);
    // A replaced result is no newer than the shown one.
    let next = Key(9, 'm');
    live.follow(Some(&next), false, CoarseFirst);
    assert!(!live.done(A, Full, "older", 500.0, Some(&next)));
    assert_eq!(live.shown(), Some((&B, &"full")));
}

/// A failure stands until the key changes, or until the user requests another attempt.
fn failures() {
    let mut live = Live::<Key, ()>::default();
    live.follow(Some(&A), false, Newest);
    live.fail();
    assert!(live.has_failed());
    assert_eq!(live.standing(Some(&A)), Standing::Failed);
    live.retry();
    assert_eq!(live.follow(Some(&A), false, Newest), start(A, Full));
    // A job stopped for another has not failed.
    live.stop();
    assert_eq!(live.follow(Some(&A), false, Newest), start(A, Full));
    // Without a job nothing can fail.
    live.done(A, Full, (), 1.0, Some(&A));
    live.fail();
    assert_eq!(live.standing(Some(&A)), Standing::Final);
}

fn standing() {
    let mut live = Live::<Key, ()>::default();
    assert_eq!(live.standing(None), Standing::Empty);
    live.follow(Some(&A), true, CoarseFirst);
    assert_eq!(live.standing(Some(&A)), Standing::Empty);
    live.done(A, Coarse, (), 5.0, Some(&A));
    assert_eq!(live.standing(Some(&A)), Standing::Coarse);
    live.follow(Some(&B), true, CoarseFirst);
    assert_eq!(live.standing(Some(&B)), Standing::Updating);
    live.stop();
    assert_eq!(live.standing(Some(&B)), Standing::Stale);
    live.follow(Some(&B), false, CoarseFirst);
    live.done(B, Full, (), 500.0, Some(&B));
    assert_eq!(live.standing(Some(&B)), Standing::Final);
    assert!(live.final_value(Some(&B)).is_some());
    live.follow(None, false, CoarseFirst);
    assert_eq!(live.standing(Some(&B)), Standing::Empty);
}
