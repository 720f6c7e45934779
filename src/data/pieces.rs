//! Boxes around pieces of streamlines: what lies elsewhere is passed over without a look at its points.

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
        let mut bounds = Self {
            low: [f32::INFINITY; 3],
            high: [f32::NEG_INFINITY; 3],
        };
        for point in points {
            for (a, &v) in point.iter().enumerate() {
                // One instruction each, and none that is taken where v is no number.
                bounds.low[a] = if v < bounds.low[a] { v } else { bounds.low[a] };
                bounds.high[a] = if v > bounds.high[a] {
                    v
                } else {
                    bounds.high[a]
                };
            }
        }
        bounds
    }

    pub fn meets(&self, other: &Self) -> bool {
        (0..3).all(|a| self.low[a] <= other.high[a] && other.low[a] <= self.high[a])
    }
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
