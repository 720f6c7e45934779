//! Arcuate's engine: diffusion MRI without a window.
//!
//! [`data`] holds values, [`io`] reads and writes them, [`phantom`] makes heads with known answers, and [`solvers`] compute
//! on the backend that [`compute`] chose; [`parameters`] describes the values that a solver depends on. The package depends on no crate that draws or opens windows. Which module may
//! import which is a table in `tests/architecture/tables.rs`, checked by a test.

pub mod compute;
pub mod data;
pub mod io;
pub mod parameters;
pub mod phantom;
pub mod solvers;
