//! Arcuate: touch the wiring of a brain.
//!
//! Each module answers one question; which others it may import is a table in
//! `tests/architecture/tables.rs`, checked by a test.

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
