//! Arcuate: touch the wiring of a brain.
//!
//! Each module answers one question; which others it may import is a table in
//! `tests/architecture/tables.rs`, checked by a test.

pub mod app;
pub mod cli;
pub mod jobs;
pub mod render;
pub mod scene;
pub mod state;
pub mod ui;

// The engine's modules, under the paths that every other module uses.
pub use arcuate_engine::{compute, data, io, phantom, solvers};
