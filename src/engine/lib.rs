//! Arcuate's engine: diffusion MRI without a window.
//!
//! [`data`] holds values, [`io`] reads and writes them, [`phantom`] generates heads with a known truth, and
//! [`solvers`] compute on the backend chosen by [`compute`]; [`parameters`] describes the values on which a solver
//! depends. The package depends on no crate that draws or opens windows. The permitted imports between modules are a
//! table in `tests/architecture/tables.rs`, checked by a test.
//!
//! # Example
//!
//! Streamlines in the tensors of a synthetic scan, of which 500 seeds start in the whole brain:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::phantom::{Head, scan_grid, scan_options};
//! use arcuate_engine::solvers::curves::{self, Seeding};
//! use arcuate_engine::solvers::{tensor_fit, tracking};
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let head = Head::new(1);
//! let grid = scan_grid(4.0).ok_or("a spacing above 0")?;
//! let (scan, gradients) = head.diffusion_scan(&scan_options(grid.clone(), 1), &control)?;
//! let mask = head.brain_mask(&grid, &control)?;
//!
//! let params = tensor_fit::Params::defaults_for(Some(&gradients));
//! let fitted = tensor_fit::fit(&scan, &gradients, &mask, &params, &backend, &control)?;
//! let params = curves::Params {
//!     seeding: Seeding::Random { count: 500 },
//!     ..curves::Params::defaults()
//! };
//! let tracked = tracking::track(&fitted.field, &[], &params, &backend, &control)?;
//! assert!(tracked.kept.len() > 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

pub mod compute;
pub mod data;
pub mod io;
pub mod parameters;
pub mod phantom;
pub mod solvers;
