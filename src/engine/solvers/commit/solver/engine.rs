//! The operations that the solver requires of the owner of its vectors.

use crate::solvers::Error;

/// Measures of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepMeasures {
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

/// The end point of a fit.
pub struct EndPoint {
    /// Unknowns at the end, in the operator's layout.
    pub x: Vec<f32>,
    /// A x.
    pub predicted: Vec<f32>,
    /// The residual that [`super::Stop::kkt`] limits.
    pub kkt: f64,
}

/// The points of a fit: the current one, the one before, and z, extrapolated from them.
pub trait Engine {
    /// The objective at the start, where all three points are equal.
    fn begin(&mut self) -> Result<f64, Error>;

    /// Steps from z = (1 + β) now − β before to the next point.
    fn step(&mut self, beta: f32) -> Result<StepMeasures, Error>;

    /// Multiplies h by `factor`.
    fn scale_metric(&mut self, factor: f32) -> Result<(), Error>;

    /// Undoes the last step; all three points are then where it began.
    fn undo_step(&mut self) -> Result<(), Error>;

    /// z = (1 + β) now − β before.
    fn extrapolate(&mut self, beta: f32) -> Result<(), Error>;

    /// Ends the fit and returns the current point.
    fn finish(self) -> Result<EndPoint, Error>;
}
