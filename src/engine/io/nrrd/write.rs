//! Writes NRRD: one compressed file, of any number type, with the gradients of a scan in its header.

use super::gradients;
use crate::compute::Control;
use crate::data::text::file_name;
use crate::io::atomic::{self, PreparedFile, ReadBackDifference, VerifyFailure};
use crate::io::gradients::Rows;
use crate::io::numbers::Type;
use crate::io::stored::{Pixel, Stored};
use crate::io::{DISCLAIMER, Error};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DMat3, DVec3};
use std::io::Write;
use std::path::Path;

/// Bytes compressed between two checks for cancellation.
const CHUNK_BYTES: usize = 1 << 20;
/// The file's axes point to the patient's left, back and top, as in most NRRD files.
const SIGNS: DVec3 = DVec3::new(-1.0, -1.0, 1.0);

/// Losses of an image in an NRRD, one sentence each.
pub fn unsupported_contents(stored: &Stored) -> Vec<String> {
    let meaning = &stored.meaning;
    let mut losses = Vec::new();
    let axes = meaning.sizes.iter().filter(|n| **n > 1).count();
    if axes > 1 {
        losses.push(format!(
            "NRRD holds one axis besides those in space: the image's further {axes} become one of {} volumes",
            stored.frames
        ));
    }
    losses.extend(meaning.rest.losses_without("NRRD"));
    losses.extend(meaning.acquisition.unsupported_contents("NRRD"));
    losses.extend(meaning.lost_mrtrix_keys("NRRD"));
    // 1 is written if the step is unknown.
    let [step, ..] = meaning.steps;
    if meaning.sizes.first().is_some_and(|n| *n > 1) && step.is_normal() && step != 1.0 {
        let unit = match meaning.step_unit {
            8 => " s",
            16 => " ms",
            24 => " µs",
            _ => "",
        };
        losses.push(format!(
            "NRRD does not hold the step between volumes ({step}{unit})"
        ));
    }
    if meaning.intent != 0 {
        let numbers = meaning.intent_numbers.iter().filter(|n| **n != 0.0);
        let numbers: String = numbers.map(|n| format!(", {n}")).collect();
        let name = match meaning.intent_name.is_empty() {
            true => String::new(),
            false => format!(", “{}”", meaning.intent_name),
        };
        losses.push(format!(
            "NRRD does not say what the values are (NIfTI's intent {}{numbers}{name})",
            meaning.intent
        ));
    }
    if stored.grid.space_code != 1 && stored.grid.is_placed() {
        losses.push(format!(
            "NRRD does not say which space its world is (NIfTI's code {})",
            stored.grid.space_code
        ));
    }
    losses
}

/// Writes an image under a temporary name. It must have no slope and intercept.
pub fn prepare(
    path: &Path,
    stored: &Stored,
    gradients: Option<&Rows>,
    description: &str,
    control: &Control,
) -> Result<PreparedFile, Error> {
    let header = header(stored, gradients, description);
    let name = file_name(path);
    control.begin_file("Writing", &name, stored.bytes.len() as u64);
    atomic::prepare(
        path,
        |file| {
            file.write_all(header.as_bytes())?;
            let mut encoder = GzEncoder::new(file, Compression::fast());
            for bytes in stored.bytes.chunks(CHUNK_BYTES) {
                control.check()?;
                encoder.write_all(bytes)?;
                control.advance(bytes.len() as u64);
            }
            encoder.finish()?;
            Ok(())
        },
        |written| verify(written, stored, gradients.is_some(), control),
    )
}

/// Reads the written file like any image and compares it.
fn verify(
    written: &Path,
    stored: &Stored,
    gradients: bool,
    control: &Control,
) -> Result<(), VerifyFailure> {
    let (written_image, _) = super::stored(written, &control.silent())?;
    let near = 1e-9 * written_image.grid.spacing().max_element();
    let same = written_image
        .grid
        .is_written_as(&stored.grid, near.max(1e-9))
        && written_image.frames == stored.frames
        && written_image.pixel == stored.pixel
        && written_image.bytes == stored.bytes
        && super::gradients(written)?.is_some() == gradients;
    match same {
        true => Ok(control.check()?),
        false => Err(ReadBackDifference::File.into()),
    }
}

fn header(stored: &Stored, gradients: Option<&Rows>, description: &str) -> String {
    let grid = &stored.grid;
    let type_name = match stored.pixel {
        Pixel::Rgb | Pixel::Rgba => "uint8",
        Pixel::Number(number) => match number {
            Type::F32 | Type::F16 => "float",
            Type::F64 => "double",
            whole => whole.name(),
        },
    };
    let [nx, ny, nz] = grid.shape;
    let space = format!("{nx} {ny} {nz}");
    // The axis besides those in space, placed before or after them.
    let (before, behind) = match (stored.pixel, stored.frames) {
        (Pixel::Rgb, _) => (Some((3, "RGB-color")), None),
        (Pixel::Rgba, _) => (Some((4, "RGBA-color")), None),
        (_, 1) if gradients.is_none() => (None, None),
        (_, frames) => (None, Some((frames, "list"))),
    };
    let around = |three: &str, other: &dyn Fn((usize, &'static str)) -> String| {
        let parts = [before.map(other), Some(three.to_owned()), behind.map(other)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let dimension = 3 + usize::from(before.is_some()) + usize::from(behind.is_some());
    let described = stored.meaning.rest.described(description);
    let one_line = described.replace(['\n', '\r'], " ");
    let mut text = format!(
        "NRRD0005\n# {DISCLAIMER}; {one_line}\ntype: {type_name}\ndimension: {dimension}\n"
    );
    if grid.is_placed() {
        text += "space: left-posterior-superior\n";
    }
    text += &format!("sizes: {}\n", around(&space, &|(n, _)| n.to_string()));
    if grid.is_placed() {
        let m = grid.world_from_voxel;
        let vector = |v: DVec3| {
            // Adding 0 turns -0 into 0.
            let v = SIGNS * v + DVec3::ZERO;
            format!("({},{},{})", v.x, v.y, v.z)
        };
        let axes = [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis].map(vector);
        let axes = around(&axes.join(" "), &|_| "none".to_owned());
        text += &format!(
            "space directions: {axes}\nspace origin: {}\n",
            vector(m.translation)
        );
    } else {
        let edges = grid.spacing();
        let edges = format!("{} {} {}", edges.x, edges.y, edges.z);
        text += &format!("spacings: {}\n", around(&edges, &|_| "nan".to_owned()));
    }
    let kinds = around("domain domain domain", &|(_, kind)| kind.to_owned());
    text += &format!("kinds: {kinds}\nendian: little\nencoding: gzip\n");
    if let Some(rows) = gradients {
        let vectors = rows.directions(grid);
        text += "measurement frame: (1,0,0) (0,1,0) (0,0,1)\n";
        text += &gradients::keys(&rows.b, &vectors, DMat3::from_diagonal(SIGNS));
    }
    text + "\n"
}
