//! Which bricks of a level set rays pass over, made on the device from its table.

use super::gpu::{Gpu, Slot, source};
use super::pages::{PAGES, Pool};
use crate::data::BrickImage;
use wgpu::TextureUsages as Usage;

const SHADER: &str = include_str!("../../shaders/vacant.wgsl");
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;
/// Bricks along a side of a workgroup.
const GROUP: u32 = 4;

/// The text of the shader.
pub(super) fn shader() -> String {
    source(&format!("{PAGES}\n{SHADER}"))
}

pub(super) struct Vacant {
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl Vacant {
    pub fn new(gpu: &Gpu) -> Self {
        let slots = [
            Slot::Uniform,
            Slot::Storage,
            Slot::Storage,
            Slot::Written3(FORMAT),
            Slot::Stored,
        ];
        let layout = gpu.layout(wgpu::ShaderStages::COMPUTE, &slots);
        let module = gpu.shader("vacant", shader());
        let pipeline = gpu
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("vacant"),
                layout: Some(&gpu.pipeline_layout(&layout)),
                module: &module,
                entry_point: Some("vacant_bricks"),
                compilation_options: Default::default(),
                cache: None,
            });
        Self { layout, pipeline }
    }

    /// Of an image and of the bricks around it; and the first and last brick along each axis that is none.
    pub fn of(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (image, pool): (&BrickImage, &Pool),
    ) -> (wgpu::TextureView, wgpu::Buffer) {
        let [width, height, depth] = image.counts().map(|n| n as u32 + 2);
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("vacant"),
            size: wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers: depth,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format: FORMAT,
            usage: Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let [nx, ny, nz] = image.grid.shape.map(|n| n as u32);
        let size = gpu.uniform(&[nx, ny, nz, image.shift]);
        // None so far.
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
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("vacant"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &group, &[]);
        let [x, y, z] = [width, height, depth].map(|n| n.div_ceil(GROUP));
        pass.dispatch_workgroups(x, y, z);
        drop(pass);
        (view, extent)
    }
}
