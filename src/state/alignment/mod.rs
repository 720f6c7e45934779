//! Transforms of images, masks and streamlines: manual, by alignment, or from a file.

pub(in crate::state) mod actions;
mod document;
pub mod jobs;
pub(in crate::state) mod methods;
pub mod space;
mod types;
pub(in crate::state) mod update;
mod warps;

pub use types::*;
