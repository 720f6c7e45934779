//! Where work runs: the backend, chosen once at start, and the control of one running job.
//!
//! Knows nothing of brains. A solver receives a [`Backend`] and a [`Control`] and matches on the
//! backend in exactly one place, its `mod.rs`.

mod backend;
mod control;
mod id;
pub mod lanes;
mod memory;
pub mod simd;

pub use backend::{Backend, BackendChoice, BackendError};
pub use control::{Cancelled, Control, Progress};
pub use id::DataId;
pub use lanes::Lanes;
pub use memory::zeroed;
