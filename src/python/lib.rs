//! The engine as a Python package. `package/arcuate` contains what users call; this library has the classes and
//! functions below it.

mod arrays;
mod bundle;
mod commit;
mod errors;
mod fod;
mod model;
mod parameters;
mod pathway;
mod phantom;
mod random_pairs;
mod rays;
mod regions;
mod results;
mod run;
mod segment;
mod solve;
mod tables;
mod track;
mod types;

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::bundle::{connectome, profile, select};
    #[pymodule_export]
    use super::commit::commit;
    #[pymodule_export]
    use super::fod::fod;
    #[pymodule_export]
    use super::model::layout_remark;
    #[pymodule_export]
    use super::pathway::pathway;
    #[pymodule_export]
    use super::phantom::phantom;
    #[pymodule_export]
    use super::rays::rays;
    #[pymodule_export]
    use super::results::Parts;
    #[pymodule_export]
    use super::segment::segment;
    #[pymodule_export]
    use super::solve::{Fit, density, fit, open};
    #[pymodule_export]
    use super::tables::parameters;
    #[pymodule_export]
    use super::track::track;
    #[pymodule_export]
    use super::types::{Image, Streamlines};

    /// Cards are shared with other processes of the program.
    #[pymodule_init]
    fn init(_module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        arcuate_engine::io::card_claims::install();
        Ok(())
    }

    /// The version of the engine.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
