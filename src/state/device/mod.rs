//! Where the program computes: the CPU or graphics cards.

pub mod jobs;
pub(in crate::state) mod update;
