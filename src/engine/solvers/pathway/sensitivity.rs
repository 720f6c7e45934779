//! The voxels on which a pathway depends: how E* depends on the cost of each.
//!
//! E* = u₁ + u₂ at the voxel where the sum is smallest; to first order, a shift of that voxel does not change E*. The
//! derivatives of u₁ and u₂ are those of their cost fields ([`derivative_by_log_cost`]). The result is the share of
//! each voxel in E*: with a share of 1 %, a cost 1 % higher in the voxel raises E* by 0.01 %. The shares add up to 1,
//! because E* scales with the costs.
//!
//! A share is a first-order statement. It does not predict E* without the voxel, because the path would then take
//! another route, and it does not show that the path is correct.

use super::Pathway;
use crate::compute::{Backend, Control, memory};
use crate::data::Volume;
use crate::solvers::Error;
use crate::solvers::eikonal::derivative_by_log_cost;
use crate::solvers::metric::Places;
use std::sync::Arc;

/// The contribution of each voxel to E*.
#[derive(Clone, Debug)]
pub struct Sensitivity {
    /// d ln E* / d ln c with c the cost of a step through the voxel, by place; they add up to 1. Through distributions also
    /// −d ln E* / d ln f with f the amplitudes in the voxel; these add up to less.
    pub shares: Arc<[f32]>,
}

impl Pathway {
    /// The share of each voxel in E*. Equal on any number of threads.
    pub fn sensitivity(&self, backend: &Backend, control: &Control) -> Result<Sensitivity, Error> {
        // For each field the part that stays in a voxel and the part that passes through it; and the shares.
        memory::claim_for::<f64>("The sensitivity of a pathway", self.total.len(), 5)?;
        control.begin("Sensitivity", 0);
        let side = |field: usize| derivative_by_log_cost(&self.fields[field], self.middle, control);
        let (first, second) = backend.install(|| rayon::join(|| side(0), || side(1)));
        // E* is finite, so that both values are.
        let sides = [first?, second?].map(Option::unwrap_or_default);
        let of_place = |place: usize| sides.iter().filter_map(|s| s.get(place)).sum::<f64>();
        let total: f64 = (0..self.total.len()).map(of_place).sum();
        let shares = (0..self.total.len()).map(|place| (of_place(place) / total) as f32);
        Ok(Sensitivity {
            shares: shares.collect(),
        })
    }
}

impl Sensitivity {
    /// The shares as an image in percent: 0 outside the mask.
    pub fn percent(&self, places: &Places) -> Volume {
        let percent: Vec<f32> = self.shares.iter().map(|share| 100.0 * share).collect();
        places.volume(&percent, 0.0)
    }

    /// The sum of all shares.
    pub fn total(&self) -> f64 {
        self.shares.iter().map(|share| f64::from(*share)).sum()
    }

    /// The number of voxels with the largest shares that together make up this fraction of the sum.
    pub fn voxels_with(&self, fraction: f64) -> usize {
        let mut all: Vec<f32> = self.shares.iter().copied().filter(|s| *s > 0.0).collect();
        all.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut sum, fraction) = (0.0, fraction * self.total());
        let more = all.iter().take_while(|share| {
            let open = sum < fraction;
            sum += f64::from(**share);
            open
        });
        more.count()
    }
}
