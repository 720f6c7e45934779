//! Queries on curves, however they were made: selection, values along them, and picking on the screen.

mod error;
mod parameters;
pub mod pick;
pub mod profile;
mod sample;
pub mod selection;

pub use parameters::ProfileParams;
pub use sample::{points_outside, points_without_value, sample, sample_frame};
