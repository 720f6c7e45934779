//! Darkens hollows between nearer objects, which shows depth where all lines look alike.

use super::gpu::{Gpu, Slot, depth_source};
use super::pipelines::dispatch;
use super::view::SceneView;
use bytemuck::{Pod, Zeroable};
use wgpu::TextureUsages as Usage;

pub(super) const SHADER: &str = include_str!("../../shaders/ambient_occlusion.wgsl");

/// Pixels of the scene per pixel of the blurred distances; must match the shader.
const BLOCK: u32 = 4;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct OcclusionUniform {
    size: [f32; 4],
    depth: [f32; 4],
    blur: [f32; 4],
}

/// Radius of the blur in logical pixels.
const RADIUS_PX: f32 = 32.0;

/// Pixels around a part of a picture that can darken it; a multiple of [`BLOCK`].
pub(super) fn reach_px(pixel_scale: f32) -> u32 {
    (radius(pixel_scale) as u32 + 2) * BLOCK
}

/// The radius in averaged pixels.
fn radius(pixel_scale: f32) -> f32 {
    (RADIUS_PX * pixel_scale / BLOCK as f32)
        .round()
        .clamp(1.0, 64.0)
}

/// Averaged distances, and buffers to blur them.
pub(super) struct OcclusionTargets {
    textures: [wgpu::TextureView; 2],
}

impl OcclusionTargets {
    pub fn new(gpu: &Gpu, scene_px: [u32; 2]) -> Self {
        let size = scene_px.map(|n| n.div_ceil(BLOCK));
        let make = |_| {
            let usage = Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING;
            gpu.texture_2d(size, wgpu::TextureFormat::R32Float, 1, usage)
                .create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self {
            textures: [0, 1].map(make),
        }
    }

    pub fn blurred(&self) -> &wgpu::TextureView {
        &self.textures[0]
    }
}

pub(super) struct AmbientOcclusion {
    /// For 1 and for 4 samples of the scene: average, horizontal blur, vertical blur.
    pipelines: [(wgpu::BindGroupLayout, [wgpu::ComputePipeline; 3]); 2],
}

impl AmbientOcclusion {
    pub fn new(gpu: &Gpu) -> Self {
        let make = |samples| {
            let layout = gpu.layout(
                wgpu::ShaderStages::COMPUTE,
                &[
                    Slot::Uniform,
                    Slot::Depth { samples },
                    Slot::Image2,
                    Slot::Written2(wgpu::TextureFormat::R32Float),
                ],
            );
            let module = gpu.shader("ambient occlusion", depth_source(SHADER, samples));
            let entries = ["occlusion_average", "occlusion_across", "occlusion_down"];
            let pipelines = entries.map(|entry| gpu.compute_pipeline((&module, &layout), entry));
            (layout, pipelines)
        };
        Self {
            pipelines: [1, 4].map(make),
        }
    }

    /// Fills `occlusion` for the scene of this depth; `numbers` turn depths into distances, and those beyond `farthest`
    /// mm are ignored.
    pub fn blur(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (depth, samples): (&wgpu::TextureView, u32),
        occlusion: &OcclusionTargets,
        (view, numbers, farthest): (&SceneView, [f32; 4], f32),
    ) {
        let [width, height] = view.size_px;
        let [across, down] = view.size_px.map(|n| n.div_ceil(BLOCK));
        let [x, y, parallel, _] = numbers;
        let uniform = OcclusionUniform {
            size: [width, height, across, down].map(|n| n as f32),
            depth: [x, y, parallel, farthest],
            blur: [radius(view.pixel_scale), 0.0, 0.0, 0.0],
        };
        let buffer = gpu.uniform(&uniform);
        let (layout, pipelines) = &self.pipelines[usize::from(samples > 1)];
        let [a, b] = &occlusion.textures;
        // The last of the three ends in `a`, which `blurred` returns.
        let steps = [(b, a), (a, b), (b, a)];
        for (pipeline, (before, after)) in pipelines.iter().zip(steps) {
            use wgpu::BindingResource::TextureView as View;
            let group = gpu.bind(
                layout,
                &[
                    buffer.as_entire_binding(),
                    View(depth),
                    View(before),
                    View(after),
                ],
            );
            let groups = [across.div_ceil(8), down.div_ceil(8), 1];
            dispatch(encoder, "ambient occlusion", (pipeline, &group), groups);
        }
    }
}
