//! Bounding boxes around pieces of streamlines, with which distant pieces are skipped without examining their points.

/// Segments per piece: its box takes 24 bytes, its points 192.
const SEGMENTS: usize = 16;
/// An axis-aligned world box, mm, including its faces; without any point, `low` is above `high`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Least coordinate along each axis, mm.
    pub low: [f32; 3],
    /// Largest coordinate along each axis, mm.
    pub high: [f32; 3],
}

/// Numbers compared at once: as many points as fill whole registers.
const AT_ONCE: usize = 12;

impl Bounds {
    /// The box around points; NaN is ignored.
    fn around(points: &[[f32; 3]]) -> Self {
        let (many, rest) = points.as_flattened().as_chunks::<AT_ONCE>();
        let (mut low, mut high) = ([f32::INFINITY; AT_ONCE], [f32::NEG_INFINITY; AT_ONCE]);
        for values in many {
            for i in 0..AT_ONCE {
                low[i] = min_ignoring_nan(values[i], low[i]);
                high[i] = max_ignoring_nan(values[i], high[i]);
            }
        }
        for point in rest.as_chunks::<3>().0 {
            for axis in 0..3 {
                low[axis] = min_ignoring_nan(point[axis], low[axis]);
                high[axis] = max_ignoring_nan(point[axis], high[axis]);
            }
        }
        for i in 3..AT_ONCE {
            low[i % 3] = min_ignoring_nan(low[i], low[i % 3]);
            high[i % 3] = max_ignoring_nan(high[i], high[i % 3]);
        }
        Self {
            low: [low[0], low[1], low[2]],
            high: [high[0], high[1], high[2]],
        }
    }

    /// Whether the boxes have a common point; faces count.
    pub fn intersects(&self, other: &Self) -> bool {
        self.meets_box(&other.low, &other.high)
    }

    fn meets_box(&self, low: &[f32; 3], high: &[f32; 3]) -> bool {
        // All axes at once: a mispredicted branch costs more than an unnecessary comparison.
        let axis = |a: usize| (self.low[a] <= high[a]) & (low[a] <= self.high[a]);
        axis(0) & axis(1) & axis(2)
    }
}

/// The lower of two numbers; the second if the first is NaN.
#[inline(always)]
fn min_ignoring_nan(new: f32, known: f32) -> f32 {
    if new < known { new } else { known }
}

/// The higher of two numbers; the second if the first is NaN.
#[inline(always)]
fn max_ignoring_nan(new: f32, known: f32) -> f32 {
    if new > known { new } else { known }
}

/// The boxes of the pieces of all streamlines of a tractogram, in order.
#[derive(Debug)]
pub struct BoundingChunks {
    /// Low and high corners.
    bounds: Vec<[[f32; 3]; 2]>,
    /// Streamline `i` owns `bounds[first[i]..first[i + 1]]`.
    first: Vec<usize>,
}

/// The boxes of some streamlines, to be filled.
pub struct Chunk<'a> {
    offsets: &'a [u64],
    bounds: &'a mut [[[f32; 3]; 2]],
}

impl Chunk<'_> {
    /// Computes the boxes of the chunk from the points of the whole tractogram.
    pub fn fill(self, points: &[[f32; 3]]) {
        let mut bounds = self.bounds.iter_mut();
        for ends in self.offsets.windows(2) {
            let points = &points[ends[0] as usize..ends[1] as usize];
            let starts = (0..segments(points.len())).step_by(SEGMENTS);
            for (start, bounds) in starts.zip(&mut bounds) {
                let end = points.len().min(start + SEGMENTS + 1);
                let Bounds { low, high } = Bounds::around(&points[start..end]);
                *bounds = [low, high];
            }
        }
    }
}

/// Number of segments of a streamline with this many points; a single point is a segment of length 0.
fn segments(points: usize) -> usize {
    if points == 1 {
        1
    } else {
        points.saturating_sub(1)
    }
}

impl BoundingChunks {
    /// The boxes of streamlines that own `points[offsets[i]..offsets[i + 1]]`.
    pub fn new(points: &[[f32; 3]], offsets: &[u64]) -> Self {
        Self::by(offsets, usize::MAX, |parts| {
            parts.into_iter().for_each(|part| part.fill(points));
        })
    }

    /// The boxes of streamlines, filled by the caller in parts of this many streamlines, possibly on several threads.
    pub fn by(offsets: &[u64], lines: usize, fill: impl FnOnce(Vec<Chunk>)) -> Self {
        let mut end = 0;
        let ends = offsets.windows(2).map(|w| {
            end += segments((w[1] - w[0]) as usize).div_ceil(SEGMENTS);
            end
        });
        let first: Vec<usize> = std::iter::once(0).chain(ends).collect();
        // Zeroed memory, whose pages are assigned to the thread that fills them.
        let mut bounds = vec![[[0.0; 3]; 2]; end];
        let (mut rest, mut parts) = (bounds.as_mut_slice(), Vec::new());
        let count = offsets.len().saturating_sub(1);
        for start in (0..count).step_by(lines.min(count.max(1))) {
            let stop = count.min(start.saturating_add(lines));
            let (own, others) = rest.split_at_mut(first[stop] - first[start]);
            rest = others;
            parts.push(Chunk {
                offsets: &offsets[start..=stop],
                bounds: own,
            });
        }
        fill(parts);
        Self { bounds, first }
    }

    /// The pieces of a streamline that may meet a box: ranges of its points, each of which shares its last point with
    /// the next.
    pub fn pieces_near(
        &self,
        streamline: usize,
        points: usize,
        requested: Bounds,
    ) -> impl Iterator<Item = std::ops::Range<usize>> {
        let own = &self.bounds[self.first[streamline]..self.first[streamline + 1]];
        let met = own
            .iter()
            .enumerate()
            .filter(move |(_, [low, high])| requested.meets_box(low, high));
        met.map(move |(piece, _)| {
            let start = piece * SEGMENTS;
            start..points.min(start + SEGMENTS + 1)
        })
    }
}
