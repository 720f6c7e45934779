//! Work divided among the threads of the installed pool, for modules that have no threads of their own.

use rayon::prelude::*;
use std::ops::Range;

/// The values of a function at 0, 1, … in this order.
pub fn collected<T: Send>(count: usize, value: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    (0..count).into_par_iter().map(value).collect()
}

/// The results of work on consecutive ranges of at most `size` items, in their order.
pub fn in_parts<T: Send>(
    count: usize,
    size: usize,
    work: impl Fn(Range<usize>) -> T + Send + Sync,
) -> Vec<T> {
    let part = |part: usize| work(part * size..count.min((part + 1) * size));
    collected(count.div_ceil(size), part)
}

/// Calls `work` with each item.
pub fn each<T: Send>(items: Vec<T>, work: impl Fn(T) + Send + Sync) {
    items.into_par_iter().for_each(work);
}

/// Calls `work` with each part of `size` values, and its number; the last part may have fewer values.
pub fn fill<T: Send>(values: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Send + Sync) {
    let parts = values.par_chunks_mut(size).enumerate();
    parts.for_each(|(number, part)| work(number, part));
}

/// Threads for work that must not wait for solvers, such as the preparation of a picture.
#[derive(Debug)]
pub struct Threads(Option<rayon::ThreadPool>);

impl Threads {
    /// One thread for each core. If the operating system refuses them, the common threads do the work.
    pub fn new(name: &'static str) -> Self {
        let threads = rayon::ThreadPoolBuilder::new().thread_name(move |i| format!("{name}-{i}"));
        Self(threads.build().ok())
    }

    /// Their number.
    pub fn count(&self) -> usize {
        match &self.0 {
            Some(pool) => pool.current_num_threads(),
            None => rayon::current_num_threads(),
        }
    }

    /// Installs them for `work`, and waits for it.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
