//! Voxels on their way from memory to a file: the forms that they have in memory, and their little-endian bytes.

use super::atomic::WriteStop;
use super::little_endian;
use super::stored::Stored;
use crate::compute::Control;
use crate::data::Volume;
use std::borrow::Cow;
use std::io::Write;

/// Voxels compressed or written between two checks for cancellation.
const CHUNK_VOXELS: usize = 1 << 18;

/// The values to store, in the form they have in memory.
pub enum Voxels<'a> {
    Float(&'a [f32]),
    Byte(&'a [u8]),
    Label(&'a [u16]),
    Count(&'a [u32]),
    /// Three planes.
    Colour(&'a [f32]),
    Stored(&'a Stored),
}

impl Voxels<'_> {
    /// Sizes of the axes after the third.
    pub fn further(&self, frames: usize) -> Vec<usize> {
        match self {
            Self::Stored(stored) if !stored.meaning.sizes.is_empty() => {
                stored.meaning.sizes.clone()
            }
            _ if frames > 1 => vec![frames],
            _ => Vec::new(),
        }
    }

    /// Writes this many voxels, those of all frames.
    pub fn write(
        &self,
        file: &mut impl Write,
        count: usize,
        control: &Control,
    ) -> Result<(), WriteStop> {
        let mut done = 0;
        while done < count {
            control.check()?;
            let range = done..(done + CHUNK_VOXELS).min(count);
            let bytes = match self {
                Self::Float(values) => little_endian(&values[range.clone()]),
                Self::Byte(values) => Cow::Borrowed(&values[range.clone()]),
                Self::Label(values) => {
                    let bytes = values[range.clone()].iter().flat_map(|v| v.to_le_bytes());
                    Cow::Owned(bytes.collect())
                }
                Self::Count(values) => {
                    let bytes = values[range.clone()].iter().flat_map(|v| v.to_le_bytes());
                    Cow::Owned(bytes.collect())
                }
                Self::Stored(stored) => {
                    let size = stored.pixel.bytes();
                    Cow::Borrowed(&stored.bytes[size * range.start..size * range.end])
                }
                Self::Colour(planes) => {
                    let voxel = |i: usize| [0, 1, 2].map(|c| colour_byte(planes[c * count + i]));
                    Cow::Owned(range.clone().flat_map(voxel).collect())
                }
            };
            file.write_all(&bytes)?;
            control.advance(range.len() as u64);
            done = range.end;
        }
        Ok(())
    }

    /// Whether a volume that was read has these values. An image in a stored type is compared byte by byte instead.
    pub fn equal(&self, volume: &Volume) -> bool {
        let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let stored = volume.values.iter();
        match self {
            Self::Float(values) => stored.zip(*values).all(|(&a, &b)| same(a, b)),
            Self::Byte(values) => stored.zip(*values).all(|(&a, &b)| a == f32::from(b)),
            Self::Label(values) => stored.zip(*values).all(|(&a, &b)| a == f32::from(b)),
            Self::Count(values) => stored.zip(*values).all(|(&a, &b)| a == b as f32),
            Self::Stored(_) => false,
            Self::Colour(values) => stored
                .zip(*values)
                .all(|(&a, &b)| colour_byte(a) == colour_byte(b)),
        }
    }
}

fn colour_byte(share: f32) -> u8 {
    (share * 255.0).round().clamp(0.0, 255.0) as u8
}
