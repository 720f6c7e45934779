//! The feature sampling: reading values of an image with the pointer.

pub(in crate::state) mod actions;
mod types;
pub(in crate::state) mod update;

pub use types::*;
