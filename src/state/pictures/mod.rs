//! The feature pictures: screenshots and turntable films.

pub(in crate::state) mod actions;
mod command_line;
pub mod jobs;
mod types;
pub(in crate::state) mod update;

pub use types::*;
