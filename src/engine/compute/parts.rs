//! Work divided among the threads of the installed pool, for modules that launch kernels and have no threads of their own.

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
