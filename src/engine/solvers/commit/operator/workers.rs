//! Threads that add to private sums.

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sums kept between calls, one vector per thread.
#[derive(Debug, Default)]
pub struct Sums(Mutex<Vec<Vec<f32>>>);

/// Calls `work(piece, own slice, sums, scratch)` for each slice of `own` (pieces of `width`, of which the last may be
/// shorter; always `count` pieces, even if they are empty), and adds all sums to `total`.
pub fn run_pieces<S: Default>(
    kept: &Sums,
    total: &mut [f32],
    own: &mut [f32],
    width: usize,
    count: usize,
    work: impl Fn(usize, &mut [f32], &mut [f32], &mut S) + Sync,
) {
    let threads = rayon::current_num_threads().min(count.max(1));
    let mut sums = std::mem::take(&mut *kept.0.lock().unwrap_or_else(PoisonError::into_inner));
    sums.resize_with(threads, Vec::new);
    let next = AtomicUsize::new(0);
    let mut slices: Vec<Option<&mut [f32]>> = Vec::with_capacity(count);
    let mut rest = own;
    for _ in 0..count {
        let (first, others) = rest.split_at_mut(width.min(rest.len()));
        slices.push(Some(first));
        rest = others;
    }
    let slices: Vec<Mutex<Option<&mut [f32]>>> = slices.into_iter().map(Mutex::new).collect();
    sums.par_iter_mut().with_max_len(1).for_each(|sum| {
        sum.clear();
        sum.resize(total.len(), 0.0);
        let mut scratch = S::default();
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            let Some(slice) = slices.get(piece) else {
                return;
            };
            let taken = slice.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(own) = taken {
                work(piece, own, sum, &mut scratch);
            }
        }
    });
    const STRIP: usize = 1 << 14;
    let strips = total.par_chunks_mut(STRIP).enumerate();
    strips.for_each(|(i, strip)| {
        let range = i * STRIP..i * STRIP + strip.len();
        strip.copy_from_slice(&sums[0][range.clone()]);
        for other in &sums[1..] {
            for (to, from) in strip.iter_mut().zip(&other[range.clone()]) {
                *to += from;
            }
        }
    });
    *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = sums;
}
