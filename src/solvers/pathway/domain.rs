//! Where paths may run and between what: from the regions and the FA.

use crate::data::{Mask, Region, Role, Shape, Volume};
use crate::solvers::Error;
use crate::solvers::eikonal::{LocalSolver, Source};
use crate::solvers::metric::{Cost, Metric};
use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    /// An error is one sentence.
    pub fn check(&self) -> Result<(), String> {
        self.cost.check()?;
        if !(0.0..=1.0).contains(&self.min_fa) {
            return Err(format!(
                "Found a least FA of {}, expected a number from 0 to 1; choose for example 0.15",
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

/// The voxels of an FA map where paths may run: at least `min_fa`, inside one of the masks where there
/// are any, in no excluded region. To be called on the backend's threads.
pub fn domain(fa: &Volume, min_fa: f64, regions: &[Region]) -> Mask {
    let grid = &fa.grid;
    let of = |role: Role| -> Vec<&Shape> {
        let these = regions.iter().filter(|r| r.role == role);
        these.map(|r| &*r.shape).collect()
    };
    let (within, without) = (of(Role::Mask), of(Role::Exclude));
    let values = fa.frame(0);
    let inside = |v: usize| {
        // Not a number is no direction.
        if !(f64::from(values[v]) >= min_fa) {
            return false;
        }
        if within.is_empty() && without.is_empty() {
            return true;
        }
        let centre = grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
        let holds = |shape: &&Shape| shape.contains(centre);
        (within.is_empty() || within.iter().any(holds)) && !without.iter().any(holds)
    };
    let voxels = (0..grid.voxel_count()).into_par_iter();
    let inside: Vec<u8> = voxels.map(|v| u8::from(inside(v))).collect();
    Mask::new(grid.clone(), inside)
}

/// All regions of one role as one source.
pub fn source(metric: &Metric, regions: &[Region], role: Role) -> Result<Arc<Source>, Error> {
    let these: Vec<&Region> = regions.iter().filter(|r| r.role == role).collect();
    let (Some(first), one) = (these.first(), these.len() == 1) else {
        return Err(Error::Input(format!(
            "Found no {0}, expected at least one; place a {0} region",
            role.name().to_lowercase()
        )));
    };
    let mut zero = Vec::new();
    for region in &these {
        zero.extend(Source::region(metric, region)?.zero);
    }
    let all = format!("{} regions", role.name());
    let name = if one { &first.name } else { &all };
    Ok(Arc::new(Source::places(metric, name, zero)))
}
