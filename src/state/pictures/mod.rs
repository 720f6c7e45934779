//! The feature pictures.

pub mod jobs;
mod types;
pub(in crate::state) mod update;

pub use types::*;
