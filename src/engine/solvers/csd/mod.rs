//! Spherical deconvolution: fibre orientation distributions, and amounts of tissues without fibres, from a
//! diffusion-weighted scan.
//!
//! The signal of a voxel is the distribution f of its fibres, convolved on the sphere with the response of one fibre
//! population, plus amounts of other tissues times theirs (Tournier 2004, NeuroImage 23:1176; Jeurissen 2014,
//! NeuroImage 103:411). With f a series of spherical harmonics this is linear:
//!
//! ```text
//! min_x ½ |C x − y|² + ½ ν |x|²   subject to   A x ≥ 0,     x = (f, amounts)
//! ```
//!
//! where A evaluates f in 320 directions of a half sphere (512 above order 8). The matrix CᵀC has a condition number of
//! some 10⁶, so that first-order methods need hundreds of passes; a primal-dual interior point method needs 10
//! iterations of about 55 thousand multiply-adds at order 8, without branches, one voxel in each vector lane
//! (`interior_point`). Products of harmonics are harmonics, so that AᵀDA follows from moments of D; the directions
//! are symmetric, which makes every sum over them four times shorter (`tables`).
//!
//! Coefficients are in MRtrix's basis and in world axes.
//!
//! # Example
//!
//! Distributions of fibres along x, whose largest peak is x:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::odf_field::Tissue;
//! use arcuate_engine::solvers::{csd, peaks, response};
//! # use arcuate_engine::data::{Gradients, Grid, Mask, Volume, VolumeKind};
//! # use arcuate_engine::phantom::directions::half_sphere;
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! // The signal of fibres along x in 8 voxels, at b = 0 and in 60 directions.
//! let (along, across, b) = (1.7e-3, 2e-4, 3000.0);
//! let mut gradients = Gradients {
//!     b_s_per_mm2: vec![0.0],
//!     directions: vec![DVec3::ZERO],
//! };
//! for direction in half_sphere(60) {
//!     gradients.b_s_per_mm2.push(b);
//!     gradients.directions.push(direction);
//! }
//! let signal = |(b, g): (&f64, &DVec3)| (-b * (across + (along - across) * g.x * g.x)).exp();
//! let signals = gradients.b_s_per_mm2.iter().zip(&gradients.directions).map(signal);
//! let values: Vec<f32> = signals.flat_map(|s| [100.0 * s as f32; 8]).collect();
//! let grid = Grid::axis_aligned([2, 2, 2], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let grid = Arc::new(grid);
//! let scan = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
//! let mask = Mask::new(grid, vec![1; 8]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let (tissue, params) = (Tissue::WhiteMatter, response::Params::defaults());
//! let estimate =
//!     response::from_mask(&scan, &gradients, &mask, tissue, &params, &backend, &control)?;
//! let (responses, params) = (estimate.responses(), csd::Params::defaults());
//! let fitted = csd::fit(&scan, &gradients, &mask, &responses, &params, &backend, &control)?;
//! let peak_field = peaks::find(&fitted.field, &peaks::Params::defaults(), &backend, &control)?;
//! let largest = peak_field.peak(0, 0).ok_or("a peak")?;
//! assert!(largest.normalize().x.abs() > 0.99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bootstrap;
mod cpu;
mod cuda;
mod direction_tables;
mod directions;
mod error;
mod interior_point;
mod lanes;
mod linear_fit;
mod order;
mod paper;
mod parameters;
mod problem;
mod slabs;
mod solve;
mod tables;

pub use bootstrap::Residuals;
pub use cpu::Counts;
pub use directions::Directions;
pub use error::InputError;
pub use order::{OrderChoice, default_order, noise};
pub use parameters::{MAX_ORDER, Method, Params, Precision};
pub use problem::{Problem, matching_shells};
pub use solve::Solution;

pub use super::Error;
use crate::compute::{Accelerator, Backend, Control, memory};
use crate::data::spherical_harmonics::{at_pole, count};
use crate::data::{Gradients, Mask, OdfField, Response, ShellVolumes, Shells, Volume, VolumeKind};
use cpu::{Fitted, Samples, Scan, Solver};

/// Result of a deconvolution.
#[derive(Clone, Debug)]
pub struct Output {
    /// Fibre orientation distributions of white matter.
    pub field: OdfField,
    /// The amount of each tissue without fibres, in the order of the responses: c_00, as MRtrix writes it; 0 outside
    /// the mask.
    pub tissues: Vec<Volume>,
    /// The order of the field, and why it was chosen.
    pub order: OrderChoice,
    /// The shells of the scan.
    pub shells: Shells,
    /// Irregular voxels and samples.
    pub counts: Counts,
    /// Why the CPU solved this although there is a graphics card, as part of a sentence.
    pub on_cpu: Option<&'static str>,
    /// Seconds of kernels, of the slowest card; `None` on the CPU.
    pub kernel_s: Option<f64>,
}

impl Output {
    /// The share of each tissue in a voxel, one volume for each; `None` for a single tissue.
    pub fn fractions(&self) -> Option<Volume> {
        if self.tissues.is_empty() {
            return None;
        }
        let fractions = tissue_fractions(&self.field, &self.tissues);
        let values = fractions.iter().flat_map(|v| v.values.iter().copied());
        let values: Vec<f32> = values.collect();
        let grid = self.field.grid.clone();
        let frames = fractions.len();
        Some(Volume::new(grid, frames, VolumeKind::Scalar, values))
    }
}

/// Estimates a distribution for each voxel of the mask. The first response is that of white matter.
pub fn fit(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    responses: &[Response],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let setup = Setup::new(dwi, gradients, mask, responses, params)?;
    let Setup {
        shells,
        order,
        problem,
        solver,
    } = setup;
    let (field, tissues, fitted) = run(dwi, mask, &problem, &solver, backend, control)?;
    Ok(Output {
        field,
        tissues,
        order,
        shells,
        counts: fitted.counts,
        kernel_s: fitted.kernel_s,
        on_cpu: obstacle(&problem, &solver, backend),
    })
}

/// The residuals of [`fit`] with the same arguments, for repetitions of a bootstrap.
pub fn residuals(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    responses: &[Response],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Residuals, Error> {
    let setup = Setup::new(dwi, gradients, mask, responses, params)?;
    Residuals::new(dwi, mask, setup.problem, setup.solver, backend, control)
}

/// The residuals of [`fit_problem`] with the same arguments.
pub fn problem_residuals(
    dwi: &Volume,
    mask: &Mask,
    problem: &Problem,
    precision: Precision,
    backend: &Backend,
    control: &Control,
) -> Result<Residuals, Error> {
    let solver = Solver::constrained(problem, precision);
    Residuals::new(dwi, mask, problem.clone(), solver, backend, control)
}

/// The problem of a scan with its response functions, and its solver.
struct Setup {
    shells: Shells,
    order: OrderChoice,
    problem: Problem,
    solver: Solver,
}

impl Setup {
    fn new(
        dwi: &Volume,
        gradients: &Gradients,
        mask: &Mask,
        responses: &[Response],
        params: &Params,
    ) -> Result<Self, Error> {
        params.check()?;
        check_scan(dwi, gradients, mask)?;
        let shells = Shells::new(gradients);
        let mut responses = responses.to_vec();
        if params.method == Method::Paper {
            responses = vec![paper_response(&responses, &shells)?];
        }
        let order = chosen_order(dwi, gradients, mask, &shells, &responses, params)?;
        let directions = Directions::for_order(order.order);
        let mut problem = Problem::new(gradients, &shells, &responses, order.order, directions)?;
        let solver = match params.method {
            Method::Constrained => Solver::constrained(&problem, params.precision),
            Method::Paper => {
                problem.min_norm = paper::MIN_NORM;
                Solver::Paper(paper::Paper::new(&problem, responses[0].rows[0][0]))
            }
        };
        Ok(Self {
            shells,
            order,
            problem,
            solver,
        })
    }
}

/// Solves a problem of any order and with any constraint directions in each voxel of the mask.
pub fn fit_problem(
    dwi: &Volume,
    mask: &Mask,
    problem: &Problem,
    precision: Precision,
    backend: &Backend,
    control: &Control,
) -> Result<(OdfField, Vec<Volume>, Counts), Error> {
    let solver = Solver::constrained(problem, precision);
    let (field, tissues, fitted) = run(dwi, mask, problem, &solver, backend, control)?;
    Ok((field, tissues, fitted.counts))
}

/// Solves a problem with one tissue, whose response has the mean coefficient `r_0` = R_0, as the paper does.
pub fn fit_paper(
    dwi: &Volume,
    mask: &Mask,
    problem: &Problem,
    r_0: f64,
    backend: &Backend,
    control: &Control,
) -> Result<(OdfField, Counts), Error> {
    let problem = Problem {
        min_norm: paper::MIN_NORM,
        ..problem.clone()
    };
    let solver = Solver::Paper(paper::Paper::new(&problem, r_0));
    let (field, _, fitted) = run(dwi, mask, &problem, &solver, backend, control)?;
    Ok((field, fitted.counts))
}

/// Solves one voxel, whose samples are those of the problem's volumes, with its multipliers.
pub fn solve_voxel(problem: &Problem, samples: &[f32], precision: Precision) -> Solution {
    let solver = Solver::constrained(problem, precision);
    match solver.solve_one(problem, samples) {
        Some(solution) => solution,
        None => unreachable!("a constrained solver has multipliers"),
    }
}

fn run(
    dwi: &Volume,
    mask: &Mask,
    problem: &Problem,
    solver: &Solver,
    backend: &Backend,
    control: &Control,
) -> Result<(OdfField, Vec<Volume>, Fitted), Error> {
    let inside = mask.inside.iter().enumerate().filter(|(_, m)| **m != 0);
    let voxels: Vec<usize> = inside.map(|(voxel, _)| voxel).collect();
    let (n, grid) = (count(problem.order), dwi.grid.voxel_count());
    // The list of voxels with their coefficients and amounts, then the same as volumes.
    let rows = (8 + 4 * (n + problem.tissues) as u64) * voxels.len() as u64;
    let volumes = 4 * (n + problem.tissues) as u64 * grid as u64;
    memory::claim("The deconvolution", rows + volumes)?;
    let scan = Scan { dwi, problem };
    let fitted = solve_voxels(&scan, &voxels, problem, solver, backend, control)?;
    let planes =
        |rows: &[f32], width: usize| backend.install(|| cpu::planes(rows, width, &voxels, grid));
    let coefficients = planes(&fitted.coefficients, n);
    let tissue = |k: usize| {
        let amounts: Vec<f32> = fitted
            .amounts
            .iter()
            .copied()
            .skip(k)
            .step_by(problem.tissues)
            .collect();
        Volume::scalar(dwi.grid.clone(), planes(&amounts, 1))
    };
    let tissues = (0..problem.tissues).map(tissue).collect();
    let field = OdfField::new(dwi.grid.clone(), problem.order, coefficients);
    Ok((field, tissues, fitted))
}

/// Solves for the samples of some voxels, on graphics cards if they can.
fn solve_voxels(
    source: &dyn Samples,
    voxels: &[usize],
    problem: &Problem,
    solver: &Solver,
    backend: &Backend,
    control: &Control,
) -> Result<Fitted, Error> {
    match (backend.accelerator(), obstacle(problem, solver, backend)) {
        (Some(Accelerator::Cuda(_)), None) => {
            cuda::fit(source, voxels, problem, solver, backend, control)
        }
        _ => Ok(backend.install(|| cpu::fit(source, voxels, problem, solver, control))?),
    }
}

/// Why the CPU solves this although there is a graphics card; `None` without a card, too.
fn obstacle(problem: &Problem, solver: &Solver, backend: &Backend) -> Option<&'static str> {
    match backend.accelerator() {
        Some(Accelerator::Cuda(devices)) => cuda::obstacle(problem, solver, devices),
        None => None,
    }
}

fn chosen_order(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    shells: &Shells,
    responses: &[Response],
    params: &Params,
) -> Result<OrderChoice, Error> {
    let Some(order) = params.order else {
        let noise = shells
            .shells
            .last()
            .and_then(|shell| noise(dwi, gradients, mask, shell));
        return Ok(default_order(shells, responses, noise));
    };
    let used = matching_shells(shells, responses)?;
    check_order(order, used, responses)?;
    let reason = "as given".to_owned();
    Ok(OrderChoice { order, reason })
}

/// Checks an order that the user chose against the directions of the shells used and against the response function of
/// white matter.
fn check_order(
    order: usize,
    used: &[ShellVolumes],
    responses: &[Response],
) -> Result<(), InputError> {
    let weighted = used.iter().filter(|shell| shell.b_s_per_mm2 > 0.0);
    let directions: usize = weighted.map(|shell| shell.volumes.len()).sum();
    if order > error::highest_order(directions) {
        return Err(InputError::FewDirections { order, directions });
    }
    match responses.first().map_or(0, Response::order) {
        response if order > response => Err(InputError::ResponseOrder { order, response }),
        _ => Ok(()),
    }
}

/// The row of the outer shell of white matter's response.
fn paper_response(responses: &[Response], shells: &Shells) -> Result<Response, InputError> {
    let outer = shells.shells.last().filter(|shell| shell.b_s_per_mm2 > 0.0);
    let (Some(first), Some(outer)) = (responses.first(), outer) else {
        return Err(InputError::NoShell);
    };
    let row = first.rows.last().cloned().unwrap_or_default();
    Ok(Response::new(Some(vec![outer.b_s_per_mm2]), vec![row]))
}

/// The share of each tissue in a voxel, white matter first: its c_00 by the sum of all, 0 where that is 0.
pub fn tissue_fractions(field: &OdfField, tissues: &[Volume]) -> Vec<Volume> {
    let n = field.grid.voxel_count();
    let mean = |tissue: usize, voxel: usize| match tissue {
        0 => field.coefficients[voxel],
        other => tissues[other - 1].values[voxel],
    };
    let amount = |tissue: usize, voxel: usize| {
        let value = mean(tissue, voxel);
        if value > 0.0 { value } else { 0.0 }
    };
    let share = |tissue: usize, voxel: usize| {
        let sum: f32 = (0..=tissues.len()).map(|t| amount(t, voxel)).sum();
        if sum > 0.0 {
            amount(tissue, voxel) / sum
        } else {
            0.0
        }
    };
    let map = |tissue: usize| {
        let values: Vec<f32> = (0..n).map(|voxel| share(tissue, voxel)).collect();
        Volume::scalar(field.grid.clone(), values)
    };
    (0..=tissues.len()).map(map).collect()
}

/// The mean signal at c_00 = 1 / √4π is that of the response: amounts times this are volume fractions.
pub fn fraction(c_00: f64) -> f64 {
    c_00 / at_pole(0)
}

fn check_scan(dwi: &Volume, gradients: &Gradients, mask: &Mask) -> Result<(), InputError> {
    if dwi.frames != gradients.len() || gradients.directions.len() != gradients.len() {
        return Err(InputError::Counts {
            volumes: dwi.frames,
            rows: gradients.len(),
        });
    }
    if !gradients.b_s_per_mm2.iter().all(|b| b.is_finite()) {
        return Err(InputError::NotNumber);
    }
    if !dwi.grid.matches(&mask.grid) {
        return Err(InputError::MaskGrid);
    }
    match mask.count() {
        0 => Err(InputError::EmptyMask),
        _ => Ok(()),
    }
}
