//! The adjoint of a cost field: how one of its values depends on the cost of each voxel.
//!
//! A value is u = Σ λᵢ uᵢ + q over its active simplex, with q the cost of the step. At the minimum a change of the
//! weights λ changes nothing, so that du = Σ λᵢ duᵢ + q d ln c with c the cost of the voxel: the derivative of one
//! value passes to the corners in proportion to λ, and each voxel keeps q times what reaches it. Selling's scheme has
//! the same derivative, with λᵢ ∝ ρᵢ (u − uᵢ) and q = u − Σ λᵢ uᵢ; a step whose cost is charged along its line leaves
//! it in the voxels of that line. The seeds around the source leave their value in the two voxels from which it is
//! computed. The derivatives of all voxels add up to the value itself, because costs scale with c (Euler's relation).
//!
//! Voxels are visited in descending order of the field, as far as the value depends on them: a fraction of the mask. On
//! anisotropic metrics a corner may have a higher value than the voxel that reads it; such a corner is visited again.

use super::weights::charge;
use super::{CostField, Simplex, simplex};
use crate::compute::{Cancelled, Control};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BinaryHeap;

/// Parts below this fraction of the value are passed to the lowest corner alone, which limits the number of visits and
/// keeps the sum.
const SMALLEST_PART: f64 = 1e-7;
/// Number of voxels between two checks for cancellation.
const CHECK: usize = 1024;

/// The derivative of the value of a place with respect to the logarithm of the cost of each voxel, by place; `None`
/// where no path leads. Their sum is the value. Must be called on the backend's threads; equal on any number of them.
pub fn derivative_by_log_cost(
    field: &CostField,
    place: usize,
    control: &Control,
) -> Result<Option<Vec<f64>>, Cancelled> {
    let value = |place: usize| field.values[place];
    if !field.values.get(place).is_some_and(|v| v.is_finite()) {
        return Ok(None);
    }
    let metric = &field.prepared.metric;
    let mut kept = vec![0.0; metric.len()];
    let mut passing = vec![0.0f64; metric.len()];
    // Values are not negative, so their bits have the same order.
    let mut waiting = BinaryHeap::from([(value(place).to_bits(), place as u32)]);
    passing[place] = 1.0;
    let mut simplices = Simplices::new(field);
    let mut visits = 0usize;
    while let Some((_, here)) = waiting.pop() {
        if visits.is_multiple_of(CHECK) {
            control.check()?;
        }
        visits += 1;
        let here = here as usize;
        let amount = std::mem::take(&mut passing[here]);
        let seed = field.source.seed(here);
        if let Some(seed) = seed.filter(|seed| seed.value <= value(here)) {
            let start = seed.start_voxel as usize;
            if start != here {
                let [to, from] = [here, start].map(|p| metric.voxel(p));
                let way = DVec3::from_array([0, 1, 2].map(|a| (to[a] - from[a]) as f64));
                let square = |p: usize| metric.step_cost(p, way).powi(2);
                let (a, b) = (square(start), square(here));
                let share = amount * f64::from(seed.value) / (a + b);
                kept[start] += share * a;
                kept[here] += share * b;
            }
            continue;
        }
        // Every value that is not a seed's has a simplex.
        let Some(active) = simplices.at(here, &waiting) else {
            continue;
        };
        let mut pass = |corner: usize, part: f64| {
            if passing[corner] == 0.0 {
                waiting.push((value(corner).to_bits(), corner as u32));
            }
            passing[corner] += part;
        };
        let corners = active.corners();
        let lowest = corners
            .iter()
            .min_by(|a, b| value(a.0).total_cmp(&value(b.0)));
        match lowest.filter(|_| amount < SMALLEST_PART) {
            Some((lowest, _)) => {
                kept[here] += amount * (active.value - f64::from(value(*lowest)));
                pass(*lowest, amount);
            }
            None => {
                active.charge(field, here, |voxel, part| kept[voxel] += amount * part);
                for (corner, share) in corners.iter().filter(|(_, share)| *share > 0.0) {
                    pass(*corner, amount * share);
                }
            }
        }
    }
    Ok(Some(kept))
}

/// Active simplices, which do not depend on what passes through them. Every voxel that waits is visited, so that those of
/// all waiting voxels are computed side by side as soon as one of them is needed.
struct Simplices<'a> {
    field: &'a CostField,
    /// By place the index of its simplex, or [`UNKNOWN`].
    index: Vec<u32>,
    known: Vec<Option<Simplex>>,
}

const UNKNOWN: u32 = u32::MAX;

impl<'a> Simplices<'a> {
    fn new(field: &'a CostField) -> Self {
        Self {
            field,
            index: vec![UNKNOWN; field.values.len()],
            known: Vec::new(),
        }
    }

    fn at(&mut self, place: usize, waiting: &BinaryHeap<(u32, u32)>) -> Option<Simplex> {
        /// Voxels of a thread at least: fewer are computed faster by one alone.
        const MIN_PART: usize = 16;
        if self.index[place] == UNKNOWN {
            let first = self.known.len();
            let waiting = waiting.iter().map(|(_, place)| *place);
            let all = std::iter::once(place as u32).chain(waiting);
            let missing = all.filter(|place| self.index[*place as usize] == UNKNOWN);
            let missing: Vec<u32> = missing.collect();
            for (i, place) in missing.iter().enumerate() {
                self.index[*place as usize] = (first + i) as u32;
            }
            let places = missing.par_iter().with_min_len(MIN_PART);
            let simplices = places.map(|place| simplex(self.field, *place as usize));
            self.known.par_extend(simplices);
        }
        self.known[self.index[place] as usize]
    }
}

impl Simplex {
    /// The derivative of the place's value with respect to the logarithm of the cost of each voxel, at constant values
    /// of the corners: calls `keep` for each voxel that is charged for the step.
    fn charge(&self, field: &CostField, place: usize, mut keep: impl FnMut(usize, f64)) {
        let values = &field.values;
        if !self.of_selling {
            let corners = self.corners().iter();
            let before: f64 = corners
                .map(|(p, share)| share * f64::from(values[*p]))
                .sum();
            keep(place, self.value - before);
            return;
        }
        let metric = &field.prepared.metric;
        let here = metric.voxel(place);
        for (corner, share) in self.corners() {
            let next = metric.voxel(*corner);
            let step = [0, 1, 2].map(|a| next[a] - here[a]);
            let part = share * (self.value - f64::from(values[*corner]));
            charge(&field.prepared, place, step, part, &mut keep);
        }
    }
}
