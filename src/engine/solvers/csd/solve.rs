//! Voxels of one piece, as many at a time as a vector has lanes.

use super::interior_point::{Limits, Work};
use super::tables::Tables;
use crate::compute::vector::{Kernel, Scalar, Vector};
use std::ops::Range;

/// Solves voxels whose samples are finite and not negative.
pub struct SolveVoxels<'a, S> {
    pub tables: &'a Tables<S>,
    /// `samples[volume * stride + voxel]`.
    pub samples: &'a [f32],
    pub stride: usize,
    pub voxels: usize,
    pub limits: Limits,
}

/// Results in the order and units of the problem.
pub struct Solved {
    /// Unknowns of each voxel, voxel by voxel.
    pub unknowns: Vec<f64>,
    /// Voxels that this precision did not bring to rest.
    pub failed: Vec<usize>,
}

impl<S: Scalar> Kernel<S> for SolveVoxels<'_, S> {
    type Output = Solved;

    #[inline(always)]
    fn run<V: Vector<Scalar = S>>(self) -> Solved {
        let (tables, n) = (self.tables, self.tables.unknowns);
        let mut work = Work::<V>::new(tables, tables.project.inputs);
        let mut unknowns = vec![0.0; n * self.voxels];
        let mut failed = Vec::new();
        let mut lanes = [S::default(); MAX_LANES];
        for first in (0..self.voxels).step_by(V::LANES) {
            load_lanes(
                &mut work.samples,
                self.samples,
                self.stride,
                first..self.voxels,
            );
            work.run(tables, self.limits);
            let used = V::LANES.min(self.voxels - first);
            let norm = work.norm();
            for (x, &(index, scale)) in work.x.iter().zip(&tables.source) {
                (*x * norm).store(&mut lanes);
                for (lane, value) in lanes[..used].iter().enumerate() {
                    unknowns[(first + lane) * n + index] = scale * value.to_f64();
                }
            }
            work.gap.store(&mut lanes);
            // False for NaN.
            let at_rest = |gap: &S| gap.to_f64() <= self.limits.gap;
            let gaps = lanes[..used].iter().enumerate();
            failed.extend(
                gaps.filter(|(_, gap)| !at_rest(gap))
                    .map(|(lane, _)| first + lane),
            );
        }
        Solved { unknowns, failed }
    }
}

/// The most lanes of any vector.
pub const MAX_LANES: usize = 16;

/// One vector for each volume from `samples[volume * stride + voxel]`; lanes beyond the last voxel repeat it.
#[inline(always)]
pub fn load_lanes<V: Vector>(
    vectors: &mut [V],
    samples: &[f32],
    stride: usize,
    voxels: Range<usize>,
) {
    let mut lanes = [V::Scalar::default(); MAX_LANES];
    for (volume, vector) in vectors.iter_mut().enumerate() {
        let row = &samples[volume * stride..];
        for (lane, value) in lanes[..V::LANES].iter_mut().enumerate() {
            let voxel = (voxels.start + lane).min(voxels.end - 1);
            *value = V::Scalar::from_f64(f64::from(row[voxel]));
        }
        *vector = V::load(&lanes);
    }
}

/// The solution of one voxel with its multipliers, in the units of the problem.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Coefficients by index, then amounts.
    pub x: Vec<f64>,
    /// A x: the distribution in [`super::Directions::all`], then the amounts.
    pub values: Vec<f64>,
    /// λ of each constraint: (CᵀC + ν I) x − Cᵀy = Aᵀλ. Constraints with λ above their value are active.
    pub multipliers: Vec<f64>,
    /// Mean of λ times value.
    pub gap: f64,
    /// Whether the gap reached that of the precision.
    pub at_rest: bool,
}

/// Solves one voxel in the first lane.
pub struct SolveOne<'a, S> {
    pub tables: &'a Tables<S>,
    pub samples: &'a [f32],
    pub limits: Limits,
    /// First element of H.
    pub unit: f64,
}

impl<S: Scalar> Kernel<S> for SolveOne<'_, S> {
    type Output = Solution;

    #[inline(always)]
    fn run<V: Vector<Scalar = S>>(self) -> Solution {
        let tables = self.tables;
        let mut work = Work::<V>::new(tables, tables.project.inputs);
        load_lanes(&mut work.samples, self.samples, 1, 0..1);
        work.run(tables, self.limits);
        let mut lanes = [S::default(); MAX_LANES];
        let mut first = |vector: V| {
            vector.store(&mut lanes);
            lanes[0].to_f64()
        };
        let (norm, gap) = (first(work.norm()), first(work.gap));
        let mut x = vec![0.0; tables.unknowns];
        for (value, &(index, scale)) in work.x.iter().zip(&tables.source) {
            x[index] = first(*value) * norm * scale;
        }
        let constraints = tables.constraints();
        let directions = constraints - (tables.unknowns - tables.fibre);
        let scale = |i: usize| match i < directions {
            true => 1.0,
            false => tables.source[tables.fibre + i - directions].1,
        };
        let values = (0..constraints).map(|i| first(work.s[i]) * norm * scale(i));
        let values = values.collect();
        let unit = norm * self.unit;
        let multipliers = (0..constraints).map(|i| first(work.multipliers[i]) * unit / scale(i));
        Solution {
            x,
            values,
            multipliers: multipliers.collect(),
            gap: gap * norm * unit,
            at_rest: gap <= self.limits.gap,
        }
    }
}
