//! Writes VTP: arrays appended raw, little-endian, uncompressed, in RAS.

use super::super::streamlines::{difference, same_values};
use super::super::{DISCLAIMER, Error, atomic, little_endian};
use super::read;
use crate::compute::Control;
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::data::tractogram::{Columns, columns};
use std::io::Write as _;
use std::path::Path;

/// Numbers between two checks for cancellation.
const PIECE: usize = 1 << 18;
/// Bytes of the length before each array.
const LENGTH_BYTES: usize = 8;

/// Writes all points and values; reads the file back and compares.
pub fn save(path: &Path, tractogram: &Tractogram, control: &Control) -> Result<(), Error> {
    let name = file_name(path);
    control.begin_file("Writing", &name, tractogram.points.len() as u64);
    let (points, lines) = (tractogram.points.len(), tractogram.len());
    let of_points = columns(&tractogram.per_point);
    let of_lines = columns(&tractogram.per_streamline);
    let mut remarks = vec![DISCLAIMER.to_owned()];
    remarks.extend(tractogram.key());
    let xml = head(&of_points, &of_lines, points, lines, &remarks);
    atomic::write_verified(
        path,
        |file| {
            file.write_all(xml.as_bytes())?;
            let length = |n: usize| (n as u64).to_le_bytes();
            for (values, count) in [(&of_points, points), (&of_lines, lines)] {
                for value in values {
                    control.check()?;
                    file.write_all(&length(4 * count * value.columns.len()))?;
                    let numbers = (0..count).flat_map(|i| value.columns.iter().map(move |c| c[i]));
                    let numbers: Vec<f32> = numbers.collect();
                    file.write_all(&little_endian(&numbers))?;
                }
            }
            file.write_all(&length(12 * points))?;
            for piece in tractogram.points.chunks(PIECE) {
                control.check()?;
                file.write_all(&little_endian(piece.as_flattened()))?;
                control.advance(piece.len() as u64);
            }
            file.write_all(&length(8 * points))?;
            for index in 0..points as u64 {
                file.write_all(&index.to_le_bytes())?;
            }
            file.write_all(&length(8 * lines))?;
            for end in &tractogram.offsets[1..] {
                file.write_all(&end.to_le_bytes())?;
            }
            Ok(file.write_all(b"\n  </AppendedData>\n</VTKFile>\n")?)
        },
        |written| -> Result<(), atomic::VerifyFailure> {
            let (stored, _) = read(written, None, &control.silent())?;
            difference(&stored, tractogram, 0.0)?;
            same_values(&stored.per_point, &tractogram.per_point)?;
            same_values(&stored.per_streamline, &tractogram.per_streamline)?;
            Ok(control.check()?)
        },
    )
}

/// The XML before the arrays, which follow in the order in which it names them.
fn head(
    of_points: &[Columns],
    of_lines: &[Columns],
    points: usize,
    lines: usize,
    remarks: &[String],
) -> String {
    let mut offset = 0;
    // Two hyphens end a comment.
    let plain = |remark: &String| remark.replace('-', "\u{2010}");
    let remarks = remarks.iter().map(|r| format!("<!-- {} -->\n", plain(r)));
    let remarks: String = remarks.collect();
    let mut array = |number: &str, name: &str, columns: usize, bytes: usize| {
        let tag = format!(
            "        <DataArray type=\"{number}\" Name=\"{}\" NumberOfComponents=\"{columns}\" \
             format=\"appended\" offset=\"{offset}\"/>\n",
            quick_xml::escape::escape(name)
        );
        offset += LENGTH_BYTES + bytes;
        tag
    };
    let mut values = |values: &[Columns], count: usize| -> String {
        let tags = values.iter().map(|v| {
            let width = v.columns.len();
            array("Float32", v.name, width, 4 * width * count)
        });
        tags.collect()
    };
    let (of_points, of_lines) = (values(of_points, points), values(of_lines, lines));
    let place = array("Float32", "Points", 3, 12 * points);
    let connectivity = array("Int64", "connectivity", 1, 8 * points);
    let offsets = array("Int64", "offsets", 1, 8 * lines);
    // The letters of "RAS", in VTK's form of text.
    let space = "<Array type=\"String\" Name=\"SPACE\" NumberOfTuples=\"1\" format=\"ascii\">82 65 83 0</Array>";
    format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
         {remarks}\x20 <PolyData>\n    <FieldData>{space}</FieldData>\n\
         \x20   <Piece NumberOfPoints=\"{points}\" NumberOfVerts=\"0\" NumberOfLines=\"{lines}\" \
         NumberOfStrips=\"0\" NumberOfPolys=\"0\">\n\
         \x20     <PointData>\n{of_points}      </PointData>\n\
         \x20     <CellData>\n{of_lines}      </CellData>\n\
         \x20     <Points>\n{place}      </Points>\n\
         \x20     <Lines>\n{connectivity}{offsets}      </Lines>\n\
         \x20   </Piece>\n  </PolyData>\n  <AppendedData encoding=\"raw\">\n_"
    )
}
