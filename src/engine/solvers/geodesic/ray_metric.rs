//! The metric of rays: sharpened, scaled tensors in voxel axes.

use super::cuda;
use crate::compute::{Backend, Cancelled, Control, DataId, memory};
use crate::data::keyed;
use crate::data::tensor_field::dyad;
use crate::data::{Tensor, TensorField};
use crate::solvers::Error;
use crate::solvers::curves::cells::{Record, thick, thickened};
use crate::solvers::curves::{Interpolation, spline};
use crate::solvers::tensor_fit::eigen_symmetric;
use glam::{DMat3, DVec3};
use half::f16;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the tensors' anisotropy is changed before rays are traced.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharpening {
    /// |D|^⅓ (D / |D|^⅓)^α: preserves the determinant (Jeong et al. 2007, with the signs of algorithms that agree
    /// with it); α = 1 changes nothing.
    Power {
        /// Exponent α, above 0.
        alpha: f64,
    },
    /// An integer power of D, scaled back to its mean diffusivity, where the FA is below a threshold (van Aart 2010,
    /// algorithm 1; unchanged elsewhere).
    Paper {
        /// Exponent of D.
        power: u32,
        /// FA below which tensors are sharpened.
        below_fa: f64,
    },
}

impl Sharpening {
    /// Higher powers exceed the range of single precision.
    pub const MAX_POWER: f64 = 16.0;
}

/// How records are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// Rounded to 11 significant bits; the papers' speed is compared with this.
    Half,
    /// 32-bit numbers.
    Single,
}

keyed!(Precision, serde {
    Half = "f16",
    Single = "f32",
});

/// Index in a record of the FA before sharpening.
pub const FA: usize = 7;

/// A tensor that is not positive definite gets at least this share of its largest eigenvalue.
pub const MIN_SHARE: f64 = 0.01;

/// A tensor field prepared for rays; cheap to clone.
#[derive(Clone, Debug)]
pub struct RayMetric {
    id: DataId,
    /// Tensors before sharpening.
    pub field: TensorField,
    /// Sharpening applied to them.
    pub sharpening: Sharpening,
    /// Storage of the records.
    pub precision: Precision,
    /// Interpolation that the records serve: samples, or coefficients of B-splines.
    pub interpolation: Interpolation,
    /// Samples, or for cubic B-splines coefficients with a margin of one: xx xy xz yy yz zz in voxel axes (voxel²,
    /// mean diffusivity 1 / mm² over the mask), whether fitted, and `FA`.
    pub records: Arc<[Record]>,
    /// Shape of the samples: that of the field, but at least 2 along each axis.
    pub shape: [usize; 3],
    /// Mean diffusivity over the mask before scaling, mm²/s.
    pub mean_diffusivity: f64,
    /// Tensors that were not positive definite.
    pub repaired: u64,
    /// Kernel time in seconds until rays can start, if a graphics card prepared it.
    pub kernel_s: Option<f64>,
}

impl RayMetric {
    /// Splines are stored in single precision, whatever is requested.
    pub fn new(
        field: &TensorField,
        sharpening: Sharpening,
        precision: Precision,
        interpolation: Interpolation,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        sharpening.check()?;
        // The records, and two more copies while they are extended and converted to a spline.
        memory::claim_for::<[f32; 8]>("The metric of the rays", field.tensors.len(), 3)?;
        match (backend.devices(), interpolation) {
            ([first, ..], Interpolation::Trilinear) => {
                let mean = backend.install(|| mean_diffusivity(field));
                control.begin("Preparing tensors", field.tensors.len() as u64);
                let prepared = cuda::prepare(first, field, sharpening, precision, mean)?;
                control.check()?;
                let mut metric = Self {
                    id: prepared.id,
                    field: field.clone(),
                    sharpening,
                    precision,
                    interpolation,
                    records: prepared.records.into(),
                    shape: thick(field.grid.shape),
                    mean_diffusivity: mean,
                    repaired: prepared.repaired,
                    kernel_s: Some(f64::from(prepared.kernel_ms) * 1e-3),
                };
                if let Cow::Owned(thickened) = thickened(&metric.records, field.grid.shape) {
                    // The card's records are those of the thin grid.
                    (metric.id, metric.records) = (DataId::fresh(), thickened.into());
                }
                let ready_ms = cuda::ready(first, &metric)?;
                metric.kernel_s = metric.kernel_s.map(|s| s + f64::from(ready_ms) * 1e-3);
                Ok(metric)
            }
            _ => Ok(backend
                .install(|| prepare(field, sharpening, precision, interpolation, control))?),
        }
    }

    /// Identity of the records, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Distance in records from one to the next along y and z.
    pub fn strides(&self) -> [usize; 2] {
        let margin = self.margin();
        let [x, y, _] = self.shape.map(|n| n + margin);
        [x, x * y]
    }

    /// Number of records beyond the samples along each axis.
    pub fn margin(&self) -> usize {
        match self.interpolation {
            Interpolation::Trilinear => 0,
            Interpolation::CubicBSpline => 2,
        }
    }
}

const CHUNK: usize = 4096;

fn inside(tensor: &Tensor) -> bool {
    tensor.inside > 0.5
}

/// Mean over the mask, mm²/s. Needs the backend's threads installed.
fn mean_diffusivity(field: &TensorField) -> f64 {
    // Sums of chunks, so that the order of additions does not depend on the threads.
    let traces: Vec<(f64, u64)> = field
        .tensors
        .par_chunks(CHUNK)
        .map(|chunk| {
            let trace = |t: &Tensor| f64::from(t.d[0]) + f64::from(t.d[3]) + f64::from(t.d[5]);
            let add = |(sum, n), t: &Tensor| (sum + trace(t), n + 1);
            chunk.iter().filter(|t| inside(t)).fold((0.0, 0), add)
        })
        .collect();
    let (sum, count) = traces
        .iter()
        .fold((0.0, 0u64), |(s, n), (t, m)| (s + t, n + m));
    sum / (3.0 * count.max(1) as f64)
}

/// The factor that scales a mean diffusivity to 1.
pub fn scale(mean_diffusivity: f64) -> f64 {
    if mean_diffusivity > 0.0 {
        1.0 / mean_diffusivity
    } else {
        1.0
    }
}

fn prepare(
    field: &TensorField,
    sharpening: Sharpening,
    precision: Precision,
    interpolation: Interpolation,
    control: &Control,
) -> Result<RayMetric, Cancelled> {
    control.begin("Preparing tensors", field.tensors.len() as u64);
    let mean_diffusivity = mean_diffusivity(field);
    let scale = scale(mean_diffusivity);
    let to_voxel = field.grid.voxel_from_world.matrix3;
    let repaired = AtomicU64::new(0);
    let mut records = vec![[0.0; 8]; field.tensors.len()];
    records
        .par_chunks_mut(CHUNK)
        .zip(field.tensors.par_chunks(CHUNK))
        .try_for_each(|(records, tensors)| {
            control.check()?;
            let mut mended = 0;
            for (record, tensor) in records.iter_mut().zip(tensors).filter(|(_, t)| inside(t)) {
                let (d, fa, unchanged) =
                    sharpened(tensor.d.map(|v| scale * f64::from(v)), sharpening);
                mended += u64::from(!unchanged);
                *record = in_voxel_axes(d, fa, to_voxel);
            }
            repaired.fetch_add(mended, Ordering::Relaxed);
            control.advance(records.len() as u64);
            Ok(())
        })?;
    let grid_shape = field.grid.shape;
    let mut records = spline::extend_outside_mask(records, grid_shape, control)?;
    let shape = thick(grid_shape);
    if let Cow::Owned(thickened) = thickened(&records, grid_shape) {
        records = thickened;
    }
    let precision = match interpolation {
        Interpolation::Trilinear => precision,
        Interpolation::CubicBSpline => Precision::Single,
    };
    match interpolation {
        Interpolation::Trilinear if precision == Precision::Half => {
            records.par_chunks_mut(CHUNK).for_each(|records| {
                for value in records.as_flattened_mut() {
                    *value = f16::from_f32(*value).to_f32();
                }
            });
        }
        Interpolation::Trilinear => {}
        Interpolation::CubicBSpline => {
            records = spline::coefficients(records, shape, shape.map(|n| n + 2), control)?;
        }
    }
    Ok(RayMetric {
        id: DataId::fresh(),
        field: field.clone(),
        sharpening,
        precision,
        interpolation,
        records: records.into(),
        shape,
        mean_diffusivity,
        repaired: repaired.into_inner(),
        kernel_s: None,
    })
}

/// The sharpened tensor, its FA before, and whether it was positive definite.
fn sharpened(d: [f64; 6], sharpening: Sharpening) -> ([f64; 6], f64, bool) {
    let (values, vectors) = eigen_symmetric(d);
    let valid = values[2] > 0.0;
    // A tensor without any positive eigenvalue counts as isotropic.
    let largest = if values[0] > 0.0 { values[0] } else { 1.0 };
    let values = values.map(|v| v.max(if valid { 0.0 } else { MIN_SHARE * largest }));
    let [a, b, c] = values;
    let mean = (a + b + c) / 3.0;
    let spread = (a - mean).powi(2) + (b - mean).powi(2) + (c - mean).powi(2);
    let fa = (1.5 * spread / (a * a + b * b + c * c)).sqrt();
    let changed = match sharpening {
        Sharpening::Power { alpha: 1.0 } => values,
        Sharpening::Power { alpha } => {
            let root = (a * b * c).cbrt();
            values.map(|v| root * (v / root).powf(alpha))
        }
        Sharpening::Paper { power, below_fa } if fa < below_fa => {
            let powers = values.map(|v| v.powi(power as i32));
            let gain = 3.0 * mean / powers.iter().sum::<f64>();
            powers.map(|v| gain * v)
        }
        Sharpening::Paper { .. } => values,
    };
    if valid && changed == values {
        return (d, fa, valid);
    }
    let mut out = [0.0; 6];
    for (value, v) in changed.into_iter().zip(vectors) {
        let outer = dyad(v);
        for (sum, o) in out.iter_mut().zip(outer) {
            *sum += value * o;
        }
    }
    (out, fa, valid)
}

/// A D Aᵀ, where A maps world vectors to voxel vectors.
fn in_voxel_axes([xx, xy, xz, yy, yz, zz]: [f64; 6], fa: f64, a: DMat3) -> Record {
    let d = DMat3::from_cols(
        DVec3::new(xx, xy, xz),
        DVec3::new(xy, yy, yz),
        DVec3::new(xz, yz, zz),
    );
    let v = a * d * a.transpose();
    [
        v.x_axis.x, v.x_axis.y, v.x_axis.z, v.y_axis.y, v.y_axis.z, v.z_axis.z, 1.0, fa,
    ]
    .map(|x| x as f32)
}
