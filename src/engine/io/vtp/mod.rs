//! VTK XML polydata ("VTK File Formats", Kitware): arrays as text, base64, or appended after the XML, raw or base64,
//! each optionally compressed with zlib.
//!
//! Memory: at most sixteen times the file, for compressed arrays sixteen times their unpacked size, which is limited
//! to a hundred times the file; plus the memory of up to `MAX_LISTS` arrays of values.

mod arrays;
mod write;

pub use write::save;

use super::numbers::Type;
use super::polydata::{Array, Polydata};
use super::streamlines::FibreInfo;
use super::{Error, Space};
use crate::compute::Control;
use crate::data::Tractogram;
use arrays::{ArrayBytes, Encoding, Form, Text, Unpacker};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::path::Path;

/// Reads the lines of a polydata file in their order, including those without points. `reported` holds the space of
/// files that do not name it.
pub fn read(
    path: &Path,
    reported: Option<Space>,
    control: &Control,
) -> Result<(Tractogram, FibreInfo), Error> {
    let text = Text::read(path, control)?;
    let length = text.length;
    let mut info = FibreInfo::default();
    let polydata = parse(path, text, control)?;
    let tractogram = polydata.tractogram(path, length, reported, &mut info)?;
    Ok((tractogram, info))
}

/// An attribute's text; empty if it is missing.
fn attribute(tag: &BytesStart, name: &str) -> String {
    let attribute = tag
        .attributes()
        .flatten()
        .find(|a| a.key.as_ref() == name.as_bytes());
    let Some(attribute) = attribute else {
        return String::new();
    };
    let text = String::from_utf8_lossy(&attribute.value).into_owned();
    match quick_xml::escape::unescape(&text) {
        Ok(plain) => plain.into_owned(),
        Err(_) => text,
    }
}

/// An announced array, whose text may follow.
struct ArrayHeader {
    name: String,
    number_type: Option<Type>,
    is_text: bool,
    columns: usize,
    stated: Option<usize>,
    form: Form,
    offset: usize,
}

/// A `DataArray` as it will be used.
struct UsedArray {
    section: String,
    name: String,
    number_type: Type,
    columns: usize,
    /// The number of columns that the file states, if it does.
    stated: Option<usize>,
    bytes: ArrayBytes,
}

fn parse(path: &Path, file: Text, control: &Control) -> Result<Polydata, Error> {
    let malformed = |found: String, expected: (&str, &str)| Error::malformed(path, found, expected);
    let mut reader = Reader::from_reader(file.xml());
    let mut elements = Elements::new(path, &file);
    let mut announced = None::<ArrayHeader>;
    let mut text = Vec::new();
    let mut nested = 0usize;
    let mut open = 0usize;
    // Before appended data the XML ends within the tag of the whole file.
    let max_open = usize::from(file.has_appended());
    loop {
        control.check()?;
        let event = reader.read_event().map_err(|e| {
            malformed(
                format!("XML that cannot be read ({e})"),
                ("a whole VTP file", "copy it again"),
            )
        })?;
        let empty = matches!(event, Event::Empty(_));
        match &event {
            Event::Start(_) => open += 1,
            Event::End(_) => open = open.saturating_sub(1),
            _ => {}
        }
        let mut ended = false;
        match event {
            // Comments inside an array are not part of it.
            Event::Start(_) if announced.is_some() => nested += 1,
            Event::Empty(_) if announced.is_some() => {}
            Event::End(_) if nested > 0 => nested -= 1,
            Event::Start(tag) | Event::Empty(tag) => {
                if let Some(array) = elements.begin(&tag)? {
                    ended = empty || array.form == Form::Appended;
                    announced = Some(array);
                    text.clear();
                }
            }
            Event::Text(piece) if announced.is_some() && nested == 0 => {
                text.extend_from_slice(&piece)
            }
            Event::End(_) => ended = true,
            Event::Eof => break,
            _ => {}
        }
        if !ended {
            continue;
        }
        if let Some(array) = announced.take() {
            elements.end_array(array, &text)?;
            text.clear();
        }
    }
    let Elements {
        unpacker,
        is_polydata,
        counts,
        space,
        given,
        ..
    } = elements;
    let Some(unpacker) = unpacker.filter(|_| is_polydata) else {
        let found = "no <VTKFile type=\"PolyData\">";
        let expected = "VTK XML polydata, which holds lines";
        return Err(Error::other_format(path, found, expected));
    };
    if open > max_open {
        return Err(malformed(
            format!("XML that ends within {open} of its tags"),
            ("a whole VTP file", "it was cut off: copy it again"),
        ));
    }
    let Some(counts) = counts else {
        let expected = ("one with points and lines", "write the file again");
        return Err(malformed("polydata without a piece".to_owned(), expected));
    };
    let big_endian = unpacker.big_endian;
    drop(file);
    assemble(path, given, counts, big_endian, space, control)
}

/// The content of the elements so far.
struct Elements<'a> {
    path: &'a Path,
    file: &'a Text<'a>,
    unpacker: Option<Unpacker<'a>>,
    is_polydata: bool,
    /// Numbers of points, vertices, lines, strips and polygons; `None` before the piece.
    counts: Option<[usize; 5]>,
    space: Option<String>,
    /// The element that holds the arrays.
    section: String,
    given: Vec<UsedArray>,
}

impl<'a> Elements<'a> {
    fn new(path: &'a Path, file: &'a Text<'a>) -> Self {
        Self {
            path,
            file,
            unpacker: None,
            is_polydata: false,
            counts: None,
            space: None,
            section: String::new(),
            given: Vec::new(),
        }
    }

    /// Takes an element's tag; returns the array that it announces, if it does.
    fn begin(&mut self, tag: &BytesStart) -> Result<Option<ArrayHeader>, Error> {
        match tag.local_name().as_ref() {
            b"VTKFile" => {
                self.is_polydata = attribute(tag, "type") == "PolyData";
                let unpacker =
                    Unpacker::new(self.path, self.file.length, |name| attribute(tag, name))?;
                self.unpacker = Some(unpacker);
            }
            b"Piece" => {
                if self.counts.is_some() {
                    return Err(Error::malformed(
                        self.path,
                        "several pieces",
                        ("one", "save the file again as a single piece"),
                    ));
                }
                let names = ["Points", "Verts", "Lines", "Strips", "Polys"];
                self.counts = Some(names.map(|n| {
                    let count = attribute(tag, &format!("NumberOf{n}"));
                    count.trim().parse().unwrap_or(0)
                }));
            }
            b"DataArray" | b"Array" => return array_header(self.path, tag).map(Some),
            name @ (b"FieldData" | b"PointData" | b"CellData" | b"Points" | b"Verts" | b"Lines"
            | b"Strips" | b"Polys") => {
                self.section = String::from_utf8_lossy(name).into_owned();
            }
            _ => {}
        }
        Ok(None)
    }

    /// Takes an array and the text in it.
    fn end_array(&mut self, array: ArrayHeader, text: &[u8]) -> Result<(), Error> {
        let Some(unpacker) = &mut self.unpacker else {
            return Err(Error::malformed(
                self.path,
                "an array outside <VTKFile>",
                "a VTP file",
            ));
        };
        if self.section == "FieldData" {
            if array.name == "SPACE" && array.form == Form::Ascii {
                self.space = Some(letters(text));
            }
        } else if let Some(number_type) = array.number_type {
            let encoding = match array.form {
                Form::Ascii => Encoding::Ascii(text),
                Form::Binary => Encoding::Base64(text),
                Form::Appended => self.file.at(array.offset).ok_or_else(|| {
                    Error::malformed(
                        self.path,
                        format!("an array at {}", array.offset),
                        ("one inside the file", "it was cut off: copy it again"),
                    )
                })?,
            };
            self.given.push(UsedArray {
                section: self.section.clone(),
                bytes: unpacker.array_bytes(encoding, number_type)?,
                name: array.name,
                number_type,
                columns: array.columns,
                stated: array.stated,
            });
        } else if !array.is_text {
            return Err(Error::malformed(
                self.path,
                format!("the array {} of an unknown type", array.name),
                "Float32, Float64 or a whole number type",
            ));
        }
        Ok(())
    }
}

/// Text as VTK writes it in XML: character codes.
fn letters(text: &[u8]) -> String {
    let codes = super::polydata::parsed_numbers::<u8>(text).map_while(|v| v);
    codes.take_while(|&c| c != 0).map(char::from).collect()
}

fn array_header(path: &Path, tag: &BytesStart) -> Result<ArrayHeader, Error> {
    let number_type = match attribute(tag, "type").as_str() {
        "Float32" => Some(Type::F32),
        "Float64" => Some(Type::F64),
        "Int8" => Some(Type::I8),
        "Int16" => Some(Type::I16),
        "Int32" => Some(Type::I32),
        "Int64" => Some(Type::I64),
        "UInt8" => Some(Type::U8),
        "UInt16" => Some(Type::U16),
        "UInt32" => Some(Type::U32),
        "UInt64" => Some(Type::U64),
        _ => None,
    };
    let form = match attribute(tag, "format").as_str() {
        "ascii" | "" => Form::Ascii,
        "binary" => Form::Binary,
        "appended" => Form::Appended,
        other => {
            return Err(Error::malformed(
                path,
                format!("an array in the format “{other}”"),
                "ascii, binary or appended",
            ));
        }
    };
    let stated = attribute(tag, "NumberOfComponents").trim().parse().ok();
    Ok(ArrayHeader {
        name: attribute(tag, "Name"),
        number_type,
        is_text: attribute(tag, "type") == "String",
        columns: stated.unwrap_or(1),
        stated,
        form,
        offset: attribute(tag, "offset").trim().parse().unwrap_or(0),
    })
}

fn assemble(
    path: &Path,
    given: Vec<UsedArray>,
    counts: [usize; 5],
    big_endian: bool,
    space: Option<String>,
    control: &Control,
) -> Result<Polydata, Error> {
    let [points, verts, lines, strips, polys] = counts;
    let cells = [verts, lines, strips, polys]
        .iter()
        .try_fold(0usize, |sum, &n| sum.checked_add(n))
        .unwrap_or(usize::MAX);
    let mut data = Polydata {
        offsets: vec![0],
        cells_before: verts,
        cells_behind: cells.saturating_sub(verts).saturating_sub(lines),
        space,
        ..Polydata::default()
    };
    for array in given {
        let count = array.bytes.length() / array.number_type.bytes();
        let expect = |items: usize, columns: usize| {
            if items.checked_mul(columns) == Some(count) {
                return Ok(());
            }
            Err(Error::malformed(
                path,
                format!("{count} numbers in {} {}", array.section, array.name),
                (
                    format!("{items} times {columns}, which the file announces"),
                    "write it again",
                ),
            ))
        };
        let form = (array.number_type, big_endian);
        let whole = || match array.number_type.is_float() {
            false => Ok(()),
            true => Err(Error::malformed(
                path,
                "lines made of fractions",
                "whole numbers",
            )),
        };
        match (array.section.as_str(), array.name.as_str()) {
            ("Points", _) => {
                // Without a statement only this number is possible.
                if array.stated.is_some_and(|n| n != 3) {
                    return Err(Error::malformed(
                        path,
                        format!("points of {} coordinates", array.columns),
                        ("three", "write the file again"),
                    ));
                }
                expect(points, 3)?;
                data.points = vec![[0.0; 3]; points];
                let out = data.points.as_flattened_mut();
                array.bytes.fill(path, form, out, control)?;
                data.has_doubles |= array.number_type == Type::F64;
            }
            ("Lines", "connectivity") => {
                whole()?;
                let take = |index| data.connectivity.push(index);
                array.bytes.indices(path, form, control, take)?;
            }
            ("Lines", "offsets") => {
                expect(lines, 1)?;
                whole()?;
                let take = |offset| data.offsets.push(offset);
                array.bytes.indices(path, form, control, take)?;
            }
            (section @ ("PointData" | "CellData"), _) if array.columns > 0 => {
                let of_points = section == "PointData";
                expect(if of_points { points } else { cells }, array.columns)?;
                let mut values = vec![0.0; count];
                array.bytes.fill(path, form, &mut values, control)?;
                data.has_doubles |= array.number_type == Type::F64;
                let list = match of_points {
                    true => &mut data.of_points,
                    false => &mut data.of_cells,
                };
                list.push(Array {
                    name: array.name,
                    columns: array.columns,
                    values,
                });
            }
            _ => {}
        }
    }
    // A section may lack the array of its points or lines.
    if data.lines() != lines || data.points.len() != points {
        return Err(Error::malformed(
            path,
            format!("{} lines and {} points", data.lines(), data.points.len()),
            (
                format!("{lines} and {points}, which the file announces"),
                "copy it again",
            ),
        ));
    }
    Ok(data)
}
