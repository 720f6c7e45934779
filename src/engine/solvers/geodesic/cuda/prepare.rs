//! Computes the ray metric on the card from tensors that stay there.

use super::LARGE_FIELD;
use crate::compute::cuda::{self, Device};
use crate::compute::kernel_struct;
use crate::compute::{DataId, kernels};
use crate::data::TensorField;
use crate::solvers::curves::cells::Record;
use crate::solvers::curves::spline::EXTENSION;
use crate::solvers::geodesic::ray_metric::{MIN_SHARE, scale};
use crate::solvers::geodesic::{Precision, Sharpening};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};

/// `Prepare` in kernels/geodesic.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Prepare {
    shape: [i32; 3],
    scale: f32,
    paper: u32,
    alpha: f32,
    power: u32,
    below_fa: f32,
    min_share: f32,
    to_voxel: [[f32; 3]; 3],
}
kernel_struct!(Prepare as "Prepare in kernels/geodesic.cu", 72 {
    shape: 0, scale: 12, paper: 16, alpha: 20, power: 24, below_fa: 28, min_share: 32, to_voxel: 36,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Prepare {}

pub struct Prepared {
    /// Identity of the records, under which the card caches them.
    pub id: DataId,
    pub records: Vec<Record>,
    pub repaired: u64,
    /// Kernel time in milliseconds.
    pub kernel_ms: f32,
}

/// Sharpens and scales the tensors of a field and rotates them to voxel axes, as `prepare` in ray_metric.rs.
pub fn prepare(
    device: &Device,
    field: &TensorField,
    sharpening: Sharpening,
    precision: Precision,
    mean_diffusivity: f64,
) -> Result<Prepared, cuda::Error> {
    const OPERATION: &str = "preparing tensors";
    const BLOCK: u32 = 128;
    let voxels = field.tensors.len();
    let tensors = device.cached(field.id(), "tensors", || {
        bytemuck::cast_slice::<_, f32>(&field.tensors)
    })?;
    device.needs(50 * voxels as u64, "sharper tensors", LARGE_FIELD)?;
    let mut records = device.alloc_zeros::<u32>(8 * voxels)?;
    let mut known = device.alloc_zeros::<u8>(voxels)?;
    let mut known_after = device.alloc_zeros::<u8>(voxels)?;
    let mut repaired = device.alloc_zeros::<u32>(1)?;
    let (paper, alpha, power, below_fa) = match sharpening {
        Sharpening::Power { alpha } => (0, alpha, 0, 0.0),
        Sharpening::Paper { power, below_fa } => (1, 1.0, power, below_fa),
    };
    let matrix = field.grid.voxel_from_world.matrix3;
    let rules = Prepare {
        shape: field.grid.shape.map(|n| n as i32),
        scale: scale(mean_diffusivity) as f32,
        paper,
        alpha: alpha as f32,
        power,
        below_fa: below_fa as f32,
        min_share: MIN_SHARE as f32,
        to_voxel: [0, 1, 2].map(|row| matrix.row(row).as_vec3().into()),
    };
    let kernel = |name| device.kernel(kernels::GEODESIC, name);
    let (sharpen, extend) = (kernel("geodesic_sharpen")?, kernel("geodesic_extend")?);
    let halve = kernel("geodesic_halve")?;
    let launch = LaunchConfig {
        grid_dim: ((voxels as u32).div_ceil(BLOCK), 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    };
    let count = voxels as u32;
    let mut halves: CudaSlice<u32> = device.alloc_zeros(match precision {
        Precision::Half => 4 * voxels,
        Precision::Single => 0,
    })?;
    let ((), kernel_ms) = device.elapsed(|| {
        // SAFETY: one thread per voxel, surplus threads return; the buffers hold one tensor, record and byte for
        // each, and the counter one number.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&sharpen);
            launcher.arg(&rules).arg(&*tensors).arg(&mut records);
            launcher.arg(&mut known).arg(&mut repaired).launch(launch)
        };
        device.check(OPERATION, launched)?;
        for _ in 0..EXTENSION {
            // SAFETY: as above; a thread writes only its own voxel and reads only voxels that no thread of this
            // launch writes.
            let launched = unsafe {
                let mut launcher = device.stream().launch_builder(&extend);
                launcher.arg(&rules).arg(&mut records).arg(&known);
                launcher.arg(&mut known_after).launch(launch)
            };
            device.check(OPERATION, launched)?;
            std::mem::swap(&mut known, &mut known_after);
        }
        if precision == Precision::Half {
            // SAFETY: as above; eight halves, four words, per voxel.
            let launched = unsafe {
                let mut launcher = device.stream().launch_builder(&halve);
                launcher.arg(&count).arg(&mut records).arg(&mut halves);
                launcher.launch(launch)
            };
            device.check(OPERATION, launched)?;
        }
        Ok(())
    })?;
    let mut on_host: Vec<Record> = bytemuck::zeroed_vec(voxels);
    device.download_into(
        &records,
        0,
        bytemuck::cast_slice_mut::<_, u32>(&mut on_host),
    )?;
    let repaired = device.download(&repaired, 0..1)?;
    let id = DataId::fresh();
    device.cached_as(id, "records", || {
        Ok(match precision {
            Precision::Half => halves,
            Precision::Single => records,
        })
    })?;
    Ok(Prepared {
        id,
        records: on_host,
        repaired: repaired.first().copied().unwrap_or(0).into(),
        kernel_ms,
    })
}
