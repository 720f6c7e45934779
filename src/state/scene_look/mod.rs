//! The feature scene look: the depth cue of the 3-D view, planes and boxes that hide parts of it, and the values that
//! the plot of a cloud's transfer function shows.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
pub mod jobs;
mod standing;
mod types;
pub(in crate::state) mod update;

pub use types::*;
