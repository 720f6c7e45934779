//! TRX (tee-ar-ex/trx-spec): raw little-endian arrays and a JSON header in a zip archive or a folder. Points are in
//! world RAS+ mm. Values per point (dpv), per streamline (dps), groups and values per group (dpg) are in folders of
//! these names; a member's name ends in its number type, optionally preceded by the number of columns.
//!
//! Each array is read separately: float32 points stay in place, everything else is converted to float32.
//!
//! Memory: at most four times the file (a byte becomes a float32; a one-byte index takes eight bytes while it is
//! checked), for deflated members four times their unpacked size, which is limited to a hundred times the file; and
//! the memory of up to `MAX_LISTS` arrays of values.

mod store;
mod write;

pub(super) use write::renamed;
pub use write::{means_folder, save};

use super::numbers::Type;
use super::streamlines::{FibreInfo, MAX_LISTS, free_name};
use super::text::counted;
use super::{Error, Expected, disk, json};
use crate::compute::Control;
use crate::data::labels::LARGEST_WHOLE;
use crate::data::text::singular_or_plural;
use crate::data::tractogram::column_name;
use crate::data::{AffineSource, Grid, Shared, Tractogram};
use glam::{DAffine3, DMat3, DVec3};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::StoredArray;

const HEADER: &str = "header.json";
/// Our own key in the header: the meaning of the numbers of some values.
const CODES: &str = "CODES";

/// Folders in a TRX.
const FOLDERS: [&str; 4] = ["dpv", "dps", "groups", "dpg"];

/// The number type of the ending of a member's name; `bit` takes one byte per value, as in trx-python.
fn named(number: &str) -> Option<Type> {
    Some(match number {
        "float16" => Type::F16,
        "float32" => Type::F32,
        "float64" => Type::F64,
        "int8" => Type::I8,
        "int16" => Type::I16,
        "int32" => Type::I32,
        "int64" => Type::I64,
        "uint8" | "bit" | "bool" => Type::U8,
        "uint16" => Type::U16,
        "uint32" => Type::U32,
        "uint64" => Type::U64,
        _ => return None,
    })
}

/// Whether a folder is a TRX.
pub fn is_folder(path: &Path) -> bool {
    path.join(HEADER).is_file()
}

/// Returns an error instead of replacing a folder that is no TRX, or in which files of other kinds would be deleted.
pub(super) fn may_replace(path: &Path) -> Result<(), Error> {
    if !is_folder(path) {
        return Err(Error::FolderInPlace {
            path: path.to_owned(),
        });
    }
    let mut others = Vec::new();
    for (name, is_folder) in entries(path)? {
        if is_folder && FOLDERS.contains(&name.as_str()) {
            let depth = if name == "dpg" { 2 } else { 1 };
            other_files(&path.join(&name), &name, depth, &mut others)?;
        } else if is_folder || !(name == HEADER || is_member(&name)) {
            others.push(name);
        }
    }
    others.sort();
    let Some(first) = others.first() else {
        return Ok(());
    };
    let more = match others.len() - 1 {
        0 => String::new(),
        n => format!(" and {} more", counted(n, "file")),
    };
    Err(Error::unsupported(
        path,
        format!("a TRX folder that also holds {first}{more}, which no TRX has"),
        "move that elsewhere, or choose another name",
    ))
}

/// Names of the entries of a folder, and whether they are folders.
fn entries(folder: &Path) -> Result<Vec<(String, bool)>, Error> {
    let failed = |e: std::io::Error| Error::reading(folder, &e);
    let mut entries = Vec::new();
    for entry in disk::list(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        entries.push((name, kind.is_dir()));
    }
    Ok(entries)
}

/// Adds the files in a TRX's folder, and in those `depth` - 1 levels below, that are not arrays.
fn other_files(
    folder: &Path,
    prefix: &str,
    depth: usize,
    others: &mut Vec<String>,
) -> Result<(), Error> {
    for (name, is_folder) in entries(folder)? {
        let long = format!("{prefix}/{name}");
        if is_folder && depth > 1 {
            other_files(&folder.join(&name), &long, depth - 1, others)?;
        } else if is_folder || !is_member(&name) {
            others.push(long);
        }
    }
    Ok(())
}

/// Whether a file's name is that of an array, or of a file that systems create in any folder.
fn is_member(file: &str) -> bool {
    let number = file.rsplit_once('.').and_then(|(_, number)| named(number));
    number.is_some() || [".DS_Store", "Thumbs.db", "desktop.ini"].contains(&file)
}

/// The parts of a member's name: `dpv/rgb.3.uint8`.
struct Name<'a> {
    folder: &'a str,
    name: &'a str,
    columns: usize,
    number_type: Type,
}

impl<'a> Name<'a> {
    fn parse(path: &Path, member: &'a str) -> Result<Self, Error> {
        let (folder, file) = member.rsplit_once('/').unwrap_or(("", member));
        let name_error = || {
            Error::malformed(
                path,
                format!("a member named {member}"),
                "a name that ends in a number type such as .float32 or .3.uint16",
            )
        };
        let (stem, number_type) = file.rsplit_once('.').ok_or_else(name_error)?;
        let number_type = named(number_type).ok_or_else(name_error)?;
        let split = stem.rsplit_once('.');
        let columns = split.and_then(|(stem, n)| Some((stem, n.parse::<usize>().ok()?)));
        let (name, columns) = columns.unwrap_or((stem, 1));
        if columns == 0 {
            return Err(name_error());
        }
        Ok(Self {
            folder,
            name: name.trim(),
            columns,
            number_type,
        })
    }
}

/// Reads all streamlines in their order, including those without points.
pub fn read(path: &Path, control: &Control) -> Result<(Tractogram, FibreInfo), Error> {
    let parts = store::parts(path, control)?;
    let mut info = FibreInfo::default();
    let header = header(path, &parts, control)?;
    let count = |key: &str| {
        header[key].as_u64().ok_or_else(|| {
            Error::malformed(
                path,
                format!("the header's {key} {}", header[key]),
                "a whole number",
            )
        })
    };
    let (lines, vertices) = (count("NB_STREAMLINES")?, count("NB_VERTICES")?);
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let vertices = usize::try_from(vertices).unwrap_or(usize::MAX);

    let mut arrays = Arrays {
        path,
        lines,
        vertices,
        ..Arrays::new(path, control)
    };
    let named = parts.iter().filter(|p| p.name != HEADER);
    let named = named.map(|part| Ok((part, Name::parse(path, &part.name)?)));
    let named = named.collect::<Result<Vec<_>, Error>>()?;
    let (first, rest): (Vec<_>, Vec<_>) = named.into_iter().partition(|(_, name)| {
        name.folder.is_empty() && ["positions", "offsets"].contains(&name.name)
    });
    let called = |requested| first.iter().filter(move |(_, name)| name.name == requested);
    // Read before the rest: they prove that there are as many as the header states.
    let (points, offsets) = rayon::join(
        || last_of_several(called("positions").map(|(part, name)| arrays.points_of(part, name))),
        || last_of_several(called("offsets").map(|(part, name)| arrays.offsets_of(part, name))),
    );
    (arrays.points, arrays.offsets) = (points?, offsets?);
    for (part, name) in &rest {
        control.check()?;
        arrays.take_array(part, name, &mut info)?;
    }
    let (points, offsets) = arrays.lines(&mut info)?;
    let mut tractogram = Tractogram::new(points, offsets);
    tractogram.per_point = arrays.per_point;
    tractogram.per_streamline = arrays.per_streamline;
    tractogram.per_group = arrays.per_group;
    for (name, members) in arrays.groups {
        tractogram.groups.insert(name, members);
    }
    tractogram.grid = grid(&header, &mut info).map(Arc::new);
    for (name, meanings) in header[CODES].as_object().into_iter().flatten() {
        let meanings = meanings.as_array().into_iter().flatten();
        let meanings = meanings.map(|w| w.as_str().unwrap_or_default().to_owned());
        if tractogram.per_streamline.contains_key(name) {
            tractogram = tractogram.with_codes(name, meanings.collect::<Vec<_>>());
        }
    }
    for (key, value) in header.as_object().into_iter().flatten() {
        info.add(
            key,
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        );
    }
    let mut all = first.iter().chain(&rest);
    info.is_rounded = all.any(|(_, name)| name.number_type == Type::F64);
    info.check(&tractogram, None);
    Ok((tractogram, info))
}

/// The last one if there are several, which should not occur.
fn last_of_several<T>(mut all: impl Iterator<Item = Result<T, Error>>) -> Result<Option<T>, Error> {
    all.try_fold(None, |_, item| item.map(Some))
}

fn header(path: &Path, parts: &[StoredArray], control: &Control) -> Result<Value, Error> {
    let Some(part) = parts.iter().find(|p| p.name == HEADER) else {
        return Err(Error::malformed(
            path,
            "an archive without header.json",
            "a TRX file",
        ));
    };
    let (bytes, range) = part.bytes(control)?;
    serde_json::from_slice(&(*bytes).as_ref()[range]).map_err(|e| {
        Error::malformed(
            path,
            format!("a header.json with {}", json::problem(&e)),
            ("a TRX header", "write the file again"),
        )
    })
}

/// The grid in the header; `None` if it has none, or the value that writers without a grid put there.
fn grid(header: &Value, info: &mut FibreInfo) -> Option<Grid> {
    let (shape, affine) = (&header["DIMENSIONS"], &header["VOXEL_TO_RASMM"]);
    let shape: Vec<usize> = shape
        .as_array()?
        .iter()
        .filter_map(|n| Some(n.as_f64().filter(|n| *n >= 1.0 && *n < 1e9)? as usize))
        .collect();
    let rows = affine.as_array()?.iter();
    let flat = rows.flat_map(|row| match row.as_array() {
        Some(row) => row.as_slice(),
        None => std::slice::from_ref(row),
    });
    let m: Vec<f64> = flat.filter_map(Value::as_f64).collect();
    let (Ok(shape), 16) = (<[usize; 3]>::try_from(shape), m.len()) else {
        info.note("The header names no grid of an image");
        return None;
    };
    let column = |c: usize| DVec3::new(m[c], m[4 + c], m[8 + c]);
    let axes = DMat3::from_cols(column(0), column(1), column(2));
    let affine = DAffine3::from_mat3_translation(axes, column(3));
    if shape == [1; 3] && affine == DAffine3::IDENTITY {
        return None;
    }
    let grid = Grid::new(shape, affine, AffineSource::Sform);
    if grid.is_none() {
        info.warn("The header's grid is flat or not finite; it was not used");
    }
    grid
}

/// The arrays read so far.
struct Arrays<'a> {
    path: &'a Path,
    control: &'a Control,
    lines: usize,
    vertices: usize,
    /// Number of value arrays so far.
    lists: usize,
    points: Option<Shared<[f32; 3]>>,
    offsets: Option<Arc<[u64]>>,
    per_point: BTreeMap<String, Arc<[f32]>>,
    per_streamline: BTreeMap<String, Arc<[f32]>>,
    groups: BTreeMap<String, Arc<[u32]>>,
    per_group: BTreeMap<String, BTreeMap<String, Arc<[f32]>>>,
}

/// Points, and the offsets of the streamlines.
type Lines = (Shared<[f32; 3]>, Arc<[u64]>);

impl<'a> Arrays<'a> {
    fn new(path: &'a Path, control: &'a Control) -> Self {
        Self {
            path,
            control,
            lines: 0,
            vertices: 0,
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

    fn take_array(
        &mut self,
        part: &StoredArray,
        name: &Name,
        info: &mut FibreInfo,
    ) -> Result<(), Error> {
        match name.folder {
            "dpv" => {
                let columns = self.columns(part, name, self.vertices, info)?;
                insert_values(&mut self.per_point, name.name, columns);
                Ok(())
            }
            "dps" => {
                let longer = self.bytes(name, self.lines.saturating_add(1));
                let columns = if longer == Some(part.length) {
                    info.warn_unread(format!(
                        "{} has one value more than there are streamlines; the last was not used",
                        part.name
                    ));
                    let mut columns = self.columns(part, name, self.lines + 1, info)?;
                    columns.iter_mut().for_each(|c| c.truncate(self.lines));
                    columns
                } else {
                    self.columns(part, name, self.lines, info)?
                };
                insert_values(&mut self.per_streamline, name.name, columns);
                Ok(())
            }
            "groups" => self.take_group(part, name),
            folder => match folder.strip_prefix("dpg/") {
                Some(group) => {
                    let columns = self.columns(part, name, 1, info)?;
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

    fn points_of(&self, part: &StoredArray, name: &Name) -> Result<Shared<[f32; 3]>, Error> {
        if name.columns != 3 || !name.number_type.is_float() {
            return Err(self.malformed(
                format!("points in {}", part.name),
                "positions.3.float16, float32 or float64",
            ));
        }
        self.check(part, name, self.vertices)?;
        part.points(name.number_type, self.vertices, self.control)
    }

    fn offsets_of(&self, part: &StoredArray, name: &Name) -> Result<Arc<[u64]>, Error> {
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

    fn columns(
        &mut self,
        part: &StoredArray,
        name: &Name,
        count: usize,
        info: &mut FibreInfo,
    ) -> Result<Vec<Vec<f32>>, Error> {
        self.check(part, name, count)?;
        self.lists = self.lists.saturating_add(name.columns);
        if self.lists > MAX_LISTS {
            return Err(self.malformed(
                format!("{} numbers for each value of {}", name.columns, part.name),
                (
                    format!("at most {MAX_LISTS} for all values together"),
                    "leave some out",
                ),
            ));
        }
        let (bytes, range) = part.bytes(self.control)?;
        let values = name.number_type.floats(&(*bytes).as_ref()[range], false);
        let large = |v: &f32| v.abs() > LARGEST_WHOLE;
        if name.number_type.is_wide_integer() && values.iter().any(large) {
            info.warn(format!(
                "{} holds numbers above {LARGEST_WHOLE}, whose last digits were rounded",
                part.name
            ));
        }
        if name.columns == 1 {
            return Ok(vec![values]);
        }
        let column = |c| {
            values
                .iter()
                .skip(c)
                .step_by(name.columns)
                .copied()
                .collect()
        };
        Ok((0..name.columns).map(column).collect())
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
    fn lines(&mut self, info: &mut FibreInfo) -> Result<Lines, Error> {
        let path = self.path;
        let missing = |what: &str| {
            Error::malformed(
                path,
                format!("a TRX without {what}"),
                ("positions and offsets", "write the file again"),
            )
        };
        let none = self.vertices == 0;
        let points = match self.points.take() {
            Some(points) => points,
            None if none => Shared::default(),
            None => return Err(missing("positions")),
        };
        let offsets = match self.offsets.take() {
            Some(offsets) => offsets,
            None if none && self.lines == 0 => Arc::new([0]),
            None => return Err(missing("offsets")),
        };
        let used = offsets.last().map_or(0, |&end| end as usize);
        if used == points.len() {
            return Ok((points, offsets));
        }
        let behind = points.len() - used;
        info.warn_unread(format!(
            "{} at the end {} to no streamline; {} not used",
            counted(behind, "point"),
            singular_or_plural(behind, "belongs", "belong"),
            singular_or_plural(behind, "it was", "they were")
        ));
        for values in self.per_point.values_mut() {
            *values = values[..used].into();
        }
        Ok((points[..used].into(), offsets))
    }
}

fn insert_values(values: &mut BTreeMap<String, Arc<[f32]>>, name: &str, columns: Vec<Vec<f32>>) {
    let count = columns.len();
    let plain = free_name(name, values);
    for (i, column) in columns.into_iter().enumerate() {
        let name = free_name(&column_name(&plain, i, count), values);
        values.insert(name, column.into());
    }
}
