//! Batches of work on one card that overlap: while the card follows one, the host prepares the next and joins the last.

use super::Backend;
use super::cuda::{Device, Error};
use std::collections::BTreeMap;
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
    let progress = Mutex::new(Progress {
        count,
        next: 0,
        taken: 0,
        finished: BTreeMap::new(),
        take,
        failed: None,
    });
    let on_stream = |device: &Device| -> Result<(), E> {
        let mut memory = allocate(device)?;
        while let Some(number) = lock(&progress).next() {
            let batch = work(device, &mut memory, number)?;
            lock(&progress).finish(number, batch)?;
        }
        Ok(())
    };
    let on_thread = |stream: usize| {
        // The first uses the card's own stream.
        let result = match stream {
            0 => on_stream(device),
            _ => device
                .with_own_stream()
                .map_err(E::from)
                .and_then(|device| on_stream(&device)),
        };
        if let Err(error) = result {
            lock(&progress).failed.get_or_insert(error);
        }
    };
    Backend::on_own_threads(STREAMS.min(count), on_thread);
    let progress = progress
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    progress.failed.map_or(Ok(()), Err)
}

/// The batches that have begun, and those that wait for an earlier one.
struct Progress<B, E, T> {
    count: usize,
    next: usize,
    taken: usize,
    finished: BTreeMap<usize, B>,
    take: T,
    failed: Option<E>,
}

impl<B, E, T: FnMut(B) -> Result<(), E>> Progress<B, E, T> {
    fn next(&mut self) -> Option<usize> {
        let number = self.next;
        let goes_on = number < self.count && self.failed.is_none();
        self.next += usize::from(goes_on);
        goes_on.then_some(number)
    }

    fn finish(&mut self, number: usize, batch: B) -> Result<(), E> {
        self.finished.insert(number, batch);
        while let Some(batch) = self.finished.remove(&self.taken) {
            (self.take)(batch)?;
            self.taken += 1;
        }
        Ok(())
    }
}

fn lock<T>(progress: &Mutex<T>) -> MutexGuard<'_, T> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
