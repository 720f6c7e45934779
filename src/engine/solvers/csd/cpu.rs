//! Pieces of the mask on all threads.

use super::interior_point::Limits;
use super::parameters::Precision;
use super::problem::Problem;
use super::solve::{Solution, SolveOne, SolveVoxels, Solved};
use super::tables::Tables;
use crate::compute::vector::Scalar;
use crate::compute::{Cancelled, Control, zeroed};
use crate::data::Volume;
use crate::data::spherical_harmonics::count;
use rayon::prelude::*;
use std::ops::Add;
use std::sync::Arc;

/// Voxels of a piece: some ms of work, and whole groups of lanes.
pub const PIECE: usize = 64;

/// In single precision, the matrix of fewer than one voxel in a hundred is no longer positive definite before this gap;
/// these are repeated in double precision. On a real block, coefficients differ from those in double precision by 5e-4 of
/// their norm in the median and by 6e-3 at worst.
const GAP: f64 = 1e-10;
const GAP_ABOVE_ORDER_8: f64 = 3e-9;
const GAP_DOUBLE: f64 = 1e-15;
/// Double precision needs 13 iterations, single 10.
const ITERATIONS: usize = 30;
const ITERATIONS_DOUBLE: usize = 60;

/// Voxels and samples that need attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Voxels with a sample that is not a finite number: their distribution is 0.
    pub not_finite: usize,
    /// Voxels without a sample above 0: their distribution is 0.
    pub without_signal: usize,
    /// Negative samples, taken as 0.
    pub negative_samples: usize,
    /// Voxels with negative samples.
    pub negative_voxels: usize,
    /// Voxels that needed double precision.
    pub repeated: usize,
    /// Voxels that did not come to rest in double precision either: their last iterate is stored.
    pub unfinished: usize,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            not_finite: self.not_finite + other.not_finite,
            without_signal: self.without_signal + other.without_signal,
            negative_samples: self.negative_samples + other.negative_samples,
            negative_voxels: self.negative_voxels + other.negative_voxels,
            repeated: self.repeated + other.repeated,
            unfinished: self.unfinished + other.unfinished,
        }
    }
}

/// The solution of each voxel, voxel by voxel.
pub struct Fitted {
    pub coefficients: Arc<[f32]>,
    /// Amounts of the tissues without fibres.
    pub amounts: Arc<[f32]>,
    pub counts: Counts,
    pub kernel_s: Option<f64>,
}

/// How the voxels of a piece are solved.
#[allow(clippy::large_enum_variant, reason = "a solver is made once per scan")]
pub enum Solver {
    Single(Tables<f32>, Tables<f64>, Limits),
    Double(Tables<f64>),
    /// With a penalty on negative values.
    Paper(super::paper::Paper),
}

const DOUBLE: Limits = Limits {
    gap: GAP_DOUBLE,
    iterations: ITERATIONS_DOUBLE,
};

impl Solver {
    pub fn constrained(problem: &Problem, precision: Precision) -> Self {
        let double = Tables::new(problem);
        match precision {
            Precision::Double => Self::Double(double),
            Precision::Single => {
                let gap = if problem.order > 8 {
                    GAP_ABOVE_ORDER_8
                } else {
                    GAP
                };
                let iterations = ITERATIONS;
                Self::Single(Tables::new(problem), double, Limits { gap, iterations })
            }
        }
    }

    /// Solves one voxel; `None` for the method of the paper.
    pub fn solve_one(&self, problem: &Problem, samples: &[f32]) -> Option<Solution> {
        let unit = problem.normal_matrix()[0];
        match self {
            Self::Single(tables, _, limits) => Some(f32::dispatch(SolveOne {
                tables,
                samples,
                limits: *limits,
                unit,
            })),
            Self::Double(tables) => Some(f64::dispatch(SolveOne {
                tables,
                samples,
                limits: DOUBLE,
                unit,
            })),
            Self::Paper(_) => None,
        }
    }

    /// Unknowns of each voxel, and the numbers of voxels that were repeated and that are unfinished.
    fn solve(&self, samples: &[f32], stride: usize, voxels: usize) -> (Vec<f64>, usize, usize) {
        match self {
            Self::Single(single, double, limits) => {
                let mut solved = run(single, samples, stride, voxels, *limits);
                let failed = solved.failed;
                if failed.is_empty() {
                    return (solved.unknowns, 0, 0);
                }
                let refitted = repeat(double, samples, stride, &failed);
                let n = double.unknowns;
                for (values, &voxel) in refitted.unknowns.chunks_exact(n).zip(&failed) {
                    solved.unknowns[voxel * n..(voxel + 1) * n].copy_from_slice(values);
                }
                (solved.unknowns, failed.len(), refitted.failed.len())
            }
            Self::Double(tables) => {
                let solved = run(tables, samples, stride, voxels, DOUBLE);
                (solved.unknowns, 0, solved.failed.len())
            }
            Self::Paper(paper) => {
                let solved = paper.solve(samples, stride, voxels);
                (solved.unknowns, 0, solved.failed.len())
            }
        }
    }
}

/// Solves some of the voxels in double precision.
pub fn repeat(double: &Tables<f64>, samples: &[f32], stride: usize, voxels: &[usize]) -> Solved {
    let (volumes, count) = (double.project.inputs, voxels.len());
    let gathered: Vec<f32> = (0..volumes * count)
        .map(|i| samples[i / count * stride + voxels[i % count]])
        .collect();
    run(double, &gathered, count, count, DOUBLE)
}

fn run<S: Scalar>(
    tables: &Tables<S>,
    samples: &[f32],
    stride: usize,
    voxels: usize,
    limits: Limits,
) -> Solved {
    S::dispatch(SolveVoxels {
        tables,
        samples,
        stride,
        voxels,
        limits,
    })
}

/// Samples to be solved for.
pub trait Samples: Sync {
    /// Fills `samples[volume * PIECE + i]` for the voxels of a piece.
    fn load(&self, piece: &[usize], samples: &mut [f32]) -> Counts;
}

/// The samples of a scan; a voxel is one of its grid.
pub struct Scan<'a> {
    pub dwi: &'a Volume,
    pub problem: &'a Problem,
}

impl Samples for Scan<'_> {
    fn load(&self, piece: &[usize], samples: &mut [f32]) -> Counts {
        load(self.dwi, self.problem, piece, samples)
    }
}

/// Runs on the current rayon pool. Voxels are independent, and a voxel's result does not depend on the others in its
/// group, so that the bytes are equal for any number of threads.
pub fn fit(
    source: &dyn Samples,
    voxels: &[usize],
    problem: &Problem,
    solver: &Solver,
    control: &Control,
) -> Result<Fitted, Cancelled> {
    let (n, tissues) = (count(problem.order), problem.tissues);
    control.begin("Deconvolution", voxels.len() as u64);
    let mut coefficients = zeroed::<f32>(n * voxels.len());
    // Chunks may not be empty: with white matter alone, each voxel has one amount that is not used.
    let width = tissues.max(1);
    let mut amounts = zeroed::<f32>(width * voxels.len());
    let outputs = unshared(&mut coefficients).par_chunks_mut(n * PIECE);
    let amount_outputs = unshared(&mut amounts).par_chunks_mut(width * PIECE);
    let pieces = voxels.par_chunks(PIECE).zip(outputs).zip(amount_outputs);
    let fit_piece = |samples: &mut Vec<f32>, ((piece, out), amounts): ((&[usize], _), _)| {
        let (out, amounts): (&mut [f32], &mut [f32]) = (out, amounts);
        control.check()?;
        let mut counts = source.load(piece, samples);
        let (unknowns, repeated, unfinished) = solver.solve(samples, PIECE, piece.len());
        counts.repeated = repeated;
        counts.unfinished = unfinished;
        for (voxel, values) in unknowns.chunks_exact(n + tissues).enumerate() {
            // A voxel without a usable sample is 0, not the limit of an iteration.
            let is_used = samples.iter().skip(voxel).step_by(PIECE).any(|s| *s > 0.0);
            if !is_used {
                continue;
            }
            for (slot, value) in out[voxel * n..].iter_mut().zip(&values[..n]) {
                *slot = *value as f32;
            }
            for (slot, value) in amounts[voxel * width..].iter_mut().zip(&values[n..]) {
                *slot = *value as f32;
            }
        }
        control.advance(piece.len() as u64);
        Ok(counts)
    };
    let counts = pieces
        .map_init(|| vec![0.0; PIECE * problem.volumes.len()], fit_piece)
        .try_reduce(Counts::default, |a, b| Ok(a + b))?;
    Ok(Fitted {
        coefficients,
        amounts: if tissues > 0 { amounts } else { Arc::new([]) },
        counts,
        kernel_s: None,
    })
}

/// One volume for each value of a row; 0 in voxels without a row.
pub fn planes(rows: &[f32], width: usize, voxels: &[usize], grid: usize) -> Arc<[f32]> {
    let mut out = zeroed::<f32>(width * grid);
    let planes = unshared(&mut out).par_chunks_exact_mut(grid).enumerate();
    planes.for_each(|(k, plane)| {
        for (&voxel, row) in voxels.iter().zip(rows.chunks_exact(width)) {
            plane[voxel] = row[k];
        }
    });
    out
}

/// Fills `samples[volume * PIECE + voxel]`, frame by frame; samples that are not usable become 0.
fn load(dwi: &Volume, problem: &Problem, piece: &[usize], samples: &mut [f32]) -> Counts {
    let (mut negative, mut not_finite) = ([0; PIECE], [false; PIECE]);
    for (row, &volume) in samples.chunks_exact_mut(PIECE).zip(&problem.volumes) {
        let frame = dwi.frame(volume);
        for (i, (slot, &voxel)) in row.iter_mut().zip(piece).enumerate() {
            let sample = frame[voxel];
            not_finite[i] |= !sample.is_finite();
            negative[i] += usize::from(sample < 0.0);
            *slot = if sample > 0.0 { sample } else { 0.0 };
        }
    }
    let mut counts = Counts::default();
    for i in 0..piece.len() {
        let column = samples.iter_mut().skip(i).step_by(PIECE);
        if not_finite[i] {
            column.for_each(|sample| *sample = 0.0);
            counts.not_finite += 1;
            continue;
        }
        counts.without_signal += usize::from(!column.into_iter().any(|sample| *sample > 0.0));
        counts.negative_samples += negative[i];
        counts.negative_voxels += usize::from(negative[i] > 0);
    }
    counts
}

/// A new shared slice to be filled in place, which avoids a copy into the `Arc` at the end.
pub fn unshared<T>(slice: &mut Arc<[T]>) -> &mut [T] {
    Arc::get_mut(slice).expect("made here and not shared yet")
}
