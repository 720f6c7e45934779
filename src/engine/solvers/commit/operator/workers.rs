//! Threads that add to private sums, the same bits whichever thread adds what and when.
//!
//! Addition in floating point depends on its order. Here each value is first rounded to a multiple of one quantum,
//! small enough to lose nothing that single precision could hold, and large enough that double precision holds every
//! sum: such additions are exact, and exact additions commute.

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sums kept between calls, one vector per thread.
#[derive(Debug, Default)]
pub struct Sums(Mutex<Vec<Vec<f64>>>);

/// Exact sums of rounded values.
pub struct ExactSums<'a> {
    sums: &'a mut [f64],
    /// Values added to this number and subtracted from it lose what is below the quantum.
    rounding: f64,
}

impl ExactSums<'_> {
    #[inline(always)]
    pub fn add(&mut self, at: usize, value: f64) {
        self.sums[at] += (value + self.rounding) - self.rounding;
    }
}

/// The number that rounds values whose magnitudes sum to at most `bound`. The quantum, its last digit, is at least
/// 2⁻⁵¹ of the bound, so that double precision holds every sum.
fn rounding(bound: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    12.0 * f64::from_bits(bound.to_bits() & EXPONENT)
}

/// The sum of the parts, in their order.
pub fn in_order(parts: &[[f64; 2]]) -> [f64; 2] {
    std::array::from_fn(|n| parts.iter().map(|part| part[n]).sum())
}

/// Calls `work(piece, own slice, sums, scratch)` for each slice of `own` (pieces of `width`, of which the last may be
/// shorter; always `count` pieces, even if they are empty), and writes the sums to `total`. The magnitudes of the values
/// of each sum add up to at most `bound`.
pub fn run_pieces<S: Default>(
    kept: &Sums,
    bound: f64,
    total: &mut [f32],
    own: &mut [f32],
    width: usize,
    count: usize,
    work: impl Fn(usize, &mut [f32], &mut ExactSums, &mut S) + Sync,
) {
    let rounding = rounding(bound);
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
        let mut sums = ExactSums {
            sums: sum.as_mut_slice(),
            rounding,
        };
        let mut scratch = S::default();
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            let Some(slice) = slices.get(piece) else {
                return;
            };
            let taken = slice.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(own) = taken {
                work(piece, own, &mut sums, &mut scratch);
            }
        }
    });
    const STRIP: usize = 1 << 13;
    if let [first, others @ ..] = sums.as_mut_slice() {
        let strips = first.par_chunks_mut(STRIP).zip(total.par_chunks_mut(STRIP));
        strips.enumerate().for_each(|(i, (strip, total))| {
            for other in others.iter() {
                let own = &other[i * STRIP..i * STRIP + strip.len()];
                strip.iter_mut().zip(own).for_each(|(to, from)| *to += from);
            }
            total
                .iter_mut()
                .zip(strip)
                .for_each(|(to, from)| *to = *from as f32);
        });
    }
    *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = sums;
}
