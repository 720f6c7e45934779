//! Assigns the points of a tractogram to the device's buffers.

use crate::data::Tractogram;
use glam::Vec3;
use std::ops::Range;
use std::time::Instant;

/// A cut streamline leaves at least this many points on either side.
pub(super) const SHORTEST_PIECE: usize = 64;
/// Points between two checks of the clock.
const POINTS_PER_LOOK: usize = 4096;
/// Largest product of turning angle and length of a streamline between kept points, so that it deviates from the chord
/// by at most 0.03 mm, a tenth of a pixel when the head fills a screen: 3° over 2.5 mm.
const MAXIMUM_TURN_MM: f32 = 0.131;
/// Whatever its length, it turns by at most this (as a sine) …
const MAXIMUM_TURN_SINE: f32 = 0.17;
/// … and is no longer than this, mm.
const LONGEST_CHORD_MM: f32 = 4.0;

/// How many of the points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Detail {
    /// Only those that its shape needs.
    Shape,
    EveryPoint,
}

/// An order of streamlines in which every prefix is spread evenly over the whole, so that a part (while loading, or
/// while moving on a slow device) looks like a thinner whole.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub every: usize,
    pub count: usize,
    stride: usize,
    detail: Detail,
}

impl Order {
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

    fn streamline(&self, place: usize) -> usize {
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

/// The position of the next streamline.
#[derive(Clone, Copy, Default)]
pub(super) struct Walk {
    pub place: usize,
    chunk: usize,
    slot: usize,
}

/// Points in one chunk without a gap.
struct Piece {
    /// The run of finite points that they come from.
    run: Range<usize>,
    /// Range in [`Plan::kept`].
    kept: Range<usize>,
    chunk: usize,
    slot: usize,
}

/// Positions for the points of one streamline.
#[derive(Default)]
struct Plan {
    streamline: usize,
    kept: Vec<usize>,
    pieces: Vec<Piece>,
}

impl Walk {
    /// Places one streamline; `capacity` returns the size of a chunk, creating it if necessary.
    fn next(
        &mut self,
        order: &Order,
        tractogram: &Tractogram,
        mut capacity: impl FnMut(usize) -> usize,
        plan: &mut Plan,
    ) {
        plan.streamline = order.streamline(self.place);
        plan.kept.clear();
        plan.pieces.clear();
        self.place += 1;
        let offsets = &tractogram.offsets;
        let end = offsets[plan.streamline + 1] as usize;
        let mut start = offsets[plan.streamline] as usize;
        let points = &tractogram.points;
        let finite = |i: usize| points[i].iter().all(|c| c.is_finite());
        while start < end {
            if !finite(start) {
                start += 1;
                continue;
            }
            let mut stop = start + 1;
            while stop < end && finite(stop) {
                stop += 1;
            }
            let mut first = plan.kept.len();
            match order.detail {
                Detail::EveryPoint => plan.kept.extend(start..stop),
                Detail::Shape => keep_shape(points, start..stop, &mut plan.kept),
            }
            // A single point draws nothing.
            while plan.kept.len() - first >= 2 {
                let room = capacity(self.chunk) - self.slot;
                let length = plan.kept.len() - first;
                if room <= length.min(SHORTEST_PIECE) {
                    self.chunk += 1;
                    self.slot = 0;
                    continue;
                }
                let taken = length.min(room - 1);
                plan.pieces.push(Piece {
                    run: start..stop,
                    kept: first..first + taken,
                    chunk: self.chunk,
                    slot: self.slot,
                });
                self.slot += taken + 1;
                // The next piece starts at this one's last point so that no segment is lost.
                first += if taken == length { taken } else { taken - 1 };
            }
            start = stop;
        }
    }
}

/// Appends the points of a run that its shape needs.
fn keep_shape(points: &[[f32; 3]], run: Range<usize>, kept: &mut Vec<usize>) {
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

/// Places streamlines until `until`, or until the deadline: `emit` appends the points of a piece and its gap to a
/// batch, `write` stores a batch; both, and the sizes of chunks, may need the `target`.
pub(super) fn build<T, C>(
    (order, walk, until): (&Order, &mut Walk, usize),
    tractogram: &Tractogram,
    deadline: Option<Instant>,
    target: &mut C,
    mut capacity: impl FnMut(&mut C, usize) -> usize,
    mut emit: impl FnMut(usize, &[usize], &mut Vec<T>),
    mut write: impl FnMut(&mut C, usize, usize, &[T]),
) {
    let mut plan = Plan::default();
    let mut batch: Vec<T> = Vec::new();
    let mut batch_at = (0, 0);
    let mut since_look = 0;
    while walk.place < until {
        let place = |index: usize| capacity(target, index);
        walk.next(order, tractogram, place, &mut plan);
        for piece in &plan.pieces {
            // Each write has a cost, so adjacent pieces are written together.
            if batch_at != (piece.chunk, piece.slot.wrapping_sub(batch.len())) {
                if !batch.is_empty() {
                    write(target, batch_at.0, batch_at.1, &batch);
                    batch.clear();
                }
                batch_at = (piece.chunk, piece.slot);
            }
            since_look += piece.run.len();
            let kept = &plan.kept[piece.kept.clone()];
            emit(plan.streamline, kept, &mut batch);
        }
        if since_look > POINTS_PER_LOOK {
            since_look = 0;
            if deadline.is_some_and(|d| Instant::now() > d) {
                break;
            }
        }
    }
    if !batch.is_empty() {
        write(target, batch_at.0, batch_at.1, &batch);
    }
}
