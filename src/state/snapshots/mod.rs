//! The feature snapshots.

pub(in crate::state) mod actions;
pub(in crate::state) mod saved;
mod types;

pub use types::*;
