//! The feature sessions: saving, opening and recovering documents.

pub(in crate::state) mod actions;
pub mod jobs;
mod runtime;
pub mod saved;
pub(in crate::state) mod types;
pub mod unsaved;
pub(in crate::state) mod update;

pub use runtime::*;
pub use types::*;
