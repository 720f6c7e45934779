//! The feature crosshair link: windows with different documents of one person share the position of the crosshair.
//!
//! A window gives its position to the others when its crosshair moves, and takes theirs over without giving it again.

pub(in crate::state) mod actions;
pub mod jobs;
mod types;
pub(in crate::state) mod update;

pub use types::*;
