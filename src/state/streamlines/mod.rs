//! The feature streamlines: selection, values, edits and connections of streamlines.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
pub(in crate::state) mod current;
pub mod in_place;
pub mod jobs;
pub(in crate::state) mod methods;
pub mod recipe;
mod rules;
pub(in crate::state) mod runtime;
mod types;
pub(in crate::state) mod update;

pub use types::*;
