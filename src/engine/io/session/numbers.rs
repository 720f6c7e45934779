//! Numbers inside a session: weights of streamlines and values of voxels.

use super::super::source::GREATEST_EXPANSION;
use crate::compute::memory;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::sync::Arc;

/// Numbers as text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PackedNumbers {
    pub count: usize,
    /// Single precision, the lowest byte first; the first bytes of all numbers, then the second ones and so on (which
    /// compresses better); deflated (RFC 1951) and base64-encoded. Empty if the session had no space for them.
    pub bytes: String,
}

/// No number of streamlines or voxels is larger.
const MAX_COUNT: usize = 1 << 30;

impl PackedNumbers {
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

    /// The numbers; the error describes what is wrong with them. Allocates the stated number, however short the text.
    pub fn unpack(&self) -> Result<Arc<[f32]>, String> {
        if self.bytes.is_empty() && self.count > 0 {
            return Err("there were too many to store in the session".to_owned());
        }
        if self.count > MAX_COUNT {
            return Err("there are more than a tractogram can have".to_owned());
        }
        let bytes = STANDARD.decode(&self.bytes);
        let bytes = bytes.map_err(|_| "they are not base64 text")?;
        const MORE: &str = "they do not fit into memory";
        // Checked before memory is allocated for missing numbers.
        if 4 * self.count as u64 / GREATEST_EXPANSION > bytes.len() as u64 {
            return Err("they are incomplete".to_owned());
        }
        memory::claim("Unpacking numbers", self.room_bytes()).map_err(|_| MORE)?;
        let mut planes = Vec::new();
        planes.try_reserve_exact(4 * self.count).map_err(|_| MORE)?;
        // One extra byte reveals surplus data.
        let mut reader = DeflateDecoder::new(&*bytes).take(4 * self.count as u64 + 1);
        reader
            .read_to_end(&mut planes)
            .map_err(|_| "they are damaged")?;
        if planes.len() != 4 * self.count {
            return Err("they are incomplete".to_owned());
        }
        let byte = |value: usize, byte: usize| planes[byte * self.count + value];
        let value = |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|b| byte(i, b)));
        Ok((0..self.count).map(value).collect())
    }
}
