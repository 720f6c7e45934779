//! Masks inside a session: their grids and their runs.

use super::super::source::{UNPACKED_ALLOWANCE_BYTES, max_unpacked_bytes};
use crate::compute::memory;
use crate::data::{AffineSource, Grid, Mask};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use glam::{DAffine3, DMat3, DVec3};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{BufReader, Read, Write as _};
use std::sync::Arc;

/// A mask as text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PackedMask {
    /// Number of voxels along each axis.
    pub shape: [usize; 3],
    /// Rows of the affine, mm.
    pub world_from_voxel: [[f64; 4]; 3],
    /// The affine's key by [`AffineSource::key`].
    pub affine: String,
    /// Header code of the world space.
    pub space_code: i16,
    /// Lengths of alternating runs outside and inside, beginning outside, in file order: each in groups of seven bits
    /// per byte, lowest first, with the eighth bit set if more follow; deflated (RFC 1951) and base64-encoded.
    pub runs: String,
    /// The image's whole grid, if the mask is cut to its voxels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
}

/// The grid from which a mask is cut.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Frame {
    pub shape: [usize; 3],
    /// The index in it of the mask's first voxel.
    pub first: [usize; 3],
}

impl PackedMask {
    /// Packs the voxels of a mask as lengths of runs.
    pub fn pack(mask: &Mask) -> Self {
        // A cut mask stores the position of its image, from which its own follows.
        let grid = &**mask.frame();
        let first = grid.nearest(mask.grid.world(DVec3::ZERO));
        let frame = first.filter(|_| *grid != *mask.grid).map(|first| Frame {
            shape: grid.shape,
            first,
        });
        let (matrix, offset) = (
            grid.world_from_voxel.matrix3,
            grid.world_from_voxel.translation,
        );
        let row = |i: usize| {
            let row = matrix.row(i);
            [row.x, row.y, row.z, offset[i]]
        };
        let mut bytes = Vec::new();
        let mut inside = false;
        let mut rest = &*mask.inside;
        while !rest.is_empty() {
            let run = rest.iter().position(|&v| (v != 0) != inside);
            let run = run.unwrap_or(rest.len());
            write_varint(&mut bytes, run);
            rest = &rest[run..];
            inside = !inside;
        }
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        // Writing to a vector does not fail.
        let _ = packed.write_all(&bytes);
        Self {
            frame,
            shape: mask.grid.shape,
            world_from_voxel: [0, 1, 2].map(row),
            affine: grid.source.key().to_owned(),
            space_code: grid.space_code,
            runs: STANDARD.encode(packed.finish().unwrap_or_default()),
        }
    }

    /// Number of voxels of its grid; `None` if no machine could hold them.
    pub fn voxels(&self) -> Option<u64> {
        let sides = self.shape.iter().map(|&n| n as u64);
        sides
            .reduce(|a, b| a.saturating_mul(b))
            .filter(|&n| n <= 1 << 40)
    }

    /// The mask. Allocates one byte per voxel, however short the text, if the machine has as many.
    pub fn unpack(&self) -> Result<Mask, PackedMaskError> {
        use PackedMaskError as E;
        let columns = [0, 1, 2].map(|c| DVec3::from_array([0, 1, 2].map(|r| self.rows(r, c))));
        let offset = DVec3::from_array([0, 1, 2].map(|r| self.rows(r, 3)));
        let affine = DAffine3::from_mat3_translation(
            DMat3::from_cols_array_2d(&columns.map(Into::into)),
            offset,
        );
        let source = AffineSource::from_key(&self.affine);
        let source = source.ok_or_else(|| E::AffineSource(self.affine.clone()))?;
        let whole = self.frame.as_ref().map_or(self.shape, |f| f.shape);
        let grid = Grid::new(whole, affine, source).ok_or(E::NoVolume)?;
        let grid = Arc::new(grid.with_space_code(self.space_code));
        let frame = self.frame.as_ref();
        let fits = |f: &Frame| {
            let end = |a: usize| f.first[a].checked_add(self.shape[a]);
            let inside = (0..3).all(|a| end(a).is_some_and(|e| e <= f.shape[a]));
            inside && f.shape.iter().map(|&n| n as f64).product::<f64>() < 4e9
        };
        if !frame.is_none_or(fits) || self.shape.contains(&0) {
            return Err(E::OutsideImage);
        }
        let voxels = self.voxels().ok_or(E::LargeGrid)? as usize;
        // A few bytes of text may represent any number of voxels.
        let max_voxels = UNPACKED_ALLOWANCE_BYTES.max(max_unpacked_bytes(self.runs.len() as u64));
        if voxels as u64 > max_voxels && !memory::is_limited() {
            return Err(E::Expansion { voxels, max_voxels });
        }
        let bytes = STANDARD.decode(&self.runs).map_err(|_| E::NotBase64)?;
        let mut reader = BufReader::new(DeflateDecoder::new(&*bytes));
        let mut values: Vec<u8> = Vec::new();
        let room = memory::claim("Unpacking a mask", voxels as u64);
        if room.is_err() || values.try_reserve_exact(voxels).is_err() {
            return Err(E::Memory);
        }
        let (mut inside, mut first) = (0, true);
        while values.len() < voxels {
            let run = read_varint(&mut reader).ok_or(E::Incomplete)?;
            let begins = std::mem::replace(&mut first, false);
            let empty = run == 0 && !begins;
            if run > (voxels - values.len()) as u64 {
                return Err(E::MoreVoxels);
            }
            if empty {
                return Err(E::Damaged);
            }
            values.resize(values.len() + run as usize, inside);
            inside ^= 1;
        }
        if read_varint(&mut reader).is_some() {
            return Err(E::MoreVoxels);
        }
        let Some(Frame { first, .. }) = frame else {
            return Ok(Mask::new(grid, values));
        };
        let last = [0, 1, 2].map(|a| first[a] + self.shape[a] - 1);
        let [nx, ny, _] = self.shape;
        let own = |i: usize| {
            let v = grid.voxel(i);
            let [x, y, z] = [0, 1, 2].map(|a| v[a] - first[a]);
            x + nx * (y + ny * z)
        };
        Ok(Mask::cut_to(&grid, (*first, last), |i| values[own(i)] != 0))
    }

    fn rows(&self, row: usize, column: usize) -> f64 {
        self.world_from_voxel[row][column]
    }
}

/// A mask that cannot be unpacked: a part of a sentence, in which it is called "it".
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PackedMaskError {
    /// The key of its affine is unknown.
    AffineSource(String),
    /// A side of its grid has no voxel.
    NoVolume,
    /// Its block lies outside the image from which it was cut.
    OutsideImage,
    /// The number of voxels exceeds 64 bits.
    LargeGrid,
    /// More voxels than are plausible for the length of the text.
    Expansion {
        /// Voxels of its grid.
        voxels: usize,
        /// Largest number permitted for a text of its length.
        max_voxels: u64,
    },
    /// The text is not base64.
    NotBase64,
    /// The grid does not fit into memory.
    Memory,
    /// The runs end before the grid does.
    Incomplete,
    /// The runs continue after the grid's end.
    MoreVoxels,
    /// The compressed data cannot be unpacked.
    Damaged,
}

impl fmt::Display for PackedMaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AffineSource(source) => {
                let known = AffineSource::KEYS.join(", ");
                return write!(
                    f,
                    "its affine comes from “{source}”, which is none of {known}"
                );
            }
            Self::NoVolume => "its grid has no volume",
            Self::OutsideImage => "it lies outside its image",
            Self::LargeGrid => "its grid is too large",
            Self::Expansion { voxels, max_voxels } => {
                return write!(
                    f,
                    "its grid has {voxels} voxels, more than the {max_voxels} allowed for a text of its length; if you \
                     trust it, allow as much memory as it needs ({})",
                    match f.alternate() {
                        true => "Settings",
                        false => "--memory GB, or the setting",
                    }
                );
            }
            Self::NotBase64 => "its voxels are not base64 text",
            Self::Memory => "its grid does not fit into memory",
            Self::Incomplete => "its voxels are incomplete",
            Self::MoreVoxels => "it has more voxels than its grid",
            Self::Damaged => "its voxels are damaged",
        })
    }
}

impl std::error::Error for PackedMaskError {}

fn write_varint(bytes: &mut Vec<u8>, mut run: usize) {
    while run >= 0x80 {
        bytes.push((run & 0x7f) as u8 | 0x80);
        run >>= 7;
    }
    bytes.push(run as u8);
}

/// `None` at the end, and for an invalid number.
fn read_varint(reader: &mut impl Read) -> Option<u64> {
    let mut run = 0;
    for shift in (0..63).step_by(7) {
        let mut byte = [0];
        reader.read_exact(&mut byte).ok()?;
        run |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Some(run);
        }
    }
    None
}
