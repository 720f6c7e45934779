//! Execution of work: the backend, chosen once at start, and the control of one running job.
//!
//! Independent of the application. A solver receives a [`Backend`] and a [`Control`] and matches on the backend in
//! exactly one place, its `mod.rs`.

mod backend;
mod choice;
mod control;
mod copy;
pub mod cuda;
mod id;
pub mod kernels;
pub mod lanes;
pub mod lru;
pub mod memory;
pub mod simd;
pub mod thread;
pub mod vector;

pub use backend::{Accelerator, Backend, BackendError, Hardware};
pub use choice::{BackendChoice, BackendKind, DeviceChoice, UnknownBackend};
pub use control::{Cancelled, Control, Progress};
pub use copy::DeviceCopy;
pub use id::DataId;
pub use lanes::Lanes;
pub use memory::zeroed;
