//! Volumetric pathways between two regions, from their cost fields u₁ and u₂ (Jeong et al. 2007).
//!
//! u₁ + u₂ is the least cost of a path that joins the regions through a voxel; its minimum E* is the cost of the
//! minimal path. The ε-pathway is the set {u₁ + u₂ ≤ (1 + ε) E*}: a change of ε needs no new solution. On a grid the set
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
//! use arcuate_engine::solvers::pathway::{DEFAULT_EPSILON, Params, Pathway, TOLERANCE};
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
//!     tolerance: TOLERANCE,
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
mod joint;
mod parameters;
mod random_pairs;
mod repeated_tensors;
mod repetitions;
mod sensitivity;
mod trace;
mod unreachable;

pub use cuda::excess as excess_on_card;
pub use distance::{Distances, MaskDistance, Separation, path_distances_on_surface};
pub use domain::{Domain, Measure, end_volumes_mm3, region_names};
pub use joint::{CostEnd, JointCosts, Summary};
pub use parameters::{
    COSTLY_FACTOR, DEFAULT_EPSILON, Params, RepetitionParams, TOLERANCE, Width, costly_row,
};
pub(in crate::solvers) use random_pairs::{Draw, SOURCES_AT_ONCE};
pub use random_pairs::{
    Ends, MAX_PAIRS, MIN_PAIRS, NoRates, PairRates, RandomPairs, Rates, STRETCH_MM,
};
pub use repeated_tensors::Scan;
pub use repetitions::{
    MIN_FOR_RANGES, NEAR_MM, Range90, Repeat, Repetition, Repetitions, Tasks, WITHIN,
};
pub use sensitivity::Sensitivity;
pub use trace::{Path, trace};
pub use unreachable::{end_outside_domain, not_joined, outside_tensors, separated};

use super::Error;
use super::eikonal::CostField;
use super::metric::Metric;
use crate::compute::memory;
use error::InputError;
use std::ops::Deref;

/// The costs between two regions, which it dereferences to; cheap to clone.
#[derive(Clone, Debug)]
pub struct Pathway {
    /// The cost fields of the two regions.
    pub fields: [CostField; 2],
    /// Their sum.
    pub joint: JointCosts,
}

impl Deref for Pathway {
    type Target = JointCosts;

    fn deref(&self) -> &JointCosts {
        &self.joint
    }
}

impl Pathway {
    /// The pathway between two fields of one preparation.
    pub fn new(a: CostField, b: CostField) -> Result<Self, Error> {
        if a.prepared.id() != b.prepared.id() {
            let names = [&a, &b].map(|field| field.source.name.clone());
            return Err(InputError::OtherMetric(names).into());
        }
        memory::claim_for::<f32>("The pathway", a.values.len(), 3)?;
        let sums = a.values.iter().zip(b.values.iter());
        let total = sums.map(|(a, b)| a + b).collect();
        let end = |from: &CostField, to: &CostField| {
            let values = to.source.zero.iter().map(|&p| from.values[p as usize]);
            f64::from(values.fold(f32::INFINITY, f32::min))
        };
        let ends = [&a, &b].map(|field| CostEnd {
            name: field.source.name.clone(),
            zero: field.source.zero.clone().into(),
        });
        let cost_at_ends = [end(&a, &b), end(&b, &a)];
        let places = &a.prepared.metric.places;
        Ok(Self {
            joint: JointCosts::new(places, ends, total, cost_at_ends)?,
            fields: [a, b],
        })
    }

    /// Metric from which both cost fields were computed.
    pub fn metric(&self) -> &Metric {
        &self.fields[0].prepared.metric
    }

    /// The best path between the regions through a place of the metric; `None` if there is none.
    pub fn path_through(&self, place: usize) -> Option<Path> {
        trace::path_through(self.fields.each_ref(), place)
    }

    /// The path of least cost, from region 1 to region 2.
    pub fn minimal_path(&self) -> Option<Path> {
        self.path_through(self.middle)
    }
}
