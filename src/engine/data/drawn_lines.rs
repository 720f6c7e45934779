//! Streamlines that a graphics card wrote as the renderer draws them, in memory of the renderer.

use super::Shared;
use super::line_blocks::{BLOCK, Reach};
use super::line_order::Detail;
use crate::compute::DeviceCopy;

/// Slots to which the beginning of a chunk is aligned: 256 bytes, which buffers need, divide its blocks and its values.
const ALIGNMENT: usize = 16 * BLOCK;

/// How streamlines are drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineDrawing {
    /// Points that are drawn.
    pub detail: Detail,
    /// The name of the values that colour them, if any.
    pub values: Option<String>,
}

/// A part of streamlines that one draw call draws.
#[derive(Clone, Debug)]
pub struct DrawnChunk {
    /// Slots that it has room for.
    pub capacity: usize,
    /// Slots that hold points and gaps.
    pub ready: usize,
    /// Its first slot in the buffers.
    pub first_slot: usize,
    /// Boxes around the segments that start in each block.
    pub boxes: Vec<Reach>,
}

/// All streamlines of a tractogram in buffers of the graphics device.
#[derive(Clone, Debug)]
pub struct DrawnLines {
    /// Points and values that were drawn.
    pub drawing: LineDrawing,
    /// The parts, in order.
    pub chunks: Vec<DrawnChunk>,
    /// The buffer of all blocks.
    pub blocks: DeviceCopy,
    /// The values that colour them, and the buffer that has them, one for each slot.
    pub values: Option<(Shared<f32>, DeviceCopy)>,
}

/// Begins a chunk after one with this first slot and capacity.
pub fn next_chunk(first_slot: usize, capacity: usize) -> usize {
    (first_slot + capacity).next_multiple_of(ALIGNMENT)
}
