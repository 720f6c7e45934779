//! Tensors of a scan: how they are fitted, and whether the gradients and the order of the tensors are right.

pub mod jobs;
