//! Checks whether results fit in the host's memory while they arrive.

use super::collect::{CurvePart, JoinedCurves};
use super::error::InputError;
use crate::compute::{Cancelled, Control};
use crate::solvers::Error;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest memory per point and per curve, bytes. The maximum occurs when the result is saved: its points with FA,
/// plus those of the file that is read back for comparison, in a vector that grows by doubling.
const BYTES_PER_POINT: u64 = 12 + 4 + 3 * 12;
const BYTES_PER_LINE: u64 = 150;

/// Number of parts from which the total is predicted, and the largest share of the work that they may be.
const SAMPLES: usize = 16;
pub const SAMPLE_SHARE: usize = 32;

pub struct MemoryBudget<'a> {
    /// "streamlines" or "rays", and the number of their seeds.
    curves: &'static str,
    seeds: usize,
    /// Bytes that curves may take, and bytes taken so far.
    memory: Option<u64>,
    taken: AtomicU64,
    /// Seeds whose curves are included.
    done: AtomicU64,
    control: &'a Control,
}

impl<'a> MemoryBudget<'a> {
    /// A budget for curves of this many seeds, in this many bytes if there is a limit.
    pub fn new(
        curves: &'static str,
        seeds: usize,
        memory: Option<u64>,
        control: &'a Control,
    ) -> Self {
        Self {
            curves,
            seeds,
            memory,
            taken: AtomicU64::new(0),
            done: AtomicU64::new(0),
            control,
        }
    }

    /// Whether there is a limit that the curves of all seeds would exceed with this many points each.
    pub fn may_be_exceeded(&self, points: u64) -> bool {
        let each = points
            .saturating_mul(BYTES_PER_POINT)
            .saturating_add(BYTES_PER_LINE);
        self.memory.is_some() && each.saturating_mul(self.seeds as u64) > self.memory()
    }

    /// Returns an error if a sample of this many equal parts predicts that the result will not fit: `part` computes
    /// one of them and returns the bytes it takes. Seeds have at most `points` points each. Runs on the threads of
    /// the caller's pool.
    pub fn predict_memory(
        &self,
        points: u64,
        parts: usize,
        part: impl Fn(usize) -> Result<u64, Cancelled> + Sync,
    ) -> Result<(), Error> {
        if !self.may_be_exceeded(points) || parts < SAMPLES * SAMPLE_SHARE {
            return Ok(());
        }
        let sample = (0..SAMPLES)
            .into_par_iter()
            .map(|i| part(i * parts / SAMPLES));
        let sample: Vec<u64> = sample.collect::<Result<_, Cancelled>>()?;
        let share = SAMPLES as f64 / parts as f64;
        self.check_memory(sample.iter().sum::<u64>() as f64 / share)
    }

    fn memory(&self) -> u64 {
        self.memory.unwrap_or(u64::MAX)
    }

    /// Returns an error if a predicted size does not fit.
    pub fn check_memory(&self, bytes: f64) -> Result<(), Error> {
        if bytes <= self.memory() as f64 {
            return Ok(());
        }
        let error = InputError::Memory {
            curves: self.curves,
            seeds: self.seeds,
            bytes: bytes as u64,
            free_bytes: self.memory(),
        };
        Err(error.into())
    }

    /// Counts the curves of this many more seeds and `steps` of progress; returns an error if they do not fit.
    pub fn count<'b>(
        &self,
        seeds: u64,
        steps: u64,
        joined: impl IntoIterator<Item = &'b JoinedCurves>,
    ) -> Result<(), Error> {
        let done = self.done.fetch_add(seeds, Ordering::Relaxed) + seeds;
        let more = joined.into_iter().map(taken).sum();
        if self.taken.fetch_add(more, Ordering::Relaxed) + more > self.memory() {
            return Err(self.full(done));
        }
        self.control.advance(steps);
        Ok(())
    }

    /// Returns an error if the points of this many more seeds would not fit in addition to what has been taken.
    pub fn check_points(&self, seeds: u64, points: u64) -> Result<(), Error> {
        let taken = self.taken.load(Ordering::Relaxed) + points * BYTES_PER_POINT;
        if taken > self.memory() {
            return Err(self.full(self.done.load(Ordering::Relaxed) + seeds));
        }
        Ok(())
    }

    fn full(&self, done: u64) -> Error {
        let error = InputError::FullMemory {
            curves: self.curves,
            done,
            seeds: self.seeds,
            free_bytes: self.memory(),
        };
        error.into()
    }
}

/// Memory that a part's curves take in the end, bytes.
pub fn taken(joined: &JoinedCurves) -> u64 {
    let bytes = |lines: &CurvePart| {
        lines.total_points() * BYTES_PER_POINT + lines.count() as u64 * BYTES_PER_LINE
    };
    bytes(&joined.kept) + bytes(&joined.missed)
}
