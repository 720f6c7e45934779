//! TRX (tee-ar-ex/trx-spec): raw little-endian arrays and a JSON header in a zip archive or a folder. Points are in
//! world RAS+ mm. Values per point (dpv), per streamline (dps), groups and values per group (dpg) are in folders of
//! these names; a member's name ends in its number type, optionally preceded by the number of columns.
//!
//! Each array is read separately: float32 points stay in place, everything else is converted to float32.
//!
//! Memory: at most four times the file (a byte becomes a float32; a one-byte index takes eight bytes while it is
//! checked), for deflated members four times their unpacked size, which is limited to a hundred times the file; and
//! the memory of up to `MAX_LISTS` arrays of values.

mod arrays;
mod pieces;
mod store;
mod write;

pub(super) use pieces::{Layout, Reader};
pub use write::{means_folder, save};
pub(super) use write::{renamed, save_pieces};

use super::numbers::Type;
use super::streamlines::FibreInfo;
use super::text::counted;
use super::{Error, disk, json};
use crate::compute::Control;
use crate::data::{AffineSource, Grid, Tractogram};
use arrays::Arrays;
use glam::{DAffine3, DMat3, DVec3};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::StoredArray;

const HEADER: &str = "header.json";
/// The arrays of the points, and of the ends of streamlines among them.
const POSITIONS: &str = "positions";
const OFFSETS: &str = "offsets";
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
    let mut arrays = Arrays::new(path, counts(path, &header)?, control);
    let (first, rest) = named_parts(path, &parts)?;
    let called = |requested| first.iter().filter(move |(_, name)| name.name == requested);
    // Read before the rest: they prove that there are as many as the header states.
    let (points, offsets) = rayon::join(
        || last_of_several(called(POSITIONS).map(|(part, name)| arrays.points_of(part, name))),
        || last_of_several(called(OFFSETS).map(|(part, name)| arrays.offsets_of(part, name))),
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
    tractogram.codes = Arc::new(codes(&header, &tractogram));
    add_properties(&header, &mut info);
    info.is_rounded = has_doubles(first.iter().chain(&rest));
    info.check(&tractogram, None);
    Ok((tractogram, info))
}

/// The numbers of streamlines and of points that the header announces.
fn counts(path: &Path, header: &Value) -> Result<[usize; 2], Error> {
    let count = |key: &str| -> Result<usize, Error> {
        let count = header[key].as_u64().ok_or_else(|| {
            Error::malformed(
                path,
                format!("the header's {key} {}", header[key]),
                "a whole number",
            )
        })?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    };
    Ok([count("NB_STREAMLINES")?, count("NB_VERTICES")?])
}

/// A stored array and the parts of its name.
type NamedPart<'a> = (&'a StoredArray, Name<'a>);

/// The arrays besides the header: positions and offsets, and the others.
fn named_parts<'a>(
    path: &Path,
    parts: &'a [StoredArray],
) -> Result<(Vec<NamedPart<'a>>, Vec<NamedPart<'a>>), Error> {
    let named = parts.iter().filter(|p| p.name != HEADER);
    let named = named.map(|part| Ok((part, Name::parse(path, &part.name)?)));
    let named = named.collect::<Result<Vec<_>, Error>>()?;
    let of_lines =
        |name: &Name| name.folder.is_empty() && [POSITIONS, OFFSETS].contains(&name.name);
    Ok(named.into_iter().partition(|(_, name)| of_lines(name)))
}

/// The meanings of the numbers of values that the streamlines have.
fn codes(header: &Value, tractogram: &Tractogram) -> BTreeMap<String, Arc<[String]>> {
    let codes = header[CODES].as_object().into_iter().flatten();
    let codes = codes.filter(|(name, _)| tractogram.per_streamline.contains_key(*name));
    let codes = codes.map(|(name, meanings)| {
        let meanings = meanings.as_array().into_iter().flatten();
        let meanings = meanings.map(|w| w.as_str().unwrap_or_default().to_owned());
        (name.clone(), meanings.collect())
    });
    codes.collect()
}

fn add_properties(header: &Value, info: &mut FibreInfo) {
    for (key, value) in header.as_object().into_iter().flatten() {
        let text = value.as_str().map(str::to_owned);
        info.add(key, text.unwrap_or_else(|| value.to_string()));
    }
}

fn has_doubles<'a>(mut all: impl Iterator<Item = &'a NamedPart<'a>>) -> bool {
    all.any(|(_, name)| name.number_type == Type::F64)
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
