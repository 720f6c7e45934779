//! Curves that follow tensors from seed points: what streamlines and geodesic rays share.

pub(super) mod cells;
pub(super) mod collect;
pub(super) mod cuda;
pub(super) mod half_queue;
mod integrate;
pub(super) mod memory_budget;
mod output;
mod parameters;
pub(super) mod regions;
pub(super) mod seeding;
pub(super) mod spline;

pub use integrate::{DirectionField, step};
pub use output::{Fate, Output, Starts, StopReason};
pub use parameters::{
    DEFAULT_REPETITIONS, Deflection, Integrator, Interpolation, Match, Params, Seeding,
};
pub use seeding::MAX_SEEDS;
