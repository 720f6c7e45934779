//! Maps of a tensor field on a card.

use super::{LOWER, threads};
use crate::compute::cuda::{CardPart, Device};
use crate::compute::{Control, kernels};
use crate::data::{Tensor, TensorField, Volume, VolumeKind};
use crate::solvers::Error;
use crate::solvers::on_card::LateValues;
use crate::solvers::tensor_fit::shape_maps::{self, SHAPE_FA};
use crate::solvers::tensor_fit::{FitMap, Maps, maps::PLANES};
use cudarc::driver::{CudaSlice, PushKernelArg as _};
use std::sync::Arc;

const OPERATION: &str = "computing maps";

/// FA, diffusivities and directions; the host gets each of them when it needs it.
pub fn maps(
    field: &TensorField,
    devices: &Arc<[Device]>,
    control: &Control,
) -> Result<Maps, Error> {
    let n = field.tensors.len();
    control.begin("Computing maps", n as u64);
    let (maps, kernel_ms) = computed("tensor_fit_maps", PLANES, field, &devices[0], control)?;
    let maps = Arc::new(maps);
    let grid = &field.grid;
    let values = |plane: usize, count: usize| {
        LateValues::shared(CardPart::of_values::<f32>(
            devices,
            maps.clone(),
            plane * n,
            count * n,
        ))
    };
    let scalar = |plane: usize| Volume::scalar(grid.clone(), values(plane, 1));
    let vector = |plane: usize, kind| Volume::new(grid.clone(), 3, kind, values(plane, 3));
    control.advance(n as u64);
    Ok(Maps {
        fa: scalar(0),
        md: scalar(1),
        ad: scalar(2),
        rd: scalar(3),
        dec: vector(4, VolumeKind::Rgb),
        direction: vector(7, VolumeKind::Scalar),
        kernel_s: Some(1e-3 * f64::from(kernel_ms)),
    })
}

/// The maps of the shape among `maps`, copied to the host. Needs the backend's threads installed.
pub fn shape_maps(
    field: &TensorField,
    maps: &[FitMap],
    device: &Device,
    control: &Control,
) -> Result<Vec<(FitMap, Volume)>, Error> {
    let n = field.tensors.len();
    if shape_maps::plane_count(maps) == 0 {
        return Ok(Vec::new());
    }
    control.begin("Computing maps", n as u64);
    let kernel = "tensor_fit_shapes";
    let (computed, _) = computed(kernel, SHAPE_FA + 1, field, device, control)?;
    let plane = |plane: usize| device.download(&computed, plane * n..(plane + 1) * n);
    let volumes = shape_maps::volumes(&field.grid, maps, plane)?;
    control.advance(n as u64);
    Ok(volumes)
}

/// Runs a kernel that computes this many planes, one value for each voxel in each; also returns its milliseconds.
fn computed(
    kernel: &str,
    planes: usize,
    field: &TensorField,
    device: &Device,
    control: &Control,
) -> Result<(CudaSlice<f32>, f32), Error> {
    control.check()?;
    let n = field.tensors.len();
    let bytes = 4 * (planes * n) as u64;
    let is_cached = device.has::<f32>(field.id(), "tensors");
    let uploaded = match is_cached {
        true => 0,
        false => (size_of::<Tensor>() * n) as u64,
    };
    device.needs(bytes + uploaded, OPERATION, LOWER)?;
    let tensors = device.cached(field.id(), "tensors", || {
        bytemuck::cast_slice::<_, f32>(&field.tensors)
    })?;
    let mut maps = device.alloc_zeros::<f32>(planes * n)?;
    let kernel = device.kernel(kernels::TENSOR_FIT, kernel)?;
    let voxels = n as u32;
    let ((), ms) = device.elapsed(|| {
        // SAFETY: one thread for each voxel, whose tensor has eight numbers; `maps` has a plane for each quantity.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&kernel)
                .arg(&*tensors)
                .arg(&voxels)
                .arg(&mut maps)
                .launch(threads(n))
        };
        device.check(OPERATION, launched).map(drop)
    })?;
    Ok((maps, ms))
}
