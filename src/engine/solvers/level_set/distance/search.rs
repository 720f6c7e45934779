//! The shortest distance between a surface and another object, by branch and bound.

use super::Approach;
use super::hull::Hull;
use super::isosurface::{Bounds, CellPart, Isosurface};
use crate::data::segment::nearest_on_segment;
use glam::DVec3;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

/// Largest number of pairs examined before the proven bound is accepted: where a long stretch is equally close, each
/// of its parts would have to be refined.
const MAX_PAIRS: usize = 400_000;
/// Number of pairs that are split side by side, and the smallest number of them for a thread.
const BATCH: usize = 512;
const MIN_PART: usize = 16;
/// Number of pairs after which those that have become too distant are first dropped.
const KEPT: usize = 8192;

/// The smallest distance known to be attained, shared by threads.
pub(super) struct SmallestDistance(AtomicU64);

impl SmallestDistance {
    pub fn new(mm: f64) -> Self {
        Self(AtomicU64::new(mm.to_bits()))
    }

    pub fn mm(&self) -> f64 {
        f64::from_bits(self.0.load(Atomic::Relaxed))
    }

    pub fn lower_to(&self, mm: f64) {
        // Non-negative floats are ordered like their bits.
        self.0.fetch_min(mm.to_bits(), Atomic::Relaxed);
    }
}

/// A part of the object that may be close to the surface.
#[derive(Clone, Copy, Debug)]
pub(super) enum Other {
    Segment([DVec3; 2]),
    /// A part of another surface.
    Part(CellPart),
}

/// A part of the other object and a part of the surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Lower bound on their distance, mm.
    lower_bound_mm: f64,
    other: Other,
    part: CellPart,
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pair {
    /// The nearest pair is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.lower_bound_mm.total_cmp(&self.lower_bound_mm)
    }
}

/// Two points joined by the shortest segment so far.
#[derive(Clone, Copy, Debug)]
struct NearestPair {
    mm: f64,
    other: DVec3,
    surface: DVec3,
}

/// A part of a pair, and two close points of it.
type Half = (Pair, Option<NearestPair>);

/// A surface, and the other object if that is a surface, too.
#[derive(Clone, Copy)]
pub(super) struct SurfaceSearch<'a> {
    pub surface: &'a Isosurface,
    pub other: Option<&'a Isosurface>,
}

impl SurfaceSearch<'_> {
    fn hull_of(&self, other: &Other) -> Option<Hull> {
        match other {
            Other::Segment(ends) => Some(Hull::Segment(*ends)),
            Other::Part(part) => self.other?.hull(*part),
        }
    }

    /// Two close points of a pair.
    fn nearest_points(&self, pair: &Pair) -> Option<NearestPair> {
        let joined = |other: DVec3, surface: DVec3| NearestPair {
            mm: other.distance(surface),
            other,
            surface,
        };
        let points = self.surface.crossings(pair.part);
        let all = points.filter_map(|p| match &pair.other {
            Other::Segment(ends) => Some(joined(nearest_on_segment(*ends, p), p)),
            Other::Part(part) => {
                let theirs = self.other?.crossings(*part).map(|q| joined(q, p));
                theirs.min_by(|a, b| a.mm.total_cmp(&b.mm))
            }
        });
        all.min_by(|a, b| a.mm.total_cmp(&b.mm))
    }

    /// Adds the pairs that may be nearest, of the surface and parts of the other object within a box.
    pub fn pairs(
        &self,
        bounds: &Bounds,
        others: &[Other],
        smallest: &SmallestDistance,
        candidates: &mut CandidatePairs,
    ) {
        self.surface.for_each_near(
            bounds,
            || smallest.mm(),
            |cell| {
                let part = CellPart::from(cell);
                let Some(Hull::Disc(disc)) = self.surface.hull(part) else {
                    return;
                };
                for other in others {
                    let Some(hull) = self.hull_of(other) else {
                        continue;
                    };
                    let min_distance = hull.min_distance(&disc);
                    if min_distance >= smallest.mm() {
                        continue;
                    }
                    let pair = Pair {
                        lower_bound_mm: min_distance,
                        other: *other,
                        part,
                    };
                    if let Some(joined) = self.nearest_points(&pair) {
                        // A tiny margin, so that the pair itself is not dropped.
                        smallest.lower_to(joined.mm * (1.0 + 1e-12) + f64::MIN_POSITIVE);
                    }
                    candidates.add(pair, smallest);
                }
            },
        );
    }

    /// Splits the nearest pairs until nothing can be closer than the best known distance by more than the precision. Batches
    /// do not depend on the number of threads, and neither does the result.
    pub fn refine(&self, candidates: CandidatePairs, precision_mm: f64) -> Option<Approach> {
        let mut best: Option<NearestPair> = None;
        let take = |pair: &Pair, best: &mut Option<NearestPair>| {
            let joined = self.nearest_points(pair);
            let nearer = |j: &NearestPair| best.is_none_or(|b| j.mm < b.mm);
            if let Some(joined) = joined.filter(nearer) {
                *best = Some(joined);
            }
        };
        for pair in &candidates.pairs {
            take(pair, &mut best);
        }
        let known = best?;
        let pairs = candidates
            .pairs
            .into_iter()
            .filter(|p| p.lower_bound_mm <= known.mm);
        let mut waiting: BinaryHeap<Pair> = pairs.collect();
        let mut looked_at = 0;
        let proven = loop {
            let mm = best.map_or(f64::INFINITY, |b| b.mm);
            let Some(nearest) = waiting.peek().map(|pair| pair.lower_bound_mm) else {
                break mm;
            };
            if nearest >= mm - precision_mm || looked_at >= MAX_PAIRS {
                break nearest.min(mm);
            }
            let is_near = |pair: &Pair| pair.lower_bound_mm < mm - precision_mm;
            let mut batch = Vec::with_capacity(BATCH);
            while batch.len() < BATCH && waiting.peek().is_some_and(is_near) {
                batch.extend(waiting.pop());
            }
            let halved = |pair: &Pair| {
                let all = self.halved(pair);
                if all.is_empty() {
                    return None;
                }
                let near = all.into_iter().filter(|half| half.lower_bound_mm < mm);
                Some(
                    near.map(|half| (half, self.nearest_points(&half)))
                        .collect(),
                )
            };
            let halves: Vec<Option<Vec<Half>>> = batch
                .par_iter()
                .with_min_len(MIN_PART)
                .map(halved)
                .collect();
            if halves.iter().any(Option::is_none) {
                // The smallest size is reached.
                break nearest;
            }
            for (half, joined) in halves.into_iter().flatten().flatten() {
                looked_at += 1;
                if let Some(joined) = joined.filter(|j| best.is_none_or(|b| j.mm < b.mm)) {
                    best = Some(joined);
                }
                if best.is_none_or(|b| half.lower_bound_mm < b.mm) {
                    waiting.push(half);
                }
            }
        };
        let best = best?;
        Some(Approach {
            mm: proven.min(best.mm),
            at_most_mm: best.mm,
            point: best.other,
            surface: best.surface,
        })
    }

    /// Splits the larger part of the pair into eight; empty at the smallest size.
    fn halved(&self, pair: &Pair) -> Vec<Pair> {
        let reach = |hull: Option<Hull>| hull.map_or(0.0, |h| h.reach());
        let other = match pair.other {
            Other::Part(part) if part.can_be_halved() => {
                let theirs = reach(self.hull_of(&pair.other));
                (theirs > reach(self.surface.hull(pair.part))).then_some(part)
            }
            _ => None,
        };
        let pairs: Vec<(Other, CellPart)> = match other {
            Some(part) => {
                let halves = part.split();
                halves.map(|h| (Other::Part(h), pair.part)).collect()
            }
            None if pair.part.can_be_halved() => {
                let halves = pair.part.split();
                halves.map(|h| (pair.other, h)).collect()
            }
            None => Vec::new(),
        };
        let pairs = pairs.into_iter().filter_map(|(other, part)| {
            let Some(Hull::Disc(disc)) = self.surface.hull(part) else {
                return None;
            };
            let min_distance = self.hull_of(&other)?.min_distance(&disc);
            Some(Pair {
                lower_bound_mm: min_distance.max(pair.lower_bound_mm),
                other,
                part,
            })
        });
        pairs.collect()
    }
}

/// Candidate pairs for the shortest distance.
pub(super) struct CandidatePairs {
    pairs: Vec<Pair>,
    capacity: usize,
}

impl CandidatePairs {
    pub fn new() -> Self {
        Self {
            pairs: Vec::new(),
            capacity: KEPT,
        }
    }

    fn add(&mut self, pair: Pair, smallest: &SmallestDistance) {
        self.pairs.push(pair);
        if self.pairs.len() >= self.capacity {
            self.drop_far(smallest);
            self.capacity = KEPT.max(2 * self.pairs.len());
        }
    }

    pub fn drop_far(&mut self, smallest: &SmallestDistance) {
        let mm = smallest.mm();
        self.pairs.retain(|pair| pair.lower_bound_mm < mm);
    }

    pub fn with(mut self, other: Self) -> Self {
        self.pairs.extend(other.pairs);
        self
    }
}
