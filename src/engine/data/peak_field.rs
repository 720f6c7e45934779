//! Several fibre directions per voxel, with an amplitude each.
//!
//! # Example
//!
//! Up to two peaks in each of two voxels; a peak of length 0 is none:
//!
//! ```
//! use arcuate_engine::data::{Grid, PeakField};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([2, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! // x, y and z of the first peak in both voxels, then those of the second peak.
//! let values = vec![1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0];
//! let peaks = PeakField::new(Arc::new(grid), 2, values);
//! assert_eq!(peaks.peaks(0).count(), 2);
//! assert_eq!(peaks.peak(1, 0), Some(DVec3::new(0.0, 0.5, 0.0)));
//! assert_eq!(peaks.peak(1, 1), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::odf_field::moved_fibre;
use super::{DataId, Grid, Shared, Volume, VolumeKind};
use glam::{DMat3, DVec3};
use std::sync::Arc;

/// The prefix of a file of FSL's dyads, `sub_` of `sub_dyads1.nii.gz`; `None` for other names. Such a file holds unit
/// vectors in the axes of its bvec, not peaks.
pub fn dyads_prefix(file_name: &str) -> Option<&str> {
    let name = file_name.strip_suffix(".gz").unwrap_or(file_name);
    let (stem, _) = name.rsplit_once('.')?;
    let stem = stem.strip_suffix(|c: char| c.is_ascii_digit())?;
    stem.strip_suffix("dyads")
}

/// Peaks of distributions, or directions and fractions of a model.
#[derive(Clone, Debug)]
pub struct PeakField {
    id: DataId,
    /// Grid of the peaks.
    pub grid: Arc<Grid>,
    /// Largest number of peaks in a voxel.
    count: usize,
    /// `values[(3 * peak + axis) * voxel_count + grid.index(voxel)]`: vectors in world axes whose lengths are the
    /// amplitudes; NaN or 0 where there is none.
    pub values: Shared<f32>,
}

impl PeakField {
    /// Panics if the number of values does not match the grid (a broken invariant, not data).
    pub fn new(grid: Arc<Grid>, count: usize, values: impl Into<Shared<f32>>) -> Self {
        let values = values.into();
        assert_eq!(
            values.len(),
            grid.voxel_count() * 3 * count,
            "peaks against their grid"
        );
        Self {
            id: DataId::fresh(),
            grid,
            count,
            values,
        }
    }

    /// An image of three volumes per peak, as MRtrix writes them: vectors in world axes. `None` for other numbers of
    /// volumes and for colours.
    pub fn from_volume(volume: &Volume) -> Option<Self> {
        let is_vectors = volume.kind == VolumeKind::Scalar && volume.frames.is_multiple_of(3);
        is_vectors.then(|| {
            Self::new(
                volume.grid.clone(),
                volume.frames / 3,
                volume.values.clone(),
            )
        })
    }

    /// Unit vectors in the axes of an image, which `world_from_image` turns, with one fraction each. Panics if their
    /// numbers differ (a broken invariant, not data).
    pub fn from_directions(
        grid: Arc<Grid>,
        world_from_image: DMat3,
        peaks: &[([&[f32]; 3], &[f32])],
    ) -> Self {
        let n = grid.voxel_count();
        let mut values = Vec::with_capacity(3 * n * peaks.len());
        for (axes, fraction) in peaks {
            let at = |voxel: usize| {
                let [x, y, z] = axes.map(|axis| f64::from(axis[voxel]));
                let direction = DVec3::new(x, y, z).normalize_or_zero();
                (world_from_image * direction * f64::from(fraction[voxel])).as_vec3()
            };
            for axis in 0..3 {
                values.extend((0..n).map(|voxel| at(voxel)[axis]));
            }
        }
        Self::new(grid, peaks.len(), values)
    }

    /// Identity of the values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Largest number of peaks per voxel.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A peak of a voxel; `None` if it has fewer.
    pub fn peak(&self, voxel: usize, peak: usize) -> Option<DVec3> {
        let n = self.grid.voxel_count();
        let part = |axis: usize| f64::from(self.values[(3 * peak + axis) * n + voxel]);
        let vector = DVec3::new(part(0), part(1), part(2));
        (vector.is_finite() && vector != DVec3::ZERO).then_some(vector)
    }

    /// The peaks of a voxel.
    pub fn peaks(&self, voxel: usize) -> impl Iterator<Item = DVec3> {
        (0..self.count).filter_map(move |peak| self.peak(voxel, peak))
    }

    /// The image of the vectors. It shares their memory.
    pub fn volume(&self) -> Volume {
        Volume::new(
            self.grid.clone(),
            3 * self.count,
            VolumeKind::Scalar,
            self.values.clone(),
        )
    }

    /// The image as MRtrix writes peaks: NaN where there is none.
    pub fn image_with_gaps(&self) -> Volume {
        let n = self.grid.voxel_count();
        let mut values = self.values.to_vec();
        for peak in values.chunks_exact_mut(3 * n) {
            for voxel in 0..n {
                let axes = [voxel, n + voxel, 2 * n + voxel];
                if axes.iter().all(|i| peak[*i] == 0.0) {
                    for i in axes {
                        peak[i] = f32::NAN;
                    }
                }
            }
        }
        let frames = values.len() / n.max(1);
        Volume::new(self.grid.clone(), frames, VolumeKind::Scalar, values)
    }

    /// The peaks on a moved grid, turned by the linear part of the transform. `modulated`: amplitudes change with the
    /// width of bundles.
    pub fn turned(&self, grid: Arc<Grid>, linear: DMat3, modulated: bool) -> Self {
        let n = self.grid.voxel_count();
        let mut values = self.values.to_vec();
        for peak in 0..self.count {
            for voxel in 0..n {
                let Some(vector) = self.peak(voxel, peak) else {
                    continue;
                };
                let (direction, factor) = moved_fibre(linear, vector.normalize());
                let factor = if modulated { factor } else { 1.0 };
                let turned = (direction * vector.length() * factor).as_vec3();
                for axis in 0..3 {
                    values[(3 * peak + axis) * n + voxel] = turned[axis];
                }
            }
        }
        Self::new(grid, self.count, values)
    }
}
