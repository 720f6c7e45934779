//! Streamlines.

use super::bounding_chunks::BoundingChunks;
use super::{Grid, Shared};
use crate::compute::DataId;
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The per-streamline value that every program can work out from the points, mm.
pub const LENGTH: &str = "length";

/// Many streamlines: all points in one array, cut by `offsets`. Order and index are never changed,
/// so that weights and per-streamline values still match.
#[derive(Clone, Debug)]
pub struct Tractogram {
    id: DataId,
    /// World RAS+ mm.
    pub points: Shared<[f32; 3]>,
    /// Streamline `i` owns `points[offsets[i]..offsets[i + 1]]`; one more entry than streamlines.
    pub offsets: Arc<[u64]>,
    /// Values per streamline (dps), each as long as there are streamlines.
    pub per_streamline: BTreeMap<String, Arc<[f32]>>,
    /// What whole numbers among those values stand for, from 0 on, by the values' name.
    pub codes: Arc<BTreeMap<String, Arc<[String]>>>,
    /// Values per point (dpv), each as long as `points`.
    pub per_point: BTreeMap<String, Arc<[f32]>>,
    /// Streamlines that belong together, by index; a streamline may be in several or in none.
    pub groups: BTreeMap<String, Arc<[u32]>>,
    /// Values of a group (dpg), by the group's name and their own.
    pub per_group: BTreeMap<String, BTreeMap<String, Arc<[f32]>>>,
    /// Of the image that the streamlines are from, where a file says it.
    pub grid: Option<Arc<Grid>>,
    /// A TCK's own name for these streamlines, which files of their values repeat; those that were moved or
    /// chosen are others.
    pub timestamp: Option<Arc<str>>,
    bounds: Arc<OnceLock<Option<(DVec3, DVec3)>>>,
    pieces: Arc<OnceLock<BoundingChunks>>,
    lengths: Arc<OnceLock<Option<(f32, f32)>>>,
}

impl Tractogram {
    /// Panics if the offsets do not cut the points (a broken invariant, not data).
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
            bounds: Arc::default(),
            pieces: Arc::default(),
            lengths: Arc::default(),
        }
    }

    pub fn empty() -> Self {
        Self::new(Vec::new(), vec![0])
    }

    /// Adds values per streamline. Panics if their number is wrong.
    pub fn with_per_streamline(mut self, name: &str, values: impl Into<Arc<[f32]>>) -> Self {
        let values = values.into();
        assert_eq!(values.len(), self.len(), "one value per streamline");
        if name == LENGTH {
            self.lengths = Arc::default();
        }
        self.per_streamline.insert(name.to_owned(), values);
        self
    }

    /// Says what the numbers 0, 1, … of some values per streamline stand for.
    pub fn with_codes(mut self, name: &str, text: impl Into<Arc<[String]>>) -> Self {
        Arc::make_mut(&mut self.codes).insert(name.to_owned(), text.into());
        self
    }

    /// The key to the values per streamline that are numbers for something: `stop_end: 0 = Reached
    /// target, 1 = …`, one line each.
    pub fn key(&self) -> Vec<String> {
        let known = self.codes.iter();
        let known = known.filter(|(name, _)| self.per_streamline.contains_key(*name));
        known
            .map(|(name, meanings)| key_line(name, meanings))
            .collect()
    }

    /// Adds values per point. Panics if their number is wrong.
    pub fn with_per_point(mut self, name: &str, values: impl Into<Arc<[f32]>>) -> Self {
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
        values: impl Into<Arc<[f32]>>,
    ) -> Self {
        let of_group = self.per_group.entry(group.to_owned()).or_default();
        of_group.insert(name.to_owned(), values.into());
        self
    }

    /// Says which image's grid the streamlines are from.
    pub fn with_grid(mut self, grid: impl Into<Arc<Grid>>) -> Self {
        self.grid = Some(grid.into());
        self
    }

    /// The same streamlines elsewhere, with the grid that they name; lengths that were known are those
    /// of the moved points.
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
            grid: self.grid.as_ref().and_then(|g| g.moved(by)).map(Arc::new),
            ..self.clone()
        };
        if let Some(lengths) = moved.per_streamline.remove(LENGTH) {
            let lengths: Vec<f32> = (0..lengths.len()).map(|i| moved.length_mm(i)).collect();
            moved = moved.with_per_streamline(LENGTH, lengths);
        }
        moved
    }

    /// The same streamlines under a name of their own, for values that are others now: what is known by
    /// the old name is of the old values.
    pub fn renewed(self) -> Self {
        Self {
            id: DataId::fresh(),
            ..self
        }
    }

    /// Whether the points are the very same, whatever else is known of them.
    pub fn same_lines(&self, other: &Self) -> bool {
        std::ptr::eq(&*self.points, &*other.points) && Arc::ptr_eq(&self.offsets, &other.offsets)
    }

    pub fn id(&self) -> DataId {
        self.id
    }

    /// World axis-aligned bounds of the finite points, mm; `None` where there is none. Looked for
    /// once, shared by all clones.
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

    /// The lowest and the highest of its finite lengths, mm; `None` where none is known. Looked for once,
    /// shared by all clones.
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

    /// Boxes around its pieces. Made once, shared by all clones.
    pub fn pieces(&self) -> &BoundingChunks {
        self.pieces_by(|| BoundingChunks::new(&self.points, &self.offsets))
    }

    /// The same, made by whoever has more threads: where they are known they stay.
    pub fn pieces_by(&self, make: impl FnOnce() -> BoundingChunks) -> &BoundingChunks {
        self.pieces.get_or_init(make)
    }

    /// Number of streamlines.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn streamline(&self, index: usize) -> &[[f32; 3]] {
        &self.points[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    pub fn streamlines(&self) -> impl ExactSizeIterator<Item = &[[f32; 3]]> {
        (0..self.len()).map(|i| self.streamline(i))
    }

    /// The streamlines whose mark is set, with their values, in the same order. Panics if there is
    /// not one mark per streamline.
    pub fn filtered(&self, marks: &[bool]) -> Self {
        assert_eq!(marks.len(), self.len(), "one mark per streamline");
        let chosen = || (0..self.len()).filter(|&i| marks[i]);
        let mut end = 0;
        let ends = chosen().map(|i| {
            end += self.offsets[i + 1] - self.offsets[i];
            end
        });
        let offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let runs = runs(marks, &self.offsets);
        let mut out = Self::new(gathered(&self.points, &runs), offsets);
        for (name, values) in &self.per_streamline {
            let values: Vec<f32> = chosen().map(|i| values[i]).collect();
            out = out.with_per_streamline(name, values);
        }
        for (name, values) in &self.per_point {
            out = out.with_per_point(name, gathered(values, &runs));
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

    /// The same points without any values.
    pub fn bare(&self) -> Self {
        Self::new(self.points.clone(), self.offsets.clone())
    }

    /// Names of what is known of each streamline: its length, values per streamline, and those per point.
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

    /// Sum of the segment lengths of one streamline, mm.
    pub fn length_mm(&self, index: usize) -> f32 {
        length_mm(self.streamline(index)) as f32
    }
}

/// Sum of the distances between points that follow each other, mm. A sum in single precision of millions of
/// them is off by a hundredth.
pub fn length_mm(points: &[[f32; 3]]) -> f64 {
    let at = |p: [f32; 3]| Vec3::from(p).as_dvec3();
    let lengths = points.windows(2).map(|w| at(w[0]).distance(at(w[1])));
    lengths.sum()
}

/// The points of marked streamlines: of those that follow each other, one range.
fn runs(marks: &[bool], offsets: &[u64]) -> Vec<Range<usize>> {
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

/// Values of some points, in just the room that they need.
fn gathered<T: Copy>(values: &[T], runs: &[Range<usize>]) -> Vec<T> {
    let mut some = Vec::with_capacity(runs.iter().map(Range::len).sum());
    for run in runs {
        some.extend_from_slice(&values[run.clone()]);
    }
    some
}

/// `name: 0 = …, 1 = …`.
pub fn key_line(name: &str, text: &[String]) -> String {
    let pairs = text.iter().enumerate();
    let pairs: Vec<String> = pairs.map(|(i, word)| format!("{i} = {word}")).collect();
    format!("{name}: {}", pairs.join(", "))
}

/// Values of one name: one column, or several where the names are `name[0]`, `name[1]` and so on,
/// which is how a value of several numbers is kept.
pub struct Columns<'a> {
    pub name: &'a str,
    pub columns: Vec<&'a Arc<[f32]>>,
}

/// Brings the columns of each value together, in the order of the names.
pub fn columns(values: &BTreeMap<String, Arc<[f32]>>) -> Vec<Columns<'_>> {
    let all_of = |stem: &str| -> Option<Vec<&Arc<[f32]>>> {
        let numbered = (0..).map_while(|i| values.get(&format!("{stem}[{i}]")));
        let columns: Vec<_> = numbered.collect();
        let start = format!("{stem}[");
        let named = values.keys().filter(|k| k.starts_with(&start)).count();
        (columns.len() > 1 && columns.len() == named && !values.contains_key(stem))
            .then_some(columns)
    };
    let mut found = Vec::new();
    for (name, column) in values {
        let stem = name.split_once('[').map(|(stem, _)| stem);
        match stem.and_then(|stem| Some((stem, all_of(stem)?))) {
            Some((stem, columns)) if name.ends_with("[0]") => found.push(Columns {
                name: stem,
                columns,
            }),
            // Came with the first.
            Some(_) => {}
            None => found.push(Columns {
                name,
                columns: vec![column],
            }),
        }
    }
    found
}

/// The name of a column of a value of `count` numbers.
pub fn column_name(name: &str, column: usize, count: usize) -> String {
    if count == 1 {
        name.to_owned()
    } else {
        format!("{name}[{column}]")
    }
}
