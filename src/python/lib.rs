//! The engine as a Python package. `package/arcuate` contains what users call; this library has the classes and
//! functions below it.

mod arrays;
mod errors;
mod parameters;
mod run;
mod solve;
mod types;

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::solve::{Fit, density, fit, open, parameters, track};
    #[pymodule_export]
    use super::types::{Image, Streamlines};

    /// The version of the engine.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
