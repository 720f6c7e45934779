//! Writes NIfTI-1: float32 volumes, uint8 masks, uint16 label maps, uint32 counts, RGB24 colours, and images of any
//! stored type.

use super::header::COMMENT;
use super::rest::as_extension;
use crate::compute::Control;
use crate::data::rotation::rotation;
use crate::data::text::file_name;
use crate::data::{Grid, Mask, Volume, VolumeKind};
use crate::io::atomic::{self, PreparedFile};
use crate::io::numbers::Type;
use crate::io::stored::{Pixel, Stored};
use crate::io::written_voxels::Voxels;
use crate::io::{DISCLAIMER, Error, extension};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::io::Write;
use std::path::Path;

const HEADER_BYTES: usize = 348;
const DESCRIPTION_BYTES: usize = 80;
/// NIFTI_INTENT_LABEL: numbers identify structures.
const INTENT_LABEL: i16 = 1002;
/// Largest size that NIfTI-1's 16-bit dimensions hold.
const LARGEST_SIDE: usize = 32_767;
/// A qform is written if no entry of the rotation differs by more: it then equals the sform to within the rounding of
/// float32.
const ORTHOGONAL: f64 = 1e-5;

/// NIfTI's code for the type, and its bits.
fn data_type(voxels: &Voxels<'_>) -> (i16, i16) {
    match voxels {
        Voxels::Float(_) => (16, 32),
        Voxels::Byte(_) => (2, 8),
        Voxels::Label(_) => (512, 16),
        Voxels::Count(_) => (768, 32),
        Voxels::Colour(_) => (128, 24),
        Voxels::Stored(stored) => match stored.pixel {
            Pixel::Rgb => (128, 24),
            Pixel::Rgba => (2304, 32),
            Pixel::Number(number) => match number {
                Type::U8 => (2, 8),
                Type::I16 => (4, 16),
                Type::I32 => (8, 32),
                // NIfTI has no half precision, and no readable format stores images in it.
                Type::F16 | Type::F32 => (16, 32),
                Type::F64 => (64, 64),
                Type::I8 => (256, 8),
                Type::U16 => (512, 16),
                Type::U32 => (768, 32),
                Type::I64 => (1024, 64),
                Type::U64 => (1280, 64),
            },
        },
    }
}

/// Writes a volume: scalars as float32, counts that float32 rounds as uint32, colours as RGB24. `path` ends in `.nii`
/// or `.nii.gz`; `description` (the command that made it) goes into the header, in full into a comment.
pub fn save_volume(
    path: &Path,
    volume: &Volume,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    prepare_volume(path, volume, description, control)?.rename_into_place()
}

/// Does everything except the last step.
pub(in crate::io) fn prepare_volume(
    path: &Path,
    volume: &Volume,
    description: &str,
    control: &Control,
) -> Result<PreparedFile, Error> {
    let (frames, voxels) = match (volume.kind, volume.counts()) {
        (VolumeKind::Scalar, Some(counts)) => (1, Voxels::Count(counts)),
        (VolumeKind::Scalar, None) => (volume.frames, Voxels::Float(&volume.values)),
        (VolumeKind::Rgb, _) => (1, Voxels::Colour(&volume.values)),
    };
    prepare(path, &volume.grid, frames, &voxels, description, control)
}

/// Writes a mask as uint8, 1 inside and 0 outside.
pub fn save_mask(
    path: &Path,
    mask: &Mask,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    let voxels = Voxels::Byte(&mask.inside);
    save(path, &mask.grid, 1, &voxels, description, control)
}

/// Writes a label map as uint16 and marks it as such in the header: 0 marks voxels without a region.
pub fn save_labels(
    path: &Path,
    grid: &Grid,
    labels: &[u16],
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    save(path, grid, 1, &Voxels::Label(labels), description, control)
}

/// Whether slope and intercept are exact in float32, as NIfTI-1 stores them.
pub(in crate::io) fn holds_scaling(stored: &Stored) -> bool {
    let single = |v: f64| f64::from(v as f32) == v;
    let fits = |(slope, intercept)| single(slope) && single(intercept);
    stored.scaling.is_none_or(fits)
}

/// Rounding that moves voxels by less is not reported.
const NEGLIGIBLE_MM: f64 = 1e-3;

/// Losses of an image in a NIfTI, one sentence each.
pub(in crate::io) fn unsupported_contents(stored: &Stored) -> Vec<String> {
    let meaning = &stored.meaning;
    let mut losses = meaning.rest.unsupported_contents();
    losses.extend(meaning.acquisition.unsupported_contents("NIfTI"));
    let rounds = |v: f64| v.is_finite() && f64::from(v as f32) != v;
    if meaning.intent_numbers.into_iter().any(rounds) {
        losses.push("NIfTI-1 rounds the numbers of the intent to float32".to_owned());
    }
    let moved_mm = single(&stored.grid).map_or(0.0, |g| g.separation_mm(&stored.grid));
    if moved_mm > NEGLIGIBLE_MM {
        losses.push(format!(
            "NIfTI-1 rounds the affine to float32, which moves voxels by up to {moved_mm:.3} mm"
        ));
    }
    losses.extend(meaning.lost_nrrd_keys("NIfTI"));
    losses.extend(meaning.lost_mrtrix_keys("NIfTI"));
    losses
}

/// Writes an image in its own type under a temporary name. NIfTI-1 stores slope and intercept as float32.
pub(in crate::io) fn prepare_stored(
    path: &Path,
    stored: &Stored,
    description: &str,
    control: &Control,
) -> Result<PreparedFile, Error> {
    let voxels = Voxels::Stored(stored);
    prepare(
        path,
        &stored.grid,
        stored.frames,
        &voxels,
        description,
        control,
    )
}

fn save(
    path: &Path,
    grid: &Grid,
    frames: usize,
    voxels: &Voxels<'_>,
    description: &str,
    control: &Control,
) -> Result<(), Error> {
    prepare(path, grid, frames, voxels, description, control)?.rename_into_place()
}

fn prepare(
    path: &Path,
    grid: &Grid,
    frames: usize,
    voxels: &Voxels<'_>,
    description: &str,
    control: &Control,
) -> Result<PreparedFile, Error> {
    let compressed = match extension(path).as_str() {
        "nii" => false,
        "nii.gz" => true,
        _ => {
            return Err(Error::unsupported(
                path,
                "a name without the ending of an image",
                "end it in .nii.gz, .nii or .mif",
            ));
        }
    };
    let further = voxels.further(frames);
    let mut sides = grid.shape.iter().chain(&further);
    if let Some(side) = sides.find(|n| **n > LARGEST_SIDE) {
        return Err(Error::unsupported(
            path,
            format!(
                "an image of {side} voxels or volumes along one axis, NIfTI-1 holds {LARGEST_SIDE}"
            ),
            "save a part of it",
        ));
    }
    // For coordinates from a damaged header: what is written must equal what was read.
    let rounded = single(grid).and_then(|g| same_space(&g, frames, grid, frames).ok());
    if rounded.is_none() {
        return Err(Error::unsupported(
            path,
            "an affine with numbers too large or too small for NIfTI-1, which holds them in single precision",
            match voxels {
                Voxels::Stored(_) => "write .nrrd by arcuate convert, or repair the affine",
                _ => "repair the affine of the image that the grid is from",
            },
        ));
    }
    let header = header(grid, &further, voxels, description);
    let stored = grid.voxel_count() * frames;
    let name = file_name(path);
    control.begin_file("Writing", &name, stored as u64);
    atomic::prepare(
        path,
        |file| {
            if compressed {
                // Fast: float32 maps hardly compress further, and users wait for the file.
                let mut encoder = GzEncoder::new(file, Compression::fast());
                encoder.write_all(&header)?;
                voxels.write(&mut encoder, stored, control)?;
                encoder.finish()?;
            } else {
                file.write_all(&header)?;
                voxels.write(file, stored, control)?;
            }
            Ok(())
        },
        |written| verify(written, grid, frames, voxels, control),
    )
}

/// Header, extender and the comment, as many bytes as `vox_offset` states.
fn header(grid: &Grid, further: &[usize], voxels: &Voxels<'_>, description: &str) -> Vec<u8> {
    let (datatype, bits) = data_type(voxels);
    let mut description = with_disclaimer(description);
    if let Voxels::Stored(stored) = voxels {
        description = stored.meaning.rest.described(&description);
    }
    let description = &description;
    // The command that wrote this file comes first: programs show the first comment as the description.
    let mut comment = comment(description);
    if let Voxels::Stored(stored) = voxels {
        comment.extend(stored.meaning.rest.extension_bytes());
    }
    let mut h = Bytes(vec![0; HEADER_BYTES + 4]);
    // Offsets of nifti1.h.
    h.write_field(0, (HEADER_BYTES as i32).to_le_bytes());
    h.write_field(38, [b'r']);
    let sizes = [3 + further.len()].into_iter().chain(grid.shape);
    let sizes = sizes.chain(further.iter().copied());
    for (i, n) in sizes.chain([1; 7]).take(8).enumerate() {
        h.write_field(40 + 2 * i, (n as i16).to_le_bytes());
    }
    if matches!(voxels, Voxels::Label(_)) {
        h.write_field(68, INTENT_LABEL.to_le_bytes());
    }
    h.write_field(70, datatype.to_le_bytes());
    h.write_field(72, bits.to_le_bytes());
    h.f32(108, (HEADER_BYTES + 4 + comment.len()) as f64);
    h.f32(112, 1.0);
    // Millimetres, seconds.
    h.write_field(123, [2 | 8]);
    let description = truncated(description, DESCRIPTION_BYTES - 1);
    h.0[148..148 + description.len()].copy_from_slice(description.as_bytes());
    h.space(grid);
    if let Voxels::Stored(stored) = voxels {
        h.meaning(stored);
    }
    h.write_field(344, *b"n+1\0");
    let mut bytes = h.0;
    if !comment.is_empty() {
        bytes[HEADER_BYTES] = 1;
        bytes.extend(comment);
    }
    bytes
}

/// Little-endian fields at fixed offsets.
struct Bytes(Vec<u8>);

impl Bytes {
    fn write_field<const N: usize>(&mut self, offset: usize, field: [u8; N]) {
        self.0[offset..offset + N].copy_from_slice(&field);
    }

    fn f32(&mut self, offset: usize, value: f64) {
        self.write_field(offset, (value as f32).to_le_bytes());
    }

    /// Slope and intercept, steps of the axes after the third, and the meaning of the values.
    fn meaning(&mut self, stored: &Stored) {
        let meaning = &stored.meaning;
        meaning.rest.write_fields(&mut self.0);
        if let Some((slope, intercept)) = stored.scaling {
            self.f32(112, slope);
            self.f32(116, intercept);
        }
        // Only if they were stated: otherwise a step is 1, in seconds.
        if !meaning.sizes.is_empty() {
            for (i, step) in meaning.steps.into_iter().enumerate() {
                self.f32(92 + 4 * i, step);
            }
            self.write_field(123, [2 | meaning.step_unit]);
        }
        for (i, number) in meaning.intent_numbers.into_iter().enumerate() {
            self.f32(56 + 4 * i, number);
        }
        self.write_field(68, meaning.intent.to_le_bytes());
        let name = truncated(&meaning.intent_name, 15).as_bytes();
        self.0[328..328 + name.len()].copy_from_slice(name);
    }

    /// Voxel sizes, and sform and qform unless left and right are unknown: a file must not state more than was known.
    /// The qform is omitted for sheared axes.
    fn space(&mut self, grid: &Grid) {
        let m = grid.world_from_voxel.matrix3;
        let origin = grid.world_from_voxel.translation;
        let edges = grid.spacing();
        let turn = rotation(m);
        let handed = turn.determinant().signum();
        self.f32(76, handed);
        for a in 0..3 {
            self.f32(80 + 4 * a, edges[a]);
        }
        for a in 4..8 {
            self.f32(76 + 4 * a, 1.0);
        }
        // Unless the image was moved.
        if !grid.is_placed() {
            return;
        }
        let code = grid.space_code.to_le_bytes();
        self.write_field(254, code);
        for row in 0..3 {
            for c in 0..3 {
                self.f32(280 + 16 * row + 4 * c, m.col(c)[row]);
            }
            self.f32(280 + 16 * row + 12, origin[row]);
        }
        let unit = DMat3::from_cols(m.x_axis / edges.x, m.y_axis / edges.y, m.z_axis / edges.z);
        if !unit.abs_diff_eq(turn, ORTHOGONAL) {
            return;
        }
        // The quaternion represents a proper rotation; pixdim[0] flips the third axis back.
        let proper = turn * DMat3::from_diagonal(DVec3::new(1.0, 1.0, handed));
        let q = DQuat::from_mat3(&proper).normalize();
        // Only b, c, d are stored, so a must not be negative.
        let q = if q.w < 0.0 { -q } else { q };
        self.write_field(252, code);
        for (i, part) in [q.x, q.y, q.z, origin.x, origin.y, origin.z]
            .into_iter()
            .enumerate()
        {
            self.f32(256 + 4 * i, part);
        }
    }
}

/// Precedes the description, so that the header's short field contains it.
fn with_disclaimer(description: &str) -> String {
    match description.trim() {
        "" => DISCLAIMER.to_owned(),
        description => format!("{DISCLAIMER}; {description}"),
    }
}

/// The description as an extension, if the header's field is too short for it.
fn comment(description: &str) -> Vec<u8> {
    if description.len() < DESCRIPTION_BYTES {
        return Vec::new();
    }
    as_extension(COMMENT, truncated(description, 1 << 16).as_bytes())
}

/// The beginning of a text, at most `bytes` bytes, cut between characters.
fn truncated(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Reads the written file like any image and compares every value and the affine.
fn verify(
    written: &Path,
    grid: &Grid,
    frames: usize,
    voxels: &Voxels<'_>,
    control: &Control,
) -> Result<(), atomic::VerifyFailure> {
    if let Voxels::Stored(stored) = voxels {
        let (stored_image, _) = super::stored(written, &control.silent())?;
        same_space(&stored_image.grid, stored_image.frames, grid, frames)?;
        let same = stored_image.pixel == stored.pixel && stored_image.bytes == stored.bytes;
        if !same || stored_image.scaling != stored.scaling {
            return Err(atomic::ReadBackDifference::Values.into());
        }
        return Ok(control.check()?);
    }
    let (volume, _) = super::read(written, &control.silent())?;
    let expected_frames = if matches!(voxels, Voxels::Colour(_)) {
        3
    } else {
        frames
    };
    same_space(&volume.grid, volume.frames, grid, expected_frames)?;
    if voxels.equal(&volume) {
        Ok(control.check()?)
    } else {
        Err(atomic::ReadBackDifference::Values.into())
    }
}

/// The grid in the single precision of the header, if that has a volume.
fn single(grid: &Grid) -> Option<Grid> {
    let m = grid.world_from_voxel;
    let single = |v: DVec3| v.as_vec3().as_dvec3();
    let columns = [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis].map(single);
    let [x, y, z] = columns;
    let affine = DAffine3::from_cols(x, y, z, single(m.translation));
    Grid::new(grid.shape, affine, grid.source)
}

fn same_space(
    stored_grid: &Grid,
    stored_frames: usize,
    grid: &Grid,
    frames: usize,
) -> Result<(), atomic::VerifyFailure> {
    if stored_grid.shape != grid.shape || stored_frames != frames {
        return Err(atomic::ReadBackDifference::Sizes.into());
    }
    // Tolerance of a float32 affine: half a unit in the last place of the largest coordinate, with a margin.
    let reach = grid
        .corners()
        .iter()
        .fold(1.0, |r: f64, c| r.max(c.abs().max_element()));
    match stored_grid.is_written_as(grid, 1e-6 * reach) {
        true => Ok(()),
        false => Err(atomic::ReadBackDifference::Affine.into()),
    }
}
