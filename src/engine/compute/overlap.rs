//! Batches of work on one card that overlap: while the card follows one, the host prepares the next and joins the last.

use super::cuda::{Device, Error};
use super::{Backend, InOrder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest number of batches that are in progress at the same time.
pub const STREAMS: usize = 3;
/// Batches of each stream, if the work is large enough: the first and the last one do not overlap.
const BATCHES_EACH: usize = 2;

/// The size of the batches of `count` items, at most `largest`: smaller if that occupies all streams, but not below
/// `least`, which keeps the card busy.
pub fn batch_size(count: usize, least: usize, largest: usize) -> usize {
    let even = count.div_ceil(STREAMS * BATCHES_EACH);
    even.max(least).min(largest).min(count).max(1)
}

/// Calls `work` with the numbers below `count` on up to [`STREAMS`] threads, and `take` with the results in the order of
/// the numbers. Each thread has the card with a stream of its own, and the memory that `allocate` returns for its
/// batches. After an error no further batch begins, and the first error is returned.
pub fn overlapped<M, B: Send, E: Send + From<Error>>(
    device: &Device,
    count: usize,
    allocate: impl Fn(&Device) -> Result<M, E> + Sync,
    work: impl Fn(&Device, &mut M, usize) -> Result<B, E> + Sync,
    take: impl FnMut(B) -> Result<(), E> + Send,
) -> Result<(), E> {
    let stream = |number: usize| {
        // The first thread uses the card's own stream.
        let own = match number {
            0 => None,
            _ => Some(device.with_own_stream()?),
        };
        let memory = allocate(own.as_ref().unwrap_or(device))?;
        Ok((own, memory))
    };
    let on_stream = |(own, memory): &mut (Option<Device>, M), number: usize| {
        work(own.as_ref().unwrap_or(device), memory, number)
    };
    in_order((STREAMS, count), stream, on_stream, take)
}

/// Calls `work` with the numbers below `count` on up to `threads` threads, each with what `start` returns for its number,
/// and `take` with the results in the order of the numbers. After an error no further work begins, and the first error is
/// returned.
pub fn in_order<M, B: Send, E: Send>(
    (threads, count): (usize, usize),
    start: impl Fn(usize) -> Result<M, E> + Sync,
    work: impl Fn(&mut M, usize) -> Result<B, E> + Sync,
    take: impl FnMut(B) -> Result<(), E> + Send,
) -> Result<(), E> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let finished = InOrder::new(take);
    let has_failed = || lock(&failed).is_some();
    let on_thread = |thread: usize| -> Result<(), E> {
        let mut own = start(thread)?;
        while !has_failed() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let result = work(&mut own, number)?;
            finished.finished(number as u64, result, |take, result| take(result))?;
        }
        Ok(())
    };
    Backend::on_own_threads(threads.min(count), |thread| {
        if let Err(error) = on_thread(thread) {
            lock(&failed).get_or_insert(error);
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
