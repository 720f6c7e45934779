//! Arcuate: touch the wiring of a brain.
//!
//! Data flow in one direction: input becomes an [`Action`](state::Action), [`update`](state::update()) changes the
//! state, effects submit jobs, their results return to `update`, and the scene turns the state into a draw list.
//!
//! | module | question that it answers |
//! | --- | --- |
//! | [`data`] | What is an image, a tractogram, a region? Values without files, threads or graphics |
//! | [`parameters`] | What is a parameter: key, unit, limits, default, text |
//! | [`compute`] | Where does work run: CPU or graphics cards, cancellation, memory |
//! | [`io`] | How do files become data, and data files? |
//! | [`phantom`] | Which heads have known answers? |
//! | [`solvers`] | What is the mathematics? One folder per method |
//! | [`jobs`] | When does work run: threads, slots, cancellation, events |
//! | [`state`] | What does the user have and do? One folder per feature |
//! | [`scene`] | What does each view show? |
//! | [`render`] | How does a draw list become pixels? |
//! | [`ui`] | What are the panels, forms and views, and what does each gesture do? |
//! | [`guide`] | Which pages does the guide have? |
//! | [`cli`] | Which commands are there? |
//! | [`app`] | How does the window run? |
//!
//! The first six are the package `arcuate-engine`, which works without a window. `ARCHITECTURE.md` says which module
//! may use which, and `tests/architecture/tables.rs` enforces it.

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
