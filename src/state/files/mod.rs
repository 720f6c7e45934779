//! Files of layers: opening, writing and converting them.

pub mod jobs;
pub(in crate::state) mod opening;
pub(in crate::state) mod together;
pub mod types;
pub mod update;
