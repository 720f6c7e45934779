//! Wild bootstrap of the residuals of a deconvolution (Whitcher et al. 2008, Hum Brain Mapp 29:346; of deconvolution:
//! Jeurissen et al. 2011, Hum Brain Mapp 32:461).
//!
//! The fit x leaves the residuals e = y − C x. A repetition solves the same constrained problem for the samples
//! C x + ε e / √(1 − h), where ε is −1 or 1 at random for each sample and voxel, and h is the leverage of the sample:
//! the derivative of its fitted value with respect to the sample itself. A residual is smaller than the error by
//! √(1 − h), and the signs preserve its magnitude, so that samples may have errors of different size.
//!
//! The fit is not linear, but near it the active constraints do not change, and
//!
//! ```text
//! ∂x / ∂y = M⁻¹Cᵀ,   h_i = c_iᵀ M⁻¹ c_i,   M = CᵀC + ν I + AᵀDA
//! ```
//!
//! where D is large for values of the distribution at the limit, and small for others. The interior point method ends
//! with multipliers λ = μ / s, so that D = λ / s = μ / s² follows from the values s = A x alone. The sum of the
//! leverages is the number of coefficients that the constraints leave free, some 4 to 15 at order 8, not 45. Residuals
//! hold the misfit, too, of sharp lobes that the order cannot express without negative values; it counts as noise.
//!
//! Only x and e / √(1 − h) are stored: about as much memory as the voxels of the mask take in the scan. Signs are
//! functions of seed, repetition, voxel and volume, and a repetition is solved like the scan, so that the bytes are
//! equal for any number of threads.

use super::cpu::{Counts, DOUBLE, PIECE, Samples, Scan, Solver, planes};
use super::problem::Problem;
use super::solve_voxels;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::random::Stream;
use crate::data::spherical_harmonics::{count, evaluate};
use crate::data::{Grid, Mask, OdfField, Volume};
use crate::solvers::Error;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A sample that alone determines an unknown has no residual: there 1 − h is rounding error.
const MIN_FREE: f64 = 1e-4;
/// Smallest value of a distribution that single precision resolves, in the unit of the gap.
const MIN_VALUE: f64 = 1e-6;
/// Elements of D that change no leverage, in units of the first element of CᵀC.
const NEGLIGIBLE: f64 = 1e-8;
/// Separates these random numbers from others with the same seed.
const SALT: u64 = 0x4353_4442_4F4F_5453;

/// A fit and its residuals.
pub struct Residuals {
    grid: Arc<Grid>,
    problem: Problem,
    solver: Solver,
    voxels: Vec<usize>,
    /// C in single precision, row by row.
    forward: Vec<f32>,
    /// x, voxel by voxel.
    unknowns: Vec<f32>,
    /// e / √(1 − h), voxel by voxel.
    pulls: Vec<f32>,
    /// Sum of the leverages, voxel by voxel.
    freedom: Vec<f32>,
}

impl std::fmt::Debug for Residuals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Residuals of {} voxels", self.voxels.len())
    }
}

impl Residuals {
    pub(super) fn new(
        dwi: &Volume,
        mask: &Mask,
        problem: Problem,
        solver: Solver,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let inside = mask.inside.iter().enumerate().filter(|(_, m)| **m != 0);
        let voxels: Vec<usize> = inside.map(|(voxel, _)| voxel).collect();
        let (n, volumes) = (problem.unknowns(), problem.volumes.len());
        // The fit, its unknowns in one list, and the residuals.
        let bytes = 8 + 4 * (2 * n + volumes + 1) as u64;
        memory::claim("The bootstrap", bytes * voxels.len() as u64)?;
        let scan = Scan {
            dwi,
            problem: &problem,
        };
        let fitted = solve_voxels(&scan, &voxels, &problem, &solver, backend, control)?;
        let (fibre, tissues) = (count(problem.order), problem.tissues);
        let mut unknowns = vec![0.0; n * voxels.len()];
        for (voxel, x) in unknowns.chunks_exact_mut(n).enumerate() {
            let from = voxel * fibre..(voxel + 1) * fibre;
            x[..fibre].copy_from_slice(&fitted.coefficients[from]);
            let from = voxel * tissues..(voxel + 1) * tissues;
            x[fibre..].copy_from_slice(&fitted.amounts[from]);
        }
        drop(fitted);
        let forward = problem.forward.iter().map(|c| *c as f32).collect();
        let mut residuals = Self {
            grid: dwi.grid.clone(),
            forward,
            pulls: vec![0.0; volumes * voxels.len()],
            freedom: vec![0.0; voxels.len()],
            problem,
            solver,
            voxels,
            unknowns,
        };
        backend.install(|| residuals.measure(dwi, control))?;
        Ok(residuals)
    }

    /// Fills the residuals. Runs on the current rayon pool.
    fn measure(&mut self, dwi: &Volume, control: &Control) -> Result<(), Cancelled> {
        let Self {
            problem,
            solver,
            voxels,
            unknowns,
            pulls,
            freedom,
            ..
        } = self;
        control.begin("Residuals of the fit", voxels.len() as u64);
        let (n, volumes) = (problem.unknowns(), problem.volumes.len());
        let leverages = Leverages::new(problem, solver);
        let scan = Scan { dwi, problem };
        let pieces = voxels
            .par_chunks(PIECE)
            .zip(unknowns.par_chunks(n * PIECE))
            .zip(pulls.par_chunks_mut(volumes * PIECE))
            .zip(freedom.par_chunks_mut(PIECE));
        let scratch = || (vec![0.0; PIECE * volumes], Work::new(n, volumes));
        pieces.try_for_each_init(
            scratch,
            |(samples, work), (((piece, x), pulls), freedom)| {
                control.check()?;
                scan.load(piece, samples);
                let voxels = x.chunks_exact(n).zip(pulls.chunks_exact_mut(volumes));
                for (i, ((x, pulls), freedom)) in voxels.zip(freedom).enumerate() {
                    // Without a usable sample there is no fit.
                    if x.iter().all(|x| *x == 0.0) {
                        continue;
                    }
                    let samples = samples.iter().skip(i).step_by(PIECE);
                    for (y, sample) in work.samples.iter_mut().zip(samples) {
                        *y = f64::from(*sample);
                    }
                    for (wide, x) in work.x.iter_mut().zip(x) {
                        *wide = f64::from(*x);
                    }
                    leverages.fill(work);
                    let fitted = problem.predicted(&work.x);
                    let all = work.samples.iter().zip(&fitted).zip(&work.leverages);
                    for (pull, ((sample, fitted), leverage)) in pulls.iter_mut().zip(all) {
                        let free = 1.0 - leverage;
                        // The test is positive, so that NaN fails it.
                        if free > MIN_FREE {
                            *pull = ((sample - fitted) / free.sqrt()) as f32;
                        }
                    }
                    *freedom = work.leverages.iter().sum::<f64>() as f32;
                }
                control.advance(piece.len() as u64);
                Ok(())
            },
        )
    }

    /// The grid of the scan.
    pub fn grid(&self) -> &Arc<Grid> {
        &self.grid
    }

    /// The voxels of the mask.
    pub fn voxels(&self) -> &[usize] {
        &self.voxels
    }

    /// The order of the distributions.
    pub fn order(&self) -> usize {
        self.problem.order
    }

    /// The number of unknowns that the constraints leave free in each voxel of the mask: the sum of its leverages.
    pub fn freedom(&self) -> &[f32] {
        &self.freedom
    }

    /// The root of Σ |x − c|² / Σ |c|² over the voxels of the mask, where x are the coefficients of this fit and c those
    /// of a field: near 0 if it is the field of the same fit. The order is that of this fit.
    pub fn difference(&self, field: &OdfField) -> f64 {
        let (n, fibre) = (self.problem.unknowns(), count(self.problem.order));
        let grid = self.grid.voxel_count();
        let (mut difference, mut square) = (0.0, 0.0);
        for (voxel, x) in self.voxels.iter().zip(self.unknowns.chunks_exact(n)) {
            let own = field.coefficients.iter().skip(*voxel).step_by(grid);
            for (x, c) in x[..fibre].iter().zip(own) {
                let by = f64::from(*x) - f64::from(*c);
                difference += by * by;
                square += f64::from(*c) * f64::from(*c);
            }
        }
        if square > 0.0 {
            (difference / square).sqrt()
        } else {
            0.0
        }
    }

    /// e / √(1 − h) of a voxel, by its place among those of the mask.
    pub fn scaled(&self, voxel: usize) -> &[f32] {
        let volumes = self.problem.volumes.len();
        &self.pulls[voxel * volumes..(voxel + 1) * volumes]
    }

    /// The coefficients of one repetition, voxel by voxel, in a range of the voxels of the mask.
    pub fn coefficients(
        &self,
        range: Range<usize>,
        seed: u64,
        repetition: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Arc<[f32]>, Error> {
        let places: Vec<usize> = range.collect();
        let samples = Repetition {
            residuals: self,
            salt: Stream::new(seed ^ SALT, repetition).bits(),
        };
        let (problem, solver) = (&self.problem, &self.solver);
        // The whole bootstrap is one stage.
        let quiet = control.silent();
        let fitted = solve_voxels(&samples, &places, problem, solver, backend, &quiet)?;
        Ok(fitted.coefficients)
    }

    /// The distributions of one repetition; the bytes do not depend on the threads of the backend.
    pub fn field(
        &self,
        seed: u64,
        repetition: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<OdfField, Error> {
        let (n, grid) = (count(self.problem.order), self.grid.voxel_count());
        let rows = 4 * (n + self.problem.tissues) as u64 * self.voxels.len() as u64;
        memory::claim("The bootstrap", rows + 4 * (n * grid) as u64)?;
        let all = 0..self.voxels.len();
        let rows = self.coefficients(all, seed, repetition, backend, control)?;
        let coefficients = backend.install(|| planes(&rows, n, &self.voxels, grid));
        let order = self.problem.order;
        Ok(OdfField::new(self.grid.clone(), order, coefficients))
    }
}

/// The samples of one repetition; a voxel is its place among those of the mask.
struct Repetition<'a> {
    residuals: &'a Residuals,
    salt: u64,
}

impl Samples for Repetition<'_> {
    fn load(&self, piece: &[usize], samples: &mut [f32]) -> Counts {
        const WORD: usize = 64;
        let residuals = self.residuals;
        let (n, volumes) = (
            residuals.problem.unknowns(),
            residuals.problem.volumes.len(),
        );
        // Unknown by unknown, so that the loop over voxels is the inner one.
        let mut x = vec![0.0; n * PIECE];
        for (i, &place) in piece.iter().enumerate() {
            let own = &residuals.unknowns[place * n..(place + 1) * n];
            for (slot, value) in x.iter_mut().skip(i).step_by(PIECE).zip(own) {
                *slot = *value;
            }
        }
        let rows = residuals.forward.chunks_exact(n);
        for (row, out) in rows.zip(samples.chunks_exact_mut(PIECE)) {
            out.fill(0.0);
            for (c, x) in row.iter().zip(x.chunks_exact(PIECE)) {
                for (sample, x) in out.iter_mut().zip(x) {
                    *sample += c * x;
                }
            }
        }
        for (i, &place) in piece.iter().enumerate() {
            let pulls = &residuals.pulls[place * volumes..(place + 1) * volumes];
            let mut stream = Stream::new(self.salt, residuals.voxels[place] as u64);
            let column = samples.iter_mut().skip(i).step_by(PIECE);
            let mut bits = 0;
            for (volume, (sample, pull)) in column.zip(pulls).enumerate() {
                if volume % WORD == 0 {
                    bits = stream.bits();
                }
                let sign = ((bits >> (volume % WORD)) as u32) << 31;
                *sample += f32::from_bits(pull.to_bits() ^ sign);
            }
        }
        Counts::default()
    }
}

/// The weights D of the constraints at a fit.
enum Weights {
    /// μ / s² of the interior point method.
    Barrier { gap: f64 },
    /// A penalty on negative values, in the unit of CᵀC.
    Negative { weight: f64 },
}

/// The leverages of samples.
struct Leverages<'a> {
    problem: &'a Problem,
    /// CᵀC + ν I.
    normal: Vec<f64>,
    /// A for the coefficients: a row for each direction.
    rows: Vec<f64>,
    weights: Weights,
}

/// Working memory of one voxel.
struct Work {
    samples: Vec<f64>,
    x: Vec<f64>,
    matrix: Vec<f64>,
    solution: Vec<f64>,
    leverages: Vec<f64>,
}

impl Work {
    fn new(unknowns: usize, volumes: usize) -> Self {
        Self {
            samples: vec![0.0; volumes],
            x: vec![0.0; unknowns],
            matrix: vec![0.0; unknowns * unknowns],
            solution: vec![0.0; unknowns],
            leverages: vec![0.0; volumes],
        }
    }
}

impl<'a> Leverages<'a> {
    fn new(problem: &'a Problem, solver: &Solver) -> Self {
        let normal = problem.normal_matrix();
        let weights = match solver {
            // The values in single precision do not resolve the gap of double precision.
            Solver::Single(_, _, limits) => Weights::Barrier { gap: limits.gap },
            Solver::Double(_) => Weights::Barrier {
                gap: DOUBLE.gap.max(MIN_VALUE * MIN_VALUE * 1e3),
            },
            Solver::Paper(paper) => Weights::Negative {
                weight: paper.weight() * normal[0],
            },
        };
        let directions = problem.directions.all();
        let rows = directions.iter().flat_map(|u| evaluate(problem.order, *u));
        Self {
            problem,
            rows: rows.collect(),
            normal,
            weights,
        }
    }

    /// D of a constraint with this value; `unit` is the value of 1 in the unit of the gap.
    fn weight(&self, value: f64, unit: f64) -> f64 {
        match self.weights {
            Weights::Barrier { gap } => {
                let value = (value / unit).max(MIN_VALUE);
                let weight = gap / (value * value);
                if weight > NEGLIGIBLE {
                    weight * self.normal[0]
                } else {
                    0.0
                }
            }
            Weights::Negative { weight } => {
                if value < 0.0 {
                    weight
                } else {
                    0.0
                }
            }
        }
    }

    /// Fills the leverages of a voxel from its samples and unknowns.
    fn fill(&self, work: &mut Work) {
        let (n, fibre) = (self.problem.unknowns(), count(self.problem.order));
        // |Cᵀy| / H_00.
        let mut square = 0.0;
        for k in 0..n {
            let column = self.problem.forward.iter().skip(k).step_by(n);
            let g: f64 = column.zip(&work.samples).map(|(c, y)| c * y).sum();
            square += g * g;
        }
        let unit = square.sqrt() / self.normal[0];
        work.matrix.copy_from_slice(&self.normal);
        for row in self.rows.chunks_exact(fibre) {
            let value: f64 = row.iter().zip(&work.x).map(|(a, x)| a * x).sum();
            let weight = self.weight(value, unit);
            if weight == 0.0 {
                continue;
            }
            for (i, (a, out)) in row.iter().zip(work.matrix.chunks_exact_mut(n)).enumerate() {
                let scaled = weight * a;
                for (out, a) in out.iter_mut().zip(&row[..=i]) {
                    *out += scaled * a;
                }
            }
        }
        for k in fibre..n {
            work.matrix[k * n + k] += self.weight(work.x[k], unit);
        }
        factorise(n, &mut work.matrix);
        let rows = self.problem.forward.chunks_exact(n);
        for (row, leverage) in rows.zip(&mut work.leverages) {
            // |L⁻¹ c|².
            let mut sum = 0.0;
            for (i, c) in row.iter().enumerate() {
                let (left, solved) = (&work.matrix[i * n..i * n + i], &work.solution[..i]);
                let known: f64 = left.iter().zip(solved).map(|(l, z)| l * z).sum();
                let z = (c - known) / work.matrix[i * n + i];
                work.solution[i] = z;
                sum += z * z;
            }
            *leverage = sum;
        }
    }
}

/// Replaces the lower triangle of a positive definite matrix by L of LLᵀ.
fn factorise(n: usize, matrix: &mut [f64]) {
    let floor = f64::EPSILON * f64::EPSILON * matrix[0];
    for i in 0..n {
        let (above, own) = matrix.split_at_mut(i * n);
        for j in 0..i {
            let row = &above[j * n..=j * n + j];
            let known: f64 = own[..j].iter().zip(row).map(|(a, b)| a * b).sum();
            own[j] = (own[j] - known) / row[j];
        }
        let known: f64 = own[..i].iter().map(|a| a * a).sum();
        own[i] = (own[i] - known).max(floor).sqrt();
    }
}
