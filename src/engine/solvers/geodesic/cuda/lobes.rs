//! Distributions as the kernels of kernels/geodesic.cu read them.

use crate::compute::cuda::{self, Device};
use crate::compute::kernel_struct;
use crate::data::spherical_harmonics::index;
use crate::solvers::curves::MAX_ODF_ORDER_ON_CARD;
use crate::solvers::geodesic::half_ray::root;
use crate::solvers::geodesic::odf_field::rows3;
use crate::solvers::geodesic::odf_metric::OdfMetric;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr};
use std::sync::Arc;

/// Advice if the card's memory is short.
const LARGE_FIELD: &str = "choose a lower order or a smaller image";

/// `LobeRules` in kernels/lobes.cuh.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct KernelLobes {
    floor: f32,
    per_reference: f32,
    exponent: f32,
    fitted: u32,
    to_voxel: [[f32; 3]; 3],
    world_from_root: [[f32; 3]; 3],
}
kernel_struct!(KernelLobes as "LobeRules in kernels/lobes.cuh", 88 {
    floor: 0, per_reference: 4, exponent: 8, fitted: 12, to_voxel: 16, world_from_root: 52,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelLobes {}

impl KernelLobes {
    pub fn new(metric: &OdfMetric) -> Self {
        let grid = metric.grid();
        let world_from_voxel = grid.world_from_voxel.matrix3;
        Self {
            floor: metric.speed.floor as f32,
            per_reference: (1.0 / metric.reference) as f32,
            exponent: metric.speed.exponent as f32,
            fitted: metric.records.fitted,
            to_voxel: rows3(grid.voxel_from_world.matrix3),
            world_from_root: rows3(world_from_voxel * root(world_from_voxel).inverse()),
        }
    }
}

/// The order of the kernel that follows lobes of an order.
pub fn kernel_order(order: usize) -> usize {
    if order <= 8 { 8 } else { MAX_ODF_ORDER_ON_CARD }
}

/// The index of each coefficient of a kernel's record: by m, then by l, cosine before sine.
fn functions(order: usize) -> Vec<usize> {
    let mut functions = Vec::new();
    for m in 0..=order {
        for l in (m + m % 2..=order).step_by(2) {
            functions.push(index(l, m as isize));
            if m > 0 {
                functions.push(index(l, -(m as isize)));
            }
        }
    }
    functions
}

/// The records in the kernels' layout, and the number of each voxel's.
pub fn upload(
    device: &Device,
    metric: &OdfMetric,
) -> Result<[Arc<CudaSlice<u32>>; 2], cuda::Error> {
    let records = &metric.records;
    let functions = functions(kernel_order(records.order));
    let width = functions.len().next_multiple_of(4);
    let count = records.coefficients.len() / records.stride;
    let coefficients = device.cached_as(metric.id(), "lobes", || {
        device.needs((4 * width * count) as u64, "distributions", LARGE_FIELD)?;
        let mut values = vec![0u32; width * count];
        let each = values.chunks_exact_mut(width);
        for (to, from) in each.zip(records.coefficients.chunks_exact(records.stride)) {
            for (value, function) in to.iter_mut().zip(&functions) {
                *value = from.get(*function).map_or(0, |c| c.to_bits());
            }
        }
        device.upload(&values)
    })?;
    let numbers = device.cached(metric.id(), "record numbers", || records.record_of.clone())?;
    Ok([coefficients, numbers])
}
