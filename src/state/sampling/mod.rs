//! The feature sampling.

mod types;
pub(in crate::state) mod update;

pub use types::*;
