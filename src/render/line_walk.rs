//! Assigns the points of a tractogram to the device's buffers.

use crate::compute::parts::{self, Threads};
use crate::data::Tractogram;
use glam::Vec3;
use std::ops::Range;
use std::time::Instant;

/// A cut streamline leaves at least this many points on either side.
pub(super) const SHORTEST_PIECE: usize = 64;
/// Points for each thread between two checks of the clock.
const POINTS_PER_LOOK: usize = 8192;
/// Streamlines whose points one thread chooses at a time.
const PART: usize = 64;
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

/// Points in one chunk without a gap.
struct Piece<'a> {
    streamline: usize,
    kept: &'a [usize],
    chunk: usize,
    slot: usize,
}

impl Walk {
    /// Streamlines from here on with about this many points.
    fn next(&self, order: &Order, tractogram: &Tractogram, until: usize, points: usize) -> usize {
        let mut sum = 0;
        let mut place = self.place;
        while place < until && sum < points {
            let i = order.streamline(place);
            sum += (tractogram.offsets[i + 1] - tractogram.offsets[i]) as usize;
            place += 1;
        }
        place - self.place
    }

    /// Places the points of one run; `capacity` returns the size of a chunk, creating it if necessary.
    fn assign<'a>(
        &mut self,
        (streamline, mut kept): (usize, &'a [usize]),
        mut capacity: impl FnMut(usize) -> usize,
        pieces: &mut Vec<Piece<'a>>,
    ) {
        // A single point draws nothing.
        while kept.len() >= 2 {
            let space = capacity(self.chunk) - self.slot;
            if space <= kept.len().min(SHORTEST_PIECE) {
                self.chunk += 1;
                self.slot = 0;
                continue;
            }
            let taken = kept.len().min(space - 1);
            pieces.push(Piece {
                streamline,
                kept: &kept[..taken],
                chunk: self.chunk,
                slot: self.slot,
            });
            self.slot += taken + 1;
            // The next piece starts at this one's last point so that no segment is lost.
            kept = &kept[if taken == kept.len() {
                taken
            } else {
                taken - 1
            }..];
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
        let count = walk.next(order, tractogram, until, POINTS_PER_LOOK * threads.count());
        let choose = |range: Range<usize>| {
            let mut chosen = Chosen::default();
            range.for_each(|i| chosen.add(order, tractogram, from + i));
            chosen
        };
        let chosen = threads.install(|| parts::in_parts(count, PART, choose));
        let mut pieces = Vec::new();
        for part in &chosen {
            for Run { streamline, kept } in &part.runs {
                let run = (*streamline, &part.kept[kept.clone()]);
                walk.assign(run, |index| capacity(target, index), &mut pieces);
            }
        }
        walk.place += count;
        // Each write has a cost, so adjacent pieces are written together.
        let adjacent = |a: &Piece<'_>, b: &Piece<'_>| {
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
    pieces: &[Piece<'_>],
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
