//! A sample of the streamlines of a file, for a picture, which grows level by level.

use super::{EXCESS, FIRST, InPlace, MAX_READ_POINTS, SAMPLING, SEED, Sample, SampleLimits};
use crate::compute::{Control, memory};
use crate::data::Tractogram;
use crate::data::level_of_detail::Levels;
use crate::data::tractogram::LENGTH;
use crate::io::Error;

/// Streamlines that one thread read.
#[derive(Default)]
pub(super) struct Batch {
    pub points: Vec<[f32; 3]>,
    pub ends: Vec<u64>,
    pub numbers: Vec<u64>,
    pub lengths: Vec<f32>,
}

/// A sample that grows.
pub struct Sampling<'a> {
    file: &'a InPlace,
    limits: &'a SampleLimits,
    marks: Option<&'a [bool]>,
    control: &'a Control,
    levels: Levels,
    first: u32,
    /// The level to be read next; `None` once the limit of points is reached.
    next: Option<u32>,
    /// Points of the file that were read so far.
    read: usize,
    all: Batch,
}

impl<'a> Sampling<'a> {
    /// Begins to read streamlines; only marked ones count, if there are `marks`.
    pub(super) fn new(
        file: &'a InPlace,
        limits: &'a SampleLimits,
        marks: Option<&'a [bool]>,
        control: &'a Control,
    ) -> Self {
        let levels = Levels::new(file.len(), SEED);
        let first = levels.with_at_least(FIRST);
        control.begin("Drawing more streamlines", levels.len(0) as u64);
        Self {
            file,
            limits,
            marks,
            control,
            levels,
            first,
            next: Some(first),
            read: 0,
            all: Batch::default(),
        }
    }

    /// Reads the next level, and returns everything read so far; `None` if the sample is finished. A level that has
    /// more points than expected, or for which the memory does not suffice, is left out: the picture shows fewer
    /// streamlines.
    pub fn next_level(&mut self) -> Result<Option<Sample>, Error> {
        let Some(level) = self.next.take() else {
            return Ok(None);
        };
        let (levels, is_first) = (self.levels, level == self.first);
        let mut numbers: Vec<usize> = match is_first {
            true => (0..levels.len(level))
                .map(|i| levels.streamline(level, i))
                .collect(),
            false => levels.added(level).collect(),
        };
        let considered = numbers.len() as u64;
        let marks = self.marks;
        numbers.retain(|i| marks.is_none_or(|marks| marks.get(*i) == Some(&true)));
        let offsets = &self.file.offsets;
        let own: u64 = numbers.iter().map(|i| offsets[i + 1] - offsets[*i]).sum();
        self.read += own as usize;
        if self.read > MAX_READ_POINTS && !is_first {
            return Ok(None);
        }
        let (points, limit) = (self.all.points.len(), self.limits.points);
        let most = match is_first {
            true => usize::MAX,
            false => ((limit as f64 * EXCESS) as usize).saturating_sub(points),
        };
        let expected = (2 * points).min(limit).max(points);
        let claimed = memory::claim_for::<[f32; 3]>(SAMPLING, expected, 3);
        if claimed.is_err() && !is_first {
            return Ok(None);
        }
        claimed.map_err(|e| Error::memory(self.file.path(), e))?;
        let silent = self.control.silent();
        let batches = self.file.read_level(&numbers, self.limits, most, &silent)?;
        self.file.check_unchanged()?;
        let Some(batches) = batches else {
            return Ok(None);
        };
        batches.into_iter().for_each(|batch| self.all.append(batch));
        self.control.advance(considered);
        // The next level has about as many points as all levels before it.
        if level > 0 && 2 * self.all.points.len() <= limit {
            self.next = Some(level - 1);
        }
        Ok(Some(self.sample(level)))
    }

    pub(super) fn sample(&self, level: u32) -> Sample {
        let mut tractogram = self.all.tractogram();
        tractogram.grid = self.file.pieces.empty().grid.clone();
        Sample {
            tractogram,
            numbers: self.all.numbers.as_slice().into(),
            level,
            is_complete: level == 0,
        }
    }
}

impl Batch {
    fn append(&mut self, other: Self) {
        let before = self.points.len() as u64;
        self.points.extend(other.points);
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.numbers.extend(other.numbers);
        self.lengths.extend(other.lengths);
    }

    fn tractogram(&self) -> Tractogram {
        let offsets: Vec<u64> = std::iter::once(0)
            .chain(self.ends.iter().copied())
            .collect();
        let lines = Tractogram::new(self.points.clone(), offsets);
        lines.with_per_streamline(LENGTH, self.lengths.clone())
    }
}
