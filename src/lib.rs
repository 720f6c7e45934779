//! Arcuate: touch the wiring of a brain.
//!
//! Modules in reading order; each answers one question and may import only what stands above it
//! (the exact table is `tests/architecture.rs`).

pub mod app;
pub mod cli;
pub mod compute;
pub mod data;
pub mod io;
pub mod jobs;
pub mod phantom;
pub mod render;
pub mod solvers;
pub mod state;
pub mod ui;
