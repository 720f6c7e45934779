//! Peaks of fibre orientation distributions, and maps of their lobes.
//!
//! The distribution is evaluated at 321 directions of a half sphere, many voxels at a time. From each local maximum
//! among these, Newton's method on the sphere finds the peak: with gradient g and second derivatives H in the tangent
//! plane the step is −H⁻¹ g, at most 5°, or along g where H is not negative definite. It converges quadratically, so
//! that peaks are exact to rounding after three or four steps, at the poles as anywhere
//! ([`crate::data::spherical_harmonics::Series`]).
//!
//! # Example
//!
//! The peak of a distribution that is a lobe along one direction:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::spherical_harmonics::evaluate;
//! use arcuate_engine::data::{Grid, OdfField};
//! use arcuate_engine::solvers::peaks::{Params, find};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([1, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let direction = DVec3::new(1.0, 2.0, 2.0) / 3.0;
//! let lobe: Vec<f32> = evaluate(8, direction).iter().map(|c| *c as f32).collect();
//! let field = OdfField::new(Arc::new(grid), 8, lobe);
//! let peaks = find(&field, &Params::defaults(), &backend, &control)?;
//! let largest = peaks.peak(0, 0).ok_or("a peak")?;
//! assert!(largest.normalize().dot(direction).abs() > 1.0 - 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amplitudes;
mod maps;
mod newton;
mod parameters;

pub use maps::{Maps, maps};
pub use parameters::Params;

use super::Error;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::spherical_harmonics::{Polynomials, Series};
use crate::data::{HalfSphere, OdfField, PeakField};
use amplitudes::Amplitudes;
use glam::DVec3;
use rayon::prelude::*;

/// Voxels of a piece: some ms of work.
const PIECE: usize = 256;

/// 321 directions, 8° apart.
fn half_sphere() -> &'static HalfSphere {
    HalfSphere::subdivided(3)
}

/// One peak.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Peak {
    /// Unit vector in world axes; its sign has no meaning.
    pub direction: DVec3,
    /// Value of the distribution at the peak, above 0.
    pub amplitude: f64,
}

/// The peak that Newton's method reaches from a unit vector, to 1e-7 rad if it is near.
pub(super) fn uphill(series: &Series, start: DVec3) -> Peak {
    newton::follow(series, start)
}

/// The largest peaks of each voxel, by descending amplitude.
pub fn find(
    field: &OdfField,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<PeakField, Error> {
    params.check()?;
    let (n, count) = (field.grid.voxel_count(), params.count);
    memory::claim_for::<f32>("The search for peaks", n, 6 * count)?;
    control.begin("Peaks", n as u64);
    let peaks = backend.install(|| every_voxel(field, params, control))?;
    let mut values = vec![0.0; 3 * count * n];
    for (voxel, peaks) in peaks.iter().enumerate() {
        for (k, peak) in peaks.iter().enumerate() {
            let vector = peak.direction * peak.amplitude;
            for axis in 0..3 {
                values[(3 * k + axis) * n + voxel] = vector[axis] as f32;
            }
        }
    }
    Ok(PeakField::new(field.grid.clone(), count, values))
}

/// The peaks of each voxel, by descending amplitude; none where there is no distribution. Runs on the current rayon
/// pool.
pub(super) fn every_voxel(
    field: &OdfField,
    params: &Params,
    control: &Control,
) -> Result<Vec<Vec<Peak>>, Cancelled> {
    let search = Search::new(field.order(), params.clone());
    let n = field.grid.voxel_count();
    let pieces = (0..n.div_ceil(PIECE)).into_par_iter();
    let piece = |piece: usize| {
        control.check()?;
        let voxels: Vec<usize> = (piece * PIECE..n.min((piece + 1) * PIECE)).collect();
        let peaks = search.of_voxels(field, &voxels);
        control.advance(voxels.len() as u64);
        Ok(peaks)
    };
    let all: Vec<Vec<Vec<Peak>>> = pieces.map(piece).collect::<Result<_, Cancelled>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// The coefficients of some voxels: `rows[index * voxels + voxel]`.
fn rows(field: &OdfField, voxels: &[usize]) -> Vec<f32> {
    let planes = field.coefficients.chunks_exact(field.grid.voxel_count());
    let rows = planes.flat_map(|plane| voxels.iter().map(|v| plane[*v]));
    rows.collect()
}

/// Tables of a search for peaks of one order.
pub struct Search {
    params: Params,
    amplitudes: Amplitudes,
    polynomials: Polynomials,
}

impl Search {
    /// Tables for distributions of this order, shared by all voxels.
    pub fn new(order: usize, params: Params) -> Self {
        Self {
            params,
            amplitudes: Amplitudes::new(order, half_sphere()),
            polynomials: Polynomials::new(order),
        }
    }

    /// The peaks of some voxels of a field.
    pub fn of_voxels(&self, field: &OdfField, voxels: &[usize]) -> Vec<Vec<Peak>> {
        let rows = rows(field, voxels);
        let starts = self.amplitudes.maxima(&rows, voxels.len(), &self.params);
        let coefficients = |i: usize| {
            let column = rows.iter().skip(i).step_by(voxels.len());
            column.map(|c| f64::from(*c)).collect::<Vec<f64>>()
        };
        let of_voxel = |(i, starts): (usize, Vec<usize>)| match starts.is_empty() {
            true => Vec::new(),
            false => self.refined(&coefficients(i), &starts),
        };
        starts.into_iter().enumerate().map(of_voxel).collect()
    }

    /// The peaks of one distribution.
    pub fn of_coefficients(&self, coefficients: &[f64]) -> Vec<Peak> {
        let row: Vec<f32> = coefficients.iter().map(|c| *c as f32).collect();
        let starts = self.amplitudes.maxima(&row, 1, &self.params).concat();
        self.refined(coefficients, &starts)
    }

    /// Newton's method from each start; equal peaks are one. An isotropic function has none.
    fn refined(&self, coefficients: &[f64], starts: &[usize]) -> Vec<Peak> {
        if coefficients.iter().skip(1).all(|c| *c == 0.0) {
            return Vec::new();
        }
        let series = self.polynomials.series(coefficients);
        let directions = half_sphere();
        let mut peaks: Vec<Peak> = Vec::with_capacity(starts.len());
        for start in starts {
            let peak = newton::climb(&series, directions.vertices[*start]);
            let is_known = |known: &Peak| known.direction.dot(peak.direction).abs() > newton::SAME;
            if !peaks.iter().any(is_known) {
                peaks.push(peak);
            }
        }
        peaks.sort_by(|a, b| b.amplitude.total_cmp(&a.amplitude));
        let largest = peaks.first().map_or(0.0, |peak| peak.amplitude);
        let min_amplitude = self
            .params
            .min_amplitude
            .max(self.params.min_share * largest);
        peaks.retain(|peak| peak.amplitude > 0.0 && peak.amplitude >= min_amplitude);
        peaks.truncate(self.params.count);
        peaks
    }
}
