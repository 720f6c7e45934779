//! The head's outline: a mask ray-cast by a compute shader, which data-centre cards run faster.

use super::gpu::{Gpu, Slot, depth_source};
use super::pipelines::dispatch;
use super::textures::{Key, Textures};
use super::view::SceneView;
use crate::scene::draw_list::Outline;
use bytemuck::{Pod, Zeroable};
use glam::DMat4;

pub(super) const SHADER: &str = include_str!("../../shaders/outline.wgsl");

pub(super) const GLASS: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// Optical density of the boundary: the rim is nearly opaque, a face-on crossing is invisible.
const DENSITY: f32 = 1.25;
const RIM_EXPONENT: f32 = 2.5;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct OutlineUniform {
    world_from_clip: [[f32; 4]; 4],
    eye: [f32; 4],
    texel_rows: [[f32; 4]; 3],
    colour: [f32; 4],
    size: [f32; 4],
    march: [f32; 4],
}

pub(super) struct Outlines {
    /// For 1 and for 4 samples of the scene.
    pipelines: [(wgpu::BindGroupLayout, wgpu::ComputePipeline); 2],
    sampler: wgpu::Sampler,
}

impl Outlines {
    pub fn new(gpu: &Gpu) -> Self {
        let make = |samples| {
            let layout = gpu.layout(
                wgpu::ShaderStages::COMPUTE,
                &[
                    Slot::Uniform,
                    Slot::Depth { samples },
                    Slot::Filtered3,
                    Slot::Filtered3,
                    Slot::Sampler,
                    Slot::Written2(GLASS),
                ],
            );
            let module = gpu.shader("outline", depth_source(SHADER, samples));
            let pipeline = gpu.compute_pipeline((&module, &layout), "outline_march");
            (layout, pipeline)
        };
        Self {
            pipelines: [1, 4].map(make),
            sampler: gpu.linear_sampler(),
        }
    }

    /// Casts the outline into `glass`, one pixel for `per_pixel` × `per_pixel` of the scene.
    #[allow(
        clippy::too_many_arguments,
        reason = "one each for the card, the pass, the scene and its targets"
    )]
    pub fn march(
        &self,
        gpu: &Gpu,
        textures: &mut Textures,
        encoder: &mut wgpu::CommandEncoder,
        outline: &Outline,
        view: &SceneView,
        (depth, samples): (&wgpu::TextureView, u32),
        (glass, per_pixel): (&wgpu::TextureView, u32),
        used: &mut Vec<Key>,
    ) {
        let [(field_key, field), (distance_key, distance)] = textures.rim(gpu, &outline.mask.0);
        used.extend([field_key, distance_key]);
        let [r, g, b] = outline.colour.map(|c| f32::from(c) / 255.0);
        let [width, height] = view.size_px;
        let (glass_width, glass_height) = (width.div_ceil(per_pixel), height.div_ceil(per_pixel));
        let m = DMat4::from(field.texel_from_world);
        // Fine enough for the thin shell into which the shader turns the blurred boundary.
        let texel_mm = field
            .texel_from_world
            .inverse()
            .matrix3
            .determinant()
            .abs()
            .cbrt();
        let uniform = OutlineUniform {
            world_from_clip: view.world_from_clip.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            texel_rows: [0, 1, 2].map(|i| m.row(i).as_vec4().to_array()),
            colour: [r, g, b, outline.opacity],
            size: [width, height, glass_width, glass_height].map(|n| n as f32),
            march: [
                texel_mm as f32 * 0.4,
                DENSITY,
                RIM_EXPONENT,
                per_pixel as f32,
            ],
        };
        let buffer = gpu.uniform(&uniform);
        let (layout, pipeline) = &self.pipelines[usize::from(samples > 1)];
        use wgpu::BindingResource::{Sampler, TextureView as View};
        let group = gpu.bind(
            layout,
            &[
                buffer.as_entire_binding(),
                View(depth),
                View(&field.view),
                View(&distance.view),
                Sampler(&self.sampler),
                View(glass),
            ],
        );
        let groups = [glass_width.div_ceil(8), glass_height.div_ceil(8), 1];
        dispatch(encoder, "outline", (pipeline, &group), groups);
    }
}
