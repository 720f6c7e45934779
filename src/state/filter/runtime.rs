//! What is known of fits of weights, and what is on its way. Not undone and not saved.

use super::{BundleSums, FitEstimate, FitInputs};
use crate::data::region::RegionId;
use crate::data::{DataId, Tractogram, Volume};
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::solver::Curve;
use crate::solvers::commit::{Params, Prepared};
use crate::solvers::tensor_fit;
use crate::state::LayerId;
use crate::state::core::live::{Live, LiveKey};
use crate::state::streamlines::{RegionRule, Same, StreamlineRules};
use std::sync::Arc;

impl LiveKey for WeightsKey {}
impl LiveKey for SumKey {}

/// All that what is built before a fit depends on.
#[derive(Clone, Debug)]
pub struct WeightsKey {
    pub lines: Tractogram,
    pub scan: DataId,
    pub mask: Option<DataId>,
    pub peaks: Option<DataId>,
    pub timing: Vec<Timing>,
    /// Parameters that steer only the course of the fit are left out.
    pub params: Params,
    pub tensors: tensor_fit::Params,
}

impl WeightsKey {
    /// But for the streamlines.
    pub fn same_model(&self, other: &Self) -> bool {
        let built = |p: &Params| {
            let how = (p.way, p.precision, p.force_model);
            (p.model.clone(), p.switches, p.blur_mm, how)
        };
        (self.scan, self.mask, self.peaks) == (other.scan, other.mask, other.peaks)
            && self.timing == other.timing
            && built(&self.params) == built(&other.params)
            && self.tensors == other.tensors
    }
}

impl PartialEq for WeightsKey {
    fn eq(&self, other: &Self) -> bool {
        self.same_model(other) && self.lines.same_lines(&other.lines)
    }
}

/// What runs is for.
#[derive(Clone, PartialEq, Debug)]
pub enum FitPurpose {
    Weights,
    /// Weights of edited streamlines, as a part of that step.
    Again,
    /// The name of what it does without.
    Lesion(String),
}

#[derive(Clone, Debug)]
pub struct Running {
    pub layer: LayerId,
    pub aim: FitPurpose,
    pub key: WeightsKey,
    pub from: FitInputs,
    pub curve: Curve,
    /// Values of the curve that are of the fit before, which this one goes on from: one an iteration.
    pub before: usize,
}

impl Running {
    /// Iterations, with those of the weights that it goes on from.
    pub fn iterations(&self) -> u64 {
        (self.before as u64) + self.own_iterations()
    }

    /// Iterations of this run alone: 0 until it has begun.
    pub fn own_iterations(&self) -> u64 {
        // The first value is of the start.
        (self.curve.iterations() + 1).saturating_sub(self.before + 1) as u64
    }

    /// The iterations after which the run ends in any case.
    pub fn most(&self) -> u64 {
        self.before as u64 + u64::from(self.from.params.stop.iterations)
    }
}

/// What the last fit built and found, for the next.
#[derive(Clone, Debug)]
pub struct PreviousFit {
    pub layer: LayerId,
    /// Its streamlines are those that it was built of; some may be gone since.
    pub key: WeightsKey,
    pub prepared: Arc<Prepared>,
    /// All unknowns.
    pub x: Arc<[f32]>,
    /// One a streamline of those.
    pub weights: Arc<[f32]>,
    /// What is not explained.
    pub rmse: Volume,
    pub objective: f64,
    pub error: f64,
}

/// A bundle that is no group of the streamlines' file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtraBundle {
    /// All that pass it.
    Region(RegionId),
    /// What the filter of the streamlines leaves, but for their weights and one group.
    Filter,
}

/// All that sums over such bundles depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct SumKey {
    /// The streamlines, with their weights.
    pub of: DataId,
    pub from: FitInputs,
    pub rows: Vec<ExtraBundle>,
    pub regions: Vec<(RegionId, RegionRule, Same)>,
    pub sieve: Option<StreamlineRules>,
}

/// What happens meanwhile.
#[derive(Clone, Debug, Default)]
pub struct FilterRuntime {
    pub needs: Live<WeightsKey, FitEstimate>,
    pub sums: Live<SumKey, BundleSums>,
    /// Why it cannot run as asked.
    pub refused: Option<(WeightsKey, String)>,
    pub running: Option<Running>,
    pub held: Option<PreviousFit>,
    /// Why there is no result.
    pub failed: Option<String>,
    /// How long fits take here, over what was expected.
    pub pace: Option<f64>,
}
