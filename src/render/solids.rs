//! Regions in the 3-D view: spheres, boxes and masks, translucent and lit.

use super::clips;
use super::gpu::{Gpu, Slot, blended, depth_test, source};
use super::pipelines::Drawing;
use super::textures::{Key, Textures};
use super::view::SceneView;
use crate::scene::draw_list::{Solid, SolidShape};
use bytemuck::{Pod, Zeroable};
use glam::{DAffine3, DMat3, DMat4, DVec3};
use std::sync::OnceLock;

const SHADER: &str = include_str!("../../shaders/solids.wgsl");

/// The source of the shader.
pub(super) fn shader() -> String {
    source(&format!("{}\n{SHADER}", clips::SHADER))
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
struct SolidUniform {
    clip_from_world: [[f32; 4]; 4],
    world_from_cube: [[f32; 4]; 4],
    texel_rows: [[f32; 4]; 3],
    eye: [f32; 4],
    light: [f32; 4],
    colour: [f32; 4],
    centre: [f32; 4],
    half_edges: [f32; 4],
    rim: [f32; 4],
    depth_cue: [f32; 4],
    fading: [f32; 4],
    flags: [u32; 4],
}

/// The fragment shader of a shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shader {
    Sphere,
    Box,
    Mask,
}

impl Shader {
    const ENTRIES: [&str; 3] = ["fs_sphere", "fs_box", "fs_mask"];
    const CLIPPED: [&str; 3] = ["fs_sphere_clipped", "fs_box_clipped", "fs_mask_clipped"];
}

/// A solid ready to be drawn.
pub(super) struct Ready {
    shader: Shader,
    is_clipped: bool,
    group: wgpu::BindGroup,
}

/// Distance between uniforms in a buffer of many: every device aligns to 256 bytes or less.
const STRIDE: usize = size_of::<SolidUniform>().next_multiple_of(256);

pub(super) struct Solids {
    layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    /// For 1 and for 4 samples; each by [`Shader`].
    pipelines: [[wgpu::RenderPipeline; 3]; 2],
    /// Pipelines of clipped solids, created when first needed.
    clipped: OnceLock<[[wgpu::RenderPipeline; 3]; 2]>,
    /// Bound if a solid has no mask.
    nothing: wgpu::TextureView,
}

impl Solids {
    pub fn new(gpu: &Gpu) -> Self {
        let layout = gpu.layout(
            wgpu::ShaderStages::VERTEX_FRAGMENT,
            &[Slot::Uniform, Slot::Filtered3, Slot::Sampler, Slot::Storage],
        );
        Self {
            pipelines: pipelines(gpu, &layout, Shader::ENTRIES),
            clipped: OnceLock::new(),
            sampler: gpu.linear_sampler(),
            nothing: gpu.texture_3d([1; 3], wgpu::TextureFormat::R8Unorm, &[0]),
            layout,
        }
    }

    /// Prepares solids for drawing, from far to near.
    pub fn groups(
        &self,
        gpu: &Gpu,
        textures: &mut Textures,
        (solids, is_clipped): (&[Solid], bool),
        view: &SceneView,
        used: &mut Vec<Key>,
    ) -> Vec<Ready> {
        let mut sorted: Vec<(f64, SolidUniform, Shader, wgpu::TextureView)> = solids
            .iter()
            .filter_map(|solid| {
                let (centre, uniform, shader, surface) =
                    self.uniform(gpu, textures, solid, view, used)?;
                Some((centre.dot(view.forward), uniform, shader, surface))
            })
            .collect();
        sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
        // One buffer for all of them: separate buffers, created for every picture, would take more memory than the
        // regions if there are hundreds.
        if sorted.is_empty() {
            return Vec::new();
        }
        let mut bytes = vec![0; sorted.len() * STRIDE];
        for (place, (_, uniform, ..)) in bytes.chunks_exact_mut(STRIDE).zip(&sorted) {
            let own = bytemuck::bytes_of(uniform);
            place[..own.len()].copy_from_slice(own);
        }
        let buffer = gpu.uniform_bytes(&bytes);
        let [_, clips, _] = &view.clips;
        let clips = gpu.storage_of(std::slice::from_ref(clips));
        let size = std::num::NonZeroU64::new(size_of::<SolidUniform>() as u64);
        let groups = sorted
            .iter()
            .enumerate()
            .map(|(i, (_, _, shader, surface))| {
                let own = wgpu::BufferBinding {
                    buffer: &buffer,
                    offset: (i * STRIDE) as u64,
                    size,
                };
                let group = gpu.bind(
                    &self.layout,
                    &[
                        wgpu::BindingResource::Buffer(own),
                        wgpu::BindingResource::TextureView(surface),
                        wgpu::BindingResource::Sampler(&self.sampler),
                        clips.as_entire_binding(),
                    ],
                );
                Ready {
                    shader: *shader,
                    is_clipped,
                    group,
                }
            });
        groups.collect()
    }

    /// `None` for a mask whose surface could not be computed in time.
    fn uniform(
        &self,
        gpu: &Gpu,
        textures: &mut Textures,
        solid: &Solid,
        view: &SceneView,
        used: &mut Vec<Key>,
    ) -> Option<(DVec3, SolidUniform, Shader, wgpu::TextureView)> {
        let [r, g, b] = solid.colour.map(|c| f32::from(c) / 255.0);
        let rim_px = 1.25 * view.pixel_scale;
        let mut uniform = SolidUniform {
            clip_from_world: view.clip_from_world.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            light: view.light.as_vec3().extend(0.0).to_array(),
            colour: [r, g, b, solid.opacity],
            half_edges: [0.0, 0.0, 0.0, view.px_per_mm as f32],
            rim: [rim_px, 0.0, 0.0, 0.0],
            depth_cue: view.depth_cue.as_vec4().to_array(),
            fading: view.fading(),
            flags: [u32::from(solid.selected), 0, 0, 0],
            ..Default::default()
        };
        let mut surface = self.nothing.clone();
        let (shader, hull) = match &solid.shape {
            SolidShape::Sphere { centre, radius_mm } => {
                uniform.centre = centre.as_vec3().extend(*radius_mm as f32).to_array();
                // Margin for the soft edge, two pixels wide.
                let w = (view.clip_from_world * centre.extend(1.0)).w.abs();
                let half = radius_mm * 1.05 + 2.0 * w / view.px_per_mm;
                let scale = DMat3::from_diagonal(DVec3::splat(half));
                let hull = DAffine3::from_mat3_translation(scale, *centre);
                (Shader::Sphere, hull)
            }
            SolidShape::Box { centre, half_mm } => {
                let half = half_mm.max(DVec3::splat(1e-3));
                uniform.centre = centre.as_vec3().extend(0.0).to_array();
                let [x, y, z] = half.as_vec3().to_array();
                uniform.half_edges = [x, y, z, view.px_per_mm as f32];
                let hull = DAffine3::from_mat3_translation(DMat3::from_diagonal(half), *centre);
                (Shader::Box, hull)
            }
            SolidShape::Mask(mask) => {
                let (key, texture) = textures.surface_in_time(gpu, &mask.0)?;
                used.push(key);
                let m = DMat4::from(texture.texel_from_world);
                uniform.texel_rows = [0, 1, 2].map(|i| m.row(i).as_vec4().to_array());
                surface = texture.view.clone();
                let hull = texture_hull(&texture.texel_from_world, texture.size);
                (Shader::Mask, hull)
            }
        };
        uniform.world_from_cube = DMat4::from(hull).as_mat4().to_cols_array_2d();
        Some((hull.translation, uniform, shader, surface))
    }

    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, solids: &[Ready], samples: u32) {
        let mut bound = None;
        for ready in solids {
            let all = match ready.is_clipped {
                true => self
                    .clipped
                    .get_or_init(|| pipelines(gpu, &self.layout, Shader::CLIPPED)),
                false => &self.pipelines,
            };
            if bound != Some(ready.shader) {
                pass.set_pipeline(&all[usize::from(samples > 1)][ready.shader as usize]);
                bound = Some(ready.shader);
            }
            pass.set_bind_group(0, &ready.group, &[]);
            pass.draw(0..36, 0..1);
        }
    }
}

/// Pipelines with these fragment shaders, for 1 and for 4 samples.
fn pipelines(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    entries: [&str; 3],
) -> [[wgpu::RenderPipeline; 3]; 2] {
    let module = gpu.shader("solids", shader());
    let make = |samples, entry| {
        let drawing = Drawing {
            // The hull's far side, so that the eye may be inside.
            primitive: wgpu::PrimitiveState {
                cull_mode: Some(wgpu::Face::Front),
                ..Default::default()
            },
            samples,
            depth_stencil: Some(depth_test(true)),
            targets: &[Some(blended())],
        };
        gpu.render_pipeline((&module, layout), ["vs_solid", entry], drawing)
    };
    [1, 4].map(|samples| entries.map(|entry| make(samples, entry)))
}

/// The box of a texture's texel centres from the cube -1..1, right-handed so that its back faces are the same as any
/// other hull's.
fn texture_hull(texel_from_world: &DAffine3, size: [u32; 3]) -> DAffine3 {
    let half = DVec3::from_array(size.map(|n| (f64::from(n) - 1.0).max(0.5) * 0.5));
    let middle = DVec3::from_array(size.map(|n| (f64::from(n) - 1.0) * 0.5));
    let mut scale = half;
    if texel_from_world.matrix3.determinant() < 0.0 {
        scale.x = -scale.x;
    }
    let texel_from_cube = DAffine3::from_mat3_translation(DMat3::from_diagonal(scale), middle);
    texel_from_world.inverse() * texel_from_cube
}
