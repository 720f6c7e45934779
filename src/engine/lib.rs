//! Arcuate's engine: diffusion MRI without a window.
//!
//! [`data`] holds values, [`io`] reads and writes them, [`phantom`] generates heads with known ground truth, and
//! [`solvers`] compute on the backend chosen by [`compute`]; [`parameters`] describes the values on which a solver
//! depends. The package depends on no crate that draws or opens windows. The permitted imports between modules are a
//! table in `tests/architecture/tables.rs`, checked by a test.

pub mod compute;
pub mod data;
pub mod io;
pub mod parameters;
pub mod phantom;
pub mod solvers;
