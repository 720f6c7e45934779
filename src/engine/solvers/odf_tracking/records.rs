//! Coefficients voxel by voxel, as tracking reads them: one record of adjacent numbers for each voxel with a
//! distribution, so that a cell's eight corners are eight runs of cache lines, on the CPU as on a graphics card.

use super::lattice::Lattice;
use crate::compute::{Cancelled, Control, memory, simd};
use crate::data::OdfField;
use crate::data::spherical_harmonics::count;
use crate::solvers::Error;
use rayon::prelude::*;

/// Voxels that one thread copies at a time.
const CHUNK: usize = 2048;

#[derive(Clone)]
pub struct Records {
    pub order: usize,
    /// Numbers per record: those of the order and zeros up to an even number.
    pub stride: usize,
    /// For each voxel of the grid the number of its record; 0 without a distribution.
    pub record_of: Vec<u32>,
    /// Record 0 is all 0.
    pub coefficients: Vec<f32>,
    pub lattice: Lattice,
}

impl Records {
    /// Needs the backend's threads installed.
    pub fn new(field: &OdfField, control: &Control) -> Result<Self, Error> {
        let (n, size) = (field.grid.voxel_count(), count(field.order()));
        let stride = size.next_multiple_of(2);
        let c = &field.coefficients;
        let used: Vec<u32> = (0..n as u32)
            .into_par_iter()
            .filter(|v| field.has_distribution(*v as usize))
            .collect();
        memory::claim_for::<f32>("Tracking", used.len() + 1, stride)?;
        memory::claim_for::<u32>("Tracking", n, 1)?;
        let mut record_of = vec![0u32; n];
        for (record, voxel) in used.iter().enumerate() {
            record_of[*voxel as usize] = record as u32 + 1;
        }
        let mut coefficients = vec![0f32; (used.len() + 1) * stride];
        let records = coefficients[stride..].par_chunks_mut(CHUNK * stride);
        records.zip(used.par_chunks(CHUNK)).try_for_each(
            |(records, voxels)| -> Result<(), Cancelled> {
                control.check()?;
                for i in 0..size {
                    let plane = &c[i * n..(i + 1) * n];
                    for (record, voxel) in records.chunks_exact_mut(stride).zip(voxels) {
                        record[i] = plane[*voxel as usize];
                    }
                }
                Ok(())
            },
        )?;
        Ok(Self {
            order: field.order(),
            stride,
            record_of,
            coefficients,
            lattice: Lattice::new(&field.grid),
        })
    }

    /// Records of `width` numbers: the coefficients with these indices, and zeros; 0 for those that the order lacks.
    /// Needs the backend's threads installed.
    pub fn reordered(&self, functions: &[usize], width: usize) -> Vec<f32> {
        let mut out = vec![0f32; self.coefficients.len() / self.stride * width];
        let records = out.par_chunks_mut(width * CHUNK);
        records
            .zip(self.coefficients.par_chunks(self.stride * CHUNK))
            .for_each(|(to, from)| {
                for (to, from) in to
                    .chunks_exact_mut(width)
                    .zip(from.chunks_exact(self.stride))
                {
                    for (slot, function) in to.iter_mut().zip(functions) {
                        *slot = from.get(*function).copied().unwrap_or(0.0);
                    }
                }
            });
        out
    }

    pub fn is_empty(&self) -> bool {
        self.coefficients.len() <= self.stride
    }

    /// The record of a voxel.
    #[inline(always)]
    pub fn record(&self, voxel: usize) -> &[f32] {
        let first = self.record_of[voxel] as usize * self.stride;
        &self.coefficients[first..first + self.stride]
    }

    /// The interpolated coefficients at a world point, as many as the order has; all 0 outside the volume.
    pub fn at(&self, world: [f32; 3], out: &mut Vec<f64>) {
        out.clear();
        out.resize(count(self.order), 0.0);
        let mut sums = [0f32; super::MAX_COEFFICIENTS];
        let sums = &mut sums[..self.stride];
        let Some(corners) = self.lattice.corners(world) else {
            return;
        };
        simd::dispatch(WeightedSum {
            records: corners.map(|(voxel, _)| self.record(voxel)),
            weights: corners.map(|(_, weight)| weight),
            sums,
        });
        for (value, sum) in out.iter_mut().zip(&*sums) {
            *value = f64::from(*sum);
        }
    }
}

/// The sum of eight records, each times its weight.
struct WeightedSum<'a> {
    records: [&'a [f32]; 8],
    weights: [f32; 8],
    sums: &'a mut [f32],
}

impl simd::Kernel for WeightedSum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let n = self.sums.len();
        for k in 0..8 {
            let (record, weight) = (&self.records[k][..n], self.weights[k]);
            for i in 0..n {
                self.sums[i] += weight * record[i];
            }
        }
    }
}
