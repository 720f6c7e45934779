//! Density maps of streamlines.

pub(in crate::state) mod actions;
pub mod jobs;
pub(in crate::state) mod methods;
pub mod recipe;
mod types;
pub(in crate::state) mod update;

pub use types::*;
