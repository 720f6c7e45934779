//! Many streamlines on all threads: all seeds, or as many as give the requested number.

use super::follow::Tracker;
use crate::compute::{Cancelled, Control};
use crate::solvers::Error;
use crate::solvers::curves::collect::JoinedCurves;
use crate::solvers::curves::memory_budget::MemoryBudget;
use rayon::prelude::*;
use std::ops::Range;

/// Streamlines of a part, which one thread tracks: some ms. The result does not depend on it.
const PART: u64 = 16;
/// Parts for each thread between two counts of the streamlines that are kept.
const PARTS_PER_THREAD: usize = 8;

pub struct Run<'a> {
    pub tracker: Tracker<'a>,
    pub control: &'a Control,
    pub memory: MemoryBudget<'a>,
}

impl Run<'_> {
    /// Streamlines with these numbers, up to and including the one that is the `most`-th kept.
    fn part(&self, ids: Range<u64>, max_kept: Option<u64>) -> Result<JoinedCurves, Cancelled> {
        let mut joined = JoinedCurves::new(self.tracker.conditions.gates);
        for id in ids {
            self.control.check()?;
            self.tracker.add_streamline(id, &mut joined);
            if max_kept.is_some_and(|max_kept| joined.kept.count() as u64 >= max_kept) {
                break;
            }
        }
        joined.kept.points.shrink_to_fit();
        joined.missed.points.shrink_to_fit();
        Ok(joined)
    }

    /// All streamlines. Needs the backend's threads installed.
    pub fn all(&self, count: u64) -> Result<Vec<JoinedCurves>, Error> {
        self.control.begin("Tracking", count);
        let parts = (0..count.div_ceil(PART)).into_par_iter();
        parts
            .map(|i| {
                let ids = i * PART..count.min((i + 1) * PART);
                let seeds = ids.end - ids.start;
                let joined = self.part(ids, None)?;
                self.memory.count(seeds, seeds, [&joined])?;
                Ok(joined)
            })
            .collect()
    }

    /// The first `requested` streamlines that are kept, by their numbers, of at most `limit`; the counts are those of the
    /// streamlines up to the last one. Needs the backend's threads installed.
    pub fn select(&self, requested: u64, limit: u64) -> Result<JoinedCurves, Error> {
        self.control.begin("Tracking", requested);
        let parts_per_wave = (PARTS_PER_THREAD * rayon::current_num_threads()) as u64;
        let (mut first, mut kept) = (0, 0);
        let mut all = JoinedCurves::new(self.tracker.conditions.gates);
        while first < limit && kept < requested {
            let end = limit.min(first + parts_per_wave * PART);
            let range = |i: u64| {
                let begin = first + i * PART;
                begin..end.min(begin + PART)
            };
            let parts = (0..(end - first).div_ceil(PART)).into_par_iter();
            let tracked: Vec<JoinedCurves> = parts
                .map(|i| self.part(range(i), None))
                .collect::<Result<_, Cancelled>>()?;
            let mut wave = Vec::with_capacity(tracked.len());
            for (i, joined) in tracked.into_iter().enumerate() {
                let ids = range(i as u64);
                let (added, seeds) = (joined.kept.count() as u64, ids.end - ids.start);
                let is_last = kept + added >= requested;
                // Its seeds after the last one are not counted, whatever the threads have tracked.
                let (joined, counted) = match is_last {
                    true => (self.part(ids, Some(requested - kept))?, requested - kept),
                    false => (joined, added),
                };
                self.memory.count(seeds, counted, [&joined])?;
                wave.push(joined);
                kept += added;
                if is_last {
                    break;
                }
            }
            all.append(wave, None)?;
            first = end;
        }
        Ok(all)
    }
}
