//! Centroids of clusters, and the search for the nearest one.

use super::distance::{LANES, total};
use crate::compute::lanes::Lanes;
use crate::compute::simd;

/// Parts of a streamline whose mean points bound its distance from others: both ends, and what is between them.
const PARTS: usize = 3;
/// Centroids with nearby mean points share a bucket; the number of buckets grows when there are more centroids than this
/// for each.
const PER_BUCKET: usize = 2;
const FEWEST_BUCKETS: usize = 1 << 10;
/// Rounding of distances in single precision, as a share of a distance, and as a share of the largest coordinate: bounds
/// are reduced by more than it, so that they never reject the nearest centroid.
const RELATIVE_MARGIN: f32 = 1e-4;
const COORDINATE_MARGIN: f32 = 1e-6;

/// Places of points in memory: all x, then all y, then all z, filled up with zeros to whole vectors.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    points: usize,
    padded: usize,
    /// Number of points of each part; the first and the last part have equal numbers, so that a reversed streamline has
    /// the same parts in reverse order.
    parts: [usize; PARTS],
}

impl Layout {
    pub(super) fn new(points: usize) -> Self {
        let end = (points / PARTS).max(1);
        Self {
            points,
            padded: points.next_multiple_of(LANES),
            parts: [end, points - 2 * end, end],
        }
    }

    /// Values of each streamline.
    pub(super) fn stride(self) -> usize {
        3 * self.padded
    }

    /// Stores points; the rest is 0.
    pub(super) fn store(self, points: &[[f32; 3]], to: &mut [f32]) {
        for (i, point) in points.iter().enumerate() {
            for (axis, value) in point.iter().enumerate() {
                to[axis * self.padded + i] = *value;
            }
        }
    }

    /// Stores the points of a streamline in reverse order.
    pub(super) fn flip(self, values: &[f32], to: &mut [f32]) {
        let axes = values.chunks_exact(self.padded);
        for (values, to) in axes.zip(to.chunks_exact_mut(self.padded)) {
            let points = values[..self.points].iter().rev();
            to.iter_mut()
                .zip(points)
                .for_each(|(to, value)| *to = *value);
        }
    }

    fn point(self, values: &[f32], i: usize) -> [f32; 3] {
        std::array::from_fn(|axis| values[axis * self.padded + i])
    }

    fn summary(self, values: &[f32]) -> Summary {
        let (mut all, mut first) = ([0f64; 3], 0);
        let mut summary = Summary::default();
        for (part, count) in self.parts.into_iter().enumerate() {
            for axis in 0..3 {
                let from = axis * self.padded + first;
                let own = &values[from..from + count];
                let sum: f64 = own.iter().map(|v| f64::from(*v)).sum();
                all[axis] += sum;
                if count > 0 {
                    summary.parts[part][axis] = (sum / count as f64) as f32;
                }
            }
            first += count;
        }
        summary.mean = all.map(|sum| (sum / self.points as f64) as f32);
        summary
    }

    fn weights(self) -> [f32; PARTS] {
        self.parts.map(|n| n as f32 / self.points as f32)
    }
}

/// Mean points of a streamline and of its parts.
#[derive(Clone, Copy, Default)]
struct Summary {
    mean: [f32; 3],
    parts: [[f32; 3]; PARTS],
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    (x * x + y * y + z * z).sqrt()
}

/// The nearest centroid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Nearest {
    pub cluster: usize,
    pub flipped: bool,
    distance: f32,
}

impl Nearest {
    /// Nearer, or equally near and found first in the paper's order: all centroids with the streamline as it is, then all
    /// with its reverse.
    fn precedes(&self, other: Option<&Self>) -> bool {
        other.is_none_or(|other| {
            self.distance < other.distance
                || self.distance == other.distance
                    && (self.flipped, self.cluster) < (other.flipped, other.cluster)
        })
    }
}

/// A cluster while streamlines are added.
struct Member {
    count: u32,
    summary: Summary,
    /// Where its mean point is listed.
    bucket: usize,
}

/// Centroids by the places of their mean points. Entries of a bucket may belong to several cells of the grid.
#[derive(Clone, Default)]
struct Bucket {
    clusters: Vec<u32>,
    means: Vec<[f32; 3]>,
}

/// All centroids so far.
pub(super) struct Centroids {
    layout: Layout,
    threshold: f32,
    /// Values of the centroids, one after another.
    values: Vec<f32>,
    sums: Vec<f64>,
    members: Vec<Member>,
    buckets: Vec<Bucket>,
}

impl Centroids {
    pub(super) fn new(layout: Layout, threshold: f32) -> Self {
        Self {
            layout,
            threshold,
            values: Vec::new(),
            sums: Vec::new(),
            members: Vec::new(),
            buckets: vec![Bucket::default(); FEWEST_BUCKETS],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn count(&self, cluster: usize) -> usize {
        self.members[cluster].count as usize
    }

    pub(super) fn points(&self, cluster: usize) -> Vec<[f32; 3]> {
        let values = &self.values[cluster * self.layout.stride()..];
        let points = 0..self.layout.points;
        points.map(|i| self.layout.point(values, i)).collect()
    }

    /// Assigns a streamline to the nearest centroid, or to a new one. `direct` and `flipped` are its points as
    /// [`Layout::store`] stores them.
    pub(super) fn assign(&mut self, direct: &[f32], flipped: &[f32]) -> usize {
        let summary = self.layout.summary(direct);
        let nearest = simd::dispatch(Search {
            centroids: self,
            streamline: [direct, flipped],
            summary: &summary,
        });
        match nearest {
            Some(nearest) => {
                let turned = if nearest.flipped { flipped } else { direct };
                self.add_to(nearest.cluster, turned);
                nearest.cluster
            }
            None => self.begin(direct, summary),
        }
    }

    fn begin(&mut self, values: &[f32], summary: Summary) -> usize {
        let cluster = self.members.len();
        self.values.extend_from_slice(values);
        self.sums.extend(values.iter().map(|v| f64::from(*v)));
        if cluster >= PER_BUCKET * self.buckets.len() {
            self.make_buckets(4 * self.buckets.len());
        }
        let bucket = self.bucket_of(summary.mean);
        self.members.push(Member {
            count: 1,
            summary,
            bucket,
        });
        self.list(cluster);
        cluster
    }

    fn add_to(&mut self, cluster: usize, values: &[f32]) {
        let stride = self.layout.stride();
        let own = cluster * stride..(cluster + 1) * stride;
        let member = &mut self.members[cluster];
        member.count += 1;
        let share = 1.0 / f64::from(member.count);
        let sums = self.sums[own.clone()].iter_mut().zip(values);
        for ((sum, value), centroid) in sums.zip(&mut self.values[own.clone()]) {
            *sum += f64::from(*value);
            *centroid = (*sum * share) as f32;
        }
        let summary = self.layout.summary(&self.values[own]);
        member.summary = summary;
        let (old, new) = (member.bucket, self.bucket_of(summary.mean));
        let bucket = &mut self.buckets[old];
        let known = bucket.clusters.iter().position(|c| *c as usize == cluster);
        if let Some(at) = known {
            if new == old {
                bucket.means[at] = summary.mean;
                return;
            }
            bucket.clusters.swap_remove(at);
            bucket.means.swap_remove(at);
        }
        self.members[cluster].bucket = new;
        self.list(cluster);
    }

    fn list(&mut self, cluster: usize) {
        let member = &self.members[cluster];
        let bucket = &mut self.buckets[member.bucket];
        bucket.clusters.push(cluster as u32);
        bucket.means.push(member.summary.mean);
    }

    fn make_buckets(&mut self, count: usize) {
        self.buckets = vec![Bucket::default(); count];
        for cluster in 0..self.members.len() {
            self.members[cluster].bucket = self.bucket_of(self.members[cluster].summary.mean);
            self.list(cluster);
        }
    }

    /// The cell of a coordinate.
    #[inline(always)]
    fn cell(&self, coordinate: f32) -> i64 {
        (f64::from(coordinate) / f64::from(self.threshold)).floor() as i64
    }

    /// The bucket of a cell; cells that are adjacent along x have adjacent buckets.
    #[inline(always)]
    fn bucket(&self, [x, y, z]: [i64; 3]) -> usize {
        let place = x + 37 * y + 1009 * z;
        // The number of buckets is a power of two.
        place as usize & (self.buckets.len() - 1)
    }

    fn bucket_of(&self, mean: [f32; 3]) -> usize {
        self.bucket(mean.map(|c| self.cell(c)))
    }

    /// Mean distance of corresponding points, mm, as in [`super::mdf`].
    #[inline(always)]
    fn mean_distance<const AVX: bool>(&self, cluster: usize, values: &[f32]) -> f32 {
        let (padded, stride) = (self.layout.padded, self.layout.stride());
        let centroid = &self.values[cluster * stride..(cluster + 1) * stride];
        let mut sums = Lanes::<LANES, AVX>::ZERO;
        for from in (0..padded).step_by(LANES) {
            let offset = |axis: usize| {
                let at = axis * padded + from;
                Lanes::<LANES, AVX>::load(values, at) - Lanes::<LANES, AVX>::load(centroid, at)
            };
            let (x, y, z) = (offset(0), offset(1), offset(2));
            sums = sums + (x * x + y * y + z * z).sqrt();
        }
        total(&sums.0) / self.layout.points as f32
    }
}

/// The search for the centroid nearest to a streamline.
struct Search<'a> {
    centroids: &'a Centroids,
    /// The points as they are, and reversed.
    streamline: [&'a [f32]; 2],
    summary: &'a Summary,
}

impl simd::Kernel for Search<'_> {
    /// `None` if no centroid is nearer than the threshold.
    type Output = Option<Nearest>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        let (centroids, summary) = (self.centroids, self.summary);
        let weights = centroids.layout.weights();
        let mean = summary.mean;
        let largest = mean.iter().fold(0f32, |largest, c| largest.max(c.abs()));
        let rounding = COORDINATE_MARGIN * (largest + centroids.threshold);
        let reach = |distance: f32| distance * (1.0 + RELATIVE_MARGIN) + rounding;
        let mut best: Option<Nearest> = None;
        let mut limit = reach(centroids.threshold);
        let [low, high] = [-limit, limit].map(|by| mean.map(|c| centroids.cell(c + by)));
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                for x in low[0]..=high[0] {
                    let bucket = &centroids.buckets[centroids.bucket([x, y, z])];
                    for (cluster, other) in bucket.clusters.iter().zip(&bucket.means) {
                        let off = [other[0] - mean[0], other[1] - mean[1], other[2] - mean[2]];
                        let squared = off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
                        if squared > limit * limit {
                            continue;
                        }
                        let cluster = *cluster as usize;
                        let parts = &centroids.members[cluster].summary.parts;
                        for (turned, values) in self.streamline.into_iter().enumerate() {
                            let part = |i: usize| match turned {
                                0 => summary.parts[i],
                                _ => summary.parts[PARTS - 1 - i],
                            };
                            let bounds =
                                (0..PARTS).map(|i| weights[i] * distance(part(i), parts[i]));
                            if bounds.sum::<f32>() > limit {
                                continue;
                            }
                            let next = Nearest {
                                cluster,
                                flipped: turned == 1,
                                distance: centroids.mean_distance::<FMA>(cluster, values),
                            };
                            if next.distance < centroids.threshold && next.precedes(best.as_ref()) {
                                limit = reach(next.distance);
                                best = Some(next);
                            }
                        }
                    }
                }
            }
        }
        best
    }
}
