//! Execution of work: the backend, chosen once at start, and the control of one running job.
//!
//! Independent of the application. A solver receives a [`Backend`] and a [`Control`] and matches on the backend in
//! exactly one place, its `mod.rs`.
//!
//! # Example
//!
//! A backend on two threads, and a job that somebody cancels:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Cancelled, Control};
//!
//! let backend = Backend::choose(&BackendChoice::cpu(Some(2)))?;
//! assert_eq!(backend.threads(), 2);
//!
//! let control = Control::new();
//! control.begin("Counting", 100);
//! control.advance(50);
//! assert_eq!(control.progress().fraction(), Some(0.5));
//! control.cancel();
//! let counted: Result<u64, Cancelled> = backend.install(|| {
//!     control.check()?;
//!     Ok(100)
//! });
//! assert_eq!(counted, Err(Cancelled));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
pub mod card_claims;
mod choice;
mod control;
mod copy;
pub mod cuda;
mod huge_pages;
mod id;
mod in_order;
mod kernel_struct;
pub mod kernels;
pub mod lanes;
pub mod lru;
pub mod memory;
mod opening;
pub mod overlap;
pub mod parts;
pub mod simd;
pub mod thread;
pub mod vector;

pub use crate::kernel_struct;
pub use backend::{Accelerator, Backend, BackendError, Hardware};
pub use choice::{BackendChoice, BackendKind, DeviceChoice, UnknownBackend};
pub use control::{Cancelled, Control, Progress};
pub use copy::DeviceCopy;
pub use huge_pages::HugePages;
pub use id::DataId;
pub use in_order::InOrder;
pub use lanes::Lanes;
pub use memory::zeroed;
