//! Ranges of an image's values by brick, computed on the device.

use super::gpu::{Gpu, Slot, source};
use super::pipelines::dispatch;

pub(super) const SHADER: &str = include_str!("../../shaders/bricks.wgsl");

/// Texels along a brick's side; must match shaders/bricks.wgsl and shaders/volume.wgsl.
const BRICK: u32 = 8;
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rg32Float;

pub(super) struct Bricks {
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl Bricks {
    pub fn new(gpu: &Gpu) -> Self {
        let slots = [Slot::Image3, Slot::Written3(FORMAT)];
        let layout = gpu.layout(wgpu::ShaderStages::COMPUTE, &slots);
        let module = gpu.shader("bricks", source(SHADER));
        let pipeline = gpu.compute_pipeline((&module, &layout), "bricks_range");
        Self { layout, pipeline }
    }

    /// The ranges of an image of this size, with the size of the result.
    pub fn ranges(
        &self,
        gpu: &Gpu,
        image: &wgpu::TextureView,
        size: [u32; 3],
    ) -> (wgpu::TextureView, [u32; 3]) {
        let count = size.map(|n| n.div_ceil(BRICK));
        let view = gpu.written_3d(count, FORMAT);
        use wgpu::BindingResource::TextureView as View;
        let group = gpu.bind(&self.layout, &[View(image), View(&view)]);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let groups = count.map(|n| n.div_ceil(4));
        dispatch(&mut encoder, "bricks", (&self.pipeline, &group), groups);
        gpu.queue.submit([encoder.finish()]);
        (view, count)
    }
}
