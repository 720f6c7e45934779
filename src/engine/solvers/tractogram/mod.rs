//! Questions about curves, however they were made: which of them, what values along them, which under
//! the pointer.

pub mod pick;
pub mod profile;
mod sample;
pub mod selection;

pub use sample::{sample, sample_frame};
