//! The feature scene look: the depth cue of the 3-D view, and planes and boxes that hide parts of it.

pub(in crate::state) mod actions;
pub(in crate::state) mod changes;
mod types;

pub use types::*;
