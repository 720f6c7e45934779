//! The costs of two regions together: E*, the ε-pathway, and the smallest ε that joins the regions.

use super::error::InputError;
use crate::data::{Mask, Volume};
use crate::solvers::Error;
use crate::solvers::metric::Places;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Relative rounding error of the sums in single precision.
const ROUNDING: f64 = 2e-7;

/// One of the regions that a pathway joins.
#[derive(Clone, Debug)]
pub struct CostEnd {
    /// Name of the region, for messages.
    pub name: String,
    /// Places where its cost is 0, ascending.
    pub zero: Arc<[u32]>,
}

/// Figures of a pathway besides its costs.
#[derive(Clone, Debug)]
pub struct Summary {
    /// [`JointCosts::excesses`].
    pub excesses: Vec<f32>,
    /// [`JointCosts::joining_epsilons`].
    pub joining: Vec<f32>,
    /// [`JointCosts::excess`].
    pub excess: Volume,
}

/// The least cost of a path between two regions through each voxel, however it was computed; cheap to clone.
#[derive(Clone, Debug)]
pub struct JointCosts {
    /// Voxels that have a cost.
    pub places: Places,
    /// The two regions.
    pub ends: [CostEnd; 2],
    /// u₁ + u₂ by place; infinity where no path joins the regions.
    pub total: Arc<[f32]>,
    /// E*: the least value of `total`; above 0.
    pub min_cost: f64,
    /// The first place that attains it.
    pub middle: usize,
    /// The least u₁ in region 2 and the least u₂ in region 1: E* as computed from either field.
    pub cost_at_ends: [f64; 2],
    /// ε_h: the smallest ε whose pathway joins the regions.
    pub joining_epsilon: f64,
}

impl JointCosts {
    /// From u₁ + u₂ by place.
    pub fn new(
        places: &Places,
        ends: [CostEnd; 2],
        total: Arc<[f32]>,
        cost_at_ends: [f64; 2],
    ) -> Result<Self, Error> {
        let (middle, min_cost) = minimum(total.iter().copied());
        let names = || [0, 1].map(|i: usize| ends[i].name.clone());
        if !min_cost.is_finite() {
            let [from, to] = names();
            return Err(InputError::NotConnected { from, to }.into());
        }
        if min_cost == 0.0 {
            return Err(InputError::Overlap(names()).into());
        }
        let limit = bottleneck(places, &total, &ends[0].zero, &ends[1].zero);
        let min_cost = f64::from(min_cost);
        Ok(Self {
            places: places.clone(),
            ends,
            total,
            min_cost,
            middle,
            cost_at_ends,
            joining_epsilon: (f64::from(limit) / min_cost - 1.0).max(0.0),
        })
    }

    fn within(&self, epsilon: f64) -> impl Fn(usize) -> bool {
        let limit = limit(self.min_cost, epsilon);
        move |place| f64::from(self.total[place]) <= limit
    }

    /// (u₁ + u₂) / E* − 1 as an image, limited to `max_excess`, which is also the value where no path leads, so that
    /// the image is smooth up to its rim.
    pub fn excess(&self, max_excess: f32) -> Volume {
        let excess = self.excess_by_place(max_excess);
        self.places.volume(&excess, max_excess)
    }

    /// (u₁ + u₂) / E* − 1 by place, limited to `max_excess`; infinite where no path leads if `max_excess` is infinite.
    pub fn excess_by_place(&self, max_excess: f32) -> Vec<f32> {
        let share = |total: &f32| f64::from(*total) / self.min_cost - 1.0;
        let limited = |total| (share(total).max(0.0) as f32).min(max_excess);
        self.total.iter().map(limited).collect()
    }

    /// For each voxel with a path, its cost above the minimum as a fraction of it, in ascending order.
    pub fn excesses(&self) -> Vec<f32> {
        let mut excesses = self.excess_by_place(f32::INFINITY);
        excesses.retain(|excess| excess.is_finite());
        excesses.par_sort_unstable_by(f32::total_cmp);
        excesses
    }

    /// Computes the figures of the pathway side by side.
    pub fn summary(&self, max_excess: f32) -> Summary {
        let sorted = || rayon::join(|| self.excesses(), || self.joining_epsilons(max_excess));
        let ((excesses, joining), excess) = rayon::join(sorted, || self.excess(max_excess));
        Summary {
            excesses,
            joining,
            excess,
        }
    }

    /// The ε-pathway.
    pub fn mask(&self, epsilon: f64) -> Mask {
        self.places.mask_of(self.places_within(epsilon))
    }

    /// The places of the ε-pathway.
    pub fn places_within(&self, epsilon: f64) -> Vec<usize> {
        let within = self.within(epsilon);
        (0..self.total.len()).filter(|&p| within(p)).collect()
    }

    /// The part of the ε-pathway that joins the regions; `None` below ε_h.
    pub fn joining_mask(&self, epsilon: f64) -> Option<Mask> {
        Some(self.places.mask_of(self.joining_places(epsilon)?))
    }

    /// The places of [`Self::joining_mask`], in no particular order.
    pub fn joining_places(&self, epsilon: f64) -> Option<Vec<usize>> {
        let ends = [&*self.ends[0].zero, &*self.ends[1].zero];
        joining_places(&self.places, ends, self.within(epsilon))
    }

    /// The smallest ε at which each voxel belongs to the part given by [`Self::joining_mask`], up to `max_epsilon`,
    /// ascending: the minimum over all paths from region 1 of the largest share on the path (Dijkstra 1959, with maxima
    /// instead of sums).
    pub fn joining_epsilons(&self, max_epsilon: f32) -> Vec<f32> {
        let share = |place: usize| {
            let share = (f64::from(self.total[place]) / self.min_cost - 1.0).max(0.0) as f32;
            (share <= max_epsilon).then_some(share)
        };
        // Shares are not negative, so their bits have the same order.
        let mut waiting = BinaryHeap::new();
        let mut known = vec![false; self.total.len()];
        let mut wait =
            |place: usize, so_far: f32, waiting: &mut BinaryHeap<Reverse<(u32, u32)>>| {
                if let Some(share) = share(place).filter(|_| !known[place]) {
                    known[place] = true;
                    waiting.push(Reverse((share.max(so_far).to_bits(), place as u32)));
                }
            };
        for &place in self.ends[0].zero.iter() {
            wait(place as usize, 0.0, &mut waiting);
        }
        let mut levels = Vec::new();
        while let Some(Reverse((level, place))) = waiting.pop() {
            let level = f32::from_bits(level);
            levels.push(level.max(self.joining_epsilon as f32));
            for next in self.places.face_neighbours(place as usize) {
                wait(next, level, &mut waiting);
            }
        }
        levels.sort_unstable_by(f32::total_cmp);
        levels
    }

    /// u₁ + u₂ as an image: NaN where no path leads.
    pub fn image(&self) -> Volume {
        self.places.image(&self.total)
    }
}

/// The first place with the least value, and that value; infinite if no value is finite.
pub(super) fn minimum(values: impl Iterator<Item = f32>) -> (usize, f32) {
    let all = values.enumerate();
    all.fold((0, f32::INFINITY), |best, (place, value)| {
        if value < best.1 { (place, value) } else { best }
    })
}

/// The places of a pathway (`within`) that are connected with the first end, if they reach the second one.
pub(super) fn joining_places(
    places: &Places,
    [first, second]: [&[u32]; 2],
    within: impl Fn(usize) -> bool,
) -> Option<Vec<usize>> {
    let first = first.iter().map(|&p| p as usize);
    let mut known = vec![false; places.len()];
    let mut waiting: Vec<usize> = first.filter(|&p| within(p)).collect();
    let mut connected = Vec::new();
    for &place in &waiting {
        known[place] = true;
    }
    while let Some(place) = waiting.pop() {
        connected.push(place);
        for next in places.face_neighbours(place) {
            if !known[next] && within(next) {
                known[next] = true;
                waiting.push(next);
            }
        }
    }
    let joins = second.iter().any(|&p| known[p as usize]);
    joins.then_some(connected)
}

/// The highest cost within the ε-pathway.
pub(super) fn limit(min_cost: f64, epsilon: f64) -> f64 {
    (1.0 + epsilon + ROUNDING) * min_cost
}

/// The smallest limit below which voxels join the two sets: voxels are joined in ascending order until the sets meet
/// (Kruskal 1956). They are sorted one band of values at a time, because the sets usually meet in the first.
fn bottleneck(places: &Places, total: &[f32], a: &[u32], b: &[u32]) -> f32 {
    /// Share of the range of values; each band is twice as high as the one before.
    const FIRST_BAND: f32 = 0.02;
    let finite = || total.iter().copied().filter(|t| t.is_finite());
    let smallest = finite().fold(f32::INFINITY, f32::min);
    let greatest = finite().fold(f32::NEG_INFINITY, f32::max);
    let (mut below, mut height) = (f32::NEG_INFINITY, FIRST_BAND * (greatest - smallest));
    let bands = std::iter::from_fn(|| {
        // This also covers the case that nothing is finite.
        if below >= greatest {
            return None;
        }
        let above = smallest + height;
        let within = |p: &u32| total[*p as usize] > below && total[*p as usize] <= above;
        let mut band: Vec<u32> = (0..total.len() as u32).filter(within).collect();
        band.sort_unstable_by(|&p, &q| total[p as usize].total_cmp(&total[q as usize]));
        (below, height) = (above, 2.0 * height);
        Some(band)
    });
    // Roots of trees; two more represent the sets.
    let mut parent: Vec<u32> = (0..total.len() as u32 + 2).collect();
    let (first, second) = (total.len() as u32, total.len() as u32 + 1);
    fn root(parent: &mut [u32], mut node: u32) -> u32 {
        while parent[node as usize] != node {
            let up = parent[parent[node as usize] as usize];
            parent[node as usize] = up;
            node = up;
        }
        node
    }
    let mut inside = vec![false; total.len()];
    for place in bands.flatten() {
        inside[place as usize] = true;
        let mut join = |other: u32| {
            let (p, q) = (root(&mut parent, place), root(&mut parent, other));
            parent[p as usize] = q;
        };
        if a.binary_search(&place).is_ok() {
            join(first);
        }
        if b.binary_search(&place).is_ok() {
            join(second);
        }
        for next in places.face_neighbours(place as usize) {
            if inside[next] {
                join(next as u32);
            }
        }
        if root(&mut parent, first) == root(&mut parent, second) {
            return total[place as usize];
        }
    }
    f32::INFINITY
}
