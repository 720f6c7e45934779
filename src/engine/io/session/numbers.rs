//! Numbers inside a session: weights of streamlines and values of voxels.

use super::super::source::GREATEST_EXPANSION;
use crate::compute::memory;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

/// Numbers as text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PackedNumbers {
    /// Number of values when unpacked.
    pub count: usize,
    /// Single precision, the lowest byte first; the first bytes of all numbers, then the second ones and so on (which
    /// compresses better); deflated (RFC 1951) and base64-encoded. Empty if the session had no space for them.
    pub bytes: String,
}

/// No number of streamlines or voxels is larger.
const MAX_COUNT: usize = 1 << 30;

impl PackedNumbers {
    /// Compresses the values, byte plane by byte plane, without loss.
    pub fn pack(values: &[f32]) -> Self {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        for byte in 0..4 {
            let plane: Vec<u8> = values.iter().map(|v| v.to_le_bytes()[byte]).collect();
            // Writing to a vector does not fail.
            let _ = packed.write_all(&plane);
        }
        Self {
            count: values.len(),
            bytes: STANDARD.encode(packed.finish().unwrap_or_default()),
        }
    }

    /// The count alone, of numbers that are too many to store in the session.
    pub fn count_only(count: usize) -> Self {
        Self {
            count,
            bytes: String::new(),
        }
    }

    /// Peak memory of unpacking: twice the bytes of the numbers.
    pub fn room_bytes(&self) -> u64 {
        match self.bytes.is_empty() || self.count > MAX_COUNT {
            true => 0,
            false => 8 * self.count as u64,
        }
    }

    /// The numbers. Allocates the stated number, however short the text.
    pub fn unpack(&self) -> Result<Arc<[f32]>, PackedNumbersError> {
        use PackedNumbersError as E;
        if self.bytes.is_empty() && self.count > 0 {
            return Err(E::NotStored);
        }
        if self.count > MAX_COUNT {
            return Err(E::TooMany);
        }
        let bytes = STANDARD.decode(&self.bytes).map_err(|_| E::NotBase64)?;
        // Checked before memory is allocated for missing numbers.
        if 4 * self.count as u64 / GREATEST_EXPANSION > bytes.len() as u64 {
            return Err(E::Incomplete);
        }
        memory::claim("Unpacking numbers", self.room_bytes()).map_err(|_| E::Memory)?;
        let mut planes = Vec::new();
        planes
            .try_reserve_exact(4 * self.count)
            .map_err(|_| E::Memory)?;
        // One extra byte reveals surplus data.
        let mut reader = DeflateDecoder::new(&*bytes).take(4 * self.count as u64 + 1);
        reader.read_to_end(&mut planes).map_err(|_| E::Damaged)?;
        if planes.len() != 4 * self.count {
            return Err(E::Incomplete);
        }
        let byte = |value: usize, byte: usize| planes[byte * self.count + value];
        let value = |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|b| byte(i, b)));
        Ok((0..self.count).map(value).collect())
    }
}

/// Numbers that cannot be unpacked: a part of a sentence, in which they are called "they".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackedNumbersError {
    /// The session had no space for them.
    NotStored,
    /// More values than a tractogram can have.
    TooMany,
    /// The text is not base64.
    NotBase64,
    /// Fewer or more bytes than the count requires.
    Incomplete,
    /// The values do not fit into memory.
    Memory,
    /// The compressed data cannot be unpacked.
    Damaged,
}

impl fmt::Display for PackedNumbersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotStored => "there were too many to store in the session",
            Self::TooMany => "there are more than a tractogram can have",
            Self::NotBase64 => "they are not base64 text",
            Self::Incomplete => "they are incomplete",
            Self::Memory => "they do not fit into memory",
            Self::Damaged => "they are damaged",
        })
    }
}

impl std::error::Error for PackedNumbersError {}
