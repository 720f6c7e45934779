//! Figures of an image within a region, a mask, a pathway or a surface: volume, mean, spread, histogram.

pub(in crate::state) mod actions;
pub(in crate::state) mod command_line;
pub mod jobs;
mod standing;
mod types;
pub(in crate::state) mod update;

pub use types::*;
