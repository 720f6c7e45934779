//! Pictures with their parameters inside.

use super::{Error, atomic};
use std::path::Path;

/// Writes RGBA8 pixels (row by row from the top) with text chunks, reads them back and compares.
/// Panics if there are not `4 * width * height` bytes (a broken invariant, not data).
pub fn save(
    path: &Path,
    size: [u32; 2],
    rgba: &[u8],
    metadata: &[(String, String)],
) -> Result<(), Error> {
    assert_eq!(
        rgba.len(),
        4 * size[0] as usize * size[1] as usize,
        "pixels against the picture's size"
    );
    if path
        .extension()
        .is_none_or(|e| !e.eq_ignore_ascii_case("png"))
    {
        return Err(Error::content(
            path,
            "Pictures are written as PNG, expected a name ending in .png",
        ));
    }
    atomic::write(path, |out| {
        let mut encoder = ::png::Encoder::new(out, size[0], size[1]);
        encoder.set_color(::png::ColorType::Rgba);
        encoder.set_depth(::png::BitDepth::Eight);
        for (key, text) in metadata {
            encoder
                .add_itxt_chunk(key.clone(), text.clone())
                .map_err(std::io::Error::other)?;
        }
        let mut writer = encoder.write_header().map_err(std::io::Error::other)?;
        writer.write_image_data(rgba).map_err(std::io::Error::other)
    })?;
    let (back_size, back, _) = read(path)?;
    if back_size == size && back == rgba {
        return Ok(());
    }
    Err(Error::content(
        path,
        "The file read back differs from what was written: the disk may be failing",
    ))
}

/// Size, RGBA8 pixels and text chunks of a picture.
pub fn read(path: &Path) -> Result<([u32; 2], Vec<u8>, Vec<(String, String)>), Error> {
    let file = std::fs::File::open(path).map_err(|e| Error::system("read", path, &e))?;
    let damaged = |e: ::png::DecodingError| Error::content(path, format!("Not a sound PNG, {e}"));
    let mut reader = ::png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .map_err(damaged)?;
    let bytes = reader.output_buffer_size().unwrap_or_default();
    let mut pixels = vec![0; bytes];
    let frame = reader.next_frame(&mut pixels).map_err(damaged)?;
    reader.finish().map_err(damaged)?;
    if frame.color_type != ::png::ColorType::Rgba {
        return Err(Error::content(
            path,
            format!("{:?} pixels, expected RGBA", frame.color_type),
        ));
    }
    let info = reader.info();
    let text = info
        .utf8_text
        .iter()
        .filter_map(|t| Some((t.keyword.clone(), t.get_text().ok()?)))
        .collect();
    Ok(([frame.width, frame.height], pixels, text))
}
