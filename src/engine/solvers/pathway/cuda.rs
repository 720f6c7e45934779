//! The excess cost as an image that the window draws.

#![allow(unsafe_code, reason = "kernel launches")]

use super::Pathway;
use super::error::InputError;
use crate::compute::cuda::Device;
use crate::compute::{DeviceCopy, kernels};
use crate::data::ExportedImage;
use crate::solvers::Error;
use cudarc::driver::{LaunchConfig, PushKernelArg as _};

const OPERATION: &str = "writing the cost to the window";

/// Writes the numbers of [`super::JointCosts::excess`] to an image, texel by texel. Waits for the result.
pub fn excess(
    pathway: &Pathway,
    max_excess: f32,
    image: ExportedImage,
    device: &Device,
) -> Result<DeviceCopy, Error> {
    let metric = pathway.metric();
    let shape = metric.grid.shape.map(|n| n as u32);
    if image.size != shape {
        let (texels, voxels) = (image.size, shape);
        return Err(InputError::Texels { texels, voxels }.into());
    }
    let [nx, ny, nz] = shape;
    let voxels = device.cached(metric.id(), "voxels", || metric.voxels.to_vec())?;
    let fields = [&pathway.fields[0], &pathway.fields[1]];
    let [a, b] = fields.map(|field| field.values_on(device));
    let (a, b) = (a?, b?);
    let (places, min_cost) = (metric.len() as u32, pathway.min_cost);
    let surface = device.surface(image.handle, image.bytes, image.size)?;
    let object = surface.object();
    let file = kernels::PATHWAY;
    let fill = device.kernel(file, "pathway_fill")?;
    let scatter = device.kernel(file, "pathway_scatter")?;
    // SAFETY: the image has nx·ny·nz texels; nothing is written beyond them.
    let filled = unsafe {
        device
            .stream()
            .launch_builder(&fill)
            .arg(&object)
            .arg(&nx)
            .arg(&ny)
            .arg(&nz)
            .arg(&max_excess)
            .launch(LaunchConfig::for_num_elems(nx * ny * nz))
    };
    device.check(OPERATION, filled)?;
    // SAFETY: all buffers hold `places` elements, and each voxel is a voxel of the grid.
    let scattered = unsafe {
        device
            .stream()
            .launch_builder(&scatter)
            .arg(&object)
            .arg(&nx)
            .arg(&ny)
            .arg(&*voxels)
            .arg(&a.view())
            .arg(&b.view())
            .arg(&places)
            .arg(&min_cost)
            .arg(&max_excess)
            .launch(LaunchConfig::for_num_elems(places))
    };
    device.check(OPERATION, scattered)?;
    device.synchronize(OPERATION)?;
    Ok(image.copy)
}
