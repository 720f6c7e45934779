//! The order in which streamlines are drawn, the points that are drawn of them, and their places in the renderer's
//! buffers.

use super::line_blocks::BLOCK;
use glam::Vec3;
use std::ops::Range;

/// Slots of a chunk, the part of the streamlines that one draw call draws; larger chunks would only leave more of the
/// last one empty.
pub const CHUNK_SLOTS: usize = 1 << 20;
/// A cut streamline leaves at least this many points on either side.
pub const SHORTEST_PIECE: usize = 64;
/// Largest product of turning angle and length of a streamline between kept points, so that it deviates from the chord
/// by at most 0.03 mm, a tenth of a pixel when the head fills a screen: 3° over 2.5 mm.
pub const MAXIMUM_TURN_MM: f32 = 0.131;
/// Sine of the largest turn between kept points, whatever the length.
pub const MAXIMUM_TURN_SINE: f32 = 0.17;
/// Largest distance between kept points, mm.
pub const LONGEST_CHORD_MM: f32 = 4.0;

/// How many of the points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Detail {
    /// Only those that its shape needs.
    Shape,
    /// All of them, for values of points.
    EveryPoint,
}

/// An order of streamlines in which every prefix is spread evenly over the whole, so that a part (while loading, or
/// while moving on a slow device) looks like a thinner whole.
#[derive(Clone, Copy)]
pub struct Order {
    /// One in this many streamlines is drawn.
    pub every: usize,
    /// Number of drawn streamlines.
    pub count: usize,
    stride: usize,
    /// Points that are drawn of each.
    pub detail: Detail,
}

impl Order {
    /// An order of one in `every` of some streamlines.
    pub fn new(streamlines: usize, every: usize, detail: Detail) -> Self {
        let every = every.max(1);
        let count = streamlines.div_ceil(every);
        // Golden-section steps are the most even (Weyl); a stride coprime to the count visits all.
        let golden = ((count as f64 * 0.618_033_988_75) as usize).max(1);
        let stride = (golden..golden + count.max(1))
            .find(|&s| greatest_common_divisor(s, count) <= 1)
            .unwrap_or(1);
        Self {
            every,
            count,
            stride,
            detail,
        }
    }

    /// The index of the streamline at a place.
    pub fn streamline(&self, place: usize) -> usize {
        (place as u128 * self.stride as u128 % self.count as u128) as usize * self.every
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// The place of the next streamline.
#[derive(Clone, Copy, Default, Debug)]
pub struct Walk {
    /// In the [`Order`].
    pub place: usize,
    chunk: usize,
    slot: usize,
}

/// Points in one chunk without a gap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Their numbers among the drawn points of the streamline.
    pub points: Range<usize>,
    /// The chunk that has them.
    pub chunk: usize,
    /// The slot of the first; a gap follows the last.
    pub slot: usize,
}

impl Walk {
    /// Places `count` points in chunks of the sizes that `capacity` returns, and passes the pieces on.
    pub fn assign(
        &mut self,
        count: usize,
        mut capacity: impl FnMut(usize) -> usize,
        mut piece: impl FnMut(Piece),
    ) {
        let mut first = 0;
        // A single point draws nothing.
        while count - first >= 2 {
            let space = capacity(self.chunk) - self.slot;
            if space <= (count - first).min(SHORTEST_PIECE) {
                self.chunk += 1;
                self.slot = 0;
                continue;
            }
            let end = count.min(first + space - 1);
            piece(Piece {
                points: first..end,
                chunk: self.chunk,
                slot: self.slot,
            });
            self.slot += end - first + 1;
            // The next piece starts at this one's last point so that no segment is lost.
            first = if end == count { end } else { end - 1 };
        }
    }
}

/// The size of the next chunk, in whole blocks, for this many slots that are not placed yet.
pub fn chunk_capacity(slots: usize, largest: usize) -> usize {
    // Cuts add a point and a gap each; a chunk too many costs less than a chunk too small.
    (slots + 2 * SHORTEST_PIECE)
        .next_multiple_of(BLOCK)
        .min(largest)
}

/// Appends the points of a run that its shape needs.
pub fn keep_shape(points: &[[f32; 3]], run: Range<usize>, kept: &mut Vec<usize>) {
    let at = |i: usize| Vec3::from(points[i]);
    let Range { start, end } = run;
    kept.push(start);
    let mut from = at(start);
    for i in start + 1..end.saturating_sub(1) {
        let (chord, onward) = (at(i) - from, at(i + 1) - at(i));
        let squares = chord.length_squared() * onward.length_squared();
        let run = from.distance_squared(at(i + 1));
        let turn =
            (MAXIMUM_TURN_MM * MAXIMUM_TURN_MM / run).min(MAXIMUM_TURN_SINE * MAXIMUM_TURN_SINE);
        let sharp = chord.cross(onward).length_squared() > turn * squares;
        let straight = chord.dot(onward) > 0.0 && !sharp;
        let is_short = run < LONGEST_CHORD_MM * LONGEST_CHORD_MM;
        if !(straight && is_short) {
            kept.push(i);
            from = at(i);
        }
    }
    if end - start > 1 {
        kept.push(end - 1);
    }
}
