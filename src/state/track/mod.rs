//! The feature track: streamlines and geodesic rays from regions, live.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
pub mod document;
pub mod empty;
pub(in crate::state) mod follow;
pub(in crate::state) mod inputs;
pub mod jobs;
pub(in crate::state) mod kept_layers;
mod key;
pub(in crate::state) mod methods;
pub(in crate::state) mod rays;
pub mod recipe;
mod standing;
pub mod types;
pub(in crate::state) mod update;
