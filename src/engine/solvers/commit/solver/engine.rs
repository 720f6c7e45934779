//! What the solver asks of whoever holds its vectors.

use crate::solvers::Error;

/// What a step of the first phase was like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stepped {
    /// At the new point.
    pub objective: f64,
    /// |A (x − z)|².
    pub moved: f64,
    /// Σ h (x − z)².
    pub step: f64,
    /// Σ h x².
    pub size: f64,
    /// Σ h (z − x) (x − before): above 0 where the step goes against the momentum.
    pub turned: f64,
}

/// Where a fit ended.
pub struct Last {
    pub x: Vec<f32>,
    /// A x.
    pub predicted: Vec<f32>,
    /// What [`super::Stop::kkt`] is about.
    pub kkt: f64,
}

/// The points of a fit: now, the one before, and z, which lies ahead of them.
pub trait Engine {
    /// The objective at the start, where all three are.
    fn begin(&mut self) -> Result<f64, Error>;

    /// From z = (1 + β) now − β before to the next point.
    fn step(&mut self, beta: f32) -> Result<Stepped, Error>;

    /// Weights above 0, and those that came to 0 or left it in the last step.
    fn sides(&mut self) -> (u64, u64);

    /// h becomes this many times as much.
    fn grow(&mut self, factor: f32) -> Result<(), Error>;

    /// Undoes the last step; all three are where it began.
    fn take_back(&mut self) -> Result<(), Error>;

    /// z = (1 + β) now − β before.
    fn follow(&mut self, beta: f32) -> Result<(), Error>;

    /// The second phase walks away from now.
    fn begin_round(&mut self) -> Result<(), Error>;

    /// The gradient there of the weights that are above 0 now; Σ g² / h.
    fn slope(&mut self) -> Result<f64, Error>;

    /// The direction d becomes `keep` d − g / h; |A d|² and −g·d.
    fn turn(&mut self, keep: f32) -> Result<[f64; 2], Error>;

    /// This many times d further.
    fn walk(&mut self, step: f32) -> Result<(), Error>;

    /// The way from now to where the walk ended is what is searched.
    fn begin_search(&mut self) -> Result<(), Error>;

    /// The objective at a share of the way, bent at 0.
    fn look(&mut self, share: f32) -> Result<f64, Error>;

    /// Now is where was looked last.
    fn accept(&mut self);

    fn finish(self) -> Result<Last, Error>;
}
