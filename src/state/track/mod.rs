//! The feature track.

pub(in crate::state) mod changes;
pub(in crate::state) mod follow;
pub mod jobs;
pub(in crate::state) mod kept;
pub(in crate::state) mod rays;
pub mod types;
pub(in crate::state) mod update;
