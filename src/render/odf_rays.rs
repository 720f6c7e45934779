//! Large glyphs of fibre orientation distributions, by a ray per pixel (shaders/odf_rays.wgsl): the edges of a mesh
//! show on the outlines of thin lobes.

use super::glyph_voxels::centre;
use super::glyphs::Look;
use super::gpu::{COLOUR, Gpu, Slot, depth_test, source};
use super::pipelines::Drawing;
use crate::data::half_sphere::{HalfSphere, MAX_SUBDIVISIONS};
use crate::data::spherical_harmonics::{EvenRecurrence, count, evaluate};
use crate::scene::draw_list::{GlyphScale, OdfGlyphs};
use bytemuck::{Pod, Zeroable};
use glam::{DMat4, DVec3, DVec4};
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) const SHADER: &str = include_str!("../../shaders/odf_rays.wgsl");

/// Largest number of glyphs in a picture; the nearest are drawn.
const MAX_COUNT: usize = 512;
/// Largest angle between a direction and the nearest vertex of the finest sphere, radians.
const FROM_VERTEX: f64 = 0.05;
/// Least distance of the eye in perspective from the centre of a glyph, relative to the glyph's reach: the shader
/// assumes that the eye is outside.
const MIN_EYE_DISTANCE: f64 = 1.25;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct RayUniform {
    clip_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    depth_cue: [f32; 4],
    fading: [f32; 4],
}

/// A glyph to draw, in the shader's layout.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Large {
    glyph: u32,
    /// Distance per amplitude, mm.
    scale: f32,
    /// Distance from the centre that no part of the surface exceeds, mm.
    reach: f32,
    unused: f32,
}

struct Pipelines {
    layout: wgpu::BindGroupLayout,
    /// For 1 and for 4 samples.
    draw: [wgpu::RenderPipeline; 2],
}

/// Glyphs ready to draw.
pub(super) struct Ready {
    group: wgpu::BindGroup,
    count: u32,
}

#[derive(Default)]
pub(super) struct OdfRayRenderer {
    pipelines: OnceLock<Pipelines>,
    /// By order.
    tables: Mutex<BTreeMap<usize, Arc<wgpu::Buffer>>>,
    /// The functions at the vertices of the finest sphere, one vertex after the other, by order.
    functions: Mutex<BTreeMap<usize, Arc<Vec<f32>>>>,
}

/// Glyphs to choose from.
pub(super) struct Choice<'a> {
    pub glyphs: &'a OdfGlyphs,
    /// The voxel of each.
    pub voxels: &'a [usize],
    /// Peaks known from earlier pictures, by the number of the glyph.
    pub peaks: &'a mut BTreeMap<u32, f32>,
    /// Distance of a peak of the full amplitude, and a distance that no glyph exceeds, mm.
    pub radius_mm: f64,
    pub max_radius_mm: f64,
}

impl OdfRayRenderer {
    fn pipelines(&self, gpu: &Gpu) -> &Pipelines {
        self.pipelines.get_or_init(|| {
            let module = gpu.shader("odf rays", source(SHADER));
            let slots = [Slot::Uniform, Slot::Storage, Slot::Storage, Slot::Storage];
            let layout = gpu.layout(wgpu::ShaderStages::VERTEX_FRAGMENT, &slots);
            let draw = [1, 4].map(|samples| {
                let fragment = match samples > 1 && gpu.sample_masks {
                    true => "fs_odf_rays",
                    false => "fs_odf_ray",
                };
                let own = Drawing {
                    primitive: wgpu::PrimitiveState {
                        topology: wgpu::PrimitiveTopology::TriangleStrip,
                        ..Default::default()
                    },
                    samples,
                    depth_stencil: Some(depth_test(true)),
                    targets: &[Some(COLOUR.into())],
                };
                gpu.render_pipeline((&module, &layout), ["vs_odf_ray", fragment], own)
            });
            Pipelines { layout, draw }
        })
    }

    fn table(&self, gpu: &Gpu, order: usize) -> Arc<wgpu::Buffer> {
        let mut known = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let buffer = known
            .entry(order)
            .or_insert_with(|| Arc::new(gpu.storage_of(&table(order))));
        buffer.clone()
    }

    fn functions(&self, order: usize) -> Arc<Vec<f32>> {
        let mut known = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let values = known.entry(order).or_insert_with(|| {
            let vertices = &HalfSphere::subdivided(MAX_SUBDIVISIONS).vertices;
            let all = vertices.iter().flat_map(|u| evaluate(order, *u));
            Arc::new(all.map(|v| v as f32).collect())
        });
        values.clone()
    }

    /// The glyphs that are large in a view, by their numbers; all others remain for the mesh.
    pub fn choose(&self, choice: Choice, look: &Look) -> Vec<Large> {
        let Choice {
            glyphs,
            voxels,
            peaks,
            radius_mm,
            max_radius_mm,
        } = choice;
        let field = &glyphs.field.0;
        let sight = Sight::new(look, max_radius_mm);
        let order = field.order();
        // A trigonometric polynomial falls no faster from its maximum (Bernstein).
        let beyond = 1.0 / (order as f64 * FROM_VERTEX).cos().max(0.5);
        let bound_mm = match glyphs.full_amplitude {
            Some(_) => max_radius_mm,
            None => radius_mm * beyond,
        };
        let factor = |at| f64::from(GlyphScale::factor_or_full(glyphs.scale.as_ref(), at));
        let candidate = |(number, &voxel): (usize, &usize)| {
            let centre = centre(&field.grid, voxel);
            let size_px = sight.size_px(centre, radius_mm * factor(centre));
            let is_large = size_px >= f64::from(glyphs.cast_from_px);
            let shown = is_large && sight.shows(centre, bound_mm);
            shown.then_some((size_px, number as u32, voxel, centre))
        };
        let mut candidates: Vec<_> = voxels.iter().enumerate().filter_map(candidate).collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates.truncate(MAX_COUNT);
        if candidates.is_empty() {
            return Vec::new();
        }
        let functions = self.functions(order);
        let large = candidates
            .into_iter()
            .filter_map(|(_, number, voxel, centre)| {
                let peak = *peaks
                    .entry(number)
                    .or_insert_with(|| peak(&functions, &field.coefficients_at(voxel)));
                if !(peak > 0.0 && peak >= glyphs.min_peak) {
                    return None;
                }
                let full = glyphs.full_amplitude.filter(|f| *f > 0.0).unwrap_or(peak);
                let scale = radius_mm * factor(centre) / f64::from(full);
                let reach = scale * f64::from(peak) * beyond;
                sight.allows(centre, reach).then_some(Large {
                    glyph: number,
                    scale: scale as f32,
                    reach: reach as f32,
                    unused: 0.0,
                })
            });
        let mut large: Vec<Large> = large.collect();
        large.sort_by_key(|l| l.glyph);
        large
    }

    /// `glyphs`: centres, sizes and coefficients as for the mesh.
    pub fn prepare(
        &self,
        gpu: &Gpu,
        large: &[Large],
        (glyphs, order): (&wgpu::Buffer, usize),
        (look, max_radius_mm): (&Look, f64),
    ) -> Option<Ready> {
        if large.is_empty() {
            return None;
        }
        let [depth_cue, fading] = look.depth_cue();
        let uniform = gpu.uniform(&RayUniform {
            depth_cue,
            fading,
            clip_from_world: look.clip_from_world_within(max_radius_mm),
            eye: look.eye(),
            light: look.light(),
        });
        let (own, table) = (gpu.storage_of(large), self.table(gpu, order));
        let resources = [
            uniform.as_entire_binding(),
            glyphs.as_entire_binding(),
            own.as_entire_binding(),
            table.as_entire_binding(),
        ];
        Some(Ready {
            group: gpu.bind(&self.pipelines(gpu).layout, &resources),
            count: large.len() as u32,
        })
    }

    /// Draws into a pass with a depth buffer.
    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, ready: &Ready, samples: u32) {
        pass.set_pipeline(&self.pipelines(gpu).draw[usize::from(samples > 1)]);
        pass.set_bind_group(0, &ready.group, &[]);
        pass.draw(0..4, 0..ready.count);
    }
}

/// The ranges of glyphs that are not large.
pub(super) fn others(count: u32, large: &[Large]) -> Vec<Range<u32>> {
    let mut next = 0;
    let mut ranges = Vec::with_capacity(large.len() + 1);
    for end in large.iter().map(|l| l.glyph).chain([count]) {
        if end > next {
            ranges.push(next..end);
        }
        next = end + 1;
    }
    ranges
}

/// The largest amplitude at the vertices of the finest sphere, as in the meshes of few glyphs.
fn peak(functions: &[f32], coefficients: &[f64]) -> f32 {
    let coefficients: Vec<f32> = coefficients
        .iter()
        .map(|c| super::odf_glyphs::finite(*c))
        .collect();
    let amplitude = |at: &[f32]| -> f32 { at.iter().zip(&coefficients).map(|(f, c)| f * c).sum() };
    let all = functions.chunks_exact(coefficients.len()).map(amplitude);
    all.fold(0.0, f32::max)
}

/// The recurrence of the functions of an order, then cosines and sines; see the shader.
fn table(order: usize) -> Vec<[f32; 4]> {
    let mut all = vec![[0.0; 4]];
    for (start, steps) in EvenRecurrence::new(order).rows {
        all.push([start, 0.0, 0.0, 0.0]);
        let factors = steps.iter();
        all.extend(factors.map(|s| [s.by_square, s.constant, s.before, 0.0]));
    }
    all[0] = [order as f32, count(order) as f32, all.len() as f32, 0.0];
    let angles = order + 1;
    all.extend((0..2 * angles).map(|i| {
        let (sine, cosine) = (PI * i as f64 / angles as f64).sin_cos();
        [cosine as f32, sine as f32, 0.0, 0.0]
    }));
    all
}

/// The space that a view shows, and its resolution.
struct Sight {
    clip_from_world: DMat4,
    eye: DVec4,
    px_per_mm: f64,
}

impl Sight {
    fn new(look: &Look, max_radius_mm: f64) -> Self {
        let (eye, px_per_mm) = look.sight();
        Self {
            clip_from_world: look.clip_within(max_radius_mm),
            eye,
            px_per_mm,
        }
    }

    /// Diameter on screen of a sphere of this radius; 0 behind the eye.
    fn size_px(&self, centre: DVec3, radius_mm: f64) -> f64 {
        let w = (self.clip_from_world * centre.extend(1.0)).w;
        match w > 0.0 {
            true => 2.0 * radius_mm * self.px_per_mm / w,
            false => 0.0,
        }
    }

    /// Whether the view contains a part of a sphere.
    fn shows(&self, centre: DVec3, radius_mm: f64) -> bool {
        let row = |i| self.clip_from_world.row(i);
        let planes = [0, 1].map(|i| [row(3) + row(i), row(3) - row(i)]);
        let inside =
            |plane: &DVec4| plane.dot(centre.extend(1.0)) >= -radius_mm * plane.truncate().length();
        planes.as_flattened().iter().all(inside)
    }

    /// Whether the shader can draw a glyph: its centre is within the depths of the view, and the eye outside it.
    fn allows(&self, centre: DVec3, reach_mm: f64) -> bool {
        let clip = self.clip_from_world * centre.extend(1.0);
        let far_enough =
            self.eye.w < 0.5 || self.eye.truncate().distance(centre) > MIN_EYE_DISTANCE * reach_mm;
        clip.z > 0.0 && clip.z < clip.w && far_enough
    }
}
