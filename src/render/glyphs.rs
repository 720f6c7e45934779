//! Tensor glyphs, and the lines of peaks, in the 3-D view and over slices (shaders/glyphs.wgsl).

use super::glyph_voxels::{FieldVoxels, GlyphVoxels, centre};
use super::gpu::{COLOUR, Gpu, Slot, depth_test, source};
use super::pipelines::{Drawing, dispatch};
use super::slice_lines::slab_from_world;
use super::view::SceneView;
use crate::data::clip::keep;
use crate::data::{Grid, PeakField};
use crate::scene::draw_list::{
    GlyphScale, GlyphShape, Glyphs, PeakColours, PeakGlyphs, SlicePane, TensorGlyphs,
};
use bytemuck::{Pod, Zeroable};
use glam::{DMat4, DVec3, DVec4};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wgpu::util::DeviceExt as _;

pub(super) const SHADER: &str = include_str!("../../shaders/glyphs.wgsl");

/// Segments around a glyph and from pole to pole, for few glyphs, for many, and in rough pictures.
const FINE: [u32; 2] = [24, 16];
const MIDDLING: [u32; 2] = [16, 10];
const ROUGH: [u32; 2] = [8, 6];
const FEW: u32 = 4_000;
/// Number of views: the 3-D view and the slices of a mosaic.
const VIEWS: usize = 32;
/// Width of the line of a peak relative to its full length: a pixel where a voxel has eight.
const LINE_WIDTH: f64 = 0.12;
/// Bytes of a glyph in the shader's layout.
const GLYPH_BYTES: u64 = 64;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GlyphUniform {
    clip_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    size: [f32; 4],
    depth_cue: [f32; 4],
    fading: [f32; 4],
    kind: [u32; 4],
}

struct Pipelines {
    making: wgpu::BindGroupLayout,
    make: wgpu::ComputePipeline,
    drawing: wgpu::BindGroupLayout,
    /// In the 3-D view, for 1 and for 4 samples.
    draw: [wgpu::RenderPipeline; 2],
    /// Over slices, which have no depth.
    over: wgpu::RenderPipeline,
}

/// Glyphs ready to draw.
pub(super) struct Ready {
    group: wgpu::BindGroup,
    vertices: u32,
    count: u32,
    flat: bool,
}

/// The view of glyphs.
pub(super) struct Look {
    clip_from_world: DMat4,
    /// The eye (w = 1), or the direction to the viewer (w = 0).
    eye: DVec4,
    light: DVec3,
    /// There is no depth: back faces are left out.
    flat: bool,
    rough: bool,
    /// On a slice: its product with a world position (w = 1) is the distance behind the slice, mm.
    behind_slice: Option<DVec4>,
    /// Where the clip coordinate w is 1.
    px_per_mm: f64,
    /// Applied to (world, 1): 0 near, 1 far.
    depth_cue: DVec4,
    /// Colour of the background, and the fraction that the depth cue adds at the far end.
    fading: [f32; 4],
}

impl Look {
    pub fn scene(view: &SceneView, rough: bool) -> Self {
        Self {
            clip_from_world: view.clip_from_world,
            eye: view.eye,
            light: view.light,
            flat: false,
            rough,
            behind_slice: None,
            px_per_mm: view.px_per_mm,
            depth_cue: view.depth_cue,
            fading: view.fading(),
        }
    }

    pub fn slice(pane: &SlicePane) -> Self {
        let [width, height] = pane.size_px.map(f64::from);
        // From the centre of the first pixel to edges, y up; all at one depth.
        let clip_from_pixel = DMat4::from_cols(
            DVec4::X * 2.0 / width,
            DVec4::Y * -2.0 / height,
            DVec4::ZERO,
            DVec4::new(1.0 / width - 1.0, 1.0 - 1.0 / height, 0.5, 1.0),
        );
        let (right, down) = (
            pane.right.normalize_or_zero(),
            pane.down.normalize_or_zero(),
        );
        let to_viewer = down.cross(right);
        Self {
            clip_from_world: clip_from_pixel * slab_from_world(pane),
            eye: to_viewer.extend(0.0),
            light: (to_viewer - down * 0.55 - right * 0.35).normalize_or_zero(),
            flat: true,
            rough: false,
            behind_slice: Some((-to_viewer).extend(to_viewer.dot(pane.origin))),
            px_per_mm: 1.0 / pane.right.length().max(1e-12),
            depth_cue: DVec4::ZERO,
            fading: [0.0; 4],
        }
    }

    /// On a slice, depths from 0 to 1 extend this far in front of it and behind it, mm.
    pub fn clip_from_world_within(&self, reach_mm: f64) -> [[f32; 4]; 4] {
        self.clip_within(reach_mm).as_mat4().to_cols_array_2d()
    }

    /// Like [`Look::clip_from_world_within`], in double precision.
    pub fn clip_within(&self, reach_mm: f64) -> DMat4 {
        let mut rows = self.clip_from_world.transpose();
        if let Some(behind) = self.behind_slice {
            rows.z_axis = behind * (0.5 / reach_mm) + DVec4::W * 0.5;
        }
        rows.transpose()
    }

    pub fn eye(&self) -> [f32; 4] {
        self.eye.as_vec4().to_array()
    }

    pub fn light(&self) -> [f32; 4] {
        self.light.as_vec3().extend(0.0).to_array()
    }

    /// The depth cue: see [`SceneView::depth_cue`] and [`SceneView::fading`].
    pub fn depth_cue(&self) -> [[f32; 4]; 2] {
        [self.depth_cue.as_vec4().to_array(), self.fading]
    }

    /// The eye (w = 1) or the direction to the viewer (w = 0), and pixels per mm where the clip coordinate w is 1.
    pub fn sight(&self) -> (DVec4, f64) {
        (self.eye, self.px_per_mm)
    }

    pub fn is_rough(&self) -> bool {
        self.rough
    }
}

/// Glyphs of earlier pictures, reused while the camera moves.
struct KeptGlyphs {
    key: Glyphs,
    tensors: Arc<wgpu::Buffer>,
    count: u32,
}

#[derive(Default)]
pub(super) struct TensorGlyphRenderer {
    pipelines: OnceLock<Pipelines>,
    /// Most recently used first: the 3-D view's and those of each slice view.
    kept: Mutex<Vec<KeptGlyphs>>,
    voxels: GlyphVoxels,
}

impl TensorGlyphRenderer {
    fn pipelines(&self, gpu: &Gpu) -> &Pipelines {
        self.pipelines.get_or_init(|| {
            let module = gpu.shader("glyphs", source(SHADER));
            let slots = [Slot::Uniform, Slot::Storage, Slot::Stored];
            let making = gpu.layout(wgpu::ShaderStages::COMPUTE, &slots);
            let make = gpu.compute_pipeline((&module, &making), "glyphs_prepare");
            let slots = [Slot::Uniform, Slot::Storage];
            let drawing = gpu.layout(wgpu::ShaderStages::VERTEX_FRAGMENT, &slots);
            let pipeline = |fragment, samples, depth_stencil| {
                let own = Drawing {
                    primitive: wgpu::PrimitiveState::default(),
                    samples,
                    depth_stencil,
                    targets: &[Some(COLOUR.into())],
                };
                gpu.render_pipeline((&module, &drawing), ["vs_glyph", fragment], own)
            };
            let draw = [1, 4].map(|n| pipeline("fs_glyph", n, Some(depth_test(true))));
            let over = pipeline("fs_glyph_over", 1, None);
            Pipelines {
                making,
                make,
                drawing,
                draw,
                over,
            }
        })
    }

    /// Releases fields and images, too.
    pub fn clear(&mut self) {
        self.kept = Mutex::default();
        self.voxels = GlyphVoxels::default();
    }

    /// Prepares the glyphs of tensors or peaks; `None` if there are none.
    pub fn prepare(&self, gpu: &Gpu, glyphs: &Glyphs, look: &Look) -> Option<Ready> {
        let (half_mm, is_superquadric) = match glyphs {
            Glyphs::Tensors(tensors) => {
                let is_superquadric = tensors.shape == GlyphShape::Superquadric;
                let grid = &tensors.tensors.0.grid;
                (half_mm(grid, tensors.size, tensors.every), is_superquadric)
            }
            Glyphs::Peaks(peaks) => {
                let grid = &peaks.peaks.0.grid;
                (half_mm(grid, peaks.size, peaks.every), false)
            }
            Glyphs::Odfs(_) => return None,
        };
        let [depth_cue, fading] = look.depth_cue();
        let mut uniform = GlyphUniform {
            clip_from_world: look.clip_from_world.as_mat4().to_cols_array_2d(),
            eye: look.eye(),
            light: look.light(),
            size: [half_mm as f32, 0.0, 0.0, 0.0],
            depth_cue,
            fading,
            kind: [u32::from(is_superquadric), 0, 0, 0],
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().position(|k| k.key == *glyphs) {
            kept[..=known].rotate_right(1);
        } else {
            let tensors = match glyphs {
                Glyphs::Tensors(tensors) => self.tensors_to_draw(tensors),
                Glyphs::Peaks(peaks) => self.peaks_to_draw(peaks),
                Glyphs::Odfs(_) => Vec::new(),
            };
            uniform.kind[3] = tensors.len() as u32;
            let fresh = KeptGlyphs {
                tensors: Arc::new(self.create_buffer(gpu, &tensors, &uniform)),
                count: tensors.len() as u32,
                key: glyphs.clone(),
            };
            kept.insert(0, fresh);
            kept.truncate(VIEWS);
        }
        let kept = kept.first().filter(|k| k.count > 0)?;
        let [around, along] = match kept.count {
            _ if look.rough => ROUGH,
            0..=FEW => FINE,
            _ => MIDDLING,
        };
        uniform.kind[1..].copy_from_slice(&[around, along, kept.count]);
        let buffer = gpu.uniform(&uniform);
        let resources = [buffer.as_entire_binding(), kept.tensors.as_entire_binding()];
        Some(Ready {
            group: gpu.bind(&self.pipelines(gpu).drawing, &resources),
            vertices: around * along * 6,
            count: kept.count,
            flat: look.flat,
        })
    }

    /// Centres and tensors of the glyphs to draw.
    fn tensors_to_draw(&self, glyphs: &TensorGlyphs) -> Vec<[f32; 12]> {
        let field = &glyphs.tensors.0;
        let inside = |voxel: usize| field.tensors[voxel].inside >= 0.5;
        let voxels = self.voxels.chosen(
            &FieldVoxels {
                id: field.id(),
                grid: &field.grid,
                inside: &inside,
            },
            (&glyphs.place, glyphs.every),
        );
        let shown = |voxel: &usize| keep(&glyphs.clips, centre(&field.grid, *voxel));
        // Callers request no more: this only guards the buffers.
        let voxels = voxels.into_iter().filter(shown);
        let voxels = voxels.take(TensorGlyphs::MAXIMUM_COUNT);
        let glyph = |voxel: usize| {
            let centre = centre(&field.grid, voxel);
            let factor = GlyphScale::factor_or_full(glyphs.scale.as_ref(), centre);
            (factor > 0.0).then(|| packed(centre, factor, field.tensors[voxel].d))
        };
        voxels.filter_map(glyph).collect()
    }

    /// Centres of lines, and a tensor along each: as an ellipsoid, this has the length and the width of the line.
    fn peaks_to_draw(&self, glyphs: &PeakGlyphs) -> Vec<[f32; 12]> {
        let volume = &glyphs.peaks.0;
        let Some(field) = PeakField::from_volume(volume) else {
            return Vec::new();
        };
        let inside = |voxel: usize| field.peaks(voxel).next().is_some();
        let voxels = self.voxels.chosen(
            &FieldVoxels {
                id: volume.id(),
                grid: &field.grid,
                inside: &inside,
            },
            (&glyphs.place, glyphs.every),
        );
        let lines = voxels.into_iter().flat_map(|voxel| {
            let centre = centre(&field.grid, voxel);
            let shown = keep(&glyphs.clips, centre);
            let scale = glyphs.scale.as_ref().filter(|_| shown);
            let factor = match shown {
                true => f64::from(GlyphScale::factor_or_full(scale, centre)),
                false => 0.0,
            };
            let (field, n) = (&field, field.grid.voxel_count());
            let fixels = volume.fixels.as_deref();
            let line = move |(peak, vector): (usize, DVec3)| {
                let at = peak * n + voxel;
                let value = fixels.map_or(vector.length(), |f| f.value(at, vector.length()));
                let is_within = glyphs.limits.is_none_or(|limits| limits.contain(value));
                let full = glyphs.full_amplitude.map(f64::from);
                let share = full.map_or(1.0, |full| (vector.length() / full.max(1e-30)).min(1.0));
                let (factor, along) = (factor * share, (glyphs.turn * vector).normalize_or_zero());
                let is_drawn = is_within && factor > 0.0 && along != DVec3::ZERO;
                is_drawn.then(|| {
                    let colour = glyphs.colours.map_or(BY_DIRECTION, |c| colour_of(c, value));
                    let line = packed(centre, factor as f32, along_line(along, factor));
                    coloured(line, colour)
                })
            };
            (0..field.count())
                .filter_map(move |peak| Some((peak, field.peak(voxel, peak)?)))
                .filter_map(line)
        });
        lines.take(TensorGlyphs::MAXIMUM_COUNT).collect()
    }

    fn create_buffer(
        &self,
        gpu: &Gpu,
        tensors: &[[f32; 12]],
        uniform: &GlyphUniform,
    ) -> wgpu::Buffer {
        let glyphs = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("glyphs"),
            size: GLYPH_BYTES * tensors.len().max(1) as u64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        if tensors.is_empty() {
            return glyphs;
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
            glyphs.as_entire_binding(),
        ];
        let group = gpu.bind(&pipelines.making, &resources);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let groups = [(tensors.len() as u32).div_ceil(64), 1, 1];
        dispatch(&mut encoder, "glyphs", (&pipelines.make, &group), groups);
        gpu.queue.submit([encoder.finish()]);
        glyphs
    }

    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, ready: &Ready, samples: u32) {
        let pipelines = self.pipelines(gpu);
        pass.set_pipeline(match ready.flat {
            true => &pipelines.over,
            false => &pipelines.draw[usize::from(samples > 1)],
        });
        pass.set_bind_group(0, &ready.group, &[]);
        pass.draw(0..ready.vertices, 0..ready.count);
    }
}

/// Half the longest axis of a glyph, mm: at size 1 neighbours just touch.
fn half_mm(grid: &Grid, size: f32, every: usize) -> f64 {
    0.5 * grid.spacing().min_element() * f64::from(size) * every.max(1) as f64
}

/// A tensor along a unit vector. Lines of all lengths, relative to the full one, have the same width.
fn along_line(u: DVec3, length: f64) -> [f32; 6] {
    let across = (LINE_WIDTH / length).min(1.0);
    let entry = |i: usize, j: usize| {
        let one = if i == j { across } else { 0.0 };
        ((1.0 - across) * u[i] * u[j] + one) as f32
    };
    [
        entry(0, 0),
        entry(0, 1),
        entry(0, 2),
        entry(1, 1),
        entry(1, 2),
        entry(2, 2),
    ]
}

/// Stands for the colour of a glyph that is coloured by its direction.
const BY_DIRECTION: f32 = 0.0;

/// The colour of a value as the shader reads it: 1 + red + 256 green + 65536 blue, which float32 represents exactly.
fn colour_of(colours: PeakColours, value: f64) -> f32 {
    let (low, high) = colours.window;
    let width = f64::from(high - low);
    let share = match width == 0.0 {
        true => f64::from(u8::from(value >= f64::from(high))),
        false => (value - f64::from(low)) / width,
    };
    let [r, g, b] = colours.colour_map.at(share as f32).map(u32::from);
    (1 + r + 256 * g + 65536 * b) as f32
}

/// A glyph with a colour of its own.
fn coloured(mut glyph: [f32; 12], colour: f32) -> [f32; 12] {
    glyph[10] = colour;
    glyph
}

/// A centre, a size relative to the full one, then a tensor, in the shader's layout.
fn packed(centre: DVec3, factor: f32, d: [f32; 6]) -> [f32; 12] {
    let [x, y, z] = centre.as_vec3().to_array();
    let [xx, xy, xz, yy, yz, zz] = d;
    [x, y, z, factor, xx, xy, xz, yy, yz, zz, 0.0, 0.0]
}
