//! Numerical methods: pure functions of their arguments.
//!
//! The argument order is: data, parameters, backend (`&Backend`), control (`&Control`). Equal inputs, parameters,
//! backend, binary and instruction set give equal bytes at any number of threads. Parameters have no `Default`:
//! `Params::defaults` gives them, and their table the reasons.
//!
//! # Example
//!
//! A solver takes data, parameters, a backend and a control, and its error is one sentence:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Gradients, Grid, Mask, Volume};
//! use arcuate_engine::solvers::{Error, tensor_fit};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([2, 2, 2], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let grid = Arc::new(grid);
//! let (scan, mask) = (Volume::scalar(grid.clone(), vec![1.0; 8]), Mask::new(grid, vec![1; 8]));
//! let gradients = Gradients {
//!     b_s_per_mm2: vec![0.0, 1000.0],
//!     directions: vec![DVec3::ZERO, DVec3::X],
//! };
//! let params = tensor_fit::Params::defaults();
//! let fitted = tensor_fit::fit(&scan, &gradients, &mask, &params, &backend, &control);
//! let Err(Error::Input(sentence)) = fitted else {
//!     unreachable!("one volume has two gradients")
//! };
//! assert!(sentence.starts_with("The scan has 1 volume but there are 2 b-values"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod alignment;
pub mod bundles;
pub mod commit;
pub mod compare;
pub mod connectivity;
pub mod csd;
pub mod curves;
pub mod density;
pub mod drawn_lines;
pub mod eikonal;
pub mod geodesic;
pub mod gradient_check;
pub mod level_set;
pub mod lifted;
pub mod metric;
pub mod odf_check;
pub mod odf_tracking;
pub mod on_card;
pub mod pathway;
pub mod peaks;
pub mod region;
pub mod response;
pub mod score;
pub mod tensor_check;
pub mod tensor_fit;
pub mod tracking;
pub mod tractogram;
pub mod uncertainty;

use crate::compute::memory::Shortage;
use crate::compute::{Cancelled, cuda};
use crate::data::Sentence;
use crate::data::odf_field::InvalidOdf;
use crate::data::shared_slice::LateError;
use crate::parameters::ParamError;

/// Failure of a solver.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// The user cancelled the job.
    Cancelled,
    /// One sentence: what was found, what was expected, what to do.
    Input(Sentence),
    /// The host lacks memory.
    Memory(Shortage),
    /// A graphics card failed or lacks memory: the CPU may succeed.
    Card(cuda::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cancelled => Cancelled.fmt(f),
            Self::Input(sentence) => sentence.fmt(f),
            Self::Memory(shortage) => shortage.fmt(f),
            Self::Card(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<cuda::Error> for Error {
    fn from(error: cuda::Error) -> Self {
        Self::Card(error)
    }
}

impl From<String> for Error {
    fn from(sentence: String) -> Self {
        Self::Input(sentence.into())
    }
}

impl From<InvalidOdf> for Error {
    fn from(error: InvalidOdf) -> Self {
        Self::Input(Sentence::new(&error))
    }
}

impl From<ParamError> for Error {
    fn from(error: ParamError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}

/// The error of a card or of the host's memory behind that of a copy.
impl From<LateError> for Error {
    fn from(error: LateError) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(other) => Self::Input(other.to_string().into()),
        }
    }
}

impl From<Shortage> for Error {
    fn from(shortage: Shortage) -> Self {
        Self::Memory(shortage)
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
