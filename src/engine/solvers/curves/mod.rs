//! Curves that follow tensors from seed points: what streamlines ([`super::tracking`]) and geodesic rays
//! ([`super::geodesic`]) share.
//!
//! A seed starts one half or two, each followed until a [`StopReason`] ends it; the halves are joined, and
//! the regions decide the [`SeedOutcome`] of the whole.
//!
//! *What counts.*
//! - The volume is the union of the voxels' boxes; between the outer voxel centres and the faces
//!   tensors are continued as constants. The mask is where the interpolated share of fitted voxels
//!   is at least one half.
//! - Regions are met on the segments, not only at the points: exactly for spheres, boxes and the
//!   voxel boxes of masks. In a target or terminate region the last point is where it was entered.
//!   Where all targets are to be reached none of them cuts: they are met on the way, like includes.
//!   What lies beyond a cut does not count for include and exclude. The seed is the first point of
//!   both halves: one that lies in a target has length 0 and is too short.
//! - The fate named is the first that fits in the order of [`SeedOutcome`], except that no start comes before all.

pub(super) mod cells;
mod check;
pub(super) mod collect;
mod composite;
pub(super) mod cuda;
pub(super) mod half_queue;
mod integrate;
pub(super) mod memory_budget;
mod output;
mod parameters;
pub(super) mod regions;
pub(super) mod seeding;
pub(super) mod spline;

pub(super) use check::check;
pub use composite::{DeflectionParts, SeedingKind, SeedingParts};
pub use integrate::{DirectionField, step};
pub use output::{Output, SeedOutcome, Starts, StopReason};
pub use parameters::{
    DEFAULT_REPETITIONS, Deflection, Integrator, Interpolation, Match, Params, Seeding,
};
pub use seeding::MAX_SEEDS;
