//! Saving what is open as a protocol, which repeats it on other heads.

pub(in crate::state) mod actions;
pub mod jobs;
mod types;

pub use types::*;
