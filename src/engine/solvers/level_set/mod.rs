//! Level sets: a surface that grows, shrinks and smooths itself, φ > 0 inside (Lefohn 2004, chapter 4;
//! Osher and Sethian 1988).
//!
//! φ_t = |∇φ| (F + (1 − a) κ̂) + A · ∇φ + w φ (1 − |∇φ|), κ̂ = h κ, κ = div(∇φ/|∇φ|),
//! F = a (D̂ + …) + painted, D̂ = clamp((ε − |I − T|)/ε, ±1): lengths in units of the shortest voxel edge
//! h, so that a setting means the same on every scan. Further terms of F: a region's statistics (Chan and
//! Vese 2001, eq. 9), any other image, what was painted. With edges g, F and the curvature are multiplied
//! by it and A = ∇g (Caselles, Kimmel and Sapiro 1997, eq. 16). The last term draws |∇φ| to 1.
//!
//! *Scheme.* F upwind (Godunov's form; Rouy and Tourin 1992), first order; curvature by central
//! differences, second order, κ within ±2/h; A by one-sided differences; the rescaling upwind by the sign
//! of φ and apart from F, as its own smooth term: in F, as in the thesis, it roughens a resting surface.
//! Redistancing keeps the voxels next to the surface (Russo and Smereka 2000). A step is 0.9 of what
//! √(Σ 1/h²) |F| + Σ |A| and 2 (1 − a) Σ 1/h² together allow, with the largest speed in the image. At the
//! image's border φ is mirrored. [`Mode::Paper`] is Lefohn's appendix A.
//!
//! *Cuts.* In voxels that spheres cut away F is 0 and no step raises φ; redistancing keeps its sign: the surface
//! stays out of them, whatever draws it there.
//!
//! *Band.* |φ| ends at some voxels; bricks of 8³ that hold such constants alone have no page. A step
//! costs some 20 ns a voxel of the band on one core; on an H200 5.3 µs where some hundred bricks hold the
//! band, and 24 µs where 6000 do (`arcuate bench levelset --backend cuda`). What comes out does not depend
//! on bricks or threads, and on the band's width only as far as values beyond two voxels bend the
//! curvature.

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
mod row;
mod run_history;
mod speed;
mod start;
mod stencil;
mod surface;
mod visit;

pub use background::{Background, Contact};
pub use bricks::{BrickCounts, Field};
pub use error::InputError;
pub use evolution::{Evolution, Size};
pub use leak_detector::{Cause, Joined, Leak, LeakDetector};
pub use measure::{Agreement, Measures, agreement, measures, measures_of};
pub use nearest::Nearest;
pub use parameters::{LayerSpeed, Layout, Mode, Params};
pub use probe::{Probe, RangeDoubt};
pub use run_history::{Ended, Event, RunHistory, ScriptEvent};
pub use speed::{Inputs, speed_picture};
pub use start::{Sphere, Start};
pub use surface::surface;

/// What a step did to the voxels inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// More voxels inside than before.
    pub inside: i64,
    /// What their grey values add to the sum of those inside.
    pub sum: i64,
}
