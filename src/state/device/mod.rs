//! The devices that the program computes on: the CPU or graphics cards.

pub(in crate::state) mod actions;
pub mod jobs;
pub mod runtime;
pub mod types;
pub(in crate::state) mod update;
