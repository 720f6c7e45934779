//! Streamline files that stay on the disk: of TRX and TCK that are not compressed, any streamline can be read alone.
//!
//! In memory are only the numbers of points of all streamlines, eight bytes each. For a TCK they come from its index
//! (`tck/index.rs`). [`InPlace::sample`] reads streamlines for a picture: more and more of them, until a number of points
//! is reached.
//!
//! # Example
//!
//! Two streamlines of a file, and a sample of all:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::Tractogram;
//! use arcuate_engine::io::pieces::{InPlace, SampleLimits};
//! use arcuate_engine::io::{Reading, streamlines};
//!
//! let control = Control::new();
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("lines.trx");
//! let lines = Tractogram::of_curves((0..100).map(|i| [[0.0, i as f32, 0.0], [9.0, i as f32, 0.0]]));
//! streamlines::save(&path, &lines, "an example", &control)?;
//! let file = InPlace::open(&path, &Reading::default(), &control)?.ok_or("a file that stays on the disk")?;
//! assert_eq!((file.len(), file.point_count()), (100, 200));
//! assert_eq!(file.read(3..5, &control)?.streamline(1), lines.streamline(4));
//! // So few streamlines are all drawn.
//! let limits = SampleLimits { points: 1000, tolerance_mm: 0.1, view: None };
//! let sample = file.sample(&limits, None, &control, |_| {})?;
//! assert!(sample.is_complete && sample.tractogram.len() == 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod sampling;

use sampling::Batch;
pub use sampling::Sampling;

use super::{Layout, Pieces, misnamed};
use crate::compute::{Control, memory};
use crate::data::level_of_detail::Thinning;
use crate::data::tractogram::length_mm;
use crate::data::{DataId, Shared, Tractogram};
use crate::io::affine;
use crate::io::file_bytes::RangeReader;
use crate::io::numbers::Type;
use crate::io::source::READING;
use crate::io::tck::Index;
use crate::io::{Error, FibreInfo, Format, Reading, detect, disk, scalars};
use glam::{DAffine3, DMat4, DVec3, Vec3};
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The order in which streamlines are drawn follows from this number; every file has the same one, so that a picture
/// can be repeated.
const SEED: u64 = 1;
/// Streamlines of the first level of a sample.
const FIRST: usize = 2048;
/// Streamlines that a thread reads at a time.
const AT_ONCE: usize = 256;
/// Points of streamlines that are read at a time to compute values along them.
const POINTS_IN_BATCH: usize = 1 << 20;
/// A level may exceed the limit of points by this share: the number is estimated from the level before.
const EXCESS: f64 = 1.25;
/// Points of the file that are read for one picture, so that a view with few streamlines does not read all of a file.
const MAX_READ_POINTS: usize = 250_000_000;
/// Names the work in a message about memory.
const SAMPLING: &str = "Drawing the streamlines";

/// A file of which any streamline can be read alone.
pub struct InPlace {
    id: DataId,
    values_id: DataId,
    pieces: Arc<Pieces>,
    place: PointsPlace,
    offsets: Arc<[u64]>,
    info: FibreInfo,
    without_points: OnceLock<Tractogram>,
}

/// The place of the points in a file.
#[derive(Clone)]
struct PointsPlace {
    path: PathBuf,
    /// Offset of the first number.
    start: u64,
    number: Type,
    big_endian: bool,
    /// Whether a mark of the size of a point follows every streamline.
    is_marked: bool,
}

/// The extent and the detail of a sample of streamlines.
#[derive(Clone, PartialEq, Debug)]
pub struct SampleLimits {
    /// Number of points, all levels together.
    pub points: usize,
    /// Largest distance of a removed point from the drawn curve, mm.
    pub tolerance_mm: f32,
    /// Only streamlines with a point in this part of the world.
    pub view: Option<ViewPart>,
}

/// The part of the world that a view shows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ViewPart {
    /// From the world to the view's clip space, whose x and y reach from -w to w.
    pub clip_from_world: DMat4,
}

impl ViewPart {
    fn contains(&self, point: [f32; 3]) -> bool {
        let world = Vec3::from(point).as_dvec3();
        let clip = self.clip_from_world * world.extend(1.0);
        clip.w > 0.0 && clip.x.abs() <= clip.w && clip.y.abs() <= clip.w
    }
}

/// Some streamlines of a file, for a picture.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The streamlines with fewer points, and their lengths before points were removed.
    pub tractogram: Tractogram,
    /// Their numbers in the file.
    pub numbers: Arc<[u64]>,
    /// One of every 2ᵏ streamlines of the file was considered.
    pub level: u32,
    /// Whether these are all streamlines of the file that the view may show.
    pub is_complete: bool,
}

impl fmt::Debug for InPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, points) = (self.len(), self.point_count());
        write!(f, "InPlace of {count} streamlines, {points} points")
    }
}

impl InPlace {
    /// Whether the name and the first bytes of a path say that its streamlines can stay on the disk.
    pub fn can_open(path: &Path) -> bool {
        match detect(path) {
            Ok(Format::Trx) => true,
            Ok(Format::Tck) => !scalars::has_companion_values(path),
            _ => false,
        }
    }

    /// Opens a file. `None` if its streamlines cannot be read one by one: it is compressed, has values in files beside
    /// it, is of another format, or is warped. The user's statements about the file apply as in
    /// [`open_with_reading`](crate::io::open_with_reading).
    pub fn open(path: &Path, reported: &Reading, control: &Control) -> Result<Option<Self>, Error> {
        // A warp moves all points, which must be in memory for that.
        if !Self::can_open(path) || reported.warp.is_some() {
            return Ok(None);
        }
        let pieces = Pieces::open(path, reported, control)?;
        let explained = |e| misnamed(path, pieces.format, e);
        let (place, offsets, info) = match &pieces.layout {
            Layout::Trx(layout) => {
                let Some((path, start, number)) = layout.points_place() else {
                    return Ok(None);
                };
                let place = PointsPlace {
                    path,
                    start,
                    number,
                    big_endian: false,
                    is_marked: false,
                };
                (place, layout.offsets(), layout.info(&[]))
            }
            Layout::Tck => {
                let Some(index) = Index::open(path, control).map_err(explained)? else {
                    return Ok(None);
                };
                let (number, big_endian) = index.numbers.form();
                let place = PointsPlace {
                    path: path.to_owned(),
                    start: index.start,
                    number,
                    big_endian,
                    is_marked: true,
                };
                (place, index.offsets, index.info)
            }
            Layout::Trk | Layout::Whole(_) => return Ok(None),
        };
        let mut info = info;
        if let Some(by) = pieces.affine {
            info.warnings.extend(affine::mirror_warning(by));
        }
        let points = offsets.last().map_or(0, |end| *end as usize);
        let _ = pieces.counts.set((offsets.len() - 1, points));
        let id = DataId::fresh();
        let file = Self {
            id,
            values_id: id,
            pieces: Arc::new(pieces),
            place,
            offsets,
            info,
            without_points: OnceLock::new(),
        };
        file.check_unchanged()?;
        Ok(Some(file))
    }

    /// Identity of the points, for caches.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Identity of the points together with the values, for caches of what depends on both.
    pub fn values_id(&self) -> DataId {
        self.values_id
    }

    /// Gives each streamline a further value ([`Pieces::with_values`]). Panics if there are not as many values as
    /// streamlines.
    pub fn with_values(&self, name: &str, values: Shared<f32>) -> Self {
        assert_eq!(values.len(), self.len(), "one value per streamline");
        let lines = self.without_points().clone().with_new_id();
        let lines = lines.with_per_streamline(name, values.clone());
        Self {
            id: self.id,
            values_id: lines.id(),
            pieces: Arc::new(self.pieces.with_values(name, values)),
            place: self.place.clone(),
            offsets: self.offsets.clone(),
            info: self.info.clone(),
            without_points: OnceLock::from(lines),
        }
    }

    /// All streamlines without their points: their number, their groups, and the values that were added to those of the
    /// file.
    pub fn without_points(&self) -> &Tractogram {
        self.without_points.get_or_init(|| {
            let empty = self.pieces.empty();
            let mut lines = Tractogram::empty();
            // No streamline has a point. Eight bytes for each of twenty million would be 160 MB if they were written.
            lines.offsets = memory::zeroed(self.len() + 1);
            lines.groups = self.pieces.groups();
            lines.timestamp.clone_from(&empty.timestamp);
            lines.grid.clone_from(&empty.grid);
            lines
        })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.pieces.path()
    }

    /// The file as it is read in passes.
    pub fn pieces(&self) -> &Arc<Pieces> {
        &self.pieces
    }

    /// Remarks about the file.
    pub fn info(&self) -> &FibreInfo {
        &self.info
    }

    /// Number of streamlines.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no streamline.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of points of all streamlines.
    pub fn point_count(&self) -> usize {
        self.offsets.last().map_or(0, |end| *end as usize)
    }

    /// Bytes of a file, or of all files of a folder.
    pub fn stored_bytes(path: &Path) -> u64 {
        if !path.is_dir() {
            return disk::metadata(path).map_or(0, |metadata| metadata.len());
        }
        let entries = disk::list(path).into_iter().flatten();
        let bytes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
        bytes.sum()
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        self.pieces
            .check_unchanged((self.len(), self.point_count()))
    }

    /// The points of some consecutive streamlines, world mm, without values. Panics if there are fewer streamlines.
    pub fn read(&self, range: Range<usize>, control: &Control) -> Result<Tractogram, Error> {
        self.check_unchanged()?;
        let before = self.offsets[range.start];
        let ends = self.offsets[range.start..=range.end].iter();
        let offsets: Vec<u64> = ends.map(|end| end - before).collect();
        let count = offsets.last().map_or(0, |end| *end as usize);
        let claimed = memory::claim_for::<[f32; 3]>(READING, count, 1);
        claimed.map_err(|e| Error::memory(self.path(), e))?;
        let mut points = vec![[0f32; 3]; count];
        let mut reader = self.reader()?;
        // Without marks, the points of all of them are adjacent.
        let runs: Vec<Range<usize>> = match self.place.is_marked {
            true => range.map(|i| i..i + 1).collect(),
            false => vec![range],
        };
        let mut rest = points.as_mut_slice();
        for run in runs {
            control.check()?;
            let own = (self.offsets[run.end] - self.offsets[run.start]) as usize;
            let (points, others) = rest.split_at_mut(own);
            self.fill(&mut reader, run.start, points)?;
            rest = others;
        }
        self.check_unchanged()?;
        Ok(Tractogram::new(points, offsets))
    }

    /// Some streamlines in this order, world mm, with the values of this name if there are any. Panics if a number is
    /// not that of a streamline.
    pub fn read_some(
        &self,
        numbers: &[u64],
        value: Option<&str>,
        control: &Control,
    ) -> Result<Tractogram, Error> {
        self.check_unchanged()?;
        let mut offsets = vec![0u64];
        let mut count = 0;
        for &number in numbers {
            count += self.points_of(number);
            offsets.push(count as u64);
        }
        let claimed = memory::claim_for::<[f32; 3]>(READING, count, 2);
        claimed.map_err(|e| Error::memory(self.path(), e))?;
        let mut points = vec![[0f32; 3]; count];
        let mut reader = self.reader()?;
        let mut rest = points.as_mut_slice();
        for (i, &number) in numbers.iter().enumerate() {
            if i.is_multiple_of(AT_ONCE) {
                control.check()?;
                let next = numbers[i..].iter().take(AT_ONCE);
                reader.expect(next.map(|number| self.bytes_of(*number as usize)));
            }
            let (own, others) = rest.split_at_mut(self.points_of(number));
            self.fill(&mut reader, number as usize, own)?;
            rest = others;
        }
        let lines = Tractogram::new(points, offsets);
        if let Some((name, added)) = value.and_then(|name| Some((name, self.pieces.added(name)?))) {
            let own: Vec<f32> = numbers.iter().map(|i| added[*i as usize]).collect();
            self.check_unchanged()?;
            return Ok(lines.with_per_streamline(name, own));
        }
        let (Some(name), Layout::Trx(layout)) = (value, &self.pieces.layout) else {
            self.check_unchanged()?;
            return Ok(lines);
        };
        let mut values = Vec::new();
        let silent = control.silent();
        let are_of_points = layout.append_values(name, numbers, &mut values, &silent)?;
        self.check_unchanged()?;
        Ok(match are_of_points {
            None => lines,
            Some(true) => lines.with_per_point(name, values),
            Some(false) => lines.with_per_streamline(name, values),
        })
    }

    /// Number of points of a streamline.
    fn points_of(&self, streamline: u64) -> usize {
        let i = streamline as usize;
        (self.offsets[i + 1] - self.offsets[i]) as usize
    }

    /// Reads some streamlines as [`Self::read_some`] does, on all threads, and passes them to `work` in batches, each
    /// with the range of its streamlines among them. Returns the results in the order of the streamlines.
    pub fn map_some<T: Send, E: From<Error> + Send>(
        &self,
        numbers: &[u64],
        value: Option<&str>,
        control: &Control,
        work: impl Fn(Range<usize>, Tractogram) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let (mut batches, mut start, mut points) = (Vec::new(), 0, 0);
        for (i, &number) in numbers.iter().enumerate() {
            points += self.points_of(number);
            if points >= POINTS_IN_BATCH || i + 1 == numbers.len() {
                batches.push(start..i + 1);
                (start, points) = (i + 1, 0);
            }
        }
        let silent = control.silent();
        let batch = |range: Range<usize>| {
            let lines = self.read_some(&numbers[range.clone()], value, &silent)?;
            control.advance(range.len() as u64);
            work(range, lines)
        };
        batches.into_par_iter().map(batch).collect()
    }

    fn reader(&self) -> Result<RangeReader<'_>, Error> {
        RangeReader::open(&self.place.path)
    }

    /// The first byte of a streamline's points; that of the end of the points for the number of all streamlines.
    fn first_byte(&self, streamline: usize) -> u64 {
        let marks = if self.place.is_marked { streamline } else { 0 };
        self.place.start + self.bytes_per_point() * (self.offsets[streamline] + marks as u64)
    }

    /// The bytes of a streamline's points.
    fn bytes_of(&self, streamline: usize) -> Range<u64> {
        let start = self.first_byte(streamline);
        start..start + self.bytes_per_point() * self.points_of(streamline as u64) as u64
    }

    fn bytes_per_point(&self) -> u64 {
        3 * self.place.number.bytes() as u64
    }

    /// Reads points from the first one of a streamline on.
    fn fill(
        &self,
        reader: &mut RangeReader,
        streamline: usize,
        points: &mut [[f32; 3]],
    ) -> Result<(), Error> {
        let place = &self.place;
        let start = self.first_byte(streamline);
        let form = (place.number, place.big_endian);
        reader.floats(start, form, points.as_flattened_mut())?;
        if let Some(by) = self.pieces.affine {
            move_points(points, by);
        }
        Ok(())
    }

    /// Begins to read streamlines for a picture; only marked ones count, if there are `marks`.
    pub fn sampling<'a>(
        &'a self,
        limits: &'a SampleLimits,
        marks: Option<&'a [bool]>,
        control: &'a Control,
    ) -> Result<Sampling<'a>, Error> {
        self.check_unchanged()?;
        Ok(Sampling::new(self, limits, marks, control))
    }

    /// Reads streamlines for a picture, level by level ([`Levels`](crate::data::level_of_detail::Levels)): first a few of
    /// all parts of the file, then twice as many, until the next level would exceed the limit of points. `show` receives what was read so far. The result
    /// depends on the file and on these limits alone.
    pub fn sample(
        &self,
        limits: &SampleLimits,
        marks: Option<&[bool]>,
        control: &Control,
        mut show: impl FnMut(&Sample),
    ) -> Result<Sample, Error> {
        let mut sampling = self.sampling(limits, marks, control)?;
        let mut last = None;
        while let Some(sample) = sampling.next_level()? {
            if let Some(before) = last.replace(sample) {
                show(&before);
            }
        }
        Ok(last.unwrap_or_else(|| sampling.sample(0)))
    }

    /// Reads streamlines on all threads, in the order of their numbers; `None` if more than `most` points remain.
    fn read_level(
        &self,
        numbers: &[usize],
        limits: &SampleLimits,
        most: usize,
        control: &Control,
    ) -> Result<Option<Vec<Batch>>, Error> {
        let found = Mutex::new(0usize);
        let is_over = |more: usize| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            *found += more;
            *found > most
        };
        let batch = |numbers: &[usize]| -> Result<Batch, Error> {
            control.check()?;
            let mut batch = Batch::default();
            if is_over(0) {
                return Ok(batch);
            }
            let (mut reader, mut thinning) = (self.reader()?, Thinning::default());
            reader.expect(numbers.iter().map(|number| self.bytes_of(*number)));
            let mut points = Vec::new();
            for &number in numbers {
                let count = (self.offsets[number + 1] - self.offsets[number]) as usize;
                points.clear();
                points.resize(count, [0f32; 3]);
                self.fill(&mut reader, number, &mut points)?;
                let view = limits.view.as_ref();
                if view.is_some_and(|view| !points.iter().any(|p| view.contains(*p))) {
                    continue;
                }
                thinning.thin(&points, limits.tolerance_mm, &mut batch.points);
                batch.ends.push(batch.points.len() as u64);
                batch.numbers.push(number as u64);
                batch.lengths.push(length_mm(&points) as f32);
            }
            is_over(batch.points.len());
            Ok(batch)
        };
        let batches: Result<Vec<Batch>, Error> = numbers.par_chunks(AT_ONCE).map(batch).collect();
        let batches = batches?;
        Ok((!is_over(0)).then_some(batches))
    }
}

/// Moves points as [`Tractogram::moved`] does.
fn move_points(points: &mut [[f32; 3]], by: DAffine3) {
    for point in points {
        let world = DVec3::from_array(point.map(f64::from));
        *point = by.transform_point3(world).as_vec3().to_array();
    }
}
