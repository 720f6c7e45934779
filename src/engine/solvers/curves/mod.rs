//! Curves that follow tensors from seed points: the common part of streamlines ([`super::tracking`]) and geodesic
//! rays ([`super::geodesic`]).
//!
//! A seed starts one half or two, each followed until a [`StopReason`] ends it; the halves are joined, and the
//! regions determine the [`SeedOutcome`] of the whole.
//!
//! *Rules.*
//! - The volume is the union of the voxels' boxes; between the outer voxel centres and the faces, tensors are
//!   extended as constants. The mask is where the interpolated fraction of fitted voxels is at least one half.
//! - Regions are tested on segments, not only at points: exactly for spheres, boxes and the voxel boxes of masks. In
//!   a target or terminate region, the last point is where the curve entered it. If all targets must be reached, none
//!   of them cuts: they are met on the way, like includes. Beyond a cut, include and exclude regions do not count.
//!   The seed is the first point of both halves: a curve whose seed lies in a target has length 0 and is too short.
//! - The outcome is the first that applies in the order of [`SeedOutcome`], except that no start precedes all others.
//!
//! # Example
//!
//! Four steps of the Runge-Kutta method along a circle, in double precision:
//!
//! ```
//! use arcuate_engine::solvers::curves::{DirectionField, Integrator, step};
//! use glam::DVec2;
//!
//! struct Circles;
//! impl DirectionField for Circles {
//!     type Vector = DVec2;
//!     type Scalar = f64;
//!     fn direction(&self, at: DVec2, _: DVec2) -> DVec2 {
//!         DVec2::new(-at.y, at.x).normalize()
//!     }
//! }
//!
//! let mut at = DVec2::X;
//! for _ in 0..4 {
//!     let first = Circles.direction(at, DVec2::Y);
//!     at = step(&Circles, Integrator::Rk4, at, first, 0.1);
//! }
//! assert!(at.distance(DVec2::new(0.4f64.cos(), 0.4f64.sin())) < 1e-6);
//! ```

pub(super) mod cells;
mod check;
pub(super) mod collect;
mod composite;
pub(super) mod cuda;
mod error;
pub(super) mod half_queue;
mod integrate;
pub(super) mod memory_budget;
mod output;
mod parameters;
pub(super) mod regions;
pub(super) mod seeding;
pub(super) mod spline;

pub(super) use check::{check, check_regions};
pub use composite::{DeflectionParts, SeedingKind, SeedingParts, check_seeding};
pub(super) use composite::{read_seeding, seeding_text};
pub(super) use error::InputError;
pub use integrate::{DirectionField, step};
pub use output::{NoStart, Output, SeedOutcome, Starts, StopReason};
pub(super) use parameters::check_lengths;
pub use parameters::{
    DEFAULT_REPETITIONS, Deflection, Integrator, Interpolation, Match, Params, Seeding,
};
pub use seeding::MAX_SEEDS;

/// The highest order of distributions that the kernels follow.
pub(super) const MAX_ODF_ORDER_ON_CARD: usize = 12;

impl Params {
    /// Why the CPU follows distributions of an order even if there is a graphics card, as a clause; `None` if a card can.
    pub fn cpu_reason(odf_order: usize) -> Option<&'static str> {
        (odf_order > MAX_ODF_ORDER_ON_CARD).then_some("graphics cards handle orders up to 12")
    }
}
