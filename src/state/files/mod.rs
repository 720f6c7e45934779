//! Files of layers: writing them, converting them.

pub mod jobs;
pub mod update;
