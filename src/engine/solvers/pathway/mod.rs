//! Volumetric pathways between two regions, from their cost fields u₁ and u₂ (Jeong et al. 2007).
//!
//! u₁ + u₂ is the least cost of a path that joins the regions through a voxel; its minimum E* is the cost of the
//! minimal path. The ε-pathway is the set {u₁ + u₂ ≤ (1 + ε) E*}: changing ε solves nothing again. On a grid the set
//! need not join the regions: it does from ε_h on, the smallest possible value of the largest excess along a
//! connection (a bottleneck path, found exactly by joining voxels in ascending order), and ε_h goes to 0 as voxels
//! shrink.
//! A path is traced back from a voxel along the characteristics: towards the active simplex of the local solver that
//! computed the field ([`super::eikonal::simplex`]), which points to lower values everywhere.
//!
//! # Example
//!
//! The minimal path between two voxels in a uniform metric is straight:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::solvers::eikonal::{self, CostSource, Prepared, solve};
//! use arcuate_engine::solvers::metric::Metric;
//! use arcuate_engine::solvers::pathway::{DEFAULT_EPSILON, Params, Pathway};
//! # use arcuate_engine::data::{Grid, Tensor, TensorField};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([20, 8, 8], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let along_x = Tensor::new([1.7e-3, 0.0, 0.0, 3e-4, 0.0, 3e-4]);
//! let field = TensorField::new(grid.clone(), vec![along_x; grid.voxel_count()]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let params = Params::defaults();
//! let metric = Metric::new(&field, &params.metric, None, &backend, &control)?;
//! let prepared = Prepared::new(&metric, params.local, &backend, &control)?;
//! let source = |name: &str, voxel: [i64; 3]| {
//!     let place = metric.place_of(voxel).ok_or("a voxel of the field");
//!     place.map(|place| Arc::new(CostSource::places(&metric, name, vec![place as u32])))
//! };
//! let ends = [source("left", [2, 4, 4])?, source("right", [17, 4, 4])?];
//! let solver_params = eikonal::Params {
//!     tolerance: params.tolerance,
//!     schedule: None,
//! };
//! let mut costs = solve(&prepared, &ends, &solver_params, &backend, &control)?.into_iter();
//! let (Some(first), Some(second)) = (costs.next(), costs.next()) else {
//!     unreachable!("one cost field for each source")
//! };
//! let pathway = Pathway::new(first, second)?;
//! let path = pathway.minimal_path().ok_or("a path")?;
//! assert!((path.total_mm() - 15.0).abs() < 0.1);
//! assert!(pathway.mask(DEFAULT_EPSILON).count() >= 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cuda;
mod distance;
mod domain;
mod error;
mod parameters;
mod random_pairs;
mod repeats;
mod sensitivity;
mod trace;

pub use cuda::excess as excess_on_card;
pub use distance::{Distances, MaskDistance};
pub use domain::{Domain, region_names};
pub use parameters::{DEFAULT_EPSILON, Params, Width};
pub use random_pairs::{Ends, MAX_PAIRS, MIN_PAIRS, NoRates, RandomPairs, Rates, STRETCH_MM};
pub use repeats::{NEAR_MM, Range90, RepeatParams, Repeats, Scan, WITHIN};
pub use sensitivity::Sensitivity;
pub use trace::{Path, trace};

use super::Error;
use super::eikonal::{CostField, image};
use super::metric::Metric;
use crate::compute::memory;
use crate::data::{Mask, Volume};
use error::InputError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Relative rounding error of the sums in single precision.
const ROUNDING: f64 = 2e-7;

/// The costs between two regions; cheap to clone.
#[derive(Clone, Debug)]
pub struct Pathway {
    /// The cost fields of the two regions.
    pub fields: [CostField; 2],
    /// u₁ + u₂ by place; infinity where no path joins the regions.
    pub total: Arc<[f32]>,
    /// E*, above 0.
    pub min_cost: f64,
    /// The first place that attains it.
    pub middle: usize,
    /// The least u₁ in region 2 and the least u₂ in region 1: E* as computed from either field.
    pub cost_at_ends: [f64; 2],
    /// ε_h.
    pub joining_epsilon: f64,
}

impl Pathway {
    /// The pathway between two fields of one preparation.
    pub fn new(a: CostField, b: CostField) -> Result<Self, Error> {
        let names = || [&a, &b].map(|field| field.source.name.clone());
        if a.prepared.id() != b.prepared.id() {
            return Err(InputError::OtherMetric(names()).into());
        }
        memory::claim_for::<f32>("The pathway", a.values.len(), 3)?;
        let sums = a.values.iter().zip(b.values.iter());
        let total: Arc<[f32]> = sums.map(|(a, b)| a + b).collect();
        let costs = total.iter().copied().enumerate();
        let (middle, min_cost) = costs.fold((0, f32::INFINITY), |best, (place, value)| {
            if value < best.1 { (place, value) } else { best }
        });
        if !min_cost.is_finite() {
            let [from, to] = names();
            return Err(InputError::NotConnected { from, to }.into());
        }
        if min_cost == 0.0 {
            return Err(InputError::Overlap(names()).into());
        }
        let end = |from: &CostField, to: &CostField| {
            let values = to.source.zero.iter().map(|&p| from.values[p as usize]);
            f64::from(values.fold(f32::INFINITY, f32::min))
        };
        let ends = [end(&a, &b), end(&b, &a)];
        let metric = &a.prepared.metric;
        let limit = bottleneck(metric, &total, &a.source.zero, &b.source.zero);
        let min_cost = f64::from(min_cost);
        Ok(Self {
            total,
            min_cost,
            middle,
            cost_at_ends: ends,
            joining_epsilon: (f64::from(limit) / min_cost - 1.0).max(0.0),
            fields: [a, b],
        })
    }

    /// Metric from which both cost fields were computed.
    pub fn metric(&self) -> &Metric {
        &self.fields[0].prepared.metric
    }

    fn within(&self, epsilon: f64) -> impl Fn(usize) -> bool {
        let limit = (1.0 + epsilon + ROUNDING) * self.min_cost;
        move |place| f64::from(self.total[place]) <= limit
    }

    /// (u₁ + u₂) / E* − 1 as an image, limited to `max_excess`, which is also the value where no path leads: smooth up
    /// to the rim.
    pub fn excess(&self, max_excess: f32) -> Volume {
        let metric = self.metric();
        let mut out = vec![max_excess; metric.grid.voxel_count()];
        for (&voxel, share) in metric.voxels.iter().zip(self.excess_by_place(max_excess)) {
            out[voxel as usize] = share;
        }
        Volume::scalar(metric.grid.clone(), out)
    }

    /// (u₁ + u₂) / E* − 1 by place, limited to `max_excess`; infinite where no path leads if `max_excess` is infinite.
    pub fn excess_by_place(&self, max_excess: f32) -> Vec<f32> {
        let share = |total: &f32| f64::from(*total) / self.min_cost - 1.0;
        let limited = |total| (share(total).max(0.0) as f32).min(max_excess);
        self.total.iter().map(limited).collect()
    }

    /// The ε-pathway.
    pub fn mask(&self, epsilon: f64) -> Mask {
        let within = self.within(epsilon);
        self.mask_of((0..self.total.len()).filter(|&p| within(p)))
    }

    /// The part of the ε-pathway that joins the regions; `None` below ε_h.
    pub fn joining_mask(&self, epsilon: f64) -> Option<Mask> {
        let within = self.within(epsilon);
        let zero = |f: usize| self.fields[f].source.zero.iter().map(|&p| p as usize);
        let mut known = vec![false; self.total.len()];
        let mut waiting: Vec<usize> = zero(0).filter(|&p| within(p)).collect();
        let mut connected = Vec::new();
        for &place in &waiting {
            known[place] = true;
        }
        while let Some(place) = waiting.pop() {
            connected.push(place);
            for next in self.metric().face_neighbours(place) {
                if !known[next] && within(next) {
                    known[next] = true;
                    waiting.push(next);
                }
            }
        }
        let joins = zero(1).any(|p| known[p]);
        joins.then(|| self.mask_of(connected.into_iter()))
    }

    /// The smallest ε at which each voxel belongs to the part given by [`Pathway::joining_mask`], up to `max_epsilon`,
    /// ascending: the minimum over all paths from region 1 of the largest share on the path (Dijkstra 1959, with maxima
    /// instead of sums).
    pub fn joining_epsilon(&self, max_epsilon: f32) -> Vec<f32> {
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
        for &place in self.fields[0].source.zero.iter() {
            wait(place as usize, 0.0, &mut waiting);
        }
        let mut levels = Vec::new();
        while let Some(Reverse((level, place))) = waiting.pop() {
            let level = f32::from_bits(level);
            levels.push(level.max(self.joining_epsilon as f32));
            for next in self.metric().face_neighbours(place as usize) {
                wait(next, level, &mut waiting);
            }
        }
        levels.sort_unstable_by(f32::total_cmp);
        levels
    }

    fn mask_of(&self, places: impl Iterator<Item = usize>) -> Mask {
        let metric = self.metric();
        let mut inside = vec![0u8; metric.grid.voxel_count()];
        for place in places {
            inside[metric.voxels[place] as usize] = 1;
        }
        Mask::new(metric.grid.clone(), inside)
    }

    /// u₁ + u₂ as an image: NaN where no path leads.
    pub fn image(&self) -> Volume {
        image(self.metric(), &self.total)
    }

    /// The best path between the regions through a place of the metric; `None` if there is none.
    pub fn path_through(&self, place: usize) -> Option<Path> {
        let mut points = trace(&self.fields[0], place)?;
        points.reverse();
        points.extend(trace(&self.fields[1], place)?.into_iter().skip(1));
        Some(Path::new(self.metric(), points))
    }

    /// The path of least cost, from region 1 to region 2.
    pub fn minimal_path(&self) -> Option<Path> {
        self.path_through(self.middle)
    }
}

/// The smallest limit below which voxels join the two sets: voxels are joined in ascending order until the sets meet
/// (Kruskal 1956). They are sorted one band of values at a time, because the sets usually meet in the first.
fn bottleneck(metric: &Metric, total: &[f32], a: &[u32], b: &[u32]) -> f32 {
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
        for next in metric.face_neighbours(place as usize) {
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
