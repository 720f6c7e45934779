//! The feature snapshots: earlier states to compare with.

pub(in crate::state) mod actions;
mod types;

pub use types::*;
