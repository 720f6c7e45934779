//! How certain the peaks of distributions are: maps from the repetitions of a bootstrap ([`csd::Residuals`]).
//!
//! From each peak of the fit, the maximum uphill in the distribution of each repetition is the peak of that repetition.
//! It is lost where that maximum is more than 45° away, or nearer to another peak of the fit.
//!
//! - *Cone*: the angle from the peak within which 95 % of the repetitions have theirs, degrees (the cone of
//!   uncertainty: Jones 2003, Magn Reson Med 49:7; of deconvolution: Jeurissen 2011, Hum Brain Mapp 32:461). Lost peaks
//!   count as 90°, so that a peak that more than 5 % of the repetitions lose has a cone of 90°.
//! - *Peak dispersion*: 1 − the largest eigenvalue of the mean of u uᵀ over the repetitions that have the peak, which
//!   is the mean of sin² of the angle from their principal axis: 0 if all agree, ⅔ if they have any direction.
//!
//! Both describe the noise, given the response functions and the model. Peaks of lobes that overlap lie inward of the
//! bundles, by about 2° at an angle of 60° and order 8. This is a bias, not noise, so the repetitions do not show it.
//!
//! # Example
//!
//! Residuals come from a scan as distributions do:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Gradients, Grid, Mask, Response, Volume, VolumeKind};
//! use arcuate_engine::phantom::directions::half_sphere;
//! use arcuate_engine::solvers::{csd, peaks, uncertainty};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! // The signal of fibres along x at b = 0 and in 60 directions, and a response much like it.
//! let mut gradients = Gradients { b_s_per_mm2: vec![0.0], directions: vec![DVec3::ZERO] };
//! for direction in half_sphere(60) {
//!     gradients.b_s_per_mm2.push(3000.0);
//!     gradients.directions.push(direction);
//! }
//! let signal = |g: &DVec3| (100.0 * (-3000.0 * (2e-4 + 1.5e-3 * g.x * g.x)).exp()) as f32;
//! let values: Vec<f32> = gradients.directions.iter().map(signal).collect();
//! let grid = Grid::axis_aligned([1, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let grid = Arc::new(grid);
//! let scan = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
//! let mask = Mask::new(grid, vec![1]);
//! let response = Response::new(Some(vec![3000.0]), vec![vec![90.0, -60.0, 20.0]]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let params = csd::Params { order: Some(4), ..csd::Params::defaults() };
//! let fitted = csd::fit(&scan, &gradients, &mask, &[response.clone()], &params, &backend, &control)?;
//! let peaks = peaks::find(&fitted.field, &peaks::Params::defaults(), &backend, &control)?;
//! let residuals =
//!     csd::residuals(&scan, &gradients, &mask, &[response], &params, &backend, &control)?;
//! let maps = uncertainty::maps(&residuals, &peaks, 20, 1, &backend, &control)?;
//! assert!((0.0..=90.0).contains(&maps.cone.values[0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Error, csd, peaks};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::spherical_harmonics::{Polynomials, count};
use crate::data::{PeakField, Volume, VolumeKind};
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::FRAC_1_SQRT_2;

/// The share of the repetitions within the cone.
const INSIDE: f64 = 0.95;
/// The angle of a lost peak, degrees.
const LOST: f32 = 90.0;
/// Largest memory for the angles of a slab of voxels.
const SLAB_BYTES: usize = 64 << 20;
const MAX_SLAB: usize = 1 << 16;

/// Maps with one volume per peak; NaN where there is no peak: 0 would be certain.
#[derive(Clone, Debug)]
pub struct Maps {
    /// Half angle of the cone that contains 95 % of the repetitions, degrees.
    pub cone: Volume,
    /// 1 − the largest eigenvalue of the mean of u uᵀ; NaN also where all repetitions lost the peak.
    pub dispersion: Volume,
}

/// Sums over the repetitions that have a peak.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// xx, xy, xz, yy, yz, zz of Σ u uᵀ.
    dyads: [f64; 6],
    repetitions: u32,
}

/// Peaks and residuals lie on different grids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DifferentGrids;

impl std::fmt::Display for DifferentGrids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "Found peaks and residuals on different grids, expected those of one fit; compute both again",
        )
    }
}

impl std::error::Error for DifferentGrids {}

impl From<DifferentGrids> for Error {
    fn from(error: DifferentGrids) -> Self {
        Self::Input(crate::data::Sentence::new(&error))
    }
}

/// Maps of the peaks of the fit that the residuals belong to, from this many repetitions.
pub fn maps(
    residuals: &csd::Residuals,
    peaks: &PeakField,
    repetitions: usize,
    random_seed: u64,
    backend: &Backend,
    control: &Control,
) -> Result<Maps, Error> {
    if !peaks.grid.matches(residuals.grid()) {
        return Err(DifferentGrids.into());
    }
    let (count, grid) = (peaks.count(), residuals.grid().voxel_count());
    let voxels = residuals.voxels();
    memory::claim_for::<f32>("The maps of a bootstrap", grid, 2 * count)?;
    let per_voxel = count * repetitions.max(1);
    let slab = (SLAB_BYTES / (4 * per_voxel)).clamp(1, MAX_SLAB);
    memory::claim_for::<f32>("The bootstrap", slab.min(voxels.len()), per_voxel)?;
    control.begin("Bootstrap", (voxels.len() * repetitions) as u64);
    let (mut cones, mut dispersions) = (vec![f32::NAN; grid * count], vec![f32::NAN; grid * count]);
    for first in (0..voxels.len()).step_by(slab) {
        let range = first..voxels.len().min(first + slab);
        let own = &voxels[range.clone()];
        let bases: Vec<Vec<DVec3>> = own
            .iter()
            .map(|voxel| peaks.peaks(*voxel).map(DVec3::normalize_or_zero).collect())
            .collect();
        let mut angles = vec![LOST; own.len() * per_voxel];
        let mut sums = vec![Sums::default(); own.len() * count];
        for repetition in 0..repetitions {
            let rows = residuals.coefficients(
                range.clone(),
                random_seed,
                repetition as u64,
                backend,
                control,
            )?;
            let slab = Slab {
                order: residuals.order(),
                count,
                repetitions,
                bases: &bases,
            };
            backend.install(|| slab.add(&rows, repetition, &mut angles, &mut sums, control))?;
            control.advance(own.len() as u64);
        }
        for (i, (voxel, bases)) in own.iter().zip(&bases).enumerate() {
            for k in 0..bases.len().min(count) {
                let at = i * count + k;
                let angles = &mut angles[at * repetitions..(at + 1) * repetitions];
                cones[k * grid + voxel] = cone(angles);
                dispersions[k * grid + voxel] = dispersion(&sums[at]);
            }
        }
    }
    let volume =
        |values: Vec<f32>| Volume::new(residuals.grid().clone(), count, VolumeKind::Scalar, values);
    Ok(Maps {
        cone: volume(cones),
        dispersion: volume(dispersions),
    })
}

/// Voxels whose repetitions are examined together.
struct Slab<'a> {
    order: usize,
    /// Peaks of a voxel.
    count: usize,
    repetitions: usize,
    /// Unit vectors of the peaks of the fit.
    bases: &'a [Vec<DVec3>],
}

impl Slab<'_> {
    /// Adds the peaks of one repetition. Runs on the current rayon pool.
    fn add(
        &self,
        rows: &[f32],
        repetition: usize,
        angles: &mut [f32],
        sums: &mut [Sums],
        control: &Control,
    ) -> Result<(), Cancelled> {
        let polynomials = Polynomials::new(self.order);
        let voxels = self
            .bases
            .par_iter()
            .zip(rows.par_chunks_exact(count(self.order)))
            .zip(angles.par_chunks_exact_mut(self.count * self.repetitions))
            .zip(sums.par_chunks_exact_mut(self.count));
        voxels
            .with_min_len(64)
            .try_for_each(|(((bases, row), angles), sums)| {
                control.check()?;
                if bases.is_empty() {
                    return Ok(());
                }
                let row: Vec<f64> = row.iter().map(|c| f64::from(*c)).collect();
                let series = polynomials.series(&row);
                let own = angles.chunks_exact_mut(self.repetitions).zip(sums);
                for ((k, base), (angles, sums)) in bases.iter().enumerate().zip(own) {
                    let peak = peaks::uphill(&series, *base);
                    let cosine = peak.direction.dot(*base).abs();
                    let is_of = |(other, direction): (usize, &DVec3)| {
                        other != k && peak.direction.dot(*direction).abs() > cosine
                    };
                    // The tests are positive, so that NaN fails them.
                    let is_near = peak.amplitude > 0.0 && cosine >= FRAC_1_SQRT_2;
                    if !is_near || bases.iter().enumerate().any(is_of) {
                        continue;
                    }
                    angles[repetition] = angle_between(peak.direction, *base) as f32;
                    let [x, y, z] = peak.direction.to_array();
                    let products = [x * x, x * y, x * z, y * y, y * z, z * z];
                    for (sum, product) in sums.dyads.iter_mut().zip(products) {
                        *sum += product;
                    }
                    sums.repetitions += 1;
                }
                Ok(())
            })
    }
}

/// The angle between two axes, degrees; also where the cosine is 1 to rounding.
fn angle_between(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b).abs()).to_degrees()
}

/// The angle that 95 % of the repetitions do not exceed.
fn cone(angles: &mut [f32]) -> f32 {
    if angles.is_empty() {
        return 0.0;
    }
    angles.sort_by(f32::total_cmp);
    let rank = (INSIDE * angles.len() as f64).ceil() as usize;
    angles[rank.clamp(1, angles.len()) - 1]
}

/// 1 − the largest eigenvalue of the mean of u uᵀ: the trace is 1, so that it is the sum of the other two.
fn dispersion(sums: &Sums) -> f32 {
    if sums.repetitions == 0 {
        return f32::NAN;
    }
    let mean = sums.dyads.map(|sum| sum / f64::from(sums.repetitions));
    let [xx, xy, xz, yy, yz, zz] = mean;
    let matrix = glam::DMat3::from_cols(
        DVec3::new(xx, xy, xz),
        DVec3::new(xy, yy, yz),
        DVec3::new(xz, yz, zz),
    );
    // The power method: the largest eigenvalue is near 1 and the others are near 0, or all are alike.
    let mut along = [matrix.x_axis, matrix.y_axis, matrix.z_axis]
        .into_iter()
        .max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()))
        .unwrap_or(DVec3::Z)
        .normalize_or(DVec3::Z);
    for _ in 0..64 {
        along = (matrix * along).normalize_or(along);
    }
    let largest = along.dot(matrix * along);
    (xx + yy + zz - largest).max(0.0) as f32
}
