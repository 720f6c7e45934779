//! The feature snapshots: earlier states to compare with.

pub(in crate::state) mod actions;
pub(in crate::state) mod saved;
mod types;

pub use types::*;
