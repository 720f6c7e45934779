//! The feature sessions: saving, opening and recovering documents.

mod jobs;
pub mod saved;
mod types;
pub mod unsaved;
pub(in crate::state) mod update;

pub use types::*;
