//! Levels of detail of streamlines: nested subsets of them, and curves with fewer points.
//!
//! # Example
//!
//! One of every four streamlines, and a straight curve without its inner points:
//!
//! ```
//! use arcuate_engine::data::level_of_detail::{Levels, Thinning};
//!
//! let levels = Levels::new(1000, 1);
//! assert_eq!(levels.len(2), 250);
//! assert!((40..44).contains(&levels.streamline(2, 10)));
//!
//! let line: Vec<[f32; 3]> = (0..100).map(|i| [i as f32, 0.0, 0.0]).collect();
//! let mut kept = Vec::new();
//! Thinning::default().thin(&line, 0.1, &mut kept);
//! assert_eq!(kept, [[0.0; 3], [99.0, 0.0, 0.0]]);
//! ```

use super::random::Random;
use glam::Vec3;

/// Nested subsets of streamlines: level `k` has one streamline of every 2ᵏ consecutive ones, chosen at random, and
/// contains every coarser level.
///
/// Streamlines that are close in a file are often close in space, so a subset with one
/// streamline from each block represents the file better than a random subset of the same size.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    count: usize,
    random: Random,
}

impl Levels {
    /// Subsets of this many streamlines.
    pub fn new(count: usize, seed: u64) -> Self {
        Self {
            count,
            random: Random::new(seed),
        }
    }

    /// The level with a single streamline.
    pub fn coarsest(&self) -> u32 {
        self.count.max(1).next_power_of_two().trailing_zeros()
    }

    /// The coarsest level with at least this many streamlines; 0 if no level has that many.
    pub fn with_at_least(&self, streamlines: usize) -> u32 {
        let mut levels = (0..=self.coarsest()).rev();
        levels.find(|l| self.len(*l) >= streamlines).unwrap_or(0)
    }

    /// Number of streamlines of a level.
    #[allow(
        clippy::len_without_is_empty,
        reason = "it is the number of streamlines of a level, not of the levels"
    )]
    pub fn len(&self, level: u32) -> usize {
        self.count.div_ceil(1 << level)
    }

    /// The number of the streamline with this index in a level. Numbers ascend with the index.
    pub fn streamline(&self, level: u32, index: usize) -> usize {
        (0..level)
            .rev()
            .fold(index, |node, below| self.child(below, node))
    }

    /// Whether a streamline of a level is missing from the next coarser one.
    pub fn is_added(&self, level: u32, index: usize) -> bool {
        self.child(level, index / 2) != index
    }

    /// Numbers of the streamlines of a level that the next coarser one lacks.
    pub fn added(&self, level: u32) -> impl Iterator<Item = usize> {
        let indices = (0..self.len(level)).filter(move |i| self.is_added(level, *i));
        indices.map(move |i| self.streamline(level, i))
    }

    /// The half of a node whose streamline the node has; `below` is the level of the halves.
    fn child(&self, below: u32, node: usize) -> usize {
        let (left, right) = (2 * node, 2 * node + 1);
        let exists = right
            .checked_shl(below)
            .is_some_and(|first| first < self.count);
        let bits = self.random.stream(u64::from(below)).bits(node as u64);
        match exists && bits & 1 == 1 {
            true => right,
            false => left,
        }
    }
}

/// Removes points of curves (Douglas and Peucker 1973).
#[derive(Clone, Debug, Default)]
pub struct Thinning {
    is_kept: Vec<bool>,
    rest: Vec<(usize, usize)>,
}

impl Thinning {
    /// Appends to `out` the first and the last point of a curve, and enough points between them to keep every removed
    /// point within `tolerance_mm` of the segment that replaces it. A curve with a coordinate that is not finite keeps
    /// all of its points.
    pub fn thin(&mut self, points: &[[f32; 3]], tolerance_mm: f32, out: &mut Vec<[f32; 3]>) {
        let is_finite = points.as_flattened().iter().all(|c| c.is_finite());
        if points.len() < 3 || !is_finite {
            out.extend_from_slice(points);
            return;
        }
        let last = points.len() - 1;
        self.is_kept.clear();
        self.is_kept.resize(points.len(), false);
        (self.is_kept[0], self.is_kept[last]) = (true, true);
        self.rest.clear();
        self.rest.push((0, last));
        let limit = tolerance_mm * tolerance_mm;
        while let Some((start, end)) = self.rest.pop() {
            let inner = start + 1..end;
            let segment = (Vec3::from(points[start]), Vec3::from(points[end]));
            let (mut farthest, mut largest) = (start, limit);
            for at in inner {
                let distance = squared_distance(Vec3::from(points[at]), segment);
                if distance > largest {
                    (farthest, largest) = (at, distance);
                }
            }
            if farthest > start {
                self.is_kept[farthest] = true;
                self.rest.extend([(start, farthest), (farthest, end)]);
            }
        }
        let kept = points.iter().zip(&self.is_kept);
        out.extend(kept.filter(|(_, is_kept)| **is_kept).map(|(p, _)| *p));
    }
}

/// Squared distance of a point from a segment, mm².
fn squared_distance(point: Vec3, (a, b): (Vec3, Vec3)) -> f32 {
    let along = b - a;
    let length = along.length_squared();
    let share = match length > 0.0 {
        true => ((point - a).dot(along) / length).clamp(0.0, 1.0),
        false => 0.0,
    };
    (a + along * share).distance_squared(point)
}
