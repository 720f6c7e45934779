//! NIfTI-1 and NIfTI-2 images, single files and pairs, plain and gzipped.
//!
//! The crate `nifti` parses version 1 headers. The voxels are decoded here, straight to 32-bit
//! floats, because the crate knows neither NIfTI-2 nor RGB, and allocates what a header claims
//! before looking at the file. Source: nifti1.h and nifti2.h (R. Cox and others 2004, 2011).

mod header;
mod write;

pub use write::{save_mask, save_volume};

use self::header::{Header, Number};
use super::{Error, atomic};
use crate::compute::Control;
use crate::data::{Volume, VolumeKind};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes decoded between two looks at the control.
const CHUNK: usize = 1 << 20;

/// Whether a file that starts with these bytes is NIfTI.
pub fn is_nifti(head: &[u8]) -> bool {
    header::parse(head).is_ok()
}

/// Reads an image with its notes (which affine, what was odd). Progress counts bytes.
pub fn read(path: &Path, control: &Control) -> Result<(Volume, Vec<String>), Error> {
    let (header_path, image_path) = files(path);
    let head = atomic::first_bytes(&header_path, 540)?;
    let header = header::parse(&head).map_err(|sentence| Error::content(path, sentence))?;
    let image_path = if header.pair { image_path } else { header_path };
    let values = voxels(&image_path, &header, control)?;
    let (frames, kind) = match header.kind.is_colour() {
        true if header.frames > 1 => {
            return Err(Error::content(
                path,
                "Several volumes of RGB colour, expected one",
            ));
        }
        true => (3, VolumeKind::Rgb),
        false => (header.frames, VolumeKind::Scalar),
    };
    Ok((
        Volume::new(Arc::new(header.grid), frames, kind, values),
        header.notes,
    ))
}

/// The header file and, for a pair, the image file, whichever of the two was named.
fn files(path: &Path) -> (PathBuf, PathBuf) {
    let name = path
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let (stem, gz) = name
        .strip_suffix(".gz")
        .map_or((name.as_str(), false), |s| (s, true));
    let twin = |extension: &str| {
        let stem = stem.rsplit_once('.').map_or(stem, |(s, _)| s);
        // Either half may be compressed alone.
        let plain = path.with_file_name(format!("{stem}.{extension}"));
        let packed = path.with_file_name(format!("{stem}.{extension}.gz"));
        if (gz && packed.exists()) || !plain.exists() {
            packed
        } else {
            plain
        }
    };
    if stem.to_lowercase().ends_with(".img") {
        (twin("hdr"), path.to_owned())
    } else {
        (path.to_owned(), twin("img"))
    }
}

fn voxels(path: &Path, header: &Header, control: &Control) -> Result<Vec<f32>, Error> {
    let short = || {
        let [x, y, z] = header.shape;
        let sentence = format!(
            "The file ends before the {x} × {y} × {z} × {} voxels that its header claims: copy or download it again",
            header.frames
        );
        Error::content(path, sentence)
    };
    // Checked for overflow with the header.
    let count = header.shape.iter().product::<usize>() * header.frames;
    let size = header.kind.bytes();
    let needed = (count * size) as u64;
    let length = std::fs::metadata(path)
        .map_err(|e| Error::system("read", path, &e))?
        .len();
    let packed = atomic::is_gzip(path)?;
    // Deflate shrinks at most 1032 to 1 (RFC 1951 limits a match to 258 bytes of two bits).
    let most = if packed {
        length.saturating_mul(1040)
    } else {
        length
    };
    if most < needed.saturating_add(header.offset) {
        return Err(short());
    }
    let mut reader = atomic::reader(path)?;
    let read = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => short(),
        _ => Error::system("read", path, &e),
    };
    let skipped = std::io::copy(
        &mut reader.by_ref().take(header.offset),
        &mut std::io::sink(),
    )
    .map_err(read)?;
    if skipped < header.offset {
        return Err(short());
    }
    control.begin("Reading", needed);
    let channels = if header.kind.is_colour() { 3 } else { 1 };
    let mut values: Vec<f32> = Vec::new();
    if !packed {
        reserve(&mut values, count * channels, path)?;
    }
    let per_chunk = CHUNK / size * size;
    let mut bytes = vec![0u8; per_chunk];
    let mut left = count * size;
    while left > 0 {
        control.check()?;
        let now = left.min(per_chunk);
        reader.read_exact(&mut bytes[..now]).map_err(read)?;
        if packed {
            // Grows with what is really there, not with the header's claim.
            reserve(&mut values, now / size * channels, path)?;
        }
        decode(&bytes[..now], header, &mut values);
        left -= now;
        control.advance(now as u64);
    }
    if channels == 3 {
        // Interleaved in the file, one plane per channel here.
        values = (0..3)
            .flat_map(|c| {
                values
                    .iter()
                    .skip(c)
                    .step_by(3)
                    .copied()
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    Ok(values)
}

fn reserve(values: &mut Vec<f32>, more: usize, path: &Path) -> Result<(), Error> {
    values.try_reserve(more).map_err(|_| {
        let gib = (values.len() + more) as f64 * 4.0 / f64::from(1 << 30);
        Error::content(
            path,
            format!(
                "Not enough memory for {gib:.1} GiB of voxels: close something, or crop the image"
            ),
        )
    })
}

/// Appends whole voxels as scaled 32-bit floats.
fn decode(bytes: &[u8], header: &Header, values: &mut Vec<f32>) {
    let plain = header.slope == 1.0 && header.inter == 0.0;
    let (slope, inter) = (header.slope, header.inter);
    macro_rules! numbers {
        ($t:ty) => {{
            const N: usize = size_of::<$t>();
            let read = |b: &[u8]| {
                let raw: [u8; N] = std::array::from_fn(|i| b[i]);
                if header.big_endian {
                    <$t>::from_be_bytes(raw)
                } else {
                    <$t>::from_le_bytes(raw)
                }
            };
            if plain {
                values.extend(bytes.chunks_exact(N).map(|b| read(b) as f32));
            } else {
                // In double: a slope times a large integer would lose its last digits.
                values.extend(
                    bytes
                        .chunks_exact(N)
                        .map(|b| (read(b) as f64 * slope + inter) as f32),
                );
            }
        }};
    }
    match header.kind {
        Number::U8 => numbers!(u8),
        Number::I8 => numbers!(i8),
        Number::U16 => numbers!(u16),
        Number::I16 => numbers!(i16),
        Number::U32 => numbers!(u32),
        Number::I32 => numbers!(i32),
        Number::U64 => numbers!(u64),
        Number::I64 => numbers!(i64),
        Number::F32 => numbers!(f32),
        Number::F64 => numbers!(f64),
        Number::Rgb => values.extend(bytes.iter().map(|&b| f32::from(b) / 255.0)),
        Number::Rgba => {
            let colour = bytes.chunks_exact(4).flat_map(|b| [b[0], b[1], b[2]]);
            values.extend(colour.map(|b| f32::from(b) / 255.0));
        }
    }
}
