//! The feature segment: segmentation by a level set.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
mod document;
pub(in crate::state) mod for_pathways;
mod framed;
pub mod jobs;
pub(in crate::state) mod measured;
pub(in crate::state) mod methods;
pub mod recipe;
mod shown;
mod standing;
mod types;
pub(in crate::state) mod update;

pub use standing::{CANNOT_SEGMENT, SizeDoubt, is_far_larger};
pub use types::*;
