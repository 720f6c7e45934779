//! How far measurement noise alone moves streamlines: where the repetitions of a bootstrap pass, and the centre line of
//! each.
//!
//! *Share.* A repetition passes a voxel if at least one of its streamlines crosses it, by the exact traversal of density
//! maps ([`Walk`]). A repetition without streamlines passes no voxel and counts like the others.
//!
//! *Centre line.* The most central streamline of a repetition: the one with the least mean distance to the others, where
//! the distance of two streamlines is the mean distance of 12 corresponding points, equally spaced along their lengths, in
//! the better of the two directions (minimum average direct-flip distance, Garyfallidis et al. 2012, Front Neurosci 6:175,
//! eq. 1). Of equal ones the first is taken. Of more than [`SAMPLE`] streamlines as many are compared, equally spaced in
//! their order, which spreads them over the seeds. The middle line is the centre line nearest to the others.
//!
//! *Cost.* One traversal of all streamlines, and at most [`SAMPLE`]² / 2 distances for each repetition. Nothing depends on
//! the number of threads.
//!
//! # Example
//!
//! Two repetitions: three lines side by side, and one line:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::tractogram::REPETITION;
//! use arcuate_engine::data::{Grid, Tractogram};
//! use arcuate_engine::solvers::tractogram::repetitions::RepeatedStreamlines;
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([5, 4, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let rows = [0.0f32, 1.0, 2.0, 1.0];
//! let points: Vec<[f32; 3]> = rows.iter().flat_map(|y| [[0.0, *y, 0.0], [4.0, *y, 0.0]]).collect();
//! let lines = Tractogram::new(points, vec![0, 2, 4, 6, 8]);
//! let lines = lines.with_per_streamline(REPETITION, vec![0.0, 0.0, 0.0, 1.0]);
//! let repeated = RepeatedStreamlines::new(&lines, 2, &Arc::new(grid), &backend, &control)?;
//! assert_eq!(repeated.centres, [Some(1), Some(3)]);
//! assert_eq!(repeated.share().nearest(0, DVec3::new(2.0, 1.0, 0.0)), Some(1.0));
//! assert_eq!(repeated.share().nearest(0, DVec3::new(2.0, 2.0, 0.0)), Some(0.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::error::InputError;
use super::profile::{COARSE, resampled};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::tractogram::REPETITION;
use crate::data::{Grid, Mask, Tractogram, Volume};
use crate::solvers::Error;
use crate::solvers::density::Walk;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most streamlines of a repetition that are compared with each other.
pub const SAMPLE: usize = 200;
/// Pieces of work for each thread, so that all threads end at about the same time.
const PIECES: usize = 4;
/// A voxel that no repetition of this piece of work has passed.
const NOT_PASSED: u32 = u32::MAX;

/// The streamlines of a bootstrap by their repetitions, which are numbered from 0.
#[derive(Clone, Debug)]
pub struct RepeatedStreamlines {
    /// The voxels that the counts belong to.
    pub grid: Arc<Grid>,
    /// Number of streamlines of each repetition.
    pub counts: Vec<u32>,
    /// By voxel: repetitions with a streamline through it.
    pub visits: Vec<u32>,
    /// The index of the centre line of each repetition; `None`: it has no streamline with a length.
    pub centres: Vec<Option<usize>>,
    /// The index of the middle line, one of the centre lines.
    pub middle: Option<usize>,
    /// The distance of each other centre line from the middle one, mm, in the order of the repetitions that have one.
    pub offsets_mm: Vec<f64>,
}

/// A streamline at a few points, world mm.
type Coarse = [DVec3; COARSE];

impl RepeatedStreamlines {
    /// Counts the streamlines of a bootstrap of so many repetitions on a grid. Fails if the streamlines do not state their
    /// repetitions ([`REPETITION`]), or one beyond the last.
    pub fn new(
        kept: &Tractogram,
        repetitions: usize,
        grid: &Arc<Grid>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let members = by_repetition(kept, repetitions)?;
        control.check()?;
        let pieces = PIECES * backend.threads();
        memory::claim_for::<u32>(
            "The share of repetitions",
            grid.voxel_count(),
            2 + backend.threads(),
        )?;
        control.begin("Repetitions", 2 * repetitions as u64);
        let (visits, centres) = backend.install(|| {
            let visits = visits(kept, &members, grid, pieces, control)?;
            let centres = members.par_iter().map(|streamlines| {
                control.check()?;
                let centre = most_central(kept, streamlines);
                control.advance(1);
                Ok(centre)
            });
            Ok::<_, Cancelled>((visits, centres.collect::<Result<Vec<_>, Cancelled>>()?))
        })?;
        let centre_lines: Vec<usize> = centres.iter().flatten().copied().collect();
        let middle = backend.install(|| most_central(kept, &centre_lines));
        let middle_points = middle.and_then(|line| coarse(kept, line));
        let offset = |line: &usize| Some(distance(&middle_points?, &coarse(kept, *line)?));
        let others = centre_lines.iter().filter(|line| Some(**line) != middle);
        Ok(Self {
            grid: grid.clone(),
            counts: members
                .iter()
                .map(|streamlines| streamlines.len() as u32)
                .collect(),
            visits,
            offsets_mm: others.filter_map(offset).collect(),
            centres,
            middle,
        })
    }

    /// The number of repetitions.
    pub fn repetitions(&self) -> usize {
        self.counts.len()
    }

    /// Repetitions without any streamline.
    pub fn without_streamlines(&self) -> usize {
        self.counts.iter().filter(|count| **count == 0).count()
    }

    /// The share of the repetitions that pass each voxel, 0 to 1.
    pub fn share(&self) -> Volume {
        let all = self.repetitions().max(1) as f32;
        let shares = self.visits.iter().map(|visits| *visits as f32 / all);
        Volume::scalar(self.grid.clone(), shares.collect::<Vec<f32>>())
    }

    /// The voxels that at least this share of the repetitions passes.
    pub fn mask(&self, share: f64) -> Mask {
        let least = (share * self.repetitions() as f64).ceil().max(1.0);
        let passes = |visits: &u32| u8::from(f64::from(*visits) >= least);
        let inside: Vec<u8> = self.visits.iter().map(passes).collect();
        Mask::new(self.grid.clone(), inside)
    }
}

/// The indices of the streamlines of each repetition.
fn by_repetition(kept: &Tractogram, repetitions: usize) -> Result<Vec<Vec<usize>>, Error> {
    let mut members = vec![Vec::new(); repetitions];
    if kept.is_empty() {
        return Ok(members);
    }
    let numbers = kept.per_streamline.get(REPETITION);
    let numbers = numbers.ok_or(InputError::NoRepetitions)?;
    for (streamline, number) in numbers.iter().enumerate() {
        let is_whole = *number >= 0.0 && number.fract() == 0.0;
        let repetition = members.get_mut(*number as usize).filter(|_| is_whole);
        let repetition = repetition.ok_or(InputError::OtherRepetition {
            repetition: *number,
            repetitions,
        })?;
        repetition.push(streamline);
    }
    Ok(members)
}

/// By voxel, the repetitions with a streamline through it. The sums are whole numbers, which no order changes.
fn visits(
    kept: &Tractogram,
    members: &[Vec<usize>],
    grid: &Arc<Grid>,
    pieces: usize,
    control: &Control,
) -> Result<Vec<u32>, Cancelled> {
    let visits: Vec<AtomicU32> = (0..grid.voxel_count()).map(|_| AtomicU32::new(0)).collect();
    let repetitions = members.len().div_ceil(pieces).max(1);
    members.par_chunks(repetitions).try_for_each(|piece| {
        let mut walk = Walk::new(grid);
        // The last repetition that passed each voxel.
        let mut last = vec![NOT_PASSED; grid.voxel_count()];
        for (number, streamlines) in (0..).zip(piece) {
            control.check()?;
            for streamline in streamlines {
                walk.line(kept.streamline(*streamline), |voxel| {
                    if last[voxel] != number {
                        last[voxel] = number;
                        visits[voxel].fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            control.advance(1);
        }
        Ok(())
    })?;
    Ok(visits.into_iter().map(AtomicU32::into_inner).collect())
}

/// A streamline at a few points; `None` if it has no length or a point that is not finite.
fn coarse(kept: &Tractogram, streamline: usize) -> Option<Coarse> {
    let places = resampled(kept.streamline(streamline), COARSE)?;
    Some(std::array::from_fn(|i| places.points[i]))
}

/// Minimum average direct-flip distance, mm.
fn distance(a: &Coarse, b: &Coarse) -> f64 {
    let mean = |other: &dyn Fn(usize) -> DVec3| {
        let distances = (0..COARSE).map(|i| a[i].distance(other(i)));
        distances.sum::<f64>() / COARSE as f64
    };
    let (direct, flipped) = (mean(&|i| b[i]), mean(&|i| b[COARSE - 1 - i]));
    direct.min(flipped)
}

/// The streamline with the least mean distance to the others; `None` if none has a length.
fn most_central(kept: &Tractogram, streamlines: &[usize]) -> Option<usize> {
    let sampled = streamlines.len().min(SAMPLE);
    let sample = (0..sampled).map(|i| streamlines[i * streamlines.len() / sampled]);
    let sample: Vec<(usize, Coarse)> = sample
        .filter_map(|streamline| Some((streamline, coarse(kept, streamline)?)))
        .collect();
    let mut sums = vec![0.0; sample.len()];
    for (i, (_, a)) in sample.iter().enumerate() {
        for (j, (_, b)) in sample.iter().enumerate().skip(i + 1) {
            let mm = distance(a, b);
            sums[i] += mm;
            sums[j] += mm;
        }
    }
    let sums = sample.iter().zip(&sums);
    let least = sums.min_by(|(_, a), (_, b)| f64::total_cmp(a, b));
    least.map(|((streamline, _), _)| *streamline)
}
