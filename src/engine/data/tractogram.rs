//! Streamlines.
//!
//! # Example
//!
//! Two streamlines of two and three points; the second one is kept:
//!
//! ```
//! use arcuate_engine::data::Tractogram;
//!
//! let points = vec![[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [0.0; 3], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]];
//! let tractogram = Tractogram::new(points, vec![0, 2, 5]);
//! assert_eq!(tractogram.len(), 2);
//! assert_eq!(tractogram.length_mm(0), 5.0);
//! let kept = tractogram.filtered(&[false, true]);
//! assert_eq!(kept.streamline(0).len(), 3);
//! ```

use super::bounding_chunks::BoundingChunks;
use super::shared_slice::{Late, LateError};
use super::{DrawnLines, Grid, Shared};
use crate::compute::DataId;
use bytemuck::Pod;
use glam::{DVec3, Vec3};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The name of the streamline value that every program can compute from the points, mm.
pub const LENGTH: &str = "length";

/// The names of the streamline values that hold the numbers of the reasons why the first and the last end stopped.
pub const STOPS: [&str; 2] = ["stop_start", "stop_end"];

/// The name of the streamline value that holds the number of the repetition of a bootstrap, from 0.
pub const REPETITION: &str = "repetition";
/// Reasons with larger numbers are not counted.
const MAX_STOP: f32 = 255.0;

/// Many streamlines: all points in one array, divided by `offsets`. Order and index never change, so that weights and
/// per-streamline values still match.
#[derive(Clone, Debug)]
pub struct Tractogram {
    id: DataId,
    /// World RAS+ mm.
    pub points: Shared<[f32; 3]>,
    /// Streamline `i` owns `points[offsets[i]..offsets[i + 1]]`; has one more entry than there are streamlines.
    pub offsets: Arc<[u64]>,
    /// Values per streamline (dps), one for each streamline.
    pub per_streamline: BTreeMap<String, Shared<f32>>,
    /// Meanings of the integers 0, 1, … in some of those values, by the values' name.
    pub codes: Arc<BTreeMap<String, Arc<[String]>>>,
    /// Values per point (dpv), one for each point.
    pub per_point: BTreeMap<String, Shared<f32>>,
    /// Streamlines that belong together, by index; a streamline may be in any number of groups.
    pub groups: BTreeMap<String, Arc<[u32]>>,
    /// Values of a group (dpg), by the names of the group and of the value.
    pub per_group: BTreeMap<String, BTreeMap<String, Shared<f32>>>,
    /// The grid of the image to which the streamlines belong, if a file states it.
    pub grid: Option<Arc<Grid>>,
    /// A TCK's own name for these streamlines, which files of their values repeat; moved or selected streamlines have
    /// none.
    pub timestamp: Option<Arc<str>>,
    /// These streamlines in the renderer's memory, if a card wrote them there.
    pub drawn: Option<Arc<DrawnLines>>,
    bounds: Arc<OnceLock<Option<(DVec3, DVec3)>>>,
    pieces: Arc<OnceLock<BoundingChunks>>,
    lengths: Arc<OnceLock<Option<(f32, f32)>>>,
    stops: Arc<OnceLock<[Vec<u64>; 2]>>,
}

impl Tractogram {
    /// Panics if the offsets do not divide the points (a broken invariant, not data).
    pub fn new(points: impl Into<Shared<[f32; 3]>>, offsets: impl Into<Arc<[u64]>>) -> Self {
        let (points, offsets) = (points.into(), offsets.into());
        assert!(offsets.first() == Some(&0), "offsets start at 0");
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets ascend");
        assert_eq!(
            offsets.last().copied(),
            Some(points.len() as u64),
            "offsets end at the points"
        );
        Self {
            id: DataId::fresh(),
            points,
            offsets,
            per_streamline: BTreeMap::new(),
            codes: Arc::default(),
            per_point: BTreeMap::new(),
            groups: BTreeMap::new(),
            per_group: BTreeMap::new(),
            grid: None,
            timestamp: None,
            drawn: None,
            bounds: Arc::default(),
            pieces: Arc::default(),
            lengths: Arc::default(),
            stops: Arc::default(),
        }
    }

    /// Curves given by their points, world mm, without values.
    pub fn of_curves<C>(curves: impl IntoIterator<Item = C>) -> Self
    where
        C: IntoIterator<Item = [f32; 3]>,
    {
        let (mut points, mut offsets) = (Vec::new(), vec![0]);
        for curve in curves {
            points.extend(curve);
            offsets.push(points.len() as u64);
        }
        Self::new(points, offsets)
    }

    /// Tractogram without streamlines and values.
    pub fn empty() -> Self {
        Self::new(Vec::new(), vec![0])
    }

    /// Adds values per streamline. Panics if their number is wrong.
    pub fn with_per_streamline(mut self, name: &str, values: impl Into<Shared<f32>>) -> Self {
        let values = values.into();
        assert_eq!(values.len(), self.len(), "one value per streamline");
        if name == LENGTH {
            self.lengths = Arc::default();
        }
        if STOPS.contains(&name) {
            self.stops = Arc::default();
        }
        self.per_streamline.insert(name.to_owned(), values);
        self
    }

    /// Sets the bounds, world mm, if they are known before the points are on the host.
    pub fn with_bounds(self, bounds: Option<(DVec3, DVec3)>) -> Self {
        // Bounds that were computed are the same.
        let _ = self.bounds.set(bounds);
        self
    }

    /// Sets the meanings of the numbers 0, 1, … in some values per streamline.
    pub fn with_codes(mut self, name: &str, text: impl Into<Arc<[String]>>) -> Self {
        Arc::make_mut(&mut self.codes).insert(name.to_owned(), text.into());
        self
    }

    /// The key to coded values per streamline: `stop_end: 0 = Reached target, 1 = …`, one line each.
    pub fn key(&self) -> Vec<String> {
        let known = self.codes.iter();
        let known = known.filter(|(name, _)| self.per_streamline.contains_key(*name));
        known
            .map(|(name, meanings)| key_line(name, meanings))
            .collect()
    }

    /// Adds values per point. Panics if their number is wrong.
    pub fn with_per_point(mut self, name: &str, values: impl Into<Shared<f32>>) -> Self {
        let values = values.into();
        assert_eq!(values.len(), self.points.len(), "one value per point");
        self.per_point.insert(name.to_owned(), values);
        self
    }

    /// Adds a group. Panics if one of its streamlines does not exist.
    pub fn with_group(mut self, name: &str, members: impl Into<Arc<[u32]>>) -> Self {
        let members = members.into();
        let exists = |&i: &u32| (i as usize) < self.len();
        assert!(members.iter().all(exists), "groups name streamlines");
        self.groups.insert(name.to_owned(), members);
        self
    }

    /// Adds values of a group.
    pub fn with_per_group(
        mut self,
        group: &str,
        name: &str,
        values: impl Into<Shared<f32>>,
    ) -> Self {
        let of_group = self.per_group.entry(group.to_owned()).or_default();
        of_group.insert(name.to_owned(), values.into());
        self
    }

    /// Sets the image grid to which the streamlines belong.
    pub fn with_grid(mut self, grid: impl Into<Arc<Grid>>) -> Self {
        self.grid = Some(grid.into());
        self
    }

    /// Returns the transformed streamlines, with the grid that they name; known lengths are recomputed from the
    /// moved points.
    pub fn moved(&self, by: glam::DAffine3) -> Self {
        let point = |p: &[f32; 3]| {
            let world = DVec3::from_array(p.map(f64::from));
            by.transform_point3(world).as_vec3().to_array()
        };
        let points: Vec<[f32; 3]> = self.points.iter().map(point).collect();
        let mut moved = Self {
            id: DataId::fresh(),
            points: points.into(),
            bounds: Arc::default(),
            pieces: Arc::default(),
            timestamp: None,
            drawn: None,
            grid: self.grid.as_ref().and_then(|g| g.moved(by)).map(Arc::new),
            ..self.clone()
        };
        if let Some(lengths) = moved.per_streamline.remove(LENGTH) {
            let lengths: Vec<f32> = (0..lengths.len()).map(|i| moved.length_mm(i)).collect();
            moved = moved.with_per_streamline(LENGTH, lengths);
        }
        moved
    }

    /// Returns the streamlines with a new id, for changed values: cached results of the old id apply to the old values.
    pub fn with_new_id(self) -> Self {
        Self {
            id: DataId::fresh(),
            ..self
        }
    }

    /// Whether the points are shared, whatever the values are.
    pub fn same_lines(&self, other: &Self) -> bool {
        self.points.is_same(&other.points) && Arc::ptr_eq(&self.offsets, &other.offsets)
    }

    /// Copies points and values to the host that are on a graphics card only ([`Shared::on_host`]).
    pub fn on_host(&self) -> Result<(), LateError> {
        self.points.on_host()?;
        let values = self.per_point.values().chain(self.per_streamline.values());
        values.into_iter().try_for_each(Shared::on_host)
    }

    /// Identity of points and values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// World axis-aligned bounds of the finite points, mm; `None` if there are none. Computed once, shared by all
    /// clones.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        *self.bounds.get_or_init(|| {
            let finite = self.points.iter().map(|p| Vec3::from(*p));
            let (low, high) = finite
                .filter(|p| p.is_finite())
                .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), p| {
                    (low.min(p), high.max(p))
                });
            (low.x <= high.x).then(|| (low.as_dvec3(), high.as_dvec3()))
        })
    }

    /// The smallest and the largest of its finite lengths, mm; `None` if no length is known. Computed once, shared by
    /// all clones.
    pub fn length_range(&self) -> Option<(f32, f32)> {
        let lengths = self.per_streamline.get(LENGTH)?;
        *self.lengths.get_or_init(|| {
            let finite = lengths.iter().copied().filter(|mm| mm.is_finite());
            finite.fold(None, |range, mm| {
                let (low, high) = range.unwrap_or((mm, mm));
                Some((low.min(mm), high.max(mm)))
            })
        })
    }

    /// How often each stop reason, by its number, occurs at the first and at the last ends; empty if no reasons are known.
    /// Computed once, shared by all clones.
    pub fn stop_counts(&self) -> &[Vec<u64>; 2] {
        self.stops.get_or_init(|| {
            STOPS.map(|name| {
                let mut counts = Vec::new();
                let values = self.per_streamline.get(name);
                let known = values.into_iter().flat_map(|all| all.iter());
                for reason in known.filter(|v| (0.0..=MAX_STOP).contains(*v)) {
                    let number = *reason as usize;
                    if number >= counts.len() {
                        counts.resize(number + 1, 0);
                    }
                    counts[number] += 1;
                }
                counts
            })
        })
    }

    /// Boxes around its pieces. Computed once, shared by all clones.
    pub fn pieces(&self) -> &BoundingChunks {
        self.pieces_by(|| BoundingChunks::new(&self.points, &self.offsets))
    }

    /// Boxes around its pieces, computed by a caller with more threads unless they are already known.
    pub fn pieces_by(&self, make: impl FnOnce() -> BoundingChunks) -> &BoundingChunks {
        self.pieces.get_or_init(make)
    }

    /// Number of streamlines.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no streamline.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Points of a streamline, world mm.
    pub fn streamline(&self, index: usize) -> &[[f32; 3]] {
        &self.points[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// Points of every streamline in order, world mm.
    pub fn streamlines(&self) -> impl ExactSizeIterator<Item = &[[f32; 3]]> {
        (0..self.len()).map(|i| self.streamline(i))
    }

    /// The marked streamlines with their values, in the same order. Panics if there is not one mark per streamline.
    pub fn filtered(&self, marks: &[bool]) -> Self {
        assert_eq!(marks.len(), self.len(), "one mark per streamline");
        let chosen = || (0..self.len()).filter(|&i| marks[i]);
        let mut end = 0;
        let ends = chosen().map(|i| {
            end += self.offsets[i + 1] - self.offsets[i];
            end
        });
        let offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let runs: Arc<[Range<usize>]> = marked_ranges(marks, &self.offsets).into();
        let mut out = Self::new(selected(&self.points, &runs), offsets);
        for (name, values) in &self.per_streamline {
            let values: Vec<f32> = chosen().map(|i| values[i]).collect();
            out = out.with_per_streamline(name, values);
        }
        for (name, values) in &self.per_point {
            out = out.with_per_point(name, selected(values, &runs));
        }
        let mut next = 0;
        let index = marks.iter().map(|&m| m.then(|| (next, next += 1).0));
        let index: Vec<Option<u32>> = index.collect();
        for (name, members) in &self.groups {
            let members = members.iter().filter_map(|&i| index[i as usize]);
            out = out.with_group(name, members.collect::<Vec<u32>>());
        }
        out.codes = self.codes.clone();
        out.per_group = self.per_group.clone();
        out.grid = self.grid.clone();
        out
    }

    /// These points without any values.
    pub fn without_values(&self) -> Self {
        Self::new(self.points.clone(), self.offsets.clone())
    }

    /// Names of the values of each streamline: its length, values per streamline, and values per point.
    pub fn value_names(&self) -> Vec<&str> {
        let own = self.per_streamline.keys().chain(self.per_point.keys());
        let mut names = vec![LENGTH];
        for name in own.map(String::as_str) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The values of this name: those of points, else those of streamlines.
    pub fn values(&self, name: &str) -> Option<&Shared<f32>> {
        let per_point = self.per_point.get(name);
        per_point.or(self.per_streamline.get(name))
    }

    /// Sum of the segment lengths of one streamline, mm.
    pub fn length_mm(&self, index: usize) -> f32 {
        length_mm(self.streamline(index)) as f32
    }
}

/// Sum of the distances between consecutive points, mm. A sum of millions of them in single precision would have an
/// error of one percent.
pub fn length_mm(points: &[[f32; 3]]) -> f64 {
    length_of(points.iter().copied())
}

/// Sum of the distances between consecutive points in any storage, mm.
pub fn length_of(points: impl IntoIterator<Item = [f32; 3]>) -> f64 {
    let mut points = points.into_iter().map(|p| Vec3::from(p).as_dvec3());
    let Some(mut last) = points.next() else {
        return 0.0;
    };
    let mut sum = 0.0;
    for point in points {
        sum += last.distance(point);
        last = point;
    }
    sum
}

/// The point ranges of marked streamlines, with adjacent ones joined.
fn marked_ranges(marks: &[bool], offsets: &[u64]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (ends, _) in offsets.windows(2).zip(marks).filter(|(_, mark)| **mark) {
        let own = ends[0] as usize..ends[1] as usize;
        match runs.last_mut() {
            Some(last) if last.end == own.start => last.end = own.end,
            _ => runs.push(own),
        }
    }
    runs
}

/// Values of some points; those that are not on the host are copied when they are needed.
fn selected<T: Pod + Send + Sync>(values: &Shared<T>, runs: &Arc<[Range<usize>]>) -> Shared<T> {
    match values.is_on_host() {
        true => copy_ranges(values, runs).into(),
        false => Shared::late(LateParts {
            whole: values.clone(),
            runs: runs.clone(),
            values: OnceLock::new(),
        }),
    }
}

/// Parts of late values.
pub struct LateParts<T> {
    /// The array of which they are parts.
    pub whole: Shared<T>,
    /// The parts in that array, ascending.
    pub runs: Arc<[Range<usize>]>,
    values: OnceLock<Vec<T>>,
}

impl<T: Pod + Send + Sync> Late<T> for LateParts<T> {
    fn count(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    fn is_on_host(&self) -> bool {
        self.values.get().is_some()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn values(&self) -> Result<&[T], LateError> {
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        self.whole.on_host()?;
        let copied = copy_ranges(&self.whole, &self.runs);
        Ok(self.values.get_or_init(|| copied))
    }
}

/// Values of some points, in exactly the memory they need.
fn copy_ranges<T: Copy>(values: &[T], runs: &[Range<usize>]) -> Vec<T> {
    let mut points = Vec::with_capacity(runs.iter().map(Range::len).sum());
    for run in runs {
        points.extend_from_slice(&values[run.clone()]);
    }
    points
}

/// `name: 0 = …, 1 = …`.
pub fn key_line(name: &str, meanings: &[String]) -> String {
    let pairs = meanings.iter().enumerate();
    let pairs: Vec<String> = pairs
        .map(|(i, meaning)| format!("{i} = {meaning}"))
        .collect();
    format!("{name}: {}", pairs.join(", "))
}

/// Values with one name: one column, or several columns named `name[0]`, `name[1]` and so on, which is how a value of
/// several numbers is stored.
pub struct Columns<'a> {
    /// Name without index.
    pub name: &'a str,
    /// One column per number of the value.
    pub columns: Vec<&'a Shared<f32>>,
}

/// Groups the columns of each value, in the order of their names.
pub fn columns(values: &BTreeMap<String, Shared<f32>>) -> Vec<Columns<'_>> {
    let all_of = |stem: &str| -> Option<Vec<&Shared<f32>>> {
        let numbered = (0..).map_while(|i| values.get(&format!("{stem}[{i}]")));
        let columns: Vec<_> = numbered.collect();
        let start = format!("{stem}[");
        let named = values.keys().filter(|k| k.starts_with(&start)).count();
        (columns.len() > 1 && columns.len() == named && !values.contains_key(stem))
            .then_some(columns)
    };
    let mut grouped = Vec::new();
    for (name, column) in values {
        let stem = name.split_once('[').map(|(stem, _)| stem);
        match stem.and_then(|stem| Some((stem, all_of(stem)?))) {
            Some((stem, columns)) if name.ends_with("[0]") => grouped.push(Columns {
                name: stem,
                columns,
            }),
            // Added with the first column.
            Some(_) => {}
            None => grouped.push(Columns {
                name,
                columns: vec![column],
            }),
        }
    }
    grouped
}

/// The name of a column of a value of `count` numbers.
pub fn column_name(name: &str, column: usize, count: usize) -> String {
    if count == 1 {
        name.to_owned()
    } else {
        format!("{name}[{column}]")
    }
}
