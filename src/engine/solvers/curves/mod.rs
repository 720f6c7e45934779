//! Curves that follow tensors from seed points: what streamlines and geodesic rays share.

mod parameters;

pub use parameters::{DEFAULT_REPETITIONS, Deflection, Match, Params};
