//! The report of a session: a page with its data, pictures, figures, parameters and checksums.

pub(in crate::state) mod actions;
pub mod jobs;
mod parameters;
mod runtime;
mod types;
pub mod update;

pub use runtime::*;
pub use types::*;
