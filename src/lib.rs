//! Arcuate: touch the wiring of a brain.
//!
//! Each module answers one question; `ARCHITECTURE.md` says which, and a table in `tests/architecture/tables.rs`, checked by
//! a test, which others it may import.

pub mod app;
pub mod cli;
pub mod guide;
pub mod jobs;
pub mod render;
pub mod scene;
pub mod state;
pub mod ui;

// The engine's modules, under the paths that every other module uses.
pub use arcuate_engine::{compute, data, io, parameters, phantom, solvers};
