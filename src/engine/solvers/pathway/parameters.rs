//! What a pathway depends on besides tensors and regions, and the values it starts with.

use crate::data::Role;
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::metric::Cost;
use serde::{Deserialize, Serialize};

/// What a pathway depends on beside tensors and regions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    pub cost: Cost,
    pub local: LocalSolver,
    /// Paths run where the FA is at least this.
    pub min_fa: f64,
    /// A value that fell by less than this share of itself is left as it is.
    pub tolerance: f32,
}

impl Params {
    /// The metric as in Jeong et al. 2007; the local solver that errs least.
    pub fn defaults() -> Self {
        Self {
            cost: Cost::Sharpened { alpha: 3.0 },
            local: LocalSolver::Hybrid,
            // Lower values let paths through grey matter and fluid.
            min_fa: 0.15,
            tolerance: 1e-6,
        }
    }

    /// An error is one sentence.
    pub fn check(&self) -> Result<(), String> {
        self.cost.check()?;
        if !(0.0..=1.0).contains(&self.min_fa) {
            return Err(format!(
                "Found a Domain FA (--min-fa) of {}, expected a number from 0 to 1; choose for example 0.15",
                self.min_fa
            ));
        }
        Ok(())
    }

    /// Whether a region of this role has a part in pathways: seeds and targets are their ends, masks
    /// hold them, exclusions keep them out.
    pub fn takes_part(role: Role) -> bool {
        matches!(role, Role::Seed | Role::Target | Role::Mask | Role::Exclude)
    }
}

/// On voxels of 2 mm the sets of most pathways join from ε = 10 to 20 %, and up to there lie within
/// their bundle (tests/solvers/pathway/phantom.rs).
pub const DEFAULT_EPSILON: f64 = 0.2;
