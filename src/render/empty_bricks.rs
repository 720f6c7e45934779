//! The bricks of a level set that rays skip, computed on the device from its table.

use super::gpu::{Gpu, Slot, source};
use super::pages::{PAGES, Pool};
use super::pipelines::dispatch;
use crate::data::BrickImage;

const SHADER: &str = include_str!("../../shaders/empty_bricks.wgsl");
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;
/// Bricks along a side of a workgroup.
const GROUP: u32 = 4;

/// The source of the shader.
pub(super) fn shader() -> String {
    source(&format!("{PAGES}\n{SHADER}"))
}

pub(super) struct EmptyBricks {
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl EmptyBricks {
    pub fn new(gpu: &Gpu) -> Self {
        let slots = [
            Slot::Uniform,
            Slot::Storage,
            Slot::Storage,
            Slot::Written3(FORMAT),
            Slot::Stored,
        ];
        let layout = gpu.layout(wgpu::ShaderStages::COMPUTE, &slots);
        let module = gpu.shader("empty bricks", shader());
        let pipeline = gpu.compute_pipeline((&module, &layout), "empty_bricks");
        Self { layout, pipeline }
    }

    /// The empty bricks of an image and its surroundings; and the first and last non-empty brick along each axis.
    pub fn find(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (image, pool): (&BrickImage, &Pool),
    ) -> (wgpu::TextureView, wgpu::Buffer) {
        let count = image.bricks_per_axis().map(|n| n as u32 + 2);
        let view = gpu.written_3d(count, FORMAT);
        let [nx, ny, nz] = image.grid.shape.map(|n| n as u32);
        let size = gpu.uniform(&[nx, ny, nz, image.shift]);
        // Initially no brick.
        let extent = gpu.storage_of(&[i32::MAX, i32::MAX, i32::MAX, -2, -2, -2]);
        let [page_of, pages] = pool.bindings();
        let group = gpu.bind(
            &self.layout,
            &[
                size.as_entire_binding(),
                page_of,
                pages,
                wgpu::BindingResource::TextureView(&view),
                extent.as_entire_binding(),
            ],
        );
        let groups = count.map(|n| n.div_ceil(GROUP));
        dispatch(encoder, "empty bricks", (&self.pipeline, &group), groups);
        (view, extent)
    }
}
