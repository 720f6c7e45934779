//! Streamlines that stay in memory from one pass to the next, if they are few.

use crate::compute::memory;
use crate::data::Tractogram;

/// Part of the free memory that they may take.
const SHARE_OF_MEMORY: u64 = 4;

/// The pieces of a pass; none of them once they are too many, so that the next pass reads them from their file.
#[derive(Clone, Debug)]
pub struct Copies {
    pieces: Option<Vec<Tractogram>>,
    bytes: u64,
    max_bytes: u64,
}

impl Default for Copies {
    fn default() -> Self {
        let free = memory::available_bytes().unwrap_or(u64::MAX);
        Self {
            pieces: Some(Vec::new()),
            bytes: 0,
            max_bytes: free / SHARE_OF_MEMORY,
        }
    }
}

impl Copies {
    /// No copies, and none to come.
    pub fn none() -> Self {
        Self {
            pieces: None,
            bytes: 0,
            max_bytes: 0,
        }
    }

    /// Adds the next piece.
    pub fn add(&mut self, piece: Tractogram) {
        let values = |values: usize, count: usize| values * count * size_of::<f32>();
        let bytes = size_of_val(&*piece.points)
            + size_of_val(&*piece.offsets)
            + values(piece.per_point.len(), piece.points.len())
            + values(piece.per_streamline.len(), piece.len());
        self.bytes += bytes as u64;
        match &mut self.pieces {
            Some(pieces) if self.bytes <= self.max_bytes => pieces.push(piece),
            pieces => *pieces = None,
        }
    }

    /// All pieces, if they are in memory.
    pub fn pieces(&self) -> Option<&[Tractogram]> {
        self.pieces.as_deref()
    }
}
