//! Maps of where streamlines pass.

pub mod jobs;
