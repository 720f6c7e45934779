//! Deterministic streamlines along the principal direction of a tensor field.
//!
//! A streamline solves dx/ds = e(x), where e is the unit eigenvector of the largest eigenvalue of D(x) and s is
//! length in mm (Mori et al. 1999; Conturo et al. 1999; Basser et al. 2000, eq. 3). The sign of e is undetermined: it
//! is chosen to make less than a right angle with the previous step.
//!
//! *Scheme.* The six components of D are interpolated (never e, whose sign is meaningless), linearly or by cubic
//! B-splines, and e is computed wherever it is needed. Steps are Euler's, the midpoint rule or the classical
//! Runge-Kutta method: order 1, 2 and 4 in a smooth field. Linear interpolation has kinks at cell faces and an error
//! of second order in the voxel size, which then limits the result; splines have an error of fourth order.
//!
//! *Deflection* (after Lazar et al. 2003, Hum Brain Mapp 18:306) replaces e by the direction v = f e + (1 − f)((1 −
//! g) u + g D u), where u is the direction of the previous step and v, u, e and D u are scaled to unit length, which
//! is our choice: only then are f and g shares. It is defined per step: each step is straight (Euler), and longer
//! steps are deflected less often. f = 1 is Euler's rule along e.
//!
//! *Cost.* One, two or four interpolations and directions per step; eight streamlines side by side in vector
//! registers (`follow`). All arithmetic is plain IEEE `f32` without fused operations, so that every instruction set
//! gives the same streamlines. Graphics cards use fused operations and approximate roots: their streamlines differ by
//! rounding, and where rounding decides at a border.
//!
//! *Rules* in addition to those of [`super::curves`]:
//! - FA is that of the interpolated tensor. A streamline ends at the last point that passes; a turn above the limit
//!   ends it at the point where it would turn.
//! - The two halves become one streamline: backward half from its end, seed, forward half; reversed if that makes it
//!   end in its target. If both halves reach a target, both are cut, and the streamline ends with the half in the
//!   target named first; it counts once for each of the two targets.
//! - The length limit applies to both halves together, in whole steps: the longer half is shortened first.
//!
//! # Example
//!
//! Streamlines in tensors along x are lines along x:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::solvers::curves::{Params, Seeding};
//! use arcuate_engine::solvers::tracking::track;
//! # use arcuate_engine::data::{Grid, Tensor, TensorField};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([20, 8, 8], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let along_x = Tensor::new([1.7e-3, 0.0, 0.0, 3e-4, 0.0, 3e-4]);
//! let field = TensorField::new(grid.clone(), vec![along_x; grid.voxel_count()]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let params = Params {
//!     seeding: Seeding::Random { count: 50 },
//!     min_length_mm: 5.0,
//!     ..Params::defaults()
//! };
//! let tracked = track(&field, &[], &params, &backend, &control)?;
//! assert_eq!(tracked.kept.len(), 50);
//! let line = tracked.kept.streamline(0);
//! assert!((line[0][1] - line[line.len() - 1][1]).abs() < 1e-3);
//! assert!((tracked.kept.length_mm(0) - 20.0).abs() < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cpu;
mod cuda;
mod direction;
mod field;
mod follow;
mod job;
mod join;
mod starts;

pub use starts::starts;

use super::Error;
use super::curves::cells::Record;
use super::curves::{InputError, Interpolation, Output, Params, check};
use super::tensor_fit::Residuals;
use crate::compute::{Accelerator, Backend, Control, memory, overlap};
use crate::data::{Region, Tensor, TensorField};

/// Tracks from the regions with role seed (from the whole mask if there is none) and filters by the others. Points that a
/// graphics card computed stay there until the host needs them ([`Output::on_host`]).
pub fn track(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    track_within(field, regions, params, None, backend, control)
}

/// Does the same as [`track`]; returns an error if the streamlines take more than this much memory, in bytes, and
/// does not start if a sample of them predicts that.
pub fn track_within(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check(&field.grid, regions, params)?;
    params.check_reach()?;
    if params.repetitions.is_some() {
        return Err(InputError::BootstrapWithoutScan.into());
    }
    control.check()?;
    claim_spline(field, params)?;
    match backend.accelerator() {
        Some(Accelerator::Cuda(_)) => cuda::track(field, regions, params, memory, backend, control),
        _ => backend.install(|| cpu::track(field, regions, params, memory, control)),
    }
}

/// Probabilistic streamlines: those of [`track_within`] in the tensors of each repetition of a wild bootstrap, one
/// repetition after the other, as many as the parameters request.
///
/// Each repetition is a whole field with its own signs in every voxel, so that every streamline sees one consistent
/// sample of the noise, as in a repeated scan. It depends only on the random seed and its number; outcomes and stops
/// are summed over all repetitions. Only one repetition's tensors are in memory at any time. `field` is the fit to
/// which the residuals belong.
pub fn track_bootstrap(
    field: &TensorField,
    residuals: &Residuals,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check(&field.grid, regions, params)?;
    params.check_reach()?;
    if !field.grid.matches(residuals.grid()) {
        return Err(InputError::ResidualGrid.into());
    }
    control.check()?;
    claim_spline(field, params)?;
    // The tensors of the repetitions that are in progress at the same time.
    let together = match backend.accelerator() {
        Some(Accelerator::Cuda(devices)) => overlap::STREAMS * devices.len(),
        None => 1,
    };
    let together = together.min(params.repetitions.unwrap_or(1)).max(1);
    memory::claim_for::<u8>(
        "The bootstrap",
        field.tensors.len(),
        together * (size_of::<Tensor>() + 5),
    )?;
    match backend.accelerator() {
        Some(Accelerator::Cuda(_)) => {
            cuda::bootstrap(field, residuals, regions, params, memory, backend, control)
        }
        _ => backend.install(|| cpu::bootstrap(field, residuals, regions, params, memory, control)),
    }
}

/// Memory for the spline's coefficients, twice while they are computed.
fn claim_spline(field: &TensorField, params: &Params) -> Result<(), Error> {
    let each = match params.interpolation {
        Interpolation::Trilinear => return Ok(()),
        Interpolation::CubicBSpline => 2,
    };
    let what = "The interpolation by cubic splines";
    Ok(memory::claim_for::<Record>(
        what,
        field.tensors.len(),
        each,
    )?)
}

/// Unit eigenvector of the largest eigenvalue of the tensor xx xy xz yy yz zz, in the sense of `along`; in any sense
/// if `along` is 0. The same as in tracking.
pub fn principal_direction(d: [f32; 6], along: [f32; 3]) -> [f32; 3] {
    direction::principal(d, &direction::deviator(d), along)
}
