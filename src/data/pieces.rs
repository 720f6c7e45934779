//! Boxes around pieces of streamlines: what lies elsewhere is passed over without a look at its points.

use glam::{BVec3A, Vec3A};

/// Segments of a piece: its box costs 24 bytes, its points 192.
const SEGMENTS: usize = 16;
/// A box along the world axes, mm, faces included; without any point `low` is above `high`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Bounds {
    /// Around points; numbers that are none are left out.
    fn around(points: &[[f32; 3]]) -> Self {
        // Four lanes at a time: of two numbers of which the first is none, they keep the second.
        let (mut low, mut high) = (Vec3A::INFINITY, Vec3A::NEG_INFINITY);
        for point in points {
            let point = Vec3A::from_array(*point);
            low = kept(point, low, point.cmplt(low));
            high = kept(point, high, point.cmpgt(high));
        }
        Self {
            low: low.to_array(),
            high: high.to_array(),
        }
    }

    pub fn meets(&self, other: &Self) -> bool {
        // All axes at once: what is guessed wrongly costs more than what is compared in vain.
        let axis = |a: usize| (self.low[a] <= other.high[a]) & (other.low[a] <= self.high[a]);
        axis(0) & axis(1) & axis(2)
    }
}

/// The new number where it is nearer to the end that is looked for, else the known one.
fn kept(new: Vec3A, known: Vec3A, nearer: BVec3A) -> Vec3A {
    Vec3A::select(nearer, new, known)
}

/// The pieces of all streamlines of a tractogram, in order.
#[derive(Debug)]
pub struct Pieces {
    bounds: Vec<Bounds>,
    /// Streamline `i` owns `bounds[first[i]..first[i + 1]]`.
    first: Vec<usize>,
}

/// Segments of a streamline of so many points; a single point is one without length.
fn segments(points: usize) -> usize {
    if points == 1 {
        1
    } else {
        points.saturating_sub(1)
    }
}

impl Pieces {
    /// Of streamlines that own `points[offsets[i]..offsets[i + 1]]`.
    pub fn new(points: &[[f32; 3]], offsets: &[u64]) -> Self {
        let mut end = 0;
        let ends = offsets.windows(2).map(|w| {
            end += segments((w[1] - w[0]) as usize).div_ceil(SEGMENTS);
            end
        });
        let first: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let mut bounds = Vec::with_capacity(end);
        for ends in offsets.windows(2) {
            let points = &points[ends[0] as usize..ends[1] as usize];
            for start in (0..segments(points.len())).step_by(SEGMENTS) {
                let end = points.len().min(start + SEGMENTS + 1);
                bounds.push(Bounds::around(&points[start..end]));
            }
        }
        Self { bounds, first }
    }

    /// Those of the streamlines of one part after those of another.
    pub fn joined(parts: Vec<Self>) -> Self {
        let count = parts.iter().map(|p| p.bounds.len()).sum();
        let (mut bounds, mut first) = (Vec::with_capacity(count), vec![0]);
        for part in parts {
            let before = bounds.len();
            first.extend(part.first[1..].iter().map(|at| before + at));
            bounds.extend_from_slice(&part.bounds);
        }
        Self { bounds, first }
    }

    /// The pieces of a streamline that may meet a box: ranges of its points, of which each shares its
    /// last with the next.
    pub fn near(
        &self,
        streamline: usize,
        points: usize,
        wanted: Bounds,
    ) -> impl Iterator<Item = std::ops::Range<usize>> {
        let own = &self.bounds[self.first[streamline]..self.first[streamline + 1]];
        let met = own
            .iter()
            .enumerate()
            .filter(move |(_, b)| b.meets(&wanted));
        met.map(move |(piece, _)| {
            let start = piece * SEGMENTS;
            start..points.min(start + SEGMENTS + 1)
        })
    }
}
