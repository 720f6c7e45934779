//! The 1000 bytes before the points (trackvis.org, "Track file format", versions 1 and 2).

use super::super::Error;
use super::HEADER_BYTES;
use std::path::Path;

/// Slots for names of values.
pub(super) const NAMES: usize = 10;
/// Bytes per name.
pub(super) const NAME_BYTES: usize = 20;

/// Offsets of the fields.
mod at {
    pub const DIM: usize = 6;
    pub const VOXEL_SIZE: usize = 12;
    pub const SCALARS: usize = 36;
    pub const SCALAR_NAMES: usize = 38;
    pub const PROPERTIES: usize = 238;
    pub const PROPERTY_NAMES: usize = 240;
    pub const VOX_TO_RAS: usize = 440;
    pub const VOXEL_ORDER: usize = 948;
    pub const COUNT: usize = 988;
    pub const VERSION: usize = 992;
    pub const HEADER_SIZE: usize = 996;
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    pub big_endian: bool,
    pub dim: [i16; 3],
    pub voxel_size: [f32; 3],
    pub scalars: usize,
    pub scalar_names: Vec<Vec<u8>>,
    pub properties: usize,
    pub property_names: Vec<Vec<u8>>,
    /// Rows.
    pub vox_to_ras: [[f32; 4]; 4],
    /// Without trailing zeros.
    pub voxel_order: Vec<u8>,
    /// 0: unknown.
    pub count: i32,
    pub version: i32,
}

fn names(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.chunks(NAME_BYTES).map(<[u8]>::to_vec).collect()
}

impl Header {
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Error::malformed(
                path,
                format!("{} bytes", bytes.len()),
                ("a TRK file, whose header alone has 1000", "copy it again"),
            ));
        };
        if !bytes.starts_with(b"TRACK") {
            let found = "a file that does not start with “TRACK”";
            return Err(Error::other_format(path, found, "a TRK file"));
        }
        let four = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let size = HEADER_BYTES as i32;
        let big_endian = match four(at::HEADER_SIZE) {
            b if i32::from_le_bytes(b) == size => false,
            b if i32::from_be_bytes(b) == size => true,
            b => {
                return Err(Error::malformed(
                    path,
                    format!("a header size of {}", i32::from_le_bytes(b)),
                    "1000, in either byte order",
                ));
            }
        };
        let i32_at = |at| match big_endian {
            true => i32::from_be_bytes(four(at)),
            false => i32::from_le_bytes(four(at)),
        };
        let f32_at = |at| f32::from_bits(i32_at(at) as u32);
        let i16_at = |at: usize| match big_endian {
            true => i16::from_be_bytes([bytes[at], bytes[at + 1]]),
            false => i16::from_le_bytes([bytes[at], bytes[at + 1]]),
        };
        let count_at = |at, what: &str| {
            usize::try_from(i16_at(at)).map_err(|_| {
                Error::malformed(path, format!("{} {what}", i16_at(at)), "a number from 0")
            })
        };
        let order = &bytes[at::VOXEL_ORDER..at::VOXEL_ORDER + 4];
        let order = order.split(|&b| b == 0).next().unwrap_or_default();
        let header = Self {
            big_endian,
            dim: [0, 1, 2].map(|a| i16_at(at::DIM + 2 * a)),
            voxel_size: [0, 1, 2].map(|a| f32_at(at::VOXEL_SIZE + 4 * a)),
            scalars: count_at(at::SCALARS, "values per point")?,
            scalar_names: names(&bytes[at::SCALAR_NAMES..at::PROPERTIES]),
            properties: count_at(at::PROPERTIES, "values per streamline")?,
            property_names: names(&bytes[at::PROPERTY_NAMES..at::VOX_TO_RAS]),
            vox_to_ras: [0, 1, 2, 3]
                .map(|r| [0, 1, 2, 3].map(|c| f32_at(at::VOX_TO_RAS + 16 * r + 4 * c))),
            voxel_order: order.trim_ascii().to_vec(),
            count: i32_at(at::COUNT),
            version: i32_at(at::VERSION),
        };
        match header.version {
            1..=3 if header.count >= 0 => Ok(header),
            1..=3 => Err(Error::malformed(
                path,
                format!("{} streamlines", header.count),
                "a number from 0",
            )),
            other => Err(Error::malformed(
                path,
                format!("TRK version {other}"),
                "version 1, 2 or 3",
            )),
        }
    }

    /// The number of streamlines, if it is known.
    pub fn announced(&self) -> Option<u64> {
        u64::try_from(self.count).ok().filter(|&n| n > 0)
    }

    /// The bytes of a little-endian file.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        put(0, b"TRACK");
        for a in 0..3 {
            put(at::DIM + 2 * a, &self.dim[a].to_le_bytes());
            put(at::VOXEL_SIZE + 4 * a, &self.voxel_size[a].to_le_bytes());
        }
        put(at::SCALARS, &(self.scalars as i16).to_le_bytes());
        put(at::PROPERTIES, &(self.properties as i16).to_le_bytes());
        for (at, names) in [
            (at::SCALAR_NAMES, &self.scalar_names),
            (at::PROPERTY_NAMES, &self.property_names),
        ] {
            for (i, name) in names.iter().enumerate().take(NAMES) {
                put(at + i * NAME_BYTES, &name[..name.len().min(NAME_BYTES)]);
            }
        }
        for (r, row) in self.vox_to_ras.iter().enumerate() {
            for (c, v) in row.iter().enumerate() {
                put(at::VOX_TO_RAS + 16 * r + 4 * c, &v.to_le_bytes());
            }
        }
        put(at::VOXEL_ORDER, &self.voxel_order);
        put(at::COUNT, &self.count.to_le_bytes());
        put(at::VERSION, &self.version.to_le_bytes());
        put(at::HEADER_SIZE, &(HEADER_BYTES as i32).to_le_bytes());
        bytes
    }
}
