//! Diffusion tensors on a grid.
//!
//! # Example
//!
//! The tensors of a field as an image of six volumes:
//!
//! ```
//! # use arcuate_engine::data::{Grid, Tensor, TensorField};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([20, 8, 8], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let along_x = Tensor::new([1.7e-3, 0.0, 0.0, 3e-4, 0.0, 3e-4]);
//! let field = TensorField::new(grid.clone(), vec![along_x; grid.voxel_count()]);
//! assert_eq!(field.volume().frames, 6);
//! assert_eq!(field.nearest(DVec3::splat(3.2)), Some(along_x));
//! assert_eq!(field.mask().count(), grid.voxel_count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Grid, Mask, Shared, TensorLayout, Volume, VolumeKind};
use crate::compute::DataId;
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3};
use std::sync::{Arc, OnceLock};

/// One voxel's tensor, 32 bytes so that one aligned load fetches everything that tracking reads.
#[derive(Clone, Copy, PartialEq, Debug, Default, Pod, Zeroable)]
#[repr(C, align(32))]
pub struct Tensor {
    /// xx xy xz yy yz zz, mm²/s, *world* axes.
    pub d: [f32; 6],
    /// 1 inside the fitted mask, 0 outside (where `d` is 0).
    pub inside: f32,
    /// Pads the struct to 32 bytes; 0.
    pub unused: f32,
}

impl Tensor {
    /// A fitted tensor: xx xy xz yy yz zz, mm²/s, world axes.
    pub fn new(d: [f32; 6]) -> Self {
        Self {
            d,
            inside: 1.0,
            unused: 0.0,
        }
    }

    /// Symmetric matrix of the six components, world axes.
    pub fn matrix(&self) -> DMat3 {
        let [xx, xy, xz, yy, yz, zz] = self.d.map(f64::from);
        DMat3::from_cols(
            DVec3::new(xx, xy, xz),
            DVec3::new(xy, yy, yz),
            DVec3::new(xz, yz, zz),
        )
    }
}

/// v vᵀ as xx xy xz yy yz zz.
pub fn dyad(v: DVec3) -> [f64; 6] {
    [
        v.x * v.x,
        v.x * v.y,
        v.x * v.z,
        v.y * v.y,
        v.y * v.z,
        v.z * v.z,
    ]
}

/// Diffusion tensors, positive definite inside their mask (the fit repairs those that are not).
#[derive(Clone, Debug)]
pub struct TensorField {
    id: DataId,
    /// Grid of the tensors.
    pub grid: Arc<Grid>,
    /// One per voxel in file order.
    pub tensors: Shared<Tensor>,
    spline: Arc<OnceLock<Vec<[f32; 8]>>>,
}

impl TensorField {
    /// Panics if the number of tensors does not match the grid (a broken invariant, not data).
    pub fn new(grid: Arc<Grid>, tensors: impl Into<Shared<Tensor>>) -> Self {
        Self::identified(DataId::fresh(), grid, tensors)
    }

    /// Does the same as [`TensorField::new`] for values that already have an identity, such as those on a graphics card.
    pub fn identified(id: DataId, grid: Arc<Grid>, tensors: impl Into<Shared<Tensor>>) -> Self {
        let tensors = tensors.into();
        assert_eq!(
            tensors.len(),
            grid.voxel_count(),
            "tensors against their grid"
        );
        Self {
            id,
            grid,
            tensors,
            spline: Arc::default(),
        }
    }

    /// Spline coefficients that a solver derives from the tensors; computed at the first request and kept as long as
    /// the tensors, so that a drag computes them only once.
    pub fn spline<E>(
        &self,
        make: impl FnOnce() -> Result<Vec<[f32; 8]>, E>,
    ) -> Result<&[[f32; 8]], E> {
        // Outside the lock: `make` may be cancelled, and may wait for threads that also request it.
        if self.spline.get().is_none() {
            let spline = make()?;
            return Ok(self.spline.get_or_init(|| spline));
        }
        Ok(self.spline.get().map_or(&[], Vec::as_slice))
    }

    /// Identity of the values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Six volumes in the layout [`TensorLayout::MRTRIX`].
    pub fn volume(&self) -> Volume {
        // Index of each of them in `Tensor::d` (xx xy xz yy yz zz).
        const FROM: [usize; TensorLayout::VOLUMES] = [0, 3, 5, 1, 2, 4];
        let values: Vec<f32> = FROM
            .iter()
            .flat_map(|&c| self.tensors.iter().map(move |t| t.d[c]))
            .collect();
        Volume::new(self.grid.clone(), FROM.len(), VolumeKind::Scalar, values)
    }

    /// The fitted voxels.
    pub fn mask(&self) -> Mask {
        let inside: Vec<u8> = self
            .tensors
            .iter()
            .map(|t| u8::from(t.inside > 0.5))
            .collect();
        Mask::new(self.grid.clone(), inside)
    }

    /// The tensor of the voxel that contains a world point; `None` outside grid or mask.
    pub fn nearest(&self, world: DVec3) -> Option<Tensor> {
        let tensor = self.tensors[self.grid.index(self.grid.nearest(world)?)];
        (tensor.inside > 0.5).then_some(tensor)
    }
}
