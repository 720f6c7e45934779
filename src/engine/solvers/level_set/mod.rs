//! Level sets: a surface that grows, shrinks and smooths itself, φ > 0 inside (Lefohn 2004, chapter 4;
//! Osher and Sethian 1988).
//!
//! φ_t = |∇φ| (F + (1 − a) κ̂) + A · ∇φ + w φ (1 − |∇φ|), κ̂ = h κ, κ = div(∇φ/|∇φ|),
//! F = a (D̂ + …) + painted, D̂ = clamp((ε − |I − T|)/ε, ±1): lengths in units of the shortest voxel edge
//! h, so that a setting means the same on every scan. Further terms of F: region statistics (Chan and Vese 2001, eq.
//! 9), any other image, and painted regions. With edges g, F and the curvature are multiplied by g, and A = ∇g
//! (Caselles, Kimmel and Sapiro 1997, eq. 16). The last term draws |∇φ| to 1.
//!
//! *Scheme.* F upwind (Godunov's form; Rouy and Tourin 1992), first order; curvature by central differences, second
//! order, κ within ±2/h; A by one-sided differences; the rescaling upwind by the sign of φ and separate from F, as a
//! smooth term of its own: as a part of F, as in the thesis, it roughens a resting surface. Redistancing keeps the
//! voxels next to the surface (Russo and Smereka 2000). A time step is 0.9 of what √(Σ 1/h²) |F| + Σ |A| and 2 (1 −
//! a) Σ 1/h² together allow, with the largest speed in the image. φ is mirrored at the image's border.
//! [`Mode::Paper`] is Lefohn's appendix A.
//!
//! *Cuts.* In voxels that spheres cut away, F is 0 and no step raises φ; redistancing keeps its sign: the surface
//! stays out of them, whatever the speeds are.
//!
//! *Band.* |φ| is limited to a few voxels; bricks of 8³ that hold only this constant have no page. A step costs about
//! 20 ns per voxel of the band on one core; on an H200 5.3 µs if about a hundred bricks hold the band, and 24 µs for
//! 6000 (`arcuate bench levelset --backend cuda`). The result does not depend on bricks or threads, and on the band's
//! width only in that values beyond two voxels affect the curvature.
//!
//! # Example
//!
//! A surface grows from a small sphere into a bright ball:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Shape, Volume};
//! use arcuate_engine::solvers::level_set::{
//!     Evolution, Inputs, Layout, Params, Sphere, Start, agreement,
//! };
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([40; 3], DVec3::ONE, DVec3::splat(-19.5)).ok_or("a valid grid")?;
//! let ball = Shape::Sphere {
//!     centre: DVec3::ZERO,
//!     radius_mm: 10.0,
//! };
//! let ball = ball.mask_on(&Arc::new(grid));
//! let values: Vec<f32> = ball.inside.iter().map(|m| 100.0 * f32::from(*m)).collect();
//! let image = Volume::scalar(ball.grid.clone(), values);
//!
//! let inputs = backend.install(|| Inputs::new(&image, 0))?;
//! let sphere = Sphere {
//!     add: true,
//!     centre: DVec3::ZERO,
//!     radius_mm: 3.0,
//! };
//! let start = Start {
//!     mask: None,
//!     spheres: vec![sphere],
//! };
//! let params = Params::defaults_for(100.0, 50.0);
//! let mut run = Evolution::new(&inputs, &start, &params, Layout::BEST, &backend, &control)?;
//! run.run(500, &backend, &control)?;
//! assert!(agreement(&run.field()?.mask(), &ball)?.dice > 0.95);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod background;
mod bricks;
mod cpu;
mod crop;
mod cuda;
pub mod distance;
mod engine;
mod error;
mod evolution;
mod history;
mod leak_detector;
mod measure;
mod nearest;
mod painted;
mod parameters;
mod passage;
mod probe;
mod recent_growth;
mod row;
mod run_history;
mod speed;
mod start;
mod stencil;
mod surface;
mod target_parameters;
mod visit;

pub use background::{Background, Contact};
pub use bricks::{BrickCounts, Field};
pub use error::InputError;
pub use evolution::{Evolution, Size};
pub use leak_detector::{Cause, Joined, Leak, LeakDetector, SphereEdit};
pub use measure::{Agreement, Border, BorderDistances, Measures, agreement, measures, measures_of};
pub use nearest::Nearest;
pub use parameters::{LayerSpeed, Layout, Mode, Params};
pub use probe::{Probe, RangeDoubt};
pub use recent_growth::{RECENT_STEPS, recent_growth};
pub use run_history::{Ended, Event, RunHistory, ScriptEvent};
pub use speed::{Inputs, speed_picture};
pub use start::{Sphere, Start};
pub use surface::surface;
pub use target_parameters::TargetParts;

/// Changes in the voxels inside during a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Increase in the number of voxels inside.
    pub inside: i64,
    /// Increase in the sum of the grey values inside.
    pub sum: i64,
}
