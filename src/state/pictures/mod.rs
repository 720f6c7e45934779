//! The feature pictures.

pub(in crate::state) mod actions;
pub mod jobs;
mod types;
pub(in crate::state) mod update;

pub use types::*;
