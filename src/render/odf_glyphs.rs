//! Glyphs of fibre orientation distributions in the 3-D view and over slices (shaders/odf_glyphs.wgsl).

use super::glyph_voxels::{FieldVoxels, GlyphVoxels, centre};
use super::glyphs::Look;
use super::gpu::{COLOUR, DEPTH, Gpu, Slot, depth_test, source};
use super::odf_rays::{self, OdfRayRenderer};
use super::pipelines::{Drawing, dispatch};
use crate::data::clip::keep;
use crate::data::half_sphere::HalfSphere;
use crate::data::spherical_harmonics::{count, evaluate};
use crate::scene::draw_list::{GlyphScale, OdfGlyphs};
use bytemuck::{Pod, Zeroable};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wgpu::util::DeviceExt as _;

pub(super) const SHADER: &str = include_str!("../../shaders/odf_glyphs.wgsl");

/// Subdivisions of the icosahedron for few glyphs, for some, and for many or in rough pictures. At order 12 the finest
/// lobes are 15° wide, four edges of the finest mesh.
const FINE: usize = 4;
const MIDDLING: usize = 3;
const ROUGH: usize = 2;
const FEW: usize = 200;
const SOME: usize = 12_000;
/// Workgroups in a row: below the limit of every device.
const ROW: u32 = 32_768;
/// Number of views: the 3-D view and the slices of a mosaic.
const VIEWS: usize = 32;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct OdfUniform {
    clip_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    size: [f32; 4],
    depth_cue: [f32; 4],
    fading: [f32; 4],
    counts: [u32; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Direction {
    u: [f32; 4],
    ring: [u32; 6],
    unused: [u32; 2],
}

/// A sphere on the device.
struct Mesh {
    directions: wgpu::Buffer,
    corners: wgpu::Buffer,
    corner_count: u32,
}

struct Pipelines {
    preparing: wgpu::BindGroupLayout,
    prepare: wgpu::ComputePipeline,
    drawing: wgpu::BindGroupLayout,
    /// For 1 and for 4 samples.
    draw: [wgpu::RenderPipeline; 2],
}

/// Glyphs ready to draw.
pub(super) struct Ready {
    group: wgpu::BindGroup,
    subdivisions: usize,
    /// The glyphs drawn as meshes.
    meshes: Vec<Range<u32>>,
    /// The large glyphs, which are ray-cast.
    rays: Option<odf_rays::Ready>,
}

/// Glyphs of earlier pictures, reused while the camera moves.
struct KeptGlyphs {
    key: OdfGlyphs,
    /// Centres, sizes and coefficients, and the distances computed from them.
    glyphs: Arc<wgpu::Buffer>,
    distances: Arc<wgpu::Buffer>,
    subdivisions: usize,
    /// The voxel of each.
    voxels: Vec<usize>,
    /// Peaks of the glyphs that were large in an earlier picture, by number.
    peaks: BTreeMap<u32, f32>,
}

impl KeptGlyphs {
    fn count(&self) -> u32 {
        self.voxels.len() as u32
    }
}

#[derive(Default)]
pub(super) struct OdfGlyphRenderer {
    pipelines: OnceLock<Pipelines>,
    meshes: [OnceLock<Mesh>; FINE + 1],
    /// The functions at all directions, by subdivisions and order.
    harmonics: Mutex<BTreeMap<(usize, usize), Arc<wgpu::Buffer>>>,
    /// Most recently used first: the 3-D view's and those of each slice view.
    kept: Mutex<Vec<KeptGlyphs>>,
    voxels: GlyphVoxels,
    rays: OdfRayRenderer,
}

impl OdfGlyphRenderer {
    fn pipelines(&self, gpu: &Gpu) -> &Pipelines {
        self.pipelines.get_or_init(|| {
            let module = gpu.shader("odf glyphs", source(SHADER));
            let slots = [Slot::Uniform, Slot::Storage, Slot::Storage, Slot::Stored];
            let preparing = gpu.layout(wgpu::ShaderStages::COMPUTE, &slots);
            let prepare = gpu.compute_pipeline((&module, &preparing), "odf_prepare");
            let slots = [Slot::Uniform, Slot::Storage, Slot::Storage, Slot::Storage];
            let drawing = gpu.layout(wgpu::ShaderStages::VERTEX_FRAGMENT, &slots);
            let draw = [1, 4].map(|samples| {
                let own = Drawing {
                    primitive: wgpu::PrimitiveState::default(),
                    samples,
                    depth_stencil: Some(depth_test(true)),
                    targets: &[Some(COLOUR.into())],
                };
                gpu.render_pipeline((&module, &drawing), ["vs_odf", "fs_odf"], own)
            });
            Pipelines {
                preparing,
                prepare,
                drawing,
                draw,
            }
        })
    }

    fn mesh(&self, gpu: &Gpu, subdivisions: usize) -> &Mesh {
        self.meshes[subdivisions].get_or_init(|| {
            let sphere = HalfSphere::subdivided(subdivisions);
            let both = sphere.vertices.iter().zip(&sphere.rings);
            let directions = both.map(|(vertex, ring)| Direction {
                u: vertex.as_vec3().extend(0.0).to_array(),
                ring: *ring,
                unused: [0; 2],
            });
            let directions: Vec<Direction> = directions.collect();
            let corners = sphere.triangles.as_flattened();
            let corner_buffer = wgpu::util::BufferInitDescriptor {
                label: Some("corners"),
                contents: bytemuck::cast_slice(corners),
                usage: wgpu::BufferUsages::INDEX,
            };
            Mesh {
                directions: gpu.storage_of(&directions),
                corners: gpu.device.create_buffer_init(&corner_buffer),
                corner_count: corners.len() as u32,
            }
        })
    }

    /// For each coefficient, its function at all directions.
    fn harmonics(&self, gpu: &Gpu, subdivisions: usize, order: usize) -> Arc<wgpu::Buffer> {
        let mut known = self
            .harmonics
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let buffer = known.entry((subdivisions, order)).or_insert_with(|| {
            let vertices = &HalfSphere::subdivided(subdivisions).vertices;
            let values: Vec<Vec<f64>> = vertices.iter().map(|u| evaluate(order, *u)).collect();
            let of_coefficient = |c: usize| values.iter().map(move |at| at[c] as f32);
            let table: Vec<f32> = (0..count(order)).flat_map(of_coefficient).collect();
            Arc::new(gpu.storage_of(&table))
        });
        buffer.clone()
    }

    /// Releases fields and images, too.
    pub fn clear(&mut self) {
        self.kept = Mutex::default();
        self.voxels = GlyphVoxels::default();
    }

    /// Prepares the glyphs; `None` if there are none.
    pub fn prepare(&self, gpu: &Gpu, glyphs: &OdfGlyphs, look: &Look) -> Option<Ready> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().position(|k| k.key == *glyphs) {
            kept[..=known].rotate_right(1);
        } else {
            kept.insert(0, self.kept_glyphs(gpu, glyphs));
            kept.truncate(VIEWS);
        }
        let kept = kept.first_mut().filter(|k| k.count() > 0)?;
        let max_radius_mm = reach_mm(glyphs);
        let choice = odf_rays::Choice {
            glyphs,
            voxels: &kept.voxels,
            peaks: &mut kept.peaks,
            radius_mm: radius_mm(glyphs),
            max_radius_mm,
        };
        let large = match look.is_rough() {
            true => Vec::new(),
            false => self.rays.choose(choice, look),
        };
        let [depth_cue, fading] = look.depth_cue();
        let uniform = OdfUniform {
            depth_cue,
            fading,
            clip_from_world: look.clip_from_world_within(max_radius_mm),
            eye: look.eye(),
            light: look.light(),
            ..uniform(glyphs, kept.count(), kept.subdivisions)
        };
        // The vertices of a coarser sphere are the first ones of a finer one.
        let subdivisions = match look.is_rough() {
            true => kept.subdivisions.min(ROUGH),
            false => kept.subdivisions,
        };
        let mesh = self.mesh(gpu, subdivisions);
        let buffer = gpu.uniform(&uniform);
        let resources = [
            buffer.as_entire_binding(),
            kept.glyphs.as_entire_binding(),
            mesh.directions.as_entire_binding(),
            kept.distances.as_entire_binding(),
        ];
        Some(Ready {
            group: gpu.bind(&self.pipelines(gpu).drawing, &resources),
            subdivisions,
            meshes: odf_rays::others(kept.count(), &large),
            rays: self.rays.prepare(
                gpu,
                &large,
                (&*kept.glyphs, glyphs.field.0.order()),
                (look, max_radius_mm),
            ),
        })
    }

    fn kept_glyphs(&self, gpu: &Gpu, glyphs: &OdfGlyphs) -> KeptGlyphs {
        let (voxels, values) = self.centres_and_coefficients(glyphs);
        let count = voxels.len();
        let subdivisions = match count {
            0..=FEW => FINE,
            _ if count <= SOME => MIDDLING,
            _ => ROUGH,
        };
        let directions = HalfSphere::subdivided(subdivisions).vertices.len();
        let distances = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("odf distances"),
            size: (4 * directions * count.max(1)) as u64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let fresh = KeptGlyphs {
            key: glyphs.clone(),
            glyphs: Arc::new(gpu.storage_of(if values.is_empty() { &[0.0] } else { &values })),
            distances: Arc::new(distances),
            subdivisions,
            voxels,
            peaks: BTreeMap::new(),
        };
        if count > 0 {
            self.compute_distances(gpu, glyphs, &fresh);
        }
        fresh
    }

    fn compute_distances(&self, gpu: &Gpu, glyphs: &OdfGlyphs, glyphs_kept: &KeptGlyphs) {
        let pipelines = self.pipelines(gpu);
        let harmonics = self.harmonics(gpu, glyphs_kept.subdivisions, glyphs.field.0.order());
        let buffer = gpu.uniform(&uniform(
            glyphs,
            glyphs_kept.count(),
            glyphs_kept.subdivisions,
        ));
        let resources = [
            buffer.as_entire_binding(),
            glyphs_kept.glyphs.as_entire_binding(),
            harmonics.as_entire_binding(),
            glyphs_kept.distances.as_entire_binding(),
        ];
        let group = gpu.bind(&pipelines.preparing, &resources);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let groups = [
            glyphs_kept.count().min(ROW),
            glyphs_kept.count().div_ceil(ROW),
            1,
        ];
        let with = (&pipelines.prepare, &group);
        dispatch(&mut encoder, "odf glyphs", with, groups);
        gpu.queue.submit([encoder.finish()]);
    }

    /// The voxels with glyphs, and for each its centre in world mm, its size relative to the full one and its coefficients.
    fn centres_and_coefficients(&self, glyphs: &OdfGlyphs) -> (Vec<usize>, Vec<f32>) {
        let field = &glyphs.field.0;
        let mean = &field.coefficients[..field.grid.voxel_count()];
        // NaN marks voxels without a distribution, too.
        let inside = |voxel: usize| mean[voxel] > 0.0;
        let mut voxels = self.voxels.chosen(
            &FieldVoxels {
                id: field.id(),
                grid: &field.grid,
                inside: &inside,
            },
            (&glyphs.place, glyphs.every),
        );
        let factor = |at| GlyphScale::factor_or_full(glyphs.scale.as_ref(), at);
        voxels.retain(|voxel| {
            let at = centre(&field.grid, *voxel);
            keep(&glyphs.clips, at) && factor(at) > 0.0
        });
        // Callers request no more: this only guards the buffers.
        voxels.truncate(OdfGlyphs::MAX_COUNT);
        let mut values = Vec::with_capacity(voxels.len() * (4 + count(field.order())));
        for &voxel in &voxels {
            let at = centre(&field.grid, voxel);
            values.extend(at.as_vec3().extend(factor(at)).to_array());
            values.extend(field.coefficients_at(voxel).into_iter().map(finite));
        }
        (voxels, values)
    }

    /// Draws into a pass with a depth buffer.
    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, ready: &Ready, samples: u32) {
        let mesh = self.mesh(gpu, ready.subdivisions);
        pass.set_pipeline(&self.pipelines(gpu).draw[usize::from(samples > 1)]);
        pass.set_bind_group(0, &ready.group, &[]);
        pass.set_index_buffer(mesh.corners.slice(..), wgpu::IndexFormat::Uint32);
        for glyphs in &ready.meshes {
            pass.draw_indexed(0..mesh.corner_count, 0, glyphs.clone());
        }
        if let Some(rays) = &ready.rays {
            self.rays.draw(gpu, pass, rays, samples);
        }
    }

    /// Draws over a slice, in a pass of its own, since a slice has no depth.
    pub fn draw_over_slice(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (target, size_px): (&wgpu::TextureView, [u32; 2]),
        ready: &Ready,
    ) {
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let depth = gpu.texture_2d(size_px, DEPTH, 1, usage);
        let depth = depth.create_view(&wgpu::TextureViewDescriptor::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("odf glyphs over a slice"),
            color_attachments: &super::gpu::kept_target(target),
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        self.draw(gpu, &mut pass, ready, 1);
    }
}

/// All but the view.
fn uniform(glyphs: &OdfGlyphs, count_of_glyphs: u32, subdivisions: usize) -> OdfUniform {
    let full = glyphs.full_amplitude.unwrap_or(0.0);
    let directions = HalfSphere::subdivided(subdivisions).vertices.len();
    OdfUniform {
        size: [radius_mm(glyphs) as f32, full, glyphs.min_peak, 0.0],
        counts: [
            count_of_glyphs,
            count(glyphs.field.0.order()) as u32,
            directions as u32,
            count_of_glyphs.min(ROW),
        ],
        ..OdfUniform::zeroed()
    }
}

/// Distance of the peak from the centre, mm: at a size equal to their spacing in voxels, neighbours just touch.
fn radius_mm(glyphs: &OdfGlyphs) -> f64 {
    let spacing = glyphs.field.0.grid.spacing().min_element();
    0.5 * spacing * f64::from(glyphs.size)
}

/// A distance from a slice that no glyph exceeds, mm. With a common amplitude, glyphs may exceed the full size: nothing
/// has more than twelve times the amplitude of a typical bundle.
fn reach_mm(glyphs: &OdfGlyphs) -> f64 {
    let beyond = glyphs.full_amplitude.map_or(1.0, |_| 12.0);
    let layer = glyphs.field.0.grid.spacing().max_element() * glyphs.every.max(1) as f64;
    radius_mm(glyphs) * beyond + layer
}

pub(super) fn finite(coefficient: f64) -> f32 {
    match coefficient.is_finite() {
        true => coefficient as f32,
        false => 0.0,
    }
}
