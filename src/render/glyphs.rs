//! Tensor glyphs in the 3-D view (shaders/glyphs.wgsl): of the voxels that some planes cross.

use super::draw_list::{GlyphShape, TensorGlyphs};
use super::gpu::{COLOUR, Gpu, Slot, depth_test, source};
use super::view::SceneView;
use crate::data::DataId;
use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wgpu::util::DeviceExt as _;

pub(super) const SHADER: &str = include_str!("../../shaders/glyphs.wgsl");

/// Pieces around a glyph and from pole to pole, for few glyphs, for many, and in rough pictures.
const FINE: [u32; 2] = [24, 16];
const MIDDLING: [u32; 2] = [16, 10];
const ROUGH: [u32; 2] = [8, 6];
const FEW: u32 = 4_000;
/// Bytes of a glyph as the shader keeps it.
const GLYPH_BYTES: u64 = 64;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GlyphUniform {
    clip_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    size: [f32; 4],
    kind: [u32; 4],
}

struct Pipelines {
    making: wgpu::BindGroupLayout,
    make: wgpu::ComputePipeline,
    drawing: wgpu::BindGroupLayout,
    /// For 1 and for 4 samples.
    draw: [wgpu::RenderPipeline; 2],
}

/// Glyphs ready to draw.
pub(super) struct Ready {
    group: wgpu::BindGroup,
    vertices: u32,
    count: u32,
}

/// Glyphs of the picture before: they stay while the camera moves.
struct Kept {
    of: (DataId, TensorGlyphs),
    made: Arc<wgpu::Buffer>,
    count: u32,
}

#[derive(Default)]
pub(super) struct Glyphs {
    pipelines: OnceLock<Pipelines>,
    kept: Mutex<Option<Kept>>,
}

impl Glyphs {
    fn pipelines(&self, gpu: &Gpu) -> &Pipelines {
        self.pipelines.get_or_init(|| {
            let module = gpu.shader("glyphs", source(SHADER));
            let slots = [Slot::Uniform, Slot::Storage, Slot::Stored];
            let making = gpu.layout(wgpu::ShaderStages::COMPUTE, &slots);
            let make = gpu
                .device
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some("glyphs"),
                    layout: Some(&gpu.pipeline_layout(&making)),
                    module: &module,
                    entry_point: Some("glyphs_prepare"),
                    compilation_options: Default::default(),
                    cache: None,
                });
            let slots = [Slot::Uniform, Slot::Storage];
            let drawing = gpu.layout(wgpu::ShaderStages::VERTEX_FRAGMENT, &slots);
            let layout = gpu.pipeline_layout(&drawing);
            let draw = [1, 4].map(|samples| {
                gpu.device
                    .create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                        label: Some("glyphs"),
                        layout: Some(&layout),
                        vertex: wgpu::VertexState {
                            module: &module,
                            entry_point: Some("vs_glyph"),
                            compilation_options: Default::default(),
                            buffers: &[],
                        },
                        primitive: wgpu::PrimitiveState::default(),
                        depth_stencil: Some(depth_test(true)),
                        multisample: wgpu::MultisampleState {
                            count: samples,
                            ..Default::default()
                        },
                        fragment: Some(wgpu::FragmentState {
                            module: &module,
                            entry_point: Some("fs_glyph"),
                            compilation_options: Default::default(),
                            targets: &[Some(COLOUR.into())],
                        }),
                        multiview_mask: None,
                        cache: None,
                    })
            });
            Pipelines {
                making,
                make,
                drawing,
                draw,
            }
        })
    }

    /// Ready to draw; `None` where no plane crosses a tensor.
    pub fn ready(
        &self,
        gpu: &Gpu,
        glyphs: &TensorGlyphs,
        view: &SceneView,
        rough: bool,
    ) -> Option<Ready> {
        let mut uniform = GlyphUniform {
            clip_from_world: view.clip_from_world.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            light: view.light.as_vec3().extend(0.0).to_array(),
            size: [half_mm(glyphs) as f32, 0.0, 0.0, 0.0],
            kind: [u32::from(glyphs.shape == GlyphShape::Superquadric), 0, 0, 0],
        };
        let of = (glyphs.tensors.0.id(), glyphs.clone());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.as_ref().is_some_and(|k| k.of == of) {
            let tensors = crossed(glyphs);
            uniform.kind[3] = tensors.len() as u32;
            *kept = Some(Kept {
                made: Arc::new(self.make(gpu, &tensors, &uniform)),
                count: tensors.len() as u32,
                of,
            });
        }
        let kept = kept.as_ref().filter(|k| k.count > 0)?;
        let [around, along] = match kept.count {
            _ if rough => ROUGH,
            0..=FEW => FINE,
            _ => MIDDLING,
        };
        uniform.kind[1..].copy_from_slice(&[around, along, kept.count]);
        let buffer = gpu.uniform(&uniform);
        let resources = [buffer.as_entire_binding(), kept.made.as_entire_binding()];
        Some(Ready {
            group: gpu.bind(&self.pipelines(gpu).drawing, &resources),
            vertices: around * along * 6,
            count: kept.count,
        })
    }

    fn make(&self, gpu: &Gpu, tensors: &[[f32; 12]], uniform: &GlyphUniform) -> wgpu::Buffer {
        let made = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("glyphs"),
            size: GLYPH_BYTES * tensors.len().max(1) as u64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        if tensors.is_empty() {
            return made;
        }
        let pipelines = self.pipelines(gpu);
        let given = gpu
            .device
            .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some("tensors"),
                contents: bytemuck::cast_slice(tensors),
                usage: wgpu::BufferUsages::STORAGE,
            });
        let buffer = gpu.uniform(uniform);
        let resources = [
            buffer.as_entire_binding(),
            given.as_entire_binding(),
            made.as_entire_binding(),
        ];
        let group = gpu.bind(&pipelines.making, &resources);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("glyphs"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&pipelines.make);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups((tensors.len() as u32).div_ceil(64), 1, 1);
        }
        gpu.queue.submit([encoder.finish()]);
        made
    }

    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, ready: &Ready, samples: u32) {
        pass.set_pipeline(&self.pipelines(gpu).draw[usize::from(samples > 1)]);
        pass.set_bind_group(0, &ready.group, &[]);
        pass.draw(0..ready.vertices, 0..ready.count);
    }
}

/// Half the longest axis of a glyph, mm: at size 1 neighbours just touch.
fn half_mm(glyphs: &TensorGlyphs) -> f64 {
    let spacing = glyphs.tensors.0.grid.spacing().min_element();
    0.5 * spacing * f64::from(glyphs.size) * glyphs.every.max(1) as f64
}

/// Centres and tensors of the voxels that the planes cross: one layer a plane, every so many voxels
/// along it. At most as many as fit the smallest buffers.
fn crossed(glyphs: &TensorGlyphs) -> Vec<[f32; 12]> {
    const MOST: usize = 1_000_000;
    let field = &glyphs.tensors.0;
    let grid = &field.grid;
    let edges = grid.world_from_voxel.matrix3;
    let mut found = Vec::new();
    for plane in &glyphs.planes {
        let normal = plane.normal.normalize_or_zero();
        let across: [f64; 3] = [0, 1, 2].map(|a| edges.col(a).dot(normal).abs());
        let along = (0..3).max_by(|&a, &b| across[a].total_cmp(&across[b]));
        let along = along.unwrap_or(2);
        let half = 0.5 * across[along];
        let kept = |voxel: [usize; 3]| {
            (0..3).all(|a| a == along || voxel[a].is_multiple_of(glyphs.every.max(1)))
        };
        for (i, tensor) in field.tensors.iter().enumerate() {
            if tensor.inside < 0.5 {
                continue;
            }
            let voxel = grid.voxel(i);
            let centre = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
            let off = (centre - plane.at).dot(normal);
            // A plane halfway between two layers has one of them.
            if off > -half && off <= half && kept(voxel) && found.len() < MOST {
                let [x, y, z] = centre.as_vec3().to_array();
                let [xx, xy, xz, yy, yz, zz] = tensor.d;
                found.push([x, y, z, 0.0, xx, xy, xz, yy, yz, zz, 0.0, 0.0]);
            }
        }
    }
    found
}
