//! The arrays of a TRX, checked against the numbers of streamlines and points in its header.

use super::super::streamlines::{FibreInfo, MAX_LISTS, free_name};
use super::super::text::counted;
use super::super::{Error, Expected};
use super::store::StoredArray;
use super::{Name, OFFSETS, POSITIONS};
use crate::compute::Control;
use crate::data::Shared;
use crate::data::labels::LARGEST_WHOLE;
use crate::data::text::singular_or_plural;
use crate::data::tractogram::column_name;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The arrays read so far.
pub(super) struct Arrays<'a> {
    path: &'a Path,
    control: &'a Control,
    pub lines: usize,
    pub vertices: usize,
    /// Number of value arrays so far.
    lists: usize,
    pub points: Option<Shared<[f32; 3]>>,
    pub offsets: Option<Arc<[u64]>>,
    pub per_point: BTreeMap<String, Shared<f32>>,
    pub per_streamline: BTreeMap<String, Shared<f32>>,
    pub groups: BTreeMap<String, Arc<[u32]>>,
    pub per_group: BTreeMap<String, BTreeMap<String, Shared<f32>>>,
}

/// Points, and the offsets of the streamlines.
type Lines = (Shared<[f32; 3]>, Arc<[u64]>);

impl<'a> Arrays<'a> {
    /// No arrays yet, of this many streamlines and points.
    pub fn new(path: &'a Path, [lines, vertices]: [usize; 2], control: &'a Control) -> Self {
        Self {
            path,
            control,
            lines,
            vertices,
            lists: 0,
            points: None,
            offsets: None,
            per_point: BTreeMap::new(),
            per_streamline: BTreeMap::new(),
            groups: BTreeMap::new(),
            per_group: BTreeMap::new(),
        }
    }

    fn malformed(&self, found: String, expected: impl Into<Expected>) -> Error {
        Error::malformed(self.path, found, expected)
    }

    pub fn take_array(
        &mut self,
        part: &StoredArray,
        name: &Name,
        info: &mut FibreInfo,
    ) -> Result<(), Error> {
        match name.folder {
            "dpv" => {
                self.check_values(part, name, info)?;
                let columns = self.columns(part, name, info)?;
                insert_values(&mut self.per_point, name.name, columns);
                Ok(())
            }
            "dps" => {
                self.check_values(part, name, info)?;
                let mut columns = self.columns(part, name, info)?;
                columns.iter_mut().for_each(|c| c.truncate(self.lines));
                insert_values(&mut self.per_streamline, name.name, columns);
                Ok(())
            }
            "groups" => self.take_group(part, name),
            folder => match folder.strip_prefix("dpg/") {
                Some(group) => {
                    self.check(part, name, 1)?;
                    let columns = self.columns(part, name, info)?;
                    // One value of several numbers, which stay together here.
                    let value: Vec<f32> = columns.into_iter().flatten().collect();
                    let of_group = self.per_group.entry(group.to_owned()).or_default();
                    of_group.insert(free_name(name.name, of_group), value.into());
                    Ok(())
                }
                None => {
                    info.warn_unread(format!(
                        "{} is not part of a TRX; it was not used",
                        part.name
                    ));
                    Ok(())
                }
            },
        }
    }

    /// Checks the size of an array of values per point or per streamline.
    pub fn check_values(
        &self,
        part: &StoredArray,
        name: &Name,
        info: &mut FibreInfo,
    ) -> Result<(), Error> {
        if name.folder == "dpv" {
            return self.check(part, name, self.vertices);
        }
        let more = self.lines.saturating_add(1);
        if self.bytes(name, more) != Some(part.length) {
            return self.check(part, name, self.lines);
        }
        info.warn_unread(format!(
            "{} has one value more than there are streamlines; the last was not used",
            part.name
        ));
        Ok(())
    }

    /// Size in bytes of an array of `count` values.
    fn bytes(&self, name: &Name, count: usize) -> Option<usize> {
        let value = name.columns.checked_mul(name.number_type.bytes())?;
        value.checked_mul(count)
    }

    /// Checks that an array has `count` values.
    fn check(&self, part: &StoredArray, name: &Name, count: usize) -> Result<(), Error> {
        if self.bytes(name, count) == Some(part.length) {
            return Ok(());
        }
        Err(self.malformed(
            format!("{} bytes in {}", part.length, part.name),
            (
                format!(
                    "{count} values of {} {}, which the header announces",
                    name.columns,
                    name.number_type.name()
                ),
                "write the file again",
            ),
        ))
    }

    pub fn points_of(&self, part: &StoredArray, name: &Name) -> Result<Shared<[f32; 3]>, Error> {
        self.check_points(part, name)?;
        part.points(name.number_type, self.vertices, self.control)
    }

    /// Checks the type and the size of the positions.
    pub fn check_points(&self, part: &StoredArray, name: &Name) -> Result<(), Error> {
        if name.columns != 3 || !name.number_type.is_float() {
            return Err(self.malformed(
                format!("points in {}", part.name),
                "positions.3.float16, float32 or float64",
            ));
        }
        self.check(part, name, self.vertices)
    }

    pub fn offsets_of(&self, part: &StoredArray, name: &Name) -> Result<Arc<[u64]>, Error> {
        let offsets_error = |found: String| {
            self.malformed(
                found,
                (
                    format!(
                        "{} whole numbers that rise from 0 to at most {}, which the header announces",
                        self.lines.saturating_add(1),
                        self.vertices
                    ),
                    "write the file again",
                ),
            )
        };
        if !part.length.is_multiple_of(name.number_type.bytes()) {
            let found = format!("{} bytes in {}", part.length, part.name);
            return Err(offsets_error(found));
        }
        let (bytes, range) = part.bytes(self.control)?;
        let offsets = name.number_type.indices(&(*bytes).as_ref()[range], false);
        let Some(mut offsets) = offsets else {
            return Err(offsets_error(format!("offsets in {}", part.name)));
        };
        // Older files omit the last one.
        if offsets.len() == self.lines {
            offsets.push(self.vertices as u64);
        }
        let valid = offsets.first() == Some(&0)
            && offsets
                .last()
                .is_some_and(|&end| end <= self.vertices as u64)
            && offsets.windows(2).all(|w| w[0] <= w[1]);
        if name.columns != 1 || Some(offsets.len()) != self.lines.checked_add(1) || !valid {
            return Err(offsets_error(format!(
                "{} offsets of other streamlines",
                offsets.len()
            )));
        }
        Ok(offsets.into())
    }

    /// Limits the number of lists of values, to which those of an array are added.
    pub fn count_lists(&mut self, part: &StoredArray, name: &Name) -> Result<(), Error> {
        self.lists = self.lists.saturating_add(name.columns);
        if self.lists <= MAX_LISTS {
            return Ok(());
        }
        Err(self.malformed(
            format!("{} numbers for each value of {}", name.columns, part.name),
            (
                format!("at most {MAX_LISTS} for all values together"),
                "leave some out",
            ),
        ))
    }

    fn columns(
        &mut self,
        part: &StoredArray,
        name: &Name,
        info: &mut FibreInfo,
    ) -> Result<Vec<Vec<f32>>, Error> {
        self.count_lists(part, name)?;
        let (bytes, range) = part.bytes(self.control)?;
        let values = name.number_type.floats(&(*bytes).as_ref()[range], false);
        if name.number_type.is_wide_integer() && has_large(&values) {
            info.warn(rounded(part));
        }
        Ok(split(values, name.columns))
    }

    fn take_group(&mut self, part: &StoredArray, name: &Name) -> Result<(), Error> {
        let size = name.number_type.bytes();
        let (bytes, range) = part.bytes(self.control)?;
        let indices = name.number_type.indices(&(*bytes).as_ref()[range], false);
        let whole = part.length.is_multiple_of(size) && name.columns == 1;
        let member = |&i: &u64| u32::try_from(i).ok().filter(|&i| (i as usize) < self.lines);
        let members: Option<Vec<u32>> = indices
            .filter(|_| whole)
            .and_then(|i| i.iter().map(member).collect());
        let Some(members) = members else {
            return Err(self.malformed(
                format!("members of {} that are not streamlines", part.name),
                (
                    format!("whole numbers below {}", self.lines),
                    "write the file again",
                ),
            ));
        };
        let name = free_name(name.name, &self.groups);
        self.groups.insert(name, members.into());
        Ok(())
    }

    /// The points and the offsets; a file without streamlines may omit both arrays.
    pub fn lines(&mut self, info: &mut FibreInfo) -> Result<Lines, Error> {
        let points = match self.points.take() {
            Some(points) => points,
            None if self.vertices == 0 => Shared::default(),
            None => return Err(self.missing(POSITIONS)),
        };
        let offsets = self.offsets()?;
        let used = offsets.last().map_or(0, |&end| end as usize);
        if used == points.len() {
            return Ok((points, offsets));
        }
        warn_of_unused(points.len() - used, info);
        for values in self.per_point.values_mut() {
            *values = values[..used].into();
        }
        Ok((points[..used].into(), offsets))
    }

    /// The offsets; a file without streamlines and points may omit them.
    pub fn offsets(&mut self) -> Result<Arc<[u64]>, Error> {
        match self.offsets.take() {
            Some(offsets) => Ok(offsets),
            None if self.vertices == 0 && self.lines == 0 => Ok(Arc::new([0])),
            None => Err(self.missing(OFFSETS)),
        }
    }

    /// The error for a file without one of the two arrays that streamlines need.
    pub fn missing(&self, what: &str) -> Error {
        let expected = ("positions and offsets", "write the file again");
        Error::malformed(self.path, format!("a TRX without {what}"), expected)
    }
}

/// Warns of points after those of the last streamline.
pub(super) fn warn_of_unused(behind: usize, info: &mut FibreInfo) {
    if behind > 0 {
        info.warn_unread(format!(
            "{} at the end {} to no streamline; {} not used",
            counted(behind, "point"),
            singular_or_plural(behind, "belongs", "belong"),
            singular_or_plural(behind, "it was", "they were")
        ));
    }
}

/// Adds columns under free names, which it returns.
pub(super) fn insert_values(
    values: &mut BTreeMap<String, Shared<f32>>,
    name: &str,
    columns: Vec<Vec<f32>>,
) -> Vec<String> {
    let count = columns.len();
    let plain = free_name(name, values);
    let mut names = Vec::new();
    for (i, column) in columns.into_iter().enumerate() {
        let name = free_name(&column_name(&plain, i, count), values);
        values.insert(name.clone(), column.into());
        names.push(name);
    }
    names
}

/// The columns of values that are stored row by row.
pub(super) fn split(values: Vec<f32>, columns: usize) -> Vec<Vec<f32>> {
    if columns == 1 {
        return vec![values];
    }
    let column = |c| values.iter().skip(c).step_by(columns).copied().collect();
    (0..columns).map(column).collect()
}

/// Whether a whole number is too large for float32 to hold all its digits.
pub(super) fn has_large(values: &[f32]) -> bool {
    values.iter().any(|v| v.abs() > LARGEST_WHOLE)
}

/// The warning about an array with such numbers.
pub(super) fn rounded(part: &StoredArray) -> String {
    format!(
        "{} holds numbers above {LARGEST_WHOLE}, whose last digits were rounded",
        part.name
    )
}
