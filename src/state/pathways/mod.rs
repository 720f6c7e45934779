//! The feature pathways: minimal paths between two regions, and the voxels around them.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
pub mod costs;
mod document;
pub mod jobs;
pub(in crate::state) mod methods;
pub mod recipe;
pub mod result;
pub mod standing;
mod types;
pub(in crate::state) mod update;

pub use costs::{KnownCosts, PathwayCosts};
pub use result::{ClippedEnd, CostliestStretch, PathAtVoxel, PathQuery, PathwayResult};
pub use types::*;
