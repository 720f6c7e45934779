//! The feature track noise: how far measurement noise alone moves the streamlines of Track, from the repetitions of their
//! bootstrap.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
pub mod jobs;
pub(in crate::state) mod methods;
pub mod recipe;
mod standing;
mod types;
pub(in crate::state) mod update;

pub use types::*;
