//! Curves that follow tensors from seed points: what streamlines and geodesic rays share.

mod output;
mod parameters;

pub use output::{Fate, Output, Starts, StopReason};
pub use parameters::{
    DEFAULT_REPETITIONS, Deflection, Integrator, Interpolation, Match, Params, Seeding,
};
