//! Results and running jobs of COMMIT fits. Not undone and not saved.

use super::{BundleSums, FitEstimate, FitInputs};
use crate::data::region::RegionId;
use crate::data::{DataId, Tractogram, Volume};
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::solver::Curve;
use crate::solvers::commit::{Params, Prepared};
use crate::solvers::tensor_fit;
use crate::state::LayerId;
use crate::state::core::live::{Live, LiveKey};
use crate::state::filter::jobs::FileLines;
use crate::state::streamlines::{RegionRule, SameShape, StreamlineRules};
use std::sync::Arc;

impl LiveKey for WeightsKey {}
impl LiveKey for SumKey {}

/// Everything that the preparation of a fit depends on.
#[derive(Clone, Debug)]
pub struct WeightsKey {
    pub tractogram: Tractogram,
    pub scan: DataId,
    pub mask: Option<DataId>,
    pub peaks: Option<DataId>,
    pub timing: Vec<Timing>,
    /// Parameters of the fit, without those that affect only its course.
    pub params: Params,
    pub tensors: tensor_fit::Params,
}

impl WeightsKey {
    /// Equality except for the streamlines.
    pub fn same_model(&self, other: &Self) -> bool {
        // Without `..`, so that a new field must be considered here.
        let Self {
            tractogram: _,
            scan,
            mask,
            peaks,
            timing,
            params,
            tensors,
        } = self;
        (*scan, *mask, *peaks) == (other.scan, other.mask, other.peaks)
            && *timing == other.timing
            && params.same_preparation(&other.params)
            && *tensors == other.tensors
    }
}

impl PartialEq for WeightsKey {
    fn eq(&self, other: &Self) -> bool {
        self.same_model(other) && self.tractogram.same_lines(&other.tractogram)
    }
}

/// Purpose of the running fit.
#[derive(Clone, PartialEq, Debug)]
pub enum FitPurpose {
    Weights,
    /// Weights of edited streamlines, as a part of that step.
    Refit,
    /// Name of the excluded streamlines.
    Lesion(String),
}

#[derive(Clone, Debug)]
pub struct Running {
    pub layer: LayerId,
    pub purpose: FitPurpose,
    pub key: WeightsKey,
    pub inputs: FitInputs,
    pub curve: Curve,
    /// Number of values of the curve from the previous fit, which this one continues: one per iteration.
    pub earlier_iterations: usize,
}

impl Running {
    /// Iterations, including those of the weights that it continues from.
    pub fn iterations(&self) -> u64 {
        (self.earlier_iterations as u64) + self.own_iterations()
    }

    /// Iterations of this run alone: 0 until it has begun.
    pub fn own_iterations(&self) -> u64 {
        // The first value belongs to the start.
        (self.curve.iterations() + 1).saturating_sub(self.earlier_iterations + 1) as u64
    }

    /// The largest number of iterations of the run.
    pub fn max_iterations(&self) -> u64 {
        self.earlier_iterations as u64 + u64::from(self.inputs.params.stop.iterations)
    }
}

/// Preparation and result of the last fit, for the next.
#[derive(Clone, Debug)]
pub struct PreviousFit {
    pub layer: LayerId,
    /// Its streamlines are those of the preparation; some may have been removed since.
    pub key: WeightsKey,
    pub prepared: Arc<Prepared>,
    /// All unknowns.
    pub x: Arc<[f32]>,
    /// One for each of those streamlines.
    pub weights: Arc<[f32]>,
    /// The unexplained signal.
    pub rmse: Volume,
    pub objective: f64,
    pub error: f64,
}

/// A bundle that is not a group in the streamlines' file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtraBundle {
    /// All that pass the region.
    Region(RegionId),
    /// The streamlines that the rules keep, ignoring weights and a single group.
    Filter,
}

/// Everything that sums over such bundles depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct SumKey {
    /// The streamlines, with their weights.
    pub tractogram: DataId,
    pub inputs: FitInputs,
    pub rows: Vec<ExtraBundle>,
    pub regions: Vec<(RegionId, RegionRule, SameShape)>,
    pub rules: Option<StreamlineRules>,
}

/// Runtime state of the filter.
#[derive(Clone, Debug, Default)]
pub struct FilterRuntime {
    pub estimate: Live<WeightsKey, FitEstimate>,
    pub sums: Live<SumKey, BundleSums>,
    /// The file of the last request, if its streamlines stay there: the next request takes over its survey.
    pub file: Option<FileLines>,
    /// Why it cannot run with the present inputs.
    pub refused: Option<(WeightsKey, String)>,
    pub running: Option<Running>,
    pub previous_fit: Option<PreviousFit>,
    /// The layer whose last fit gave no result, and why.
    pub failed: Option<(LayerId, String)>,
    /// Measured over estimated duration of fits.
    pub pace: Option<f64>,
}
