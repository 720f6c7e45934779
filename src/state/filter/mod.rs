//! The feature filter: fitting weights of streamlines to the signal.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
pub(in crate::state) mod inputs;
pub mod jobs;
pub(in crate::state) mod methods;
pub mod recipe;
pub(in crate::state) mod runtime;
mod standing;
mod types;
pub(in crate::state) mod update;

pub use types::*;
