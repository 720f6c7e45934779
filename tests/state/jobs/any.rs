//! Jobs of any kind: numbered slots, cancelling all jobs about the document, partial results.

use super::wait_until_started;
use crate::support::{test, wait_for};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::jobs::{
    AnyJob, Delivery, Job, JobError, JobState, Jobs, Outcome, PartialSender, Receive, Slot, Worker,
};
use libtest_mimic::Trial;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        test("jobs::slots of two numbers run side by side", instances),
        test(
            "jobs::work about the document is cancelled together",
            of_document,
        ),
        test("jobs::partial results come before the last", partial),
        test("jobs::a quick result is waited for", quick),
        test("jobs::a slow result is not waited for", slow),
        test("jobs::a slow result after quick ones", slow_after_quick),
        test("jobs::a wait in vain is not repeated", late_once),
    ]
}

/// A state of this test's own: the threads do not know which jobs there are.
#[derive(Default)]
struct Received(Vec<(u32, Outcome<u32>)>);

impl JobState for Received {
    type Effect = Box<dyn AnyJob<Self>>;
}

#[derive(Clone, Debug)]
struct Counting {
    number: u32,
    slot: Slot,
    /// Waits until this many of them have begun.
    together: Option<(u32, Arc<AtomicU64>)>,
    /// Runs until it is cancelled, or for this long.
    lasts: Duration,
    partials: u32,
}

impl Counting {
    fn new(number: u32, slot: Slot) -> Self {
        Self {
            number,
            slot,
            together: None,
            lasts: Duration::ZERO,
            partials: 0,
        }
    }
}

impl Job for Counting {
    type Output = u32;

    fn slot(&self) -> Slot {
        self.slot
    }

    fn label(&self) -> String {
        format!("Counting {}", self.number)
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        partial: &PartialSender<u32>,
    ) -> Result<u32, JobError> {
        let started = Instant::now();
        if let Some((count, arrived)) = self.together {
            arrived.fetch_add(1, Ordering::SeqCst);
            wait_for("the others", || {
                (arrived.load(Ordering::SeqCst) >= u64::from(count)).then_some(())
            });
        }
        for i in 0..self.partials {
            wait_for("somebody who looks", || partial.is_taken().then_some(()));
            partial.send(i);
        }
        control.begin("Waiting", 1);
        while started.elapsed() < self.lasts && !control.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(self.number)
    }
}

impl Receive<Received> for Counting {
    fn receive(
        &self,
        delivery: Delivery<u32>,
        state: &mut Received,
        _: &mut Vec<Box<dyn AnyJob<Received>>>,
    ) {
        state.0.push((self.number, delivery.outcome));
    }
}

/// All results until this many jobs have ended.
fn received(jobs: &mut Jobs<Received>, count: usize) -> Vec<(u32, Outcome<u32>)> {
    let (mut state, mut effects) = (Received::default(), Vec::new());
    wait_for("all results", || {
        for event in jobs.poll() {
            event.receive(&mut state, &mut effects);
        }
        let ended = |(_, outcome): &&(u32, Outcome<u32>)| !matches!(outcome, Outcome::Partial(_));
        (state.0.iter().filter(ended).count() >= count).then_some(())
    });
    state.0
}

fn counting_jobs() -> Jobs<Received> {
    let backend = Backend::choose(&BackendChoice::cpu(Some(1))).expect("one thread");
    Jobs::new(backend, Arc::new(|| {}))
}

/// Two jobs of one slot: the second would cancel the first, and neither would meet the other.
fn instances() {
    let slot = Slot::latest_wins("test");
    let arrived = Arc::new(AtomicU64::new(0));
    let mut jobs = counting_jobs();
    for number in [1, 2] {
        jobs.submit(Counting {
            together: Some((2, arrived.clone())),
            ..Counting::new(number, slot.instance(number))
        });
    }
    for (number, outcome) in received(&mut jobs, 2) {
        assert!(
            matches!(outcome, Outcome::Done(n) if n == number),
            "{number}: {outcome:?}"
        );
    }
}

/// Jobs that write files are finished, and so are those that outlive the document.
fn of_document() {
    let slots = [
        (Slot::latest_wins("shown"), false),
        (Slot::queue("counted"), false),
        (Slot::queue("opened").beyond_document(), true),
        (Slot::queue("written").writing(), true),
    ];
    let mut jobs = counting_jobs();
    for (number, (slot, lasts)) in (0..).zip(slots) {
        let lasts = Duration::from_millis(if lasts { 50 } else { 60_000 });
        let job = jobs.submit(Counting {
            lasts,
            ..Counting::new(number, slot)
        });
        wait_until_started(&job);
    }
    jobs.cancel_of_document();
    for (number, outcome) in received(&mut jobs, slots.len()) {
        let done = matches!(outcome, Outcome::Done(_));
        assert_eq!(done, slots[number as usize].1, "{number}: {outcome:?}");
    }
}

/// The slot's first job shows that its results come soon, so the next result is waited for.
fn quick() {
    const LIMIT: Duration = Duration::from_secs(20);
    let slot = Slot::latest_wins("quick");
    let mut jobs = counting_jobs();
    jobs.submit(Counting::new(1, slot));
    received(&mut jobs, 1);
    jobs.submit(Counting::new(2, slot));
    let began = Instant::now();
    jobs.wait_for_quick(LIMIT);
    assert!(began.elapsed() < LIMIT);
    assert_eq!(jobs.poll().len(), 1);
}

/// Neither jobs of unknown duration, nor slow ones, nor those in a queue or in the background are waited for. A job that
/// was cancelled tells nothing about the duration of the next.
fn slow() {
    const LIMIT: Duration = Duration::from_secs(1);
    let slot = Slot::latest_wins("slow");
    let others = [
        Slot::queue("queue"),
        Slot::latest_wins("background").in_background(),
    ];
    let mut jobs = counting_jobs();
    let submit = |jobs: &mut Jobs<Received>, slot, lasts| {
        let job = jobs.submit(Counting {
            lasts,
            ..Counting::new(1, slot)
        });
        let began = Instant::now();
        jobs.wait_for_quick(LIMIT);
        assert!(began.elapsed() < LIMIT, "{slot:?}");
        job
    };
    let cancelled = submit(&mut jobs, slot, 60 * LIMIT);
    wait_until_started(&cancelled);
    jobs.cancel(slot);
    received(&mut jobs, 1);
    submit(&mut jobs, slot, 2 * LIMIT);
    for slot in others {
        submit(&mut jobs, slot, Duration::ZERO);
    }
    received(&mut jobs, 3);
    for slot in others.into_iter().chain([slot]) {
        submit(&mut jobs, slot, 60 * LIMIT);
        jobs.cancel(slot);
    }
}

/// A result that came after the wait is not waited for at the next job.
fn late_once() {
    const LIMIT: Duration = Duration::from_millis(500);
    let slot = Slot::latest_wins("late");
    let mut jobs = counting_jobs();
    jobs.submit(Counting::new(1, slot));
    received(&mut jobs, 1);
    let wait = |jobs: &mut Jobs<Received>| {
        jobs.submit(Counting {
            lasts: LIMIT + LIMIT / 5,
            ..Counting::new(2, slot)
        });
        let began = Instant::now();
        jobs.wait_for_quick(LIMIT);
        let waited = began.elapsed();
        received(jobs, 1);
        waited
    };
    assert!(wait(&mut jobs) >= LIMIT);
    assert!(wait(&mut jobs) < LIMIT);
}

/// After quick jobs, a frame waits for a slow one only as long as quick ones take.
fn slow_after_quick() {
    const LIMIT: Duration = Duration::from_millis(50);
    let slot = Slot::latest_wins("once quick");
    let mut jobs = counting_jobs();
    jobs.submit(Counting::new(1, slot));
    received(&mut jobs, 1);
    let job = jobs.submit(Counting {
        lasts: Duration::from_secs(60),
        ..Counting::new(2, slot)
    });
    wait_until_started(&job);
    std::thread::sleep(2 * LIMIT);
    let began = Instant::now();
    (0..200).for_each(|_| jobs.wait_for_quick(LIMIT));
    assert!(began.elapsed() < 100 * LIMIT);
    jobs.cancel(slot);
}

/// Partial results arrive in the order in which they were sent, each once.
fn partial() {
    let mut jobs = counting_jobs();
    jobs.submit(Counting {
        partials: 5,
        ..Counting::new(9, Slot::latest_wins("steps"))
    });
    let outcomes = received(&mut jobs, 1);
    let steps: Vec<u32> = outcomes
        .iter()
        .filter_map(|(_, outcome)| match outcome {
            Outcome::Partial(step) => Some(*step),
            _ => None,
        })
        .collect();
    // The end may overtake the last one.
    assert!(
        steps == [0, 1, 2, 3, 4] || steps == [0, 1, 2, 3],
        "{steps:?}"
    );
    assert!(
        matches!(outcomes.last(), Some((9, Outcome::Done(9)))),
        "{outcomes:?}"
    );
}
