//! Results that are finished in any order, and the memory in which parts are joined.

use crate::support::{Random, test};
use arcuate::compute::{InOrder, memory, overlap};
use libtest_mimic::Trial;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

pub fn tests() -> Vec<Trial> {
    vec![
        test("joining::any order of results", any_order),
        test("joining::nobody waits for another's result", nobody_waits),
        test("joining::nothing after an error", errors),
        test("joining::overlapping work in order", overlapping),
        test(
            "joining::overlapping work ends at an error",
            overlapping_errors,
        ),
        test("joining::parts of any size", parts),
        test("joining::each part is dropped once", dropped),
    ]
}

fn push(all: &mut Vec<u64>, number: u64) -> Result<(), u64> {
    all.push(number);
    Ok(())
}

/// Several threads finish results in an order of their own: all are passed on once, in the order of their numbers.
fn any_order() {
    let mut random = Random::fresh("any order");
    for threads in [1, 2, 5] {
        let count = 200;
        let mut numbers: Vec<u64> = (0..count).collect();
        for i in (1..numbers.len()).rev() {
            numbers.swap(i, (random.bits() % (i as u64 + 1)) as usize);
        }
        let (joined, next) = (InOrder::new(Vec::new()), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(&number) =
                        numbers.get(next.fetch_add(1, Ordering::Relaxed) as usize)
                    {
                        joined.finished(number, number, push).unwrap();
                    }
                });
            }
        });
        assert_eq!(joined.into_inner(), (0..count).collect::<Vec<_>>());
    }
}

/// Threads that take the next number when they are ready: each has its own memory, and all results arrive in order.
fn overlapping() {
    for (threads, count) in [(1, 5), (3, 0), (3, 1), (3, 2), (3, 100), (8, 1000)] {
        let started = AtomicU64::new(0);
        let start = |thread: usize| -> Result<(usize, u64), u64> {
            started.fetch_add(1, Ordering::Relaxed);
            Ok((thread, 0))
        };
        let work = |(_, done): &mut (usize, u64), number: usize| {
            *done += 1;
            Ok((number as u64, *done))
        };
        let mut all = Vec::new();
        let take = |(number, done): (u64, u64)| {
            assert!(done > 0);
            push(&mut all, number)
        };
        assert_eq!(
            overlap::in_order((threads, count), start, work, take),
            Ok(())
        );
        assert_eq!(all, (0..count as u64).collect::<Vec<_>>());
        assert!(started.into_inner() <= threads as u64);
    }
    // Batches occupy three streams twice, but no batch is smaller than what keeps a card busy, or larger than its memory.
    for (count, least, largest, size) in [
        (600, 10, 1000, 100),
        (600, 200, 1000, 200),
        (600, 10, 50, 50),
        (5, 10, 1000, 5),
        (600, 200, 20, 20),
        (0, 10, 1000, 1),
    ] {
        assert_eq!(overlap::batch_size(count, least, largest), size, "{count}");
    }
}

/// Whatever fails, the error is returned, and no further work begins.
fn overlapping_errors() {
    for threads in [1, 3] {
        for failing in ["start", "work", "take"] {
            let call_count = AtomicU64::new(0);
            let refused = |what: &str, number: usize| match what == failing && number >= 7 {
                true => Err(number),
                false => Ok(()),
            };
            let start = |_| refused("start", 7);
            let work = |(): &mut (), number: usize| {
                call_count.fetch_add(1, Ordering::Relaxed);
                refused("work", number).map(|()| number)
            };
            let take = |number: usize| refused("take", number);
            let ended = overlap::in_order((threads, 1 << 40), start, work, take);
            assert!(ended.is_err_and(|number| number >= 7), "{failing}");
            let call_count = call_count.into_inner();
            match failing {
                "start" => assert_eq!(call_count, 0),
                _ => assert!(
                    (8..1 << 40).contains(&call_count),
                    "{failing}: {call_count}"
                ),
            }
        }
    }
}

/// While one thread passes a result on, another adds the next one and returns; the first thread passes it on, too.
fn nobody_waits() {
    let joined = InOrder::new(Vec::new());
    let (started, (sender, receiver)) = (Barrier::new(2), mpsc::channel());
    thread::scope(|scope| {
        let joined = &joined;
        let started = &started;
        scope.spawn(move || {
            let slowly = |all: &mut Vec<u64>, number| {
                if number == 0 {
                    started.wait();
                    receiver.recv().unwrap();
                }
                push(all, number)
            };
            joined.finished(0, 0, slowly).unwrap();
        });
        started.wait();
        let never =
            |_: &mut Vec<u64>, _| -> Result<(), u64> { panic!("the other thread passes it on") };
        joined.finished(1, 1, never).unwrap();
        sender.send(()).unwrap();
    });
    assert_eq!(joined.into_inner(), [0, 1]);
}

fn errors() {
    let joined = InOrder::new(Vec::new());
    let refuse_2 = |all: &mut Vec<u64>, number| match number {
        2 => Err(number),
        _ => push(all, number),
    };
    for number in [3, 1, 0] {
        assert_eq!(joined.finished(number, number, refuse_2), Ok(()));
    }
    assert_eq!(joined.finished(2, 2, refuse_2), Err(2));
    assert_eq!(joined.finished(4, 4, refuse_2), Ok(()));
    assert_eq!(joined.into_inner(), [0, 1]);
}

/// Parts follow what the vector holds, whether it is empty, has room for them or has none.
fn parts() {
    let mut random = Random::fresh("parts");
    for (before, reserved) in [(0, 0), (0, 500_000), (3, 0), (70_000, 500_000)] {
        let mut next = 0u32;
        let mut some = |count: usize| -> Vec<[u32; 3]> {
            let values = (0..count).map(|_| {
                next += 1;
                [next, !next, next / 2]
            });
            values.collect()
        };
        let mut all = some(before);
        all.reserve(reserved);
        let mut expected = all.clone();
        for sizes in [vec![], vec![0, 1, 0], vec![150_000, 2], vec![1; 900]] {
            let mut sizes = sizes;
            sizes.push((random.bits() % 3000) as usize);
            let parts: Vec<_> = sizes.into_iter().map(&mut some).collect();
            expected.extend(parts.concat());
            memory::append(&mut all, parts);
            assert!(all == expected);
        }
    }
}

struct Counted(Vec<u8>, Arc<AtomicU64>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn dropped() {
    let count = Arc::new(AtomicU64::new(0));
    let parts = (0..100).map(|i| Counted(vec![i; i as usize], count.clone()));
    let mut all: Vec<u8> = Vec::new();
    memory::append(&mut all, parts.collect());
    assert_eq!(count.load(Ordering::Relaxed), 100);
    assert_eq!(all.len(), 99 * 100 / 2);
    assert!(all.is_sorted());
}
