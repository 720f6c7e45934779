//! Tensors of a scan: how they are fitted, and whether the gradients and the order of the tensors are right.

pub(in crate::state) mod axes;
pub mod jobs;
pub mod mask_text;
pub(in crate::state) mod orders;
pub mod types;
pub(in crate::state) mod update;
