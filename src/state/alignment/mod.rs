//! Moving images, masks and streamlines to where they belong: by hand, by alignment, by an affine from a file.

pub(in crate::state) mod actions;
pub mod jobs;
pub(in crate::state) mod saved;
pub mod space;
mod types;
pub(in crate::state) mod update;

pub use types::*;
