//! Files of layers: writing them, converting them.

pub mod jobs;
pub(in crate::state) mod opening;
pub mod types;
pub mod update;
