//! Values that belong to a streamline file: MRtrix track scalars (TSF, one value a point) and weights
//! (text, one value a line for each streamline).

use super::{Error, atomic, little_endian, tck};
use crate::data::Tractogram;
use std::io::Write;
use std::path::Path;

/// Writes the per-point values `name` as TSF beside the streamlines they belong to; the header repeats
/// the TCK's `timestamp` and count, by which MRtrix knows that they match. Read back and compared.
pub fn save_points(
    path: &Path,
    beside: &Path,
    tractogram: &Tractogram,
    name: &str,
) -> Result<(), Error> {
    let Some(values) = tractogram.per_point.get(name) else {
        return Err(missing(path, name));
    };
    let properties = tck::read_properties(beside)?;
    let stamp = properties.iter().find(|(key, _)| key == "timestamp");
    let stamp = stamp.map_or("0", |(_, value)| value.as_str());
    let start = format!(
        "mrtrix track scalars\ntimestamp: {stamp}\ndatatype: Float32LE\ncount: {:010}\n",
        tractogram.len()
    );
    let mut bytes = tck::ended(start).into_bytes();
    for range in tractogram.offsets.windows(2) {
        let line = &values[range[0] as usize..range[1] as usize];
        bytes.extend_from_slice(&little_endian(line));
        bytes.extend_from_slice(&little_endian(&[f32::NAN]));
    }
    bytes.extend_from_slice(&little_endian(&[f32::INFINITY]));
    write(path, &bytes)
}

/// Writes the per-streamline values `name`, one number a line, in the order of the streamlines.
pub fn save_weights(path: &Path, tractogram: &Tractogram, name: &str) -> Result<(), Error> {
    let Some(values) = tractogram.per_streamline.get(name) else {
        return Err(missing(path, name));
    };
    let text: String = values.iter().map(|v| format!("{v}\n")).collect();
    write(path, text.as_bytes())
}

fn missing(path: &Path, name: &str) -> Error {
    Error::malformed(
        path,
        format!("streamlines without values named {name}"),
        "one for each",
    )
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    atomic::write_verified(
        path,
        |file| Ok(file.write_all(bytes)?),
        |written| match std::fs::read(written) {
            Ok(found) if found == bytes => Ok(()),
            Ok(_) => Err("its values differ".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    )
}
