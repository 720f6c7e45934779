//! Ranges of voxels, one for each of several workers.

use super::{Dictionary, Segment};
use std::ops::Range;

/// A range of a dictionary's voxels, in its order.
#[derive(Clone, Debug)]
pub struct Slab<'a> {
    /// The range of voxels.
    pub voxels: Range<usize>,
    /// Record offsets of the voxels among all records, and the end of the last voxel's records.
    pub offsets: &'a [u64],
    /// Segments of the voxels of the range only.
    pub segments: &'a [Segment],
    /// Peaks of the voxels of the range, as many slots for each voxel as in the dictionary.
    pub peaks: &'a [u16],
    /// Occupied slots of each voxel of the range.
    pub peak_counts: &'a [u8],
}

impl Dictionary {
    /// Part of the dictionary for a range of places in [`Dictionary::voxels`]; borrows, copies nothing.
    pub fn slab(&self, voxels: Range<usize>) -> Slab<'_> {
        let offsets = &self.offsets[voxels.start..=voxels.end];
        let records = offsets[0] as usize..offsets[voxels.len()] as usize;
        Slab {
            offsets,
            segments: &self.segments[records],
            peaks: &self.peaks[voxels.start * self.places..voxels.end * self.places],
            peak_counts: &self.peak_counts[voxels.clone()],
            voxels,
        }
    }

    /// All voxels in at most `count` slabs of nearly equal work, none of them empty; one voxel counts as much as
    /// `voxel` segments.
    pub fn slabs(&self, count: usize, voxel: f64) -> Vec<Slab<'_>> {
        let all = self.voxels.len();
        let count = count.clamp(1, all.max(1));
        let before = |i: usize| (self.offsets[i] - self.offsets[0]) as f64 + voxel * i as f64;
        let mut begin = 0;
        let each = (1..=count).map(|slab| {
            let requested = before(all) * slab as f64 / count as f64;
            // Each remaining slab needs at least one voxel.
            let last = all - (count - slab);
            let mut end = (begin + 1).min(last);
            while end < last && before(end + 1) - requested < requested - before(end) {
                end += 1;
            }
            let end = if slab == count { all } else { end };
            self.slab(std::mem::replace(&mut begin, end)..end)
        });
        each.collect()
    }
}
