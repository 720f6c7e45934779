//! The cost of paths: the metric G, and the speed W = G⁻¹, of every voxel of a mask.
//!
//! A path c costs ∫ √(c′ᵀ G c′); a front that starts in a region arrives at the least cost u, which solves √(∇uᵀ W
//! ∇u) = 1. Only this module defines which matrix is which: Jeong et al. 2007 print the cost (eq. 3) where their
//! equation (4) needs the speed. With D the diffusion tensor and |D| its determinant,
//! - inverse: G = D⁻¹ (O'Donnell et al. 2002);
//! - sharpened: W = |D|^⅓ (D / |D|^⅓)^α, which keeps the determinant (Jeong et al. 2007, eq. 3, with the
//!   sign that makes fibres fast);
//! - isotropic: W = |D|^⅓ I, the limit α → 0: the same volume without direction;
//! - adjugate: G = |D| D⁻¹ (Fuster et al. 2016).
//!
//! D is first scaled so that its mean diffusivity over the mask is 1 mm²: a path through isotropic tissue of that
//! diffusivity costs 1 per mm. Both matrices are stored in *voxel* axes, where neighbours are at distance 1 on every
//! grid, sheared or not: W = A W Aᵀ, with A mapping world vectors to voxel vectors.
//!
//! # Example
//!
//! A step along the fibres costs less than one across them:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::solvers::metric::{Metric, Params};
//! # use arcuate_engine::data::{Grid, Tensor, TensorField};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([20, 8, 8], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let along_x = Tensor::new([1.7e-3, 0.0, 0.0, 3e-4, 0.0, 3e-4]);
//! let field = TensorField::new(grid.clone(), vec![along_x; grid.voxel_count()]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let metric = Metric::new(&field, &Params::defaults(), None, &backend, &control)?;
//! let place = metric.place_of([10, 4, 4]).ok_or("a voxel of the field")?;
//! assert!(metric.step_cost(place, DVec3::X) < 0.5 * metric.step_cost(place, DVec3::Y));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(super) mod cuda;
mod error;
mod halve;
mod parameters;
mod places;
mod selling;
mod stack;

pub use halve::halved;
pub use parameters::{Cost, Params};
pub use places::{OUTSIDE, Places};
pub(super) use selling::decompose;
pub use stack::Stack;

use super::Error;
use crate::compute::{Backend, Control, DataId, memory};
use crate::data::{Grid, Mask, Tensor, TensorField};
use crate::solvers::tensor_fit::eigen_symmetric;
use error::InputError;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Deref;
use std::sync::Arc;

impl Params {
    /// Eigenvalues of W from those of the scaled D.
    fn speeds(self, [a, b, c]: [f64; 3]) -> [f64; 3] {
        let root = (a * b * c).cbrt();
        match self.cost {
            Cost::Inverse => [a, b, c],
            Cost::Sharpened => [a, b, c].map(|v| root * (v / root).powf(self.alpha)),
            Cost::Isotropic => [root; 3],
            Cost::Adjugate => [a, b, c].map(|v| v / (root * root * root)),
        }
    }
}

/// √ of the largest permitted ratio of eigenvalues of W in world axes: beyond it, single precision no longer
/// distinguishes the cost along a fibre from that across it. Such voxels are noise; their slow directions are made
/// faster.
pub const MAX_ANISOTROPY: f64 = 100.0;
/// A tensor that is not positive definite gets at least this share of its largest eigenvalue.
const MIN_SHARE: f64 = 0.01;
const CHUNK: usize = 4096;

/// W and G of the voxels of a mask, which it dereferences to; cheap to clone.
#[derive(Clone, Debug)]
pub struct Metric {
    id: DataId,
    /// Voxels of the mask.
    pub places: Places,
    /// W as xx xy xz yy yz zz in voxel axes (voxel² per unit of cost²), by place.
    pub speed: Arc<[[f32; 6]]>,
    /// G = W⁻¹ likewise.
    pub cost: Arc<[[f32; 6]]>,
    /// Voxels whose tensor was not positive definite.
    pub repaired: u64,
    /// Voxels whose cost exceeded the anisotropy [`MAX_ANISOTROPY`] and was limited to it.
    pub limited: u64,
    /// Factor on the tensors: 1 over their mean diffusivity in the mask.
    scale: f64,
    /// By place the factor on the cost; `None`: 1.
    factors: Option<Arc<[f32]>>,
}

impl Deref for Metric {
    type Target = Places;

    fn deref(&self) -> &Places {
        &self.places
    }
}

impl Metric {
    /// The metric of the fitted voxels, within a mask if one is given (on any grid).
    pub fn new(
        field: &TensorField,
        params: &Params,
        mask: Option<&Mask>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        params.check()?;
        let grid = &field.grid;
        let voxels = backend.install(|| inside(field, mask));
        if voxels.is_empty() {
            let error = match mask {
                Some(_) => InputError::EmptyMask,
                None => InputError::NoTensors,
            };
            return Err(error.into());
        }
        // Speed, cost and grid index for each voxel of the mask; the place and a mark for each voxel of the grid.
        let bytes = voxels.len() as u64 * (24 + 24 + 4) + 5 * grid.voxel_count() as u64;
        memory::claim("The cost metric", bytes)?;
        control.begin("Computing costs", voxels.len() as u64);
        let trace: f64 = voxels
            .iter()
            .map(|&v| field.tensors[v as usize].d)
            .map(|d| f64::from(d[0]) + f64::from(d[3]) + f64::from(d[5]))
            .sum();
        let mean = trace / (3.0 * voxels.len() as f64);
        let scale = if mean > 0.0 { 1.0 / mean } else { 1.0 };
        let turn = grid.voxel_from_world.matrix3;
        let voxel_metric = |&v: &u32| {
            let d = field.tensors[v as usize].d.map(|x| scale * f64::from(x));
            let speed = speed(d, *params);
            (in_axes(speed.w, turn), speed)
        };
        let mut speeds = vec![[0f32; 6]; voxels.len()];
        let (repaired, limited) = backend.install(|| {
            let parts = speeds.par_chunks_mut(CHUNK).zip(voxels.par_chunks(CHUNK));
            let counts = parts.map(|(out, voxels)| {
                control.check()?;
                let (mut repaired, mut limited) = (0u64, 0u64);
                for (out, voxel) in out.iter_mut().zip(voxels) {
                    let (w, speed) = voxel_metric(voxel);
                    *out = w;
                    repaired += u64::from(speed.repaired);
                    limited += u64::from(speed.limited);
                }
                control.advance(voxels.len() as u64);
                Ok::<_, Error>((repaired, limited))
            });
            counts.try_reduce(|| (0, 0), |a, b| Ok((a.0 + b.0, a.1 + b.1)))
        })?;
        Ok(Self {
            repaired,
            limited,
            scale,
            ..Self::of_voxels(grid, voxels, speeds)
        })
    }

    /// The metric of speeds W in world axes, `None` outside the mask.
    pub fn from_speed(
        grid: &Arc<Grid>,
        speed: impl Fn([usize; 3]) -> Option<DMat3>,
    ) -> Result<Self, Error> {
        let turn = grid.voxel_from_world.matrix3;
        let (mut voxels, mut speeds) = (Vec::new(), Vec::new());
        for v in 0..grid.voxel_count() {
            if let Some(w) = speed(grid.voxel(v)) {
                voxels.push(v as u32);
                speeds.push(in_axes(w, turn));
            }
        }
        if voxels.is_empty() {
            return Err(InputError::EmptyMask.into());
        }
        Ok(Self::of_voxels(grid, voxels, speeds))
    }

    fn of_voxels(grid: &Arc<Grid>, voxels: Vec<u32>, speed: Vec<[f32; 6]>) -> Self {
        // From the rounded speeds, so that the matrices are inverses of each other.
        let cost: Vec<[f32; 6]> = speed.iter().map(|w| inverse(*w)).collect();
        Self {
            id: DataId::fresh(),
            places: Places::new(grid, voxels),
            speed: speed.into(),
            cost: cost.into(),
            repaired: 0,
            limited: 0,
            scale: 1.0,
            factors: None,
        }
    }

    /// This metric in some of its voxels alone, by place, ascending.
    pub fn within(&self, places: &[u32]) -> Self {
        let voxels = places.iter().map(|p| self.voxels[*p as usize]).collect();
        let speeds = places.iter().map(|p| self.speed[*p as usize]).collect();
        let factors = |all: &Arc<[f32]>| places.iter().map(|p| all[*p as usize]).collect();
        Self {
            scale: self.scale,
            factors: self.factors.as_ref().map(factors),
            ..Self::of_voxels(&self.grid, voxels, speeds)
        }
    }

    /// The metric of other tensors in the same voxels, one for each place, with the same unit of cost. Runs on the
    /// calling thread.
    pub fn with_tensors(&self, tensors: &[Tensor], params: &Params) -> Self {
        let turn = self.grid.voxel_from_world.matrix3;
        let (mut repaired, mut limited) = (0u64, 0u64);
        let mut speeds = Vec::with_capacity(tensors.len());
        for (place, tensor) in tensors.iter().enumerate() {
            let speed = speed(tensor.d.map(|x| self.scale * f64::from(x)), *params);
            let factor = self
                .factors
                .as_ref()
                .map_or(1.0, |by_place| f64::from(by_place[place]));
            speeds.push(in_axes(speed.w * (factor * factor).recip(), turn));
            repaired += u64::from(speed.repaired);
            limited += u64::from(speed.limited);
        }
        Self {
            id: DataId::fresh(),
            cost: speeds.iter().map(|w| inverse(*w)).collect(),
            speed: speeds.into(),
            repaired,
            limited,
            ..self.clone()
        }
    }

    /// Factor on the tensors, 1/(mm²/s): 1 over their mean diffusivity in the mask.
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    /// By place the factor on the cost; `None`: 1.
    pub(super) fn factors(&self) -> Option<&[f32]> {
        self.factors.as_deref()
    }

    /// The metric with the costs of some places multiplied by a factor. Must be called on the backend's threads.
    pub fn costlier(self, is_costly: impl Fn(usize) -> bool + Sync, factor: f64) -> Self {
        let places = (0..self.len()).into_par_iter();
        let of_place = |place| if is_costly(place) { factor as f32 } else { 1.0 };
        let factors: Vec<f32> = places.map(of_place).collect();
        // A factor f on the cost is one of f² on G.
        let scaled = |values: &[[f32; 6]], by: fn(f64) -> f64| -> Arc<[[f32; 6]]> {
            let both = values.par_iter().zip(&factors);
            let scale = |(values, factor): (&[f32; 6], &f32)| {
                values.map(|value| (f64::from(value) * by(f64::from(*factor))) as f32)
            };
            both.map(scale).collect()
        };
        Self {
            id: DataId::fresh(),
            speed: scaled(&self.speed, |f| (f * f).recip()),
            cost: scaled(&self.cost, |f| f * f),
            factors: Some(multiplied(self.factors.as_ref(), &factors)),
            ..self
        }
    }

    /// Identity of the metric, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// The cost of a displacement in voxels in the metric of a place.
    pub fn step_cost(&self, place: usize, d: DVec3) -> f64 {
        norm(&self.cost[place], d)
    }
}

/// Factors by place, multiplied by further ones.
pub fn multiplied(known: Option<&Arc<[f32]>>, further: &[f32]) -> Arc<[f32]> {
    match known {
        Some(known) => known.iter().zip(further).map(|(a, b)| a * b).collect(),
        None => further.into(),
    }
}

/// Indices of the voxels of the metric.
fn inside(field: &TensorField, mask: Option<&Mask>) -> Vec<u32> {
    let grid = &field.grid;
    let same = mask.is_some_and(|m| m.grid.matches(grid));
    let allowed = |v: usize| match mask {
        None => true,
        Some(mask) if same => mask.inside[v] != 0,
        Some(mask) => {
            let voxel = grid.voxel(v);
            mask.contains(grid.world(DVec3::from_array(voxel.map(|i| i as f64))))
        }
    };
    (0..grid.voxel_count())
        .into_par_iter()
        .filter(|&v| field.tensors[v].inside > 0.5 && allowed(v))
        .map(|v| v as u32)
        .collect()
}

/// W of a scaled tensor in its own axes.
struct Speed {
    w: DMat3,
    /// Whether the tensor was not positive definite.
    repaired: bool,
    /// Whether it was too anisotropic.
    limited: bool,
}

fn speed(d: [f64; 6], params: Params) -> Speed {
    let (values, vectors) = eigen_symmetric(d);
    let largest = if values[0] > 0.0 { values[0] } else { 1.0 };
    let positive = values[2] > 0.0;
    let mended = values.map(|v| v.max(if positive { 0.0 } else { MIN_SHARE * largest }));
    let speeds = params.speeds(mended);
    let fastest = speeds.iter().fold(0.0, |m: f64, v| m.max(*v));
    let slowest = fastest / (MAX_ANISOTROPY * MAX_ANISOTROPY);
    let limited = speeds.iter().any(|s| !(*s >= slowest * (1.0 - 1e-9)));
    let mut w = DMat3::ZERO;
    for (speed, v) in speeds.into_iter().zip(vectors) {
        w += DMat3::from_cols(v * v.x, v * v.y, v * v.z) * speed.max(slowest);
    }
    Speed {
        w,
        repaired: !positive,
        limited,
    }
}

/// A W Aᵀ.
fn in_axes(w: DMat3, a: DMat3) -> [f32; 6] {
    let v = a * w * a.transpose();
    [
        v.x_axis.x, v.x_axis.y, v.x_axis.z, v.y_axis.y, v.y_axis.z, v.z_axis.z,
    ]
    .map(|x| x as f32)
}

/// The matrix xx xy xz yy yz zz.
pub fn matrix<T: Copy + Into<f64>>(m: &[T; 6]) -> DMat3 {
    let [xx, xy, xz, yy, yz, zz] = m.map(Into::into);
    DMat3::from_cols(
        DVec3::new(xx, xy, xz),
        DVec3::new(xy, yy, yz),
        DVec3::new(xz, yz, zz),
    )
}

fn inverse(w: [f32; 6]) -> [f32; 6] {
    let v = matrix(&w).inverse();
    [
        v.x_axis.x, v.x_axis.y, v.x_axis.z, v.y_axis.y, v.y_axis.z, v.z_axis.z,
    ]
    .map(|x| x as f32)
}

/// √(dᵀ G d).
pub fn norm(g: &[f32; 6], d: DVec3) -> f64 {
    d.dot(matrix(g) * d).max(0.0).sqrt()
}
