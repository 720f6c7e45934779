//! The feature streamlines: selection, values, edits and connections of streamlines.

pub(in crate::state) mod changes;
pub mod jobs;
pub(in crate::state) mod reach;
pub mod recipe;
pub(in crate::state) mod runtime;
pub mod tables;
mod types;
pub(in crate::state) mod update;

pub use types::*;
