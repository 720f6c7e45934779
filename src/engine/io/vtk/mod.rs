//! VTK legacy polydata ("VTK File Formats", Kitware): a text header, then sections in ASCII or big-endian binary.
//! Lines are lists of point indices, since version 5.1 as offsets and connectivity.
//!
//! Memory: at most sixteen times the file (a number of two letters becomes eight bytes), and for lines that share
//! points a hundred times; plus the memory of up to `MAX_LISTS` arrays of values.

mod cursor;
mod write;

pub use write::save;

use super::polydata::{Array, Order, Polydata};
use super::streamlines::FibreInfo;
use super::{Error, Space};
use crate::compute::Control;
use crate::data::Tractogram;
use cursor::{Cursor, Kind};
use std::path::Path;

/// Reads the lines of a polydata file in their order, including those without points. `reported` holds the space of
/// files that do not name it.
pub fn read(
    path: &Path,
    reported: Option<Space>,
    control: &Control,
) -> Result<(Tractogram, FibreInfo), Error> {
    let mut cursor = Cursor::open(path, control)?;
    let mut info = FibreInfo::default();
    let polydata = parse(&mut cursor, &mut info)?;
    let tractogram = polydata.tractogram(path, cursor.length, reported, &mut info)?;
    Ok((tractogram, info))
}

/// The cells that a list describes, and whether they precede the lines in the order of all cells.
const CELLS: [(&str, bool); 3] = [
    ("VERTICES", true),
    ("POLYGONS", false),
    ("TRIANGLE_STRIPS", false),
];

fn parse(cursor: &mut Cursor, info: &mut FibreInfo) -> Result<Polydata, Error> {
    let first = cursor.line();
    let Some(version) = first.strip_prefix("# vtk DataFile Version") else {
        let found = "a file that does not start with “# vtk DataFile Version”";
        return Err(cursor.other_format(found, "a legacy VTK file"));
    };
    info.add("version", version.trim());
    let title = cursor.line();
    info.add("title", title.trim());
    // VTK accepts these words in upper or lower case.
    cursor.binary = match cursor.line().trim() {
        word if word.eq_ignore_ascii_case("ASCII") => false,
        word if word.eq_ignore_ascii_case("BINARY") => true,
        other => {
            let other = format!("“{other}” in the third line");
            return Err(cursor.malformed(other, "ASCII or BINARY"));
        }
    };
    let (word, kind) = (cursor.word(), cursor.word());
    if !word.eq_ignore_ascii_case("DATASET") || !kind.eq_ignore_ascii_case("POLYDATA") {
        return Err(cursor.malformed(
            format!("“{word} {kind}” in the fourth line"),
            "DATASET POLYDATA, which holds lines",
        ));
    }
    let mut data = Polydata {
        space: space(&title),
        ..Polydata::default()
    };
    let mut section = None;
    loop {
        let keyword = cursor.keyword();
        match keyword.as_str() {
            "" => {
                data.has_doubles = cursor.has_doubles;
                return cursor.failure().map_or(Ok(data), Err);
            }
            "POINTS" => {
                let count = cursor.count()?;
                let kind = cursor.kind()?;
                let numbers = cursor.checked_count(kind, count.checked_mul(3))?;
                data.points = vec![[0.0; 3]; numbers / 3];
                cursor.fill(kind, data.points.as_flattened_mut())?;
            }
            "LINES" => (data.offsets, data.connectivity) = cells(cursor)?,
            "METADATA" => cursor.skip_metadata(),
            "POINT_DATA" | "CELL_DATA" => {
                let count = cursor.count()?;
                let cells = data.cells_before + data.lines() + data.cells_behind;
                let points = keyword == "POINT_DATA";
                let expected_count = if points { data.points.len() } else { cells };
                if count != expected_count {
                    return Err(cursor.malformed(
                        format!("values for {count} points or cells"),
                        format!("{expected_count}, as many as the file has; write the file again"),
                    ));
                }
                section = Some((points, count));
            }
            _ => {
                if let Some((_, before)) = CELLS.iter().find(|(name, _)| *name == keyword) {
                    let (offsets, _) = cells(cursor)?;
                    let count = offsets.len() - 1;
                    match before {
                        true => data.cells_before += count,
                        false => data.cells_behind += count,
                    }
                    continue;
                }
                let count = section.map_or(0, |(_, count)| count);
                let arrays = attribute(cursor, &keyword, count, &mut data.space)?;
                // Values before the first POINT_DATA belong to the whole file.
                match section {
                    Some((true, _)) => data.of_points.extend(arrays),
                    Some((false, _)) => data.of_cells.extend(arrays),
                    None => {}
                }
            }
        }
    }
}

/// The space stated in a title, as Slicer writes it.
fn space(title: &str) -> Option<String> {
    let (_, rest) = title.split_once("SPACE=")?;
    let name: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    Some(name)
}

/// Offsets and connectivity of a list of cells, in either form.
fn cells(cursor: &mut Cursor) -> Result<(Vec<u64>, Order), Error> {
    let (first, second) = (cursor.count()?, cursor.count()?);
    let (mut offsets, mut order) = (Vec::new(), Order::default());
    if cursor.next_is("OFFSETS") {
        cursor.word();
        let kind = cursor.kind()?;
        cursor.indices(kind, Some(first), |offset| offsets.push(offset))?;
        // A list without cells may have no offsets at all.
        if offsets.is_empty() {
            offsets.push(0);
        }
        if !cursor.next_is("CONNECTIVITY") {
            return Err(
                cursor.malformed("offsets without connectivity", "both; copy the file again")
            );
        }
        cursor.word();
        let kind = cursor.kind()?;
        cursor.indices(kind, Some(second), |index| order.push(index))?;
        return Ok((offsets, order));
    }
    // Each cell is its number of points followed by these.
    offsets.push(0);
    let mut left = 0;
    cursor.indices(Kind::INT, Some(second), |number| {
        if left > 0 {
            order.push(number);
            left -= 1;
        } else if offsets.len() <= first {
            left = number;
            offsets.push((order.len() as u64).saturating_add(number));
        }
    })?;
    if left > 0 || offsets.len() <= first {
        return Err(cursor.malformed(
            format!("a list of {second} numbers that is too short for its {first} cells"),
            "all their points; write the file again",
        ));
    }
    Ok((offsets, order))
}

/// The values after a keyword of a `POINT_DATA` or `CELL_DATA` section with `count` items.
fn attribute(
    cursor: &mut Cursor,
    keyword: &str,
    count: usize,
    space: &mut Option<String>,
) -> Result<Vec<Array>, Error> {
    if keyword == "FIELD" {
        let _name = cursor.word();
        let arrays = cursor.count()?;
        return field(cursor, arrays, count, space);
    }
    let name = cursor.name();
    let (kind, columns) = match keyword {
        "SCALARS" => {
            let kind = cursor.kind()?;
            let rest = cursor.line_rest();
            let columns = rest.trim().parse().unwrap_or(1);
            if cursor.next_is("LOOKUP_TABLE") {
                let _both = (cursor.word(), cursor.word());
            }
            (kind, columns)
        }
        "VECTORS" | "NORMALS" => (cursor.kind()?, 3),
        "TENSORS" => (cursor.kind()?, 9),
        "TENSORS6" => (cursor.kind()?, 6),
        "GLOBAL_IDS" | "PEDIGREE_IDS" | "EDGE_FLAGS" => (cursor.kind()?, 1),
        "TEXTURE_COORDINATES" => {
            let columns = cursor.count()?;
            (cursor.kind()?, columns)
        }
        "COLOR_SCALARS" => {
            let columns = cursor.count()?;
            (cursor.colour(), columns)
        }
        "LOOKUP_TABLE" => {
            // A colour table, not values.
            let entries = cursor.count()?;
            let kind = cursor.colour();
            cursor.floats(kind, entries.checked_mul(4))?;
            return Ok(Vec::new());
        }
        other => {
            let other = format!("a section named “{other}”");
            return Err(cursor.malformed(other, "a section of legacy VTK polydata"));
        }
    };
    let values = cursor.floats(kind, count.checked_mul(columns))?;
    Ok(array(name, columns, values).into_iter().collect())
}

fn array(name: String, columns: usize, values: Vec<f32>) -> Option<Array> {
    (columns > 0).then_some(Array {
        name,
        columns,
        values,
    })
}

fn field(
    cursor: &mut Cursor,
    arrays: usize,
    count: usize,
    space: &mut Option<String>,
) -> Result<Vec<Array>, Error> {
    let mut arrays_read = Vec::new();
    for _ in 0..arrays {
        while cursor.next_is("METADATA") {
            cursor.word();
            cursor.skip_metadata();
        }
        let name = cursor.name();
        let (columns, rows) = (cursor.count()?, cursor.count()?);
        let kind = cursor.kind()?;
        let numbers = columns.checked_mul(rows);
        if kind == Kind::STRING {
            let texts = cursor.strings(numbers)?;
            if name == "SPACE" {
                *space = texts.into_iter().next();
            }
            continue;
        }
        let values = cursor.floats(kind, numbers)?;
        if rows == count {
            arrays_read.extend(array(name, columns, values));
        }
    }
    Ok(arrays_read)
}
