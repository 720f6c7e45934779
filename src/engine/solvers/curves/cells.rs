//! Cells of eight samples, and positions in them, axis by axis.

use glam::DAffine3;
use std::borrow::Cow;

/// The record of one voxel, or an interpolated record.
pub type Record = [f32; 8];

/// Index in [`Record`] of whether the voxel was fitted.
pub const INSIDE: usize = 6;

/// One axis of a lattice of samples.
#[derive(Clone, Copy)]
pub struct Axis {
    /// Coordinate of the last sample.
    pub last: f32,
    /// Index of the last cell.
    pub last_cell: f32,
    /// The volume's outer face.
    pub face: f32,
}

/// Position of a coordinate on an axis.
pub struct AxisPosition {
    /// Index of the cell's lower sample.
    pub cell: u32,
    /// Position in the cell, 0 to 1.
    pub t: f32,
    /// 1 within the faces, else 0; outside, the nearest sample was used.
    pub in_volume: u32,
}

/// Adding it rounds a number from 0 to 2²² to an integer that appears in the low bits; unlike the language's
/// conversion, which handles overflow, this compiles to vector code.
const ROUND: f32 = 8_388_608.0;
const ROUND_MASK: u32 = 0x7F_FFFF;

impl Axis {
    /// An axis one voxel thick may have two samples, or one sample and only the cell with index 0.
    pub fn new(samples: usize, voxels: usize) -> Self {
        Self {
            last: (samples - 1) as f32,
            last_cell: samples.saturating_sub(2) as f32,
            face: voxels as f32 - 0.5,
        }
    }

    #[inline(always)]
    pub fn position(&self, v: f32) -> AxisPosition {
        let in_volume = u32::from((v >= -0.5) & (v <= self.face));
        // Written this way round, the comparisons turn NaN into 0.
        let v = if v > 0.0 { v } else { 0.0 };
        let v = if v < self.last { v } else { self.last };
        let nearest = (v + ROUND) - ROUND;
        let cell = if nearest > v { nearest - 1.0 } else { nearest };
        let cell = if cell < self.last_cell {
            cell
        } else {
            self.last_cell
        };
        AxisPosition {
            cell: (cell + ROUND).to_bits() & ROUND_MASK,
            t: v - cell,
            in_volume,
        }
    }
}

/// Samples along each axis, at least two so that every cell has eight corners.
pub fn thick(shape: [usize; 3]) -> [usize; 3] {
    shape.map(|n| n.max(2))
}

/// A grid one voxel thick gets a second layer equal to the first.
pub fn thickened(records: &[Record], shape: [usize; 3]) -> Cow<'_, [Record]> {
    let [nx, ny, nz] = shape;
    let thick = thick(shape);
    if thick == shape {
        return Cow::Borrowed(records);
    }
    let at = |i: usize| {
        let (x, y, z) = (
            i % thick[0],
            i / thick[0] % thick[1],
            i / (thick[0] * thick[1]),
        );
        records[x.min(nx - 1) + nx * (y.min(ny - 1) + ny * z.min(nz - 1))]
    };
    (0..thick.iter().product()).map(at).collect()
}

/// Rows of an affine: three factors and a translation each.
pub fn rows(affine: &DAffine3) -> [[f32; 4]; 3] {
    [0, 1, 2].map(|a| {
        let m = affine.matrix3.row(a);
        [m.x, m.y, m.z, affine.translation[a]].map(|v| v as f32)
    })
}
