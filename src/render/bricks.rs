//! Ranges of an image's values by bricks, made on the device.

use super::gpu::{Gpu, Slot, source};
use wgpu::TextureUsages as Usage;

pub(super) const SHADER: &str = include_str!("../../shaders/bricks.wgsl");

/// Texels along a brick's side; as in shaders/bricks.wgsl and shaders/volume.wgsl.
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
        let pipeline = gpu
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("bricks"),
                layout: Some(&gpu.pipeline_layout(&layout)),
                module: &module,
                entry_point: Some("bricks_range"),
                compilation_options: Default::default(),
                cache: None,
            });
        Self { layout, pipeline }
    }

    /// Of an image of this size; with its own size.
    pub fn of(
        &self,
        gpu: &Gpu,
        image: &wgpu::TextureView,
        size: [u32; 3],
    ) -> (wgpu::TextureView, [u32; 3]) {
        let count = size.map(|n| n.div_ceil(BRICK));
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("bricks"),
            size: wgpu::Extent3d {
                width: count[0],
                height: count[1],
                depth_or_array_layers: count[2],
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format: FORMAT,
            usage: Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        use wgpu::BindingResource::TextureView as View;
        let group = gpu.bind(&self.layout, &[View(image), View(&view)]);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("bricks"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &group, &[]);
            let [x, y, z] = count.map(|n| n.div_ceil(4));
            pass.dispatch_workgroups(x, y, z);
        }
        gpu.queue.submit([encoder.finish()]);
        (view, count)
    }
}
