//! QuickBundles.

use super::centroids::{Centroids, Layout};
use super::error::InputError;
use super::resample::resample;
use super::{Error, Params};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::Tractogram;
use rayon::prelude::*;

/// Marks streamlines of no cluster.
pub const UNASSIGNED: u32 = u32::MAX;
/// Streamlines of a work item, and between two checks for cancellation.
const CHUNK: usize = 512;
/// Coordinates of streamlines that are resampled before they are assigned.
const BLOCK: usize = 1 << 21;

/// A cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// Number of its streamlines.
    pub count: usize,
    /// The mean of its streamlines, as [`Params::points`] points, world mm, in the direction of the first one.
    pub centroid: Vec<[f32; 3]>,
}

/// Clusters of streamlines.
#[derive(Clone, PartialEq, Debug)]
pub struct Clusters {
    /// Clusters of at least [`Params::min_size`] streamlines, the largest first; of equal ones that of the first streamline.
    pub clusters: Vec<Cluster>,
    /// The cluster of each streamline, by its place in the list; [`UNASSIGNED`] without one.
    pub assignment: Vec<u32>,
    /// Number of clusters that were dropped because they are smaller.
    pub dropped: usize,
    /// Streamlines of dropped clusters.
    pub in_dropped: usize,
    /// Streamlines without a length, or with a point that is not finite, which are in no cluster.
    pub without_length: usize,
}

impl Clusters {
    /// The streamlines of each cluster, ascending.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let counts = self.clusters.iter().map(|c| Vec::with_capacity(c.count));
        let mut members: Vec<Vec<u32>> = counts.collect();
        for (line, cluster) in (0..).zip(&self.assignment) {
            if let Some(own) = members.get_mut(*cluster as usize) {
                own.push(line);
            }
        }
        members
    }

    /// Name of each cluster, such as `cluster 01`; sorted by name, clusters keep their order.
    pub fn names(&self) -> Vec<String> {
        let digits = self.clusters.len().to_string().len();
        let numbers = 1..=self.clusters.len();
        numbers
            .map(|number| format!("cluster {number:0digits$}"))
            .collect()
    }

    /// The centroids as streamlines, with the number of streamlines of each cluster as the value `count`.
    pub fn centroids(&self) -> Tractogram {
        let lines = self.clusters.iter().map(|c| c.centroid.iter().copied());
        let counts: Vec<f32> = self.clusters.iter().map(|c| c.count as f32).collect();
        Tractogram::of_curves(lines).with_per_streamline("count", counts)
    }

    /// The streamlines with the clusters as their groups, in place of those that they had.
    pub fn grouped(&self, tractogram: &Tractogram) -> Tractogram {
        let mut grouped = tractogram.clone().with_new_id();
        grouped.groups.clear();
        grouped.per_group.clear();
        let named = self.names().into_iter().zip(self.members());
        named.fold(grouped, |lines, (name, own)| lines.with_group(&name, own))
    }
}

/// Clusters the marked streamlines, or all. Fails if none has a length.
pub fn cluster(
    tractogram: &Tractogram,
    among: Option<&[bool]>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Clusters, Error> {
    let mut clustering = Clustering::new(params)?;
    control.begin("Clustering streamlines", tractogram.len() as u64);
    clustering.add(tractogram, among, backend, control)?;
    clustering.clusters()
}

/// Streamlines as [`Layout`] stores them.
struct Resampled {
    values: Vec<f32>,
    has_length: Vec<bool>,
}

/// Clusters of streamlines that are not all in memory at once. They are added in their order, so the result does not
/// depend on the pieces.
pub struct Clustering {
    params: Params,
    layout: Layout,
    centroids: Centroids,
    assignment: Vec<u32>,
    without_length: usize,
}

impl Clustering {
    /// No streamlines yet.
    pub fn new(params: &Params) -> Result<Self, Error> {
        params.check()?;
        let layout = Layout::new(params.points);
        Ok(Self {
            params: *params,
            layout,
            centroids: Centroids::new(layout, params.threshold_mm as f32),
            assignment: Vec::new(),
            without_length: 0,
        })
    }

    /// Adds the marked streamlines, or all; advances `control` by their number.
    pub fn add(
        &mut self,
        tractogram: &Tractogram,
        among: Option<&[bool]>,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        memory::claim_for::<u32>("The clusters", tractogram.len(), 2)?;
        let lines: Vec<usize> = match among {
            Some(marks) => (0..tractogram.len()).filter(|i| marks[*i]).collect(),
            None => (0..tractogram.len()).collect(),
        };
        let before = self.assignment.len();
        self.assignment
            .resize(before + tractogram.len(), UNASSIGNED);
        for block in lines.chunks((BLOCK / self.layout.stride()).max(CHUNK)) {
            let resampled = backend.install(|| self.resampled(tractogram, block, control))?;
            let (stride, mut flipped) = (self.layout.stride(), vec![0.0; self.layout.stride()]);
            let all = block.chunks(CHUNK).zip(&resampled);
            for (lines, resampled) in all {
                control.check()?;
                let values = resampled.values.chunks_exact(stride);
                let each = values.zip(&resampled.has_length);
                for (line, (direct, has_length)) in lines.iter().zip(each) {
                    if !has_length {
                        self.without_length += 1;
                        continue;
                    }
                    self.layout.flip(direct, &mut flipped);
                    let cluster = self.centroids.assign(direct, &flipped);
                    self.assignment[before + line] = cluster as u32;
                }
                control.advance(lines.len() as u64);
            }
        }
        // Streamlines that do not count are passed, too.
        control.advance((tractogram.len() - lines.len()) as u64);
        Ok(())
    }

    /// Resamples streamlines, chunk by chunk.
    fn resampled(
        &self,
        tractogram: &Tractogram,
        lines: &[usize],
        control: &Control,
    ) -> Result<Vec<Resampled>, Cancelled> {
        let (layout, count) = (self.layout, self.params.points);
        let chunk = |lines: &[usize]| {
            control.check()?;
            let stride = layout.stride();
            let mut values = vec![0.0; lines.len() * stride];
            let (mut along, mut points) = (Vec::new(), vec![[0.0; 3]; count]);
            let each = lines.iter().zip(values.chunks_exact_mut(stride));
            let has_length = each.map(|(line, values)| {
                let known = resample(tractogram.streamline(*line), &mut along, &mut points);
                if known {
                    layout.store(&points, values);
                }
                known
            });
            let has_length = has_length.collect();
            Ok(Resampled { values, has_length })
        };
        lines.par_chunks(CHUNK).map(chunk).collect()
    }

    /// The clusters of all streamlines so far. Fails if none has a length.
    pub fn clusters(self) -> Result<Clusters, Error> {
        if self.centroids.len() == 0 {
            return Err(InputError::NoLength.into());
        }
        let count = |cluster: &usize| self.centroids.count(*cluster);
        let mut order: Vec<usize> = (0..self.centroids.len()).collect();
        // Clusters are numbered by their first streamlines, and the sort is stable.
        order.sort_by_key(|cluster| std::cmp::Reverse(count(cluster)));
        let kept = order.partition_point(|cluster| count(cluster) >= self.params.min_size);
        let mut place = vec![UNASSIGNED; order.len()];
        for (at, cluster) in (0..).zip(&order[..kept]) {
            place[*cluster] = at;
        }
        let mut assignment = self.assignment;
        for cluster in &mut assignment {
            *cluster = place.get(*cluster as usize).copied().unwrap_or(UNASSIGNED);
        }
        let clusters = order[..kept].iter().map(|cluster| Cluster {
            count: self.centroids.count(*cluster),
            centroid: self.centroids.points(*cluster),
        });
        Ok(Clusters {
            clusters: clusters.collect(),
            assignment,
            dropped: order.len() - kept,
            in_dropped: order[kept..].iter().map(count).sum(),
            without_length: self.without_length,
        })
    }
}
