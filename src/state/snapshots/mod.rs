//! The feature snapshots: earlier states to compare with.

pub(in crate::state) mod actions;
mod runtime;
mod types;
pub mod update;

pub use runtime::*;
pub use types::*;
