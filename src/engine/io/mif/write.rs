//! Writes MRtrix images: `.mif`, the same compressed (`.mif.gz`), and a header `.mih` with its voxels in a `.dat`. The
//! axes are those of the grid, in its order and directions.

use super::header::SCHEME;
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::{Grid, Mask, Volume};
use crate::io::atomic::{self, PreparedFile, ReadBackDifference, VerifyFailure, WriteStop};
use crate::io::gradients::Rows;
use crate::io::numbers::Type;
use crate::io::stored::{Pixel, Stored};
use crate::io::text::counted;
use crate::io::written_voxels::Voxels;
use crate::io::{DISCLAIMER, Error, extension, with_extension};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DAffine3, DMat3, DVec3};
use std::io::Write;
use std::path::{Path, PathBuf};

const COMMENTS: &str = "comments";
const HISTORY: &str = "command_history";
/// The voxels begin at a multiple of this many bytes.
const ALIGNMENT: usize = 16;
/// Bytes of the line with the offset and of the last line.
const LAST_LINES_BYTES: usize = 32;
/// Bits packed between two checks for cancellation, a multiple of 8.
const CHUNK_BITS: usize = 1 << 18;

/// An image to be written.
struct Image<'a> {
    grid: &'a Grid,
    frames: usize,
    voxels: Voxels<'a>,
    gradients: Option<&'a Rows>,
    description: &'a str,
}

/// Writes a volume as float32, counts that float32 rounds as uint32. Colours become three volumes from 0 to 1, as in
/// MRtrix's own colour maps.
pub fn save_volume(
    path: &Path,
    volume: &Volume,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    atomic::rename_together(prepare_volume(path, volume, description, control)?)
}

/// Does everything except the last step.
pub fn prepare_volume(
    path: &Path,
    volume: &Volume,
    description: &str,
    control: &Control,
) -> Result<Vec<PreparedFile>, Error> {
    let voxels = match volume.counts() {
        Some(counts) => Voxels::Count(counts),
        None => Voxels::Float(&volume.values),
    };
    prepare_plain(
        path,
        &volume.grid,
        volume.frames,
        voxels,
        description,
        control,
    )
}

/// Writes a mask as bits.
pub fn save_mask(
    path: &Path,
    mask: &Mask,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    let voxels = Voxels::Byte(&mask.inside);
    save(path, &mask.grid, 1, voxels, description, control)
}

/// Writes a label map as uint16: 0 marks voxels without a region.
pub fn save_labels(
    path: &Path,
    grid: &Grid,
    labels: &[u16],
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    save(path, grid, 1, Voxels::Label(labels), description, control)
}

fn save(
    path: &Path,
    grid: &Grid,
    frames: usize,
    voxels: Voxels<'_>,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    let files = prepare_plain(path, grid, frames, voxels, description, control)?;
    atomic::rename_together(files)
}

/// Prepares an image without gradients, in one file.
fn prepare_plain(
    path: &Path,
    grid: &Grid,
    frames: usize,
    voxels: Voxels<'_>,
    description: &str,
    control: &Control,
) -> Result<Vec<PreparedFile>, Error> {
    // Its second file might replace a file without a warning.
    if super::has_two_files(path) {
        return Err(Error::unsupported(
            path,
            "the name of an image in two files",
            "end it in .mif or .mif.gz",
        ));
    }
    let image = Image {
        grid,
        frames,
        voxels,
        gradients: None,
        description,
    };
    prepare(path, &image, control)
}

/// Writes an image in its own type under a temporary name; a `.mih` and its `.dat` are two files.
pub fn prepare_stored(
    path: &Path,
    stored: &Stored,
    gradients: Option<&Rows>,
    description: &str,
    control: &Control,
) -> Result<Vec<PreparedFile>, Error> {
    let image = Image {
        grid: &stored.grid,
        frames: stored.frames,
        voxels: Voxels::Stored(stored),
        gradients,
        description,
    };
    prepare(path, &image, control)
}

/// The file with the voxels of a `.mih`.
pub fn data_path(header: &Path) -> PathBuf {
    with_extension(header, "dat")
}

/// Losses of an image in an MRtrix image, one sentence each.
pub fn unsupported_contents(stored: &Stored) -> Vec<String> {
    let meaning = &stored.meaning;
    let mut losses = meaning.rest.losses_without("MIF");
    losses.extend(meaning.acquisition.unsupported_contents("MIF"));
    let is_time = matches!(meaning.step_unit, 0 | 8 | 16 | 24);
    let [step, ..] = meaning.steps;
    if !is_time && meaning.sizes.first().is_some_and(|n| *n > 1) {
        losses.push(format!(
            "MIF holds steps between volumes in seconds only, not {step} (NIfTI's unit {})",
            meaning.step_unit
        ));
    }
    if meaning.intent != 0 {
        losses.push(format!(
            "MIF does not say what the values are (NIfTI's intent {})",
            meaning.intent
        ));
    }
    if stored.grid.space_code != 1 && stored.grid.is_placed() {
        losses.push(format!(
            "MIF does not say which space its world is (NIfTI's code {})",
            stored.grid.space_code
        ));
    }
    losses.extend(meaning.lost_nrrd_keys("MIF"));
    losses
}

/// An image of colours as one of three or four volumes, with a sentence about it; any other image as it is.
pub fn separate_colours(stored: Stored) -> (Stored, Option<String>) {
    let count = match stored.pixel {
        Pixel::Number(_) => return (stored, None),
        Pixel::Rgb => 3,
        Pixel::Rgba => 4,
    };
    let plane = |c: usize| stored.bytes.iter().skip(c).step_by(count).copied();
    let planes: Vec<u8> = (0..count).flat_map(plane).collect();
    let loss = format!(
        "MIF holds no colours: they become {} of uint8",
        counted(count, "volume")
    );
    let mut meaning = stored.meaning;
    (meaning.sizes, meaning.steps) = (vec![count], [1.0; 4]);
    meaning.step_unit = 0;
    let separated = Stored {
        frames: count,
        pixel: Pixel::Number(Type::U8),
        bytes: planes.into(),
        meaning,
        ..stored
    };
    (separated, Some(loss))
}

fn prepare(path: &Path, image: &Image<'_>, control: &Control) -> Result<Vec<PreparedFile>, Error> {
    let ending = extension(path);
    if !matches!(ending.as_str(), "mif" | "mif.gz" | "mih") {
        return Err(Error::unsupported(
            path,
            "a name without the ending of an image",
            "end it in .mif or .mif.gz",
        ));
    }
    let header = header(path, image)?;
    let count = image.grid.voxel_count() * image.frames;
    let name = file_name(path);
    control.begin_file("Writing", &name, count as u64);
    if super::has_two_files(path) {
        return prepare_pair(path, &header, image, control);
    }
    let offset = (header.len() + LAST_LINES_BYTES).next_multiple_of(ALIGNMENT);
    let mut head = format!("{header}file: . {offset}\nEND\n").into_bytes();
    head.resize(offset, 0);
    let file = atomic::prepare(
        path,
        |file| {
            if ending == "mif.gz" {
                // Fast: users wait for the file.
                let mut encoder = GzEncoder::new(file, Compression::fast());
                encoder.write_all(&head)?;
                write_values(&mut encoder, &image.voxels, count, control)?;
                encoder.finish()?;
            } else {
                file.write_all(&head)?;
                write_values(file, &image.voxels, count, control)?;
            }
            Ok(())
        },
        |written| verify(written, None, image, control),
    )?;
    Ok(vec![file])
}

/// The header first, as the user named it.
fn prepare_pair(
    path: &Path,
    header: &str,
    image: &Image<'_>,
    control: &Control,
) -> Result<Vec<PreparedFile>, Error> {
    let data = data_path(path);
    let name = file_name(&data);
    let ends_name = |c: char| c.is_whitespace() || "[]#".contains(c);
    if name.contains(ends_name) {
        return Err(Error::unsupported(
            path,
            "a name with a blank, a bracket or #, at which MRtrix ends the name of the voxels' file",
            "choose another name, or end it in .mif",
        ));
    }
    let count = image.grid.voxel_count() * image.frames;
    let voxels = atomic::prepare(
        &data,
        |file| write_values(file, &image.voxels, count, control),
        // Read together with the header.
        |_| Ok::<(), VerifyFailure>(()),
    )?;
    let text = format!("{header}file: {name}\nEND\n");
    let header = atomic::prepare(
        path,
        |file| Ok(file.write_all(text.as_bytes())?),
        |written| verify(written, Some(voxels.file()), image, control),
    )?;
    Ok(vec![header, voxels])
}

/// Values of 0 and 1 that are written as bits.
fn as_bits<'a>(voxels: &'a Voxels<'_>) -> Option<&'a [u8]> {
    match voxels {
        Voxels::Byte(values) => Some(values),
        Voxels::Stored(stored) if stored.meaning.is_bits => Some(&stored.bytes),
        _ => None,
    }
}

/// The name of the type in which an image is written, for sentences.
pub fn stored_type_name(stored: &Stored) -> &'static str {
    match stored.meaning.is_bits {
        true => "bits",
        false => stored.pixel.name(),
    }
}

fn write_values(
    file: &mut impl Write,
    voxels: &Voxels<'_>,
    count: usize,
    control: &Control,
) -> Result<(), WriteStop> {
    let Some(values) = as_bits(voxels) else {
        return voxels.write(file, count, control);
    };
    for values in values.chunks(CHUNK_BITS) {
        control.check()?;
        let pack = |eight: &[u8]| {
            let bits = eight.iter().enumerate();
            bits.fold(0, |byte, (i, value)| {
                byte | u8::from(*value != 0) << (7 - i)
            })
        };
        let packed: Vec<u8> = values.chunks(8).map(pack).collect();
        file.write_all(&packed)?;
        control.advance(values.len() as u64);
    }
    Ok(())
}

fn type_name(voxels: &Voxels<'_>) -> &'static str {
    match voxels {
        _ if as_bits(voxels).is_some() => "Bit",
        Voxels::Float(_) => "Float32LE",
        Voxels::Label(_) => "UInt16LE",
        Voxels::Count(_) => "UInt32LE",
        Voxels::Stored(stored) => match stored.pixel {
            Pixel::Number(number) => match number {
                Type::I8 => "Int8",
                Type::U8 => "UInt8",
                Type::I16 => "Int16LE",
                Type::U16 => "UInt16LE",
                Type::I32 => "Int32LE",
                Type::U32 => "UInt32LE",
                Type::I64 => "Int64LE",
                Type::U64 => "UInt64LE",
                // MRtrix 3 has no half precision, and no readable format stores images in it.
                Type::F16 | Type::F32 => "Float32LE",
                Type::F64 => "Float64LE",
            },
            Pixel::Rgb | Pixel::Rgba => "UInt8",
        },
        Voxels::Byte(_) | Voxels::Colour(_) => "UInt8",
    }
}

/// Everything before the line that names the file of the voxels.
fn header(path: &Path, image: &Image<'_>) -> Result<String, Error> {
    let (edges, affine) = placement(path, image.grid)?;
    let further = image.voxels.further(image.frames);
    let listed = |numbers: Vec<String>| numbers.join(",");
    let sizes = image.grid.shape.iter().chain(&further);
    let mut text = format!(
        "{}\ndim: {}\n",
        super::MAGIC,
        listed(sizes.map(usize::to_string).collect())
    );
    let steps = (0..further.len()).map(|i| step(&image.voxels, i));
    let spacings = edges.to_array().into_iter().chain(steps);
    text += &format!("vox: {}\n", listed(spacings.map(number).collect()));
    let ranks = (0..3 + further.len()).map(|rank| format!("+{rank}"));
    text += &format!("layout: {}\n", listed(ranks.collect()));
    text += &format!("datatype: {}\n", type_name(&image.voxels));
    if image.grid.is_placed() {
        for row in 0..3 {
            let axes = affine.matrix3.row(row).to_array();
            let row = axes.into_iter().chain([affine.translation[row]]);
            text += &format!("transform: {}\n", listed(row.map(number).collect()));
        }
    }
    let mut line = |key: &str, value: &str| {
        let value = value.replace(char::is_control, " ");
        if !value.trim().is_empty() {
            text += &format!("{key}: {}\n", value.trim());
        }
    };
    let (mut keys, mut description): (&[_], _) = (&[], image.description.to_owned());
    if let Voxels::Stored(stored) = &image.voxels {
        if let Some((slope, intercept)) = scaling(stored) {
            line("scaling", &format!("{intercept},{slope}"));
        }
        keys = &stored.meaning.mrtrix_keys;
        description = stored.meaning.rest.described(image.description);
    }
    let is_known = |text: &str| {
        keys.iter()
            .any(|(key, value)| key == COMMENTS && value == text)
    };
    if !is_known(DISCLAIMER) {
        line(COMMENTS, DISCLAIMER);
    }
    // The scheme of the scan from which an image was made, unless it has one of its own.
    let is_other = |key: &str| key == HISTORY || (key == SCHEME && image.gradients.is_some());
    for (key, value) in keys.iter().filter(|(key, _)| !is_other(key)) {
        line(key, value);
    }
    let history = keys.iter().filter(|(key, _)| key == HISTORY);
    for (key, value) in history {
        line(key, value);
    }
    line(HISTORY, &description);
    if let Some(rows) = image.gradients {
        for (v, b) in rows.in_mif(image.grid).into_iter().zip(&rows.b) {
            let row = [v.x, v.y, v.z, *b].map(number);
            line(SCHEME, &row.join(","));
        }
    }
    Ok(text)
}

/// Slope and intercept, unless they change nothing.
fn scaling(stored: &Stored) -> Option<(f64, f64)> {
    stored.scaling.filter(|scaling| *scaling != (1.0, 0.0))
}

/// The step along an axis of the frames in seconds; NaN if it is unknown.
fn step(voxels: &Voxels<'_>, axis: usize) -> f64 {
    let Voxels::Stored(stored) = voxels else {
        return f64::NAN;
    };
    let step = stored.meaning.steps.get(axis).copied();
    let step = step.filter(|step| step.is_finite() && *step >= 0.0);
    match (step, stored.meaning.step_unit) {
        // 1 stands for an unknown step, too.
        (Some(step), 0) if step != 1.0 => step,
        (Some(step), 8) => step,
        (Some(step), 16) => 1e-3 * step,
        (Some(step), 24) => 1e-6 * step,
        _ => f64::NAN,
    }
}

fn number(value: f64) -> String {
    match value.is_nan() {
        true => "nan".to_owned(),
        // Adding 0 turns -0 into 0.
        false => (value + 0.0).to_string(),
    }
}

/// Voxel edges, and the transform without them. Refuses numbers of a damaged header that no text of them preserves.
fn placement(path: &Path, grid: &Grid) -> Result<(DVec3, DAffine3), Error> {
    let own = grid.world_from_voxel;
    let edges = grid.spacing().map(without_rounding);
    let axes = DMat3::from_cols(
        own.matrix3.x_axis / edges.x,
        own.matrix3.y_axis / edges.y,
        own.matrix3.z_axis / edges.z,
    );
    let affine = DAffine3::from_mat3_translation(axes, own.translation);
    let written =
        DAffine3::from_mat3_translation(axes * DMat3::from_diagonal(edges), own.translation);
    let kept = Grid::new(grid.shape, written, grid.source);
    let kept = kept.is_some_and(|kept| kept.same_space(grid, near(grid)));
    match kept && edges.is_finite() {
        true => Ok((edges, affine)),
        false => Err(Error::unsupported(
            path,
            "an affine with numbers too large or too small for an MRtrix image",
            "repair the affine",
        )),
    }
}

/// An edge as it was before its axis was rounded to six digits, as MRtrix does: 2.5 instead of 2.4999995. The axis takes
/// up the difference.
fn without_rounding(edge: f64) -> f64 {
    /// Edges are stated in whole 1e-4 mm; six digits change a length by less than this share.
    const DECIMALS: f64 = 1e4;
    const ROUNDING: f64 = 1e-6;
    let near = (edge * DECIMALS).round() / DECIMALS;
    match (near - edge).abs() <= ROUNDING * edge && near > 0.0 {
        true => near,
        false => edge,
    }
}

/// Distance, mm, by which the product of edges and axes rounds a voxel's position.
fn near(grid: &Grid) -> f64 {
    let corners = grid.corners();
    1e-9 * corners
        .iter()
        .fold(1.0, |r: f64, c| r.max(c.abs().max_element()))
}

/// Reads the written file like any image and compares it.
fn verify(
    written: &Path,
    data: Option<&Path>,
    image: &Image<'_>,
    control: &Control,
) -> Result<(), VerifyFailure> {
    let silent = control.silent();
    let (grid, frames, same) = match &image.voxels {
        Voxels::Stored(stored) => {
            let (stored_again, _) = super::stored_parts(written, data, &silent)?;
            let same = stored_again.pixel == stored.pixel
                && stored_again.bytes == stored.bytes
                && stored_again.scaling == scaling(stored);
            (stored_again.grid, stored_again.frames, same)
        }
        voxels => {
            let (stored_again, _) = super::read_parts(written, data, &silent)?;
            let same = voxels.equal(&stored_again);
            (stored_again.grid, stored_again.frames, same)
        }
    };
    if frames != image.frames || grid.shape != image.grid.shape {
        return Err(ReadBackDifference::Sizes.into());
    }
    if !grid.is_written_as(image.grid, near(image.grid)) {
        return Err(ReadBackDifference::Affine.into());
    }
    if super::has_gradients(written)? != image.gradients.is_some() {
        return Err(ReadBackDifference::Gradients.into());
    }
    match same {
        true => Ok(control.check()?),
        false => Err(ReadBackDifference::Values.into()),
    }
}
