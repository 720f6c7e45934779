//! NIfTI images: versions 1 and 2, `.nii` and `.hdr`/`.img`, plain and gzip, both byte orders.
//!
//! The crate `nifti` parses the NIfTI-1 header and names the voxel types. The rest is our own, because the crate
//! stops at version 1, allocates what a header requests before it examines the file, and has no colours: the NIfTI-2
//! header, every check, the voxels (decoded directly to float32, in one pass) and writing. The tests read the written
//! files with the crate's own reader.
//!
//! Voxel memory is allocated only after the file is known to hold the voxels (`Source::verify_size`).

mod decode;
mod header;
mod rest;
mod space;
mod unsupported_voxels;
mod voxel_type;
mod write;

pub use header::{Header, Version, VoxelType};
pub(super) use rest::Rest;
pub use space::SpaceInfo;
pub(super) use write::{holds_scaling, prepare_stored, prepare_volume, unsupported_contents};
pub use write::{save_labels, save_mask, save_volume};

use super::image::Overview;
use super::source::{CHUNK_BYTES, Source};
use super::stored::{Meaning, Stored};
use super::voxels::zeros;
use super::{Error, extension, with_extension};
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::text::{counted, singular_or_plural};
use crate::data::{Grid, Shared, Volume, VolumeKind};
use decode::Decoder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest number of bytes read after the voxels of a compressed file, for its checksum.
const TAIL_LIMIT: u64 = 1 << 24;

/// The grid of an image, without its voxels.
pub fn read_grid(path: &Path, control: &Control) -> Result<Grid, Error> {
    let (source, header) = open_header(path, control)?;
    space::grid(source.path(), &header).map(|(grid, _)| grid)
}

/// A file whose header has been read and whose stream is at the first voxel.
struct OpenedImage {
    source: Source,
    header: Header,
    grid: Grid,
    info: SpaceInfo,
}

fn begin(path: &Path, control: &Control) -> Result<OpenedImage, Error> {
    let (mut source, header) = open_header(path, control)?;
    let (grid, info) = space::grid(source.path(), &header)?;
    let end = header.vox_offset + header.data_bytes();
    if header.single_file {
        source.verify_size(end)?;
    } else {
        source = Source::open(&header_pair(source.path(), "img")?, control)?;
        source.verify_size(end)?;
        source.skip(header.vox_offset)?;
    }
    Ok(OpenedImage {
        source,
        header,
        grid,
        info,
    })
}

impl OpenedImage {
    /// Reads the data after the voxels of a compressed file and warns about it.
    fn end(&mut self) -> Result<(), Error> {
        let behind = match self.source.known_bytes() {
            Some(bytes) => bytes - self.header.vox_offset - self.header.data_bytes(),
            None => self.source.finish(TAIL_LIMIT)?,
        };
        if behind > 0 {
            self.info.warnings.push(format!(
                "The file continues for {} after its voxels, which {} not used",
                counted(behind as usize, "byte"),
                singular_or_plural(behind as usize, "was", "were")
            ));
        }
        Ok(())
    }
}

/// Reads an image; for a pair, either file may be named.
pub fn read(path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    let mut file = begin(path, control)?;
    let kind = if file.header.voxel_type.is_colour() {
        VolumeKind::Rgb
    } else {
        VolumeKind::Scalar
    };
    let values = voxels(&mut file.source, &file.header, kind)?;
    file.end()?;
    let OpenedImage {
        header,
        grid,
        mut info,
        ..
    } = file;
    if header.voxel_type.is_wide_integer() && header.scaling.is_none() {
        info.warn_of_large(&values);
    }
    let frames = match kind {
        VolumeKind::Scalar => header.frames,
        VolumeKind::Rgb => 3,
    };
    Ok((Volume::new(Arc::new(grid), frames, kind, values), info))
}

/// Reads a series of volumes and keeps the first one; `None` for any other image.
pub(super) fn overview(path: &Path, control: &Control) -> Result<Option<Overview>, Error> {
    let mut file = begin(path, control)?;
    let OpenedImage { source, header, .. } = &mut file;
    if header.frames < 2 || header.voxel_type.is_colour() {
        return Ok(None);
    }
    let all: usize = header.dims.iter().product();
    let per_frame = all / header.frames;
    let mut first = zeros(source.path(), per_frame)?;
    let places = first.places();
    let decoder = Decoder::new(header);
    let size = header.voxel_type.bytes();
    let at_once = CHUNK_BYTES / size;
    let mut bytes = vec![0; at_once * size];
    let mut values = vec![0.0; at_once];
    let (mut not_a_number, mut infinite) = (0, 0);
    let mut done = 0;
    while done < all {
        let count = at_once.min(all - done);
        let chunk = &mut bytes[..count * size];
        let bytes_read = source.read(chunk)?;
        if bytes_read < chunk.len() {
            return Err(header.truncated(source.path(), done * size + bytes_read));
        }
        let values = &mut values[..count];
        decoder.scalars(chunk, values);
        not_a_number += values.iter().filter(|v| v.is_nan()).count();
        infinite += values.iter().filter(|v| v.is_infinite()).count();
        if done < per_frame {
            let kept = count.min(per_frame - done);
            places[done..done + kept].copy_from_slice(&values[..kept]);
        }
        done += count;
    }
    let first = first.finish(source.path())?;
    file.end()?;
    let OpenedImage {
        header, grid, info, ..
    } = file;
    Ok(Some(Overview {
        first: Volume::new(Arc::new(grid), 1, VolumeKind::Scalar, first),
        frames: header.frames,
        not_a_number,
        infinite,
        remarks: info.remarks(),
    }))
}

/// Reads an image in its stored type.
pub(super) fn stored(path: &Path, control: &Control) -> Result<(Stored, SpaceInfo), Error> {
    let mut file = begin(path, control)?;
    let pixel = file.header.voxel_type.pixel();
    let voxels: usize = file.header.dims.iter().product();
    let text = voxels * (pixel.bytes() / pixel.word_bytes());
    let (big_endian, before) = (file.header.big_endian, file.header.vox_offset);
    let word = pixel.word_bytes();
    let bytes = super::voxels::bytes(&mut file.source, word, big_endian, text, before)?;
    file.end()?;
    let OpenedImage {
        header, grid, info, ..
    } = file;
    let stored = Stored {
        grid: grid.into(),
        frames: header.frames,
        pixel,
        bytes: bytes.into(),
        scaling: header.scaling,
        meaning: Meaning {
            sizes: header.dims.iter().skip(3).copied().collect(),
            steps: std::array::from_fn(|i| header.pixdim[4 + i]),
            step_unit: (header.xyzt_units & 0x38) as u8,
            intent: i16::try_from(header.intent_code).unwrap_or(0),
            intent_numbers: header.intent_numbers,
            intent_name: header.intent_name,
            rest: header.rest,
            ..Meaning::default()
        },
    };
    Ok((stored, info))
}

fn open_header(path: &Path, control: &Control) -> Result<(Source, Header), Error> {
    let header_path = match extension(path).as_str() {
        "img" | "img.gz" => header_pair(path, "hdr")?,
        _ => path.to_owned(),
    };
    let mut source = Source::open(&header_path, control)?;
    let header = Header::read(&mut source)?;
    Ok((source, header))
}

/// `a.hdr` → `a.img` or `a.img.gz`, whichever exists.
fn header_pair(path: &Path, other: &str) -> Result<PathBuf, Error> {
    let plain = with_extension(path, other);
    let packed = with_extension(path, &format!("{other}.gz"));
    [plain.clone(), packed]
        .into_iter()
        .find(|p| p.exists())
        .ok_or_else(|| {
            Error::malformed(
                path,
                "one file of a pair",
                format!("{} beside it", file_name(&plain)),
            )
        })
}

/// The stream must be at the first voxel and known to hold all of them.
fn voxels(source: &mut Source, header: &Header, kind: VolumeKind) -> Result<Shared<f32>, Error> {
    let stored: usize = header.dims.iter().product();
    let planes = match kind {
        VolumeKind::Scalar => 1,
        VolumeKind::Rgb => 3,
    };
    let mut values = zeros(source.path(), stored * planes)?;
    let places = values.places();
    let decoder = Decoder::new(header);
    let size = header.voxel_type.bytes();
    let mut bytes = vec![0; (CHUNK_BYTES / size).min(stored) * size];
    let mut done = 0;
    while done < stored {
        let count = (bytes.len() / size).min(stored - done);
        let chunk = &mut bytes[..count * size];
        let bytes_read = source.read(chunk)?;
        if bytes_read < chunk.len() {
            return Err(header.truncated(source.path(), done * size + bytes_read));
        }
        let range = done..done + count;
        match kind {
            VolumeKind::Scalar => decoder.scalars(chunk, &mut places[range]),
            VolumeKind::Rgb => {
                let (red, others) = places.split_at_mut(stored);
                let (green, blue) = others.split_at_mut(stored);
                decoder.colours(
                    chunk,
                    [
                        &mut red[range.clone()],
                        &mut green[range.clone()],
                        &mut blue[range],
                    ],
                );
            }
        }
        done += count;
    }
    values.finish(source.path())
}
