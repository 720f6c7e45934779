//! The feature sessions.

pub mod saved;
mod types;
pub mod unsaved;
pub(in crate::state) mod update;

pub use types::*;
