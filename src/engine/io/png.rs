//! Pictures that contain their own provenance.

use super::atomic::ReadBackDifference;
use super::source::{CHUNK_BYTES, Source};
use super::{Error, atomic, disk};
use crate::compute::Control;
use png::{BitDepth, ColorType, Decoder, DecodingError, Encoder, EncodingError};
use std::io::{BufReader, Write};
use std::path::Path;

/// Memory the decoder may take for pixels: 32,768 × 32,768.
const PIXEL_LIMIT_BYTES: usize = 4 << 30;

/// An 8-bit RGBA picture, rows from the top.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Four bytes per pixel.
    pub rgba: Vec<u8>,
    /// Keyword and text, in the order of the file.
    pub metadata: Vec<(String, String)>,
}

/// Writes a picture with metadata (keywords of up to 79 Latin-1 characters; plain text as tEXt, other text as iTXt),
/// reads it back and compares every pixel and word. Panics if there are not `4 * width * height` bytes.
pub fn save(
    path: &Path,
    size: [u32; 2],
    rgba: &[u8],
    metadata: &[(String, String)],
) -> Result<(), Error> {
    let [width, height] = size;
    assert_eq!(
        rgba.len(),
        4 * width as usize * height as usize,
        "four bytes a pixel"
    );
    if super::extension(path) != "png" {
        return Err(Error::unsupported(
            path,
            "a name that is not a PNG picture's",
            "end it in .png",
        ));
    }
    atomic::write_verified(
        path,
        |file| {
            encode(file, size, rgba, metadata).map_err(|e| match e {
                EncodingError::IoError(e) => atomic::WriteStop::Io(e),
                e => atomic::WriteStop::Error(Error::Unwritable {
                    path: path.to_owned(),
                    reason: e.to_string(),
                }),
            })
        },
        |written| {
            let stored = read(written).map_err(|e| ReadBackDifference::Invalid(Box::new(e)))?;
            if stored.size != size || stored.rgba != rgba {
                Err(ReadBackDifference::Pixels)
            } else if sorted(&stored.metadata) != sorted(metadata) {
                Err(ReadBackDifference::Metadata)
            } else {
                Ok(())
            }
        },
    )
}

/// Plain and international text are separate lists in a file; the order between them is not preserved.
fn sorted(metadata: &[(String, String)]) -> Vec<&(String, String)> {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort();
    pairs
}

/// A picture as the bytes of a file, without metadata. Panics if there are not `4 * width * height` bytes.
pub fn bytes(size: [u32; 2], rgba: &[u8]) -> Result<Vec<u8>, Error> {
    let [width, height] = size;
    assert_eq!(
        rgba.len(),
        4 * width as usize * height as usize,
        "four bytes a pixel"
    );
    let mut bytes = Vec::new();
    encode(&mut bytes, size, rgba, &[]).map_err(|e| Error::Unwritable {
        path: "picture.png".into(),
        reason: e.to_string(),
    })?;
    Ok(bytes)
}

fn encode(
    file: &mut impl Write,
    [width, height]: [u32; 2],
    rgba: &[u8],
    metadata: &[(String, String)],
) -> Result<(), EncodingError> {
    let mut encoder = Encoder::new(file, width, height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    for (keyword, text) in metadata {
        if text.is_ascii() {
            encoder.add_text_chunk(keyword.clone(), text.clone())?;
        } else {
            encoder.add_itxt_chunk(keyword.clone(), text.clone())?;
        }
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgba)?;
    writer.finish()
}

/// Size and pixels, 8-bit RGBA, of a picture in memory; `None` if it is not a PNG picture.
pub fn decoded_png(bytes: &[u8]) -> Option<([u32; 2], Vec<u8>)> {
    let mut decoder = Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(
        png::Transformations::normalize_to_color8() | png::Transformations::ALPHA,
    );
    let mut reader = decoder.read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    pixels.truncate(info.buffer_size());
    let rgba = match info.color_type {
        ColorType::Rgba => pixels,
        ColorType::GrayscaleAlpha => {
            let grey = pixels.chunks_exact(2);
            grey.flat_map(|p| [p[0], p[0], p[0], p[1]]).collect()
        }
        _ => return None,
    };
    Some(([info.width, info.height], rgba))
}

/// Reads an 8-bit RGBA picture written by [`save`].
pub fn read(path: &Path) -> Result<Picture, Error> {
    let failed = |e: DecodingError| match e {
        DecodingError::IoError(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::reading(path, &e)
        }
        e => Error::malformed(path, format!("a broken PNG ({e})"), "a PNG picture"),
    };
    // Checks that it is a regular file, with a sentence for any other.
    drop(Source::open(path, &Control::new())?);
    let file = disk::File::open(path).map_err(|e| Error::reading(path, &e))?;
    let mut decoder = Decoder::new(BufReader::with_capacity(CHUNK_BYTES, file));
    decoder.set_limits(png::Limits {
        bytes: PIXEL_LIMIT_BYTES,
    });
    let mut reader = decoder.read_info().map_err(failed)?;
    let info = reader.info();
    if (info.color_type, info.bit_depth) != (ColorType::Rgba, BitDepth::Eight) {
        let found = format!("{:?} pixels of {:?} bits", info.color_type, info.bit_depth);
        return Err(Error::malformed(path, found, "RGBA pixels of 8 bits"));
    }
    let size = [info.width, info.height];
    let bytes = reader
        .output_buffer_size()
        .filter(|&n| n <= PIXEL_LIMIT_BYTES)
        .ok_or_else(|| Error::malformed(path, format!("{size:?} pixels"), "a smaller picture"))?;
    let mut rgba = vec![0; bytes];
    reader.next_frame(&mut rgba).map_err(failed)?;
    reader.finish().map_err(failed)?;
    let info = reader.info();
    let mut metadata: Vec<(String, String)> = info
        .uncompressed_latin1_text
        .iter()
        .map(|t| (t.keyword.clone(), t.text.clone()))
        .collect();
    for text in &info.utf8_text {
        let value = text.get_text().map_err(failed)?;
        metadata.push((text.keyword.clone(), value));
    }
    Ok(Picture {
        size,
        rgba,
        metadata,
    })
}
