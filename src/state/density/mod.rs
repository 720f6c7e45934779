//! Density maps of streamlines.

pub mod jobs;
pub(in crate::state) mod methods;
pub(in crate::state) mod saved;
mod types;
pub(in crate::state) mod update;

pub use types::*;
