//! FreeSurfer volumes, MGH and its compressed form MGZ: a big-endian header of 284 bytes, then the
//! voxels, x fastest and frame slowest (FreeSurfer wiki, FsTutorial/MghFormat).
//!
//! The header gives the directions of the voxel axes and the centre of the volume, in RAS mm.

use super::numbers::Type;
use super::source::Source;
use super::stored::{Acquisition, Meaning, Pixel, Stored};
use super::voxels::{scalars, value_count};
use super::{Error, SpaceInfo};
use crate::compute::Control;
use crate::data::text::counted;
use crate::data::{AffineSource, Grid, Volume, VolumeKind};
use glam::{DAffine3, DMat3, DVec3};
use std::path::Path;
use std::sync::Arc;

/// The format's name in [`SpaceInfo`].
pub(super) const VERSION: &str = "FreeSurfer MGH";
const HEADER_BYTES: usize = 284;
/// Largest number of bytes read after the voxels, for the checksum: acquisition parameters, commands.
const TAIL_LIMIT: u64 = 1 << 24;

/// NIfTI's code for the unit.
const MILLISECONDS: u8 = 16;

/// Fields at their offsets.
struct Header([u8; HEADER_BYTES]);

impl Header {
    fn at<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.0[offset..offset + N]);
        field
    }

    fn i32(&self, offset: usize) -> i32 {
        i32::from_be_bytes(self.at(offset))
    }

    fn vector(&self, offset: usize) -> DVec3 {
        let number = |i: usize| f64::from(f32::from_be_bytes(self.at(offset + 4 * i)));
        DVec3::new(number(0), number(1), number(2))
    }
}

/// Whether a stream begins like this format.
pub(super) fn is_start(start: &[u8]) -> bool {
    let number = |at: usize| {
        let four = start.get(at..at + 4)?.try_into().ok()?;
        Some(i32::from_be_bytes(four))
    };
    let sizes = [4, 8, 12, 16].map(|at| number(at).is_some_and(|n| n > 0));
    number(0) == Some(1) && sizes == [true; 4] && number(20).and_then(voxel_type).is_some()
}

fn voxel_type(code: i32) -> Option<(Type, &'static str)> {
    Some(match code {
        0 => (Type::U8, "uint8"),
        1 => (Type::I32, "int32"),
        3 => (Type::F32, "float32"),
        4 => (Type::I16, "int16"),
        10 => (Type::U16, "uint16"),
        _ => return None,
    })
}

/// A file whose header has been read and whose stream is at the first voxel.
struct OpenedImage {
    source: Source,
    grid: Grid,
    info: SpaceInfo,
    number_type: Type,
    frames: usize,
    count: usize,
}

fn begin(path: &Path, control: &Control) -> Result<OpenedImage, Error> {
    let mut source = Source::open(path, control)?;
    let malformed = |found: String, expected: &str| Error::malformed(path, found, expected);
    let mut header = Header([0; HEADER_BYTES]);
    let bytes_read = source.read(&mut header.0)?;
    if bytes_read < HEADER_BYTES {
        let found = format!(
            "{}, which is not a FreeSurfer volume",
            counted(bytes_read, "byte")
        );
        return Err(Error::other_format(
            path,
            found,
            "at least a header of 284 bytes",
        ));
    }
    // Newer programs store the meaning of the values in the upper bytes.
    if header.i32(0) & 0xff != 1 {
        return Err(malformed(
            format!("a FreeSurfer volume of version {}", header.i32(0)),
            "version 1",
        ));
    }
    let mut sizes = [0; 4];
    for (axis, size) in sizes.iter_mut().enumerate() {
        let n = header.i32(4 + 4 * axis);
        *size = usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| {
            malformed(format!("size {n} of dimension {}", axis + 1), "at least 1")
        })?;
    }
    let code = header.i32(20);
    let Some((number_type, stored_as)) = voxel_type(code) else {
        return Err(Error::unsupported(
            path,
            format!("a FreeSurfer volume of voxel type {code}"),
            "convert it with mri_convert to .nii.gz",
        ));
    };
    let Some(count) = value_count(&sizes, number_type) else {
        return Err(malformed(
            format!("sizes {sizes:?}, more voxels than any memory holds"),
            "the sizes of an image",
        ));
    };
    let bytes = (count * number_type.bytes()) as u64;
    source.verify_size(HEADER_BYTES as u64 + bytes)?;

    let mut info = SpaceInfo::with_one_affine(VERSION, &sizes, stored_as, true);
    let shape = [sizes[0], sizes[1], sizes[2]];
    let grid = grid(path, &header, shape, &mut info)?;
    Ok(OpenedImage {
        source,
        grid,
        info,
        number_type,
        frames: sizes[3],
        count,
    })
}

impl OpenedImage {
    /// The checksum of a compressed stream is compared only at its end.
    fn end(&mut self) -> Result<(), Error> {
        if self.source.known_bytes().is_none() {
            self.source.finish(TAIL_LIMIT)?;
        }
        Ok(())
    }
}

/// The grid of an image, without its voxels.
pub(super) fn read_grid(path: &Path, control: &Control) -> Result<Grid, Error> {
    begin(path, control).map(|file| file.grid)
}

pub fn read(path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    let mut file = begin(path, control)?;
    let before = HEADER_BYTES as u64;
    let values = scalars(&mut file.source, file.number_type, true, file.count, before)?;
    file.end()?;
    let mut info = file.info;
    info.warn_of_rounding(file.number_type, &values);
    let volume = Volume::new(Arc::new(file.grid), file.frames, VolumeKind::Scalar, values);
    Ok((volume, info))
}

/// Reads an image in its stored type.
pub(super) fn stored(path: &Path, control: &Control) -> Result<(Stored, SpaceInfo), Error> {
    let mut file = begin(path, control)?;
    let size = file.number_type.bytes();
    let before = HEADER_BYTES as u64;
    let bytes = super::voxels::bytes(&mut file.source, size, true, file.count, before)?;
    let acquisition = acquisition(&mut file)?;
    let mut meaning = Meaning::default();
    if file.frames > 1 && acquisition.repetition_ms > 0.0 {
        meaning.sizes = vec![file.frames];
        meaning.steps = [acquisition.repetition_ms, 1.0, 1.0, 1.0];
        meaning.step_unit = MILLISECONDS;
    }
    let repetition_ms = match meaning.sizes.is_empty() {
        true => acquisition.repetition_ms,
        false => 0.0,
    };
    meaning.acquisition = Acquisition {
        repetition_ms,
        ..acquisition
    };
    let stored = Stored {
        grid: file.grid.into(),
        frames: file.frames,
        pixel: Pixel::Number(file.number_type),
        bytes: bytes.into(),
        scaling: None,
        meaning,
    };
    Ok((stored, file.info))
}

/// Reads the data after the voxels: four numbers, in newer files the field of view, and tags.
fn acquisition(file: &mut OpenedImage) -> Result<Acquisition, Error> {
    let mut tail = [0; 20];
    let tail_bytes = file.source.read(&mut tail)?;
    let tags = match file.source.known_bytes() {
        Some(all) => {
            let voxels = (file.count * file.number_type.bytes()) as u64;
            all - HEADER_BYTES as u64 - voxels - tail_bytes as u64
        }
        None => file.source.finish(TAIL_LIMIT)?,
    };
    let number = |i: usize| {
        let bytes = [
            tail[4 * i],
            tail[4 * i + 1],
            tail[4 * i + 2],
            tail[4 * i + 3],
        ];
        let number = f64::from(f32::from_be_bytes(bytes));
        match number.is_finite() && 4 * i + 4 <= tail_bytes {
            true => number,
            false => 0.0,
        }
    };
    Ok(Acquisition {
        repetition_ms: number(0),
        flip_angle_rad: number(1),
        echo_ms: number(2),
        inversion_ms: number(3),
        tags,
    })
}

fn grid(
    path: &Path,
    header: &Header,
    shape: [usize; 3],
    info: &mut SpaceInfo,
) -> Result<Grid, Error> {
    let stated = i16::from_be_bytes(header.at(28)) != 0;
    let (spacing, axes, centre, source) = if stated {
        let axes = [42, 54, 66].map(|at| header.vector(at));
        let axes = DMat3::from_cols(axes[0], axes[1], axes[2]);
        let (spacing, centre) = (header.vector(30), header.vector(78));
        (spacing, axes, centre, AffineSource::Header)
    } else {
        // FreeSurfer's default: coronal slices from the front, without any guarantee.
        info.warnings.push(
            "The header does not say where the voxels are; coronal slices of 1 mm around 0 were \
             assumed, and left and right are unknown"
                .to_owned(),
        );
        let axes = DMat3::from_cols(-DVec3::X, -DVec3::Z, DVec3::Y);
        (DVec3::ONE, axes, DVec3::ZERO, AffineSource::Pixdim)
    };
    let matrix = axes * DMat3::from_diagonal(spacing);
    // The voxel at half the size, which lies half a voxel beyond the centre.
    let half = DVec3::from_array(shape.map(|n| n as f64)) * 0.5;
    let affine = DAffine3::from_mat3_translation(matrix, centre - matrix * half);
    Grid::new(shape, affine, source).ok_or_else(|| {
        Error::malformed(
            path,
            "voxel axes that are flat or not finite",
            ("three independent axes", "convert it again"),
        )
    })
}
