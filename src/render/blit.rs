//! Draws finished panes onto the window's surface.

use super::gpu::{Gpu, Slot, source};
use super::pipelines::Drawing;

pub(super) const SHADER: &str = include_str!("../../shaders/blit.wgsl");

pub(super) struct Blit {
    layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    module: wgpu::ShaderModule,
    /// One per surface that panes were shown on: the window's, and those of pictures meanwhile.
    pipelines: Vec<(Surface, wgpu::RenderPipeline)>,
    /// Index of the one in use.
    present: usize,
}

/// The target of the pass that shows the panes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surface {
    pub format: wgpu::TextureFormat,
    pub samples: u32,
    pub depth: Option<wgpu::TextureFormat>,
}

impl Blit {
    pub fn new(gpu: &Gpu) -> Self {
        let stages = wgpu::ShaderStages::FRAGMENT;
        Self {
            layout: gpu.layout(stages, &[Slot::Filtered2, Slot::Sampler, Slot::Uniform]),
            sampler: gpu.linear_sampler(),
            module: gpu.shader("blit", source(SHADER)),
            pipelines: Vec::new(),
            present: 0,
        }
    }

    pub fn prepare(&mut self, gpu: &Gpu, surface: Surface) {
        let known = self.pipelines.iter().position(|p| p.0 == surface);
        self.present = known.unwrap_or(self.pipelines.len());
        if known.is_some() {
            return;
        }
        let fragment = if surface.format.is_srgb() {
            "fs_to_srgb_surface"
        } else {
            "fs_as_is"
        };
        let drawing = Drawing {
            primitive: wgpu::PrimitiveState::default(),
            samples: surface.samples,
            depth_stencil: surface.depth.map(|format| wgpu::DepthStencilState {
                format,
                depth_write_enabled: Some(false),
                depth_compare: Some(wgpu::CompareFunction::Always),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState::default(),
            }),
            targets: &[Some(surface.format.into())],
        };
        let own = (&self.module, &self.layout);
        let pipeline = gpu.render_pipeline(own, ["vs_blit", fragment], drawing);
        self.pipelines.push((surface, pipeline));
    }

    /// The corner of the pane that is shown, for [`Blit::group`]; initially the whole pane.
    pub fn corner(&self, gpu: &Gpu, size: [u32; 2]) -> wgpu::Buffer {
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("corner"),
            size: 16,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.show_corner(gpu, &buffer, size, size);
        buffer
    }

    pub fn show_corner(&self, gpu: &Gpu, corner: &wgpu::Buffer, filled: [u32; 2], whole: [u32; 2]) {
        let [x, y] = [0, 1].map(|a| filled[a] as f32 / whole[a] as f32);
        // The last half pixel is left out, so that pixels beyond it are not mixed in.
        let [u, v] = [0, 1].map(|a| (filled[a] as f32 - 0.5) / whole[a] as f32);
        let numbers = [x, y, u, v];
        gpu.queue
            .write_buffer(corner, 0, bytemuck::cast_slice(&numbers));
    }

    pub fn group(
        &self,
        gpu: &Gpu,
        view: &wgpu::TextureView,
        corner: &wgpu::Buffer,
    ) -> wgpu::BindGroup {
        gpu.bind(
            &self.layout,
            &[
                wgpu::BindingResource::TextureView(view),
                wgpu::BindingResource::Sampler(&self.sampler),
                corner.as_entire_binding(),
            ],
        )
    }

    /// Draws nothing until [`Blit::prepare`] was called.
    pub fn draw(&self, pass: &mut wgpu::RenderPass, group: &wgpu::BindGroup) {
        if let Some((_, pipeline)) = self.pipelines.get(self.present) {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}
