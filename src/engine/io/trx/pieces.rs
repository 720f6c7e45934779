//! Reads a TRX streamline by streamline. Its offsets and groups, and members that are compressed, are in memory; all
//! other arrays are read piece by piece.

use super::arrays::{Arrays, has_large, insert_values, rounded, split, warn_of_unused};
use super::store::{self, StoredArray};
use super::{
    OFFSETS, POSITIONS, add_properties, codes, counts, grid, has_doubles, header, last_of_several,
    named_parts,
};
use crate::compute::{Control, memory};
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::io::numbers::Type;
use crate::io::pieces::PieceReader;
use crate::io::source::READING;
use crate::io::{Error, FibreInfo};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Contents of a file that are known before its streamlines are read.
pub(in crate::io) struct Layout {
    header: Value,
    vertices: usize,
    offsets: Arc<[u64]>,
    points: Option<(StoredArray, Type)>,
    values: Vec<Values>,
    groups: BTreeMap<String, Arc<[u32]>>,
    empty: Tractogram,
    /// About the arrays, in their order.
    remarks: Vec<ArrayRemark>,
    is_rounded: bool,
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.offsets.len() - 1;
        write!(f, "Layout of {count} streamlines, {} points", self.vertices)
    }
}

/// An array of values that are read piece by piece.
struct Values {
    part: StoredArray,
    number: Type,
    /// One name for each column.
    names: Vec<String>,
    is_per_point: bool,
}

enum ArrayRemark {
    Known(FibreInfo),
    /// The array of values with this index may hold whole numbers that float32 rounds.
    IfLarge(usize),
}

impl Layout {
    /// Reads the header, the offsets and the groups, and checks the sizes of all arrays.
    pub fn read(path: &Path, control: &Control) -> Result<Self, Error> {
        let parts = store::parts(path, control)?;
        let header = header(path, &parts, control)?;
        let numbers = counts(path, &header)?;
        let mut arrays = Arrays::new(path, numbers, control);
        let (first, rest) = named_parts(path, &parts)?;
        let called = |requested| first.iter().filter(move |(_, name)| name.name == requested);
        let mut points = None;
        for (part, name) in called(POSITIONS) {
            arrays.check_points(part, name)?;
            points = Some(((*part).clone(), name.number_type));
        }
        let offsets = called(OFFSETS).map(|(part, name)| arrays.offsets_of(part, name));
        arrays.offsets = last_of_several(offsets)?;
        let (mut values, mut remarks) = (Vec::new(), Vec::new());
        for (part, name) in &rest {
            control.check()?;
            let mut info = FibreInfo::default();
            let is_per_point = name.folder == "dpv";
            if !is_per_point && name.folder != "dps" {
                arrays.take_array(part, name, &mut info)?;
                remarks.push(ArrayRemark::Known(info));
                continue;
            }
            arrays.check_values(part, name, &mut info)?;
            arrays.count_lists(part, name)?;
            remarks.push(ArrayRemark::Known(info));
            if name.number_type.is_wide_integer() {
                remarks.push(ArrayRemark::IfLarge(values.len()));
            }
            let known = match is_per_point {
                true => &mut arrays.per_point,
                false => &mut arrays.per_streamline,
            };
            values.push(Values {
                part: (*part).clone(),
                number: name.number_type,
                names: insert_values(known, name.name, vec![Vec::new(); name.columns]),
                is_per_point,
            });
        }
        if points.is_none() && arrays.vertices > 0 {
            return Err(arrays.missing(POSITIONS));
        }
        let offsets = arrays.offsets()?;
        let mut empty = Tractogram::empty();
        empty.per_point = arrays.per_point;
        empty.per_streamline = arrays.per_streamline;
        empty.per_group = arrays.per_group;
        let groups = arrays.groups.keys();
        empty.groups = groups.map(|name| (name.clone(), Arc::default())).collect();
        empty.grid = grid(&header, &mut FibreInfo::default()).map(Arc::new);
        empty.codes = Arc::new(codes(&header, &empty));
        Ok(Self {
            vertices: numbers[1],
            offsets,
            points,
            values,
            groups: arrays.groups,
            empty,
            remarks,
            is_rounded: has_doubles(first.iter().chain(&rest)),
            header,
        })
    }

    /// The streamlines without any of them.
    pub fn empty(&self) -> Tractogram {
        self.empty.clone()
    }

    pub fn groups(&self) -> BTreeMap<String, Arc<[u32]>> {
        self.groups.clone()
    }

    pub fn offsets(&self) -> Arc<[u64]> {
        self.offsets.clone()
    }

    /// The file of the points, the offset of the first one, and their number type; `None` if they are compressed, and for
    /// a file without points.
    pub fn points_place(&self) -> Option<(PathBuf, u64, Type)> {
        let (part, number) = self.points.as_ref()?;
        let (path, start) = part.place()?;
        Some((path.to_owned(), start, *number))
    }

    /// Appends the values of this name to those of some streamlines: of each one, or of each of their points. `None`
    /// if there are none of this name; otherwise whether they are those of points.
    pub fn append_values(
        &self,
        name: &str,
        streamlines: &[u64],
        out: &mut Vec<f32>,
        control: &Control,
    ) -> Result<Option<bool>, Error> {
        let named = |values: &&Values| values.names.iter().any(|own| own == name);
        // Values of points come before those of streamlines with the same name, as they do in a piece.
        let mut all: Vec<&Values> = self.values.iter().filter(named).collect();
        all.sort_by_key(|values| !values.is_per_point);
        let Some(values) = all.first() else {
            return Ok(None);
        };
        let columns = values.names.len();
        let column = values.names.iter().position(|own| own == name);
        let mut read = Vec::new();
        for &streamline in streamlines {
            let (first, count) = match values.is_per_point {
                true => {
                    let [start, end] = [0, 1].map(|i| self.offsets[streamline as usize + i]);
                    (start, (end - start) as usize)
                }
                false => (streamline, 1),
            };
            read.clear();
            read.resize(count * columns, 0f32);
            let place = first * columns as u64;
            let array = (&values.part, values.number);
            array.0.read_floats(array.1, place, &mut read, control)?;
            out.extend(read.iter().skip(column.unwrap_or(0)).step_by(columns));
        }
        Ok(Some(values.is_per_point))
    }

    /// Remarks about the file; `large`: whether the values of an array are larger than float32 represents.
    pub fn info(&self, large: &[bool]) -> FibreInfo {
        let mut info = FibreInfo::default();
        for remark in &self.remarks {
            match remark {
                ArrayRemark::Known(known) => {
                    info.warnings.extend(known.warnings.iter().cloned());
                    info.notes.extend(known.notes.iter().cloned());
                    info.unread.extend(known.unread.iter().cloned());
                }
                ArrayRemark::IfLarge(index) if large.get(*index) == Some(&true) => {
                    info.warn(rounded(&self.values[*index].part));
                }
                ArrayRemark::IfLarge(_) => {}
            }
        }
        let used = self.offsets.last().map_or(0, |&end| end as usize);
        if self.points.is_some() {
            warn_of_unused(self.vertices - used, &mut info);
        }
        grid(&self.header, &mut info);
        add_properties(&self.header, &mut info);
        info.is_rounded = self.is_rounded;
        let short = self.offsets.windows(2);
        let short = short.filter(|w| w[1] - w[0] < 2).count();
        info.check_counts(self.offsets.len() - 1, short, None);
        info
    }

    /// Bytes that a pass reads.
    fn bytes(&self) -> u64 {
        let points = self.points.iter().map(|(part, _)| part.length as u64);
        let values = self.values.iter().map(|values| values.part.length as u64);
        points.chain(values).sum()
    }
}

/// One pass over the streamlines of a file.
pub(in crate::io) struct Reader {
    layout: Arc<Layout>,
    path: Box<Path>,
    next: usize,
    points_at_once: usize,
    /// Whether the values of an array are larger than float32 represents.
    large: Vec<bool>,
}

impl Reader {
    /// A piece has at least one streamline, and ends with the first one with which it has at least this many points.
    pub fn open(
        path: &Path,
        layout: &Arc<Layout>,
        points_at_once: usize,
        control: &Control,
    ) -> Self {
        control.begin_file("Reading", &file_name(path), layout.bytes());
        Self {
            path: path.into(),
            next: 0,
            points_at_once,
            large: vec![false; layout.values.len()],
            layout: layout.clone(),
        }
    }

    /// The streamline after those of the next piece.
    fn end(&self) -> usize {
        let (first, offsets) = (self.next, &self.layout.offsets);
        let count = offsets.len() - 1 - first;
        let size = |lines: usize| (offsets[first + lines] - offsets[first]) as usize + lines;
        // Sizes ascend.
        let (mut low, mut high) = (1, count);
        while low < high {
            let middle = low + (high - low) / 2;
            match size(middle) < self.points_at_once {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        first + low
    }

    fn floats(
        &self,
        (part, number): (&StoredArray, Type),
        first: u64,
        count: usize,
        control: &Control,
    ) -> Result<Vec<f32>, Error> {
        let claimed = memory::claim_for::<f32>(READING, count, 1);
        claimed.map_err(|e| Error::memory(&self.path, e))?;
        let mut values = vec![0f32; count];
        part.read_floats(number, first, &mut values, control)?;
        Ok(values)
    }
}

impl PieceReader for Reader {
    fn next(&mut self, control: &Control) -> Result<Option<Tractogram>, Error> {
        let layout = self.layout.clone();
        if self.next + 1 == layout.offsets.len() {
            return Ok(None);
        }
        control.check()?;
        let (first, end) = (self.next, self.end());
        let before = layout.offsets[first];
        let offsets: Vec<u64> = layout.offsets[first..=end]
            .iter()
            .map(|o| o - before)
            .collect();
        let count = offsets[end - first] as usize;
        let points = match &layout.points {
            Some((part, number)) => {
                let claimed = memory::claim_for::<[f32; 3]>(READING, count, 1);
                claimed.map_err(|e| Error::memory(&self.path, e))?;
                let mut points = vec![[0f32; 3]; count];
                part.read_floats(*number, 3 * before, points.as_flattened_mut(), control)?;
                points
            }
            None => Vec::new(),
        };
        let mut piece = Tractogram::new(points, offsets);
        for (index, values) in layout.values.iter().enumerate() {
            let (from, count) = match values.is_per_point {
                true => (before, count),
                false => (first as u64, end - first),
            };
            let columns = values.names.len();
            let array = (&values.part, values.number);
            let floats = self.floats(array, from * columns as u64, count * columns, control)?;
            self.large[index] |= values.number.is_wide_integer() && has_large(&floats);
            let into = match values.is_per_point {
                true => &mut piece.per_point,
                false => &mut piece.per_streamline,
            };
            for (name, column) in values.names.iter().zip(split(floats, columns)) {
                into.insert(name.clone(), column.into());
            }
        }
        piece.codes = layout.empty.codes.clone();
        piece.grid = layout.empty.grid.clone();
        self.next = end;
        Ok(Some(piece))
    }

    fn info(self: Box<Self>) -> FibreInfo {
        self.layout.info(&self.large)
    }
}
