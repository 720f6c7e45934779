//! Writes legacy VTK: binary, version 3.0, which every reader supports, in RAS.

use super::super::streamlines::{difference, same_values};
use super::super::{DISCLAIMER, Error, atomic, disk};
use super::read;
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::tractogram::columns;
use crate::data::{Shared, Tractogram};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Largest number of letters in a title.
const TITLE: usize = 255;
/// Values between two checks for cancellation.
const PIECE: usize = 1 << 18;

type Out<'a> = &'a mut BufWriter<disk::File>;

/// Writes all points and values, with `command` in the title; reads the file back and compares.
pub fn save(
    path: &Path,
    tractogram: &Tractogram,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    let size = tractogram.points.len() + tractogram.len();
    if i32::try_from(size).is_err() {
        return Err(Error::malformed(
            path,
            format!("{} points", tractogram.points.len()),
            ("fewer than two billion, the limit of VTK", "choose TRX"),
        ));
    }
    let name = file_name(path);
    control.begin_file("Writing", &name, tractogram.points.len() as u64);
    atomic::write_verified(
        path,
        |file| write(file, tractogram, command, control),
        |written| -> Result<(), atomic::VerifyFailure> {
            let (stored, _) = read(written, None, &control.silent())?;
            difference(&stored, tractogram, 0.0)?;
            same_values(&stored.per_point, &tractogram.per_point)?;
            same_values(&stored.per_streamline, &tractogram.per_streamline)?;
            Ok(control.check()?)
        },
    )
}

fn write(
    file: Out,
    tractogram: &Tractogram,
    command: &str,
    control: &Control,
) -> Result<(), atomic::WriteStop> {
    let title = format!("SPACE=RAS {DISCLAIMER}; {command}");
    let plain = |c: char| if c.is_ascii_graphic() { c } else { ' ' };
    let title: String = title.chars().map(plain).take(TITLE).collect();
    let points = tractogram.points.len();
    write!(
        file,
        "# vtk DataFile Version 3.0\n{}\nBINARY\nDATASET POLYDATA\nPOINTS {points} float\n",
        title.trim_end()
    )?;
    for piece in tractogram.points.chunks(PIECE) {
        control.check()?;
        big_endian(file, piece.as_flattened().iter().copied())?;
        control.advance(piece.len() as u64);
    }
    let lines = tractogram.len();
    writeln!(file)?;
    // VTK's own reader treats a section without lines as an error.
    if lines > 0 {
        writeln!(file, "LINES {lines} {}", lines + points)?;
    }
    for ends in tractogram.offsets.windows(2) {
        let count = (ends[1] - ends[0]) as i32;
        file.write_all(&count.to_be_bytes())?;
        for index in ends[0]..ends[1] {
            file.write_all(&(index as i32).to_be_bytes())?;
        }
    }
    writeln!(file)?;
    for (section, count, values) in [
        ("POINT_DATA", points, &tractogram.per_point),
        ("CELL_DATA", lines, &tractogram.per_streamline),
    ] {
        field(file, section, count, values, control)?;
    }
    Ok(())
}

fn field(
    file: Out,
    section: &str,
    count: usize,
    values: &BTreeMap<String, Shared<f32>>,
    control: &Control,
) -> Result<(), atomic::WriteStop> {
    let columns = columns(values);
    if columns.is_empty() {
        return Ok(());
    }
    write!(
        file,
        "{section} {count}\nFIELD FieldData {}\n",
        columns.len()
    )?;
    for value in columns {
        control.check()?;
        let width = value.columns.len();
        writeln!(file, "{} {width} {count} float", encoded(value.name))?;
        let numbers = (0..count).flat_map(|i| value.columns.iter().map(move |c| c[i]));
        big_endian(file, numbers)?;
        writeln!(file)?;
    }
    Ok(())
}

fn big_endian(file: Out, values: impl Iterator<Item = f32>) -> std::io::Result<()> {
    let bytes: Vec<u8> = values.flat_map(f32::to_be_bytes).collect();
    file.write_all(&bytes)
}

/// A name as one word.
fn encoded(name: &str) -> String {
    let safe = |b: u8| b.is_ascii_graphic() && b != b'%' && b != b'"';
    let letters = name.bytes().map(|b| match safe(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    letters.collect()
}
