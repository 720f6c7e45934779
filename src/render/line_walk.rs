//! Assigns the points of a tractogram to the device's buffers.

use crate::compute::parts::{self, Threads};
use crate::data::Tractogram;
use crate::data::line_order::{Detail, Order, Piece, Walk, keep_shape};
use std::ops::Range;
use std::time::Instant;

/// Points for each thread between two checks of the clock.
const POINTS_PER_LOOK: usize = 8192;
/// Streamlines whose points one thread chooses at a time.
const PART: usize = 64;

/// A run of finite points of one streamline.
struct Run {
    streamline: usize,
    /// Range in [`Chosen::kept`].
    kept: Range<usize>,
}

/// The points of some streamlines that are drawn.
#[derive(Default)]
struct Chosen {
    /// Their indices.
    kept: Vec<usize>,
    runs: Vec<Run>,
}

impl Chosen {
    fn add(&mut self, order: &Order, tractogram: &Tractogram, place: usize) {
        let streamline = order.streamline(place);
        let offsets = &tractogram.offsets;
        let end = offsets[streamline + 1] as usize;
        let mut start = offsets[streamline] as usize;
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
            let first = self.kept.len();
            match order.detail {
                Detail::EveryPoint => self.kept.extend(start..stop),
                Detail::Shape => keep_shape(points, start..stop, &mut self.kept),
            }
            let kept = first..self.kept.len();
            self.runs.push(Run { streamline, kept });
            start = stop;
        }
    }
}

/// A piece of a streamline, and the indices of its points.
struct LinePiece<'a> {
    streamline: usize,
    kept: &'a [usize],
    chunk: usize,
    slot: usize,
}

/// Streamlines from a place on with about this many points.
fn next(
    (order, place): (&Order, usize),
    tractogram: &Tractogram,
    until: usize,
    points: usize,
) -> usize {
    let mut sum = 0;
    let mut next = place;
    while next < until && sum < points {
        let i = order.streamline(next);
        sum += (tractogram.offsets[i + 1] - tractogram.offsets[i]) as usize;
        next += 1;
    }
    next - place
}

/// Places streamlines until `until`, or until the deadline: `value` gives the value of a point of a streamline, `gap` that
/// of the slot after a piece; `write` stores the values of adjacent slots of a chunk. It and the sizes of chunks may need
/// the `target`.
pub(super) fn build<T: Copy + Send + Sync, C>(
    (order, walk, until): (&Order, &mut Walk, usize),
    (tractogram, threads, deadline): (&Tractogram, &Threads, Option<Instant>),
    target: &mut C,
    mut capacity: impl FnMut(&mut C, usize) -> usize,
    (value, gap): (impl Fn(usize, usize) -> T + Send + Sync, T),
    mut write: impl FnMut(&mut C, usize, usize, &[T]),
) {
    while walk.place < until {
        let from = walk.place;
        let points = POINTS_PER_LOOK * threads.count();
        let count = next((order, from), tractogram, until, points);
        let choose = |range: Range<usize>| {
            let mut chosen = Chosen::default();
            range.for_each(|i| chosen.add(order, tractogram, from + i));
            chosen
        };
        let chosen = threads.install(|| parts::in_parts(count, PART, choose));
        let mut pieces = Vec::new();
        for part in &chosen {
            for Run { streamline, kept } in &part.runs {
                let run = &part.kept[kept.clone()];
                let piece = |Piece {
                                 points,
                                 chunk,
                                 slot,
                             }| {
                    pieces.push(LinePiece {
                        streamline: *streamline,
                        kept: &run[points],
                        chunk,
                        slot,
                    });
                };
                walk.assign(run.len(), |index| capacity(target, index), piece);
            }
        }
        walk.place += count;
        // Each write has a cost, so adjacent pieces are written together.
        let adjacent = |a: &LinePiece<'_>, b: &LinePiece<'_>| {
            (a.chunk, a.slot + a.kept.len() + 1) == (b.chunk, b.slot)
        };
        for pieces in pieces.chunk_by(adjacent) {
            let batch = threads.install(|| values_of(pieces, &value, gap));
            write(target, pieces[0].chunk, pieces[0].slot, &batch);
        }
        if deadline.is_some_and(|d| Instant::now() > d) {
            break;
        }
    }
}

/// The values of adjacent pieces, each with the gap after it.
fn values_of<T: Copy + Send + Sync>(
    pieces: &[LinePiece<'_>],
    value: &(impl Fn(usize, usize) -> T + Send + Sync),
    gap: T,
) -> Vec<T> {
    let slots = pieces.iter().map(|piece| piece.kept.len() + 1).sum();
    let mut all = vec![gap; slots];
    let mut rest = all.as_mut_slice();
    let mut slots_of_pieces = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (slots, after) = rest.split_at_mut(piece.kept.len() + 1);
        rest = after;
        slots_of_pieces.push((slots, piece));
    }
    parts::each(slots_of_pieces, |(slots, piece)| {
        for (slot, &point) in slots.iter_mut().zip(piece.kept) {
            *slot = value(piece.streamline, point);
        }
    });
    all
}
