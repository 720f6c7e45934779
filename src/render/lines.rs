//! Drawing streamlines: lit ribbons in the 3-D view, capsules within the slab of a slice.

use super::draw_list::{LineColour, LineStyle, Lines, SlicePane};
use super::gpu::{Gpu, Slot, blended, depth_test, source};
use super::line_buffers::{BLOCK, Chunk, LineBuffers, LineKey, LineStore};
use super::pipelines::Drawing;
use super::textures::{Textures, colour_map_row};
use super::through;
use super::view::SceneView;
use bytemuck::{Pod, Zeroable};
use glam::{DMat4, DVec3, DVec4, Mat4, Vec3};
use std::sync::OnceLock;

pub(super) const SHADER: &str = include_str!("../../shaders/lines.wgsl");

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
struct StyleUniform {
    from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    depth_cue: [f32; 4],
    haze: [f32; 4],
    view: [f32; 4],
    tube: [f32; 4],
    colour: [f32; 4],
    range: [f32; 4],
    slab: [f32; 4],
    kind: [u32; 4],
}

// The same numbers as in shaders/lines.wgsl.
const BY_DIRECTION: u32 = 0;
const FIXED: u32 = 1;
const BY_VALUE: u32 = 2;

/// Thinner than this, lines break up into dots, px.
const LEAST_HALF_WIDTH_PX: f64 = 0.5;

/// What is coloured by a value is compared with a scale: its distance shows in less haze.
const VALUE_HAZE: f32 = 0.3;

/// Lines on slices have a dark rim, or they would drown in colours like their own.
const RIM_PX: f64 = 1.0;
const RIM_OPACITY: f32 = 0.6;

pub(super) struct LinePipelines {
    layout: wgpu::BindGroupLayout,
    module: wgpu::ShaderModule,
    /// By use, whole or cut to a slab, 1 or 4 samples; each made when it is first needed.
    ribbons: [[[OnceLock<wgpu::RenderPipeline>; 2]; 2]; 4],
    capsule: wgpu::RenderPipeline,
}

/// What ribbons are drawn for.
#[derive(Clone, Copy)]
enum Use {
    Opaque,
    /// The background's lines twice: their depth, then the nearest of them in colour. All of them, one
    /// over the other, would be a fog.
    ContextDepth,
    ContextColour,
    Through,
}

/// The chunks of some streamlines, ready to draw.
pub(super) struct Strand {
    /// With the number of slots (3-D view) or of blocks (slices).
    groups: Vec<(wgpu::BindGroup, u32)>,
    /// On slices: a dark rim, drawn before any line so that it covers none.
    rims: Vec<(wgpu::BindGroup, u32)>,
    rank: Rank,
}

/// When streamlines of the 3-D view are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// First: see-through, and everything else covers them.
    Context,
    Opaque,
    /// Last: see-through, each over what is behind it.
    Through,
}

/// The name of the values that colour these lines, if the tractogram has them.
pub(super) fn values_of(lines: &Lines) -> Option<&str> {
    let tractogram = &lines.tractogram.0;
    match &lines.colour {
        LineColour::Scalar { name, .. }
            if tractogram.per_point.contains_key(name)
                || tractogram.per_streamline.contains_key(name) =>
        {
            Some(name)
        }
        _ => None,
    }
}

impl LinePipelines {
    pub fn new(gpu: &Gpu) -> Self {
        let layout = gpu.layout(
            wgpu::ShaderStages::VERTEX_FRAGMENT,
            &[
                Slot::Uniform,
                Slot::Storage,
                Slot::Storage,
                Slot::Image2,
                Slot::Storage,
            ],
        );
        let module = gpu.shader("lines", source(SHADER));
        let names = ["vs_capsule", "fs_capsule"];
        let capsule = Drawing {
            primitive: wgpu::PrimitiveState::default(),
            samples: 1,
            depth_stencil: None,
            targets: &[Some(blended())],
        };
        Self {
            ribbons: Default::default(),
            capsule: gpu.render_pipeline((&module, &layout), names, capsule),
            layout,
            module,
        }
    }

    fn ribbon(&self, gpu: &Gpu, for_use: Use, cut: bool, samples: u32) -> &wgpu::RenderPipeline {
        let place = &self.ribbons[for_use as usize][usize::from(cut)][usize::from(samples > 1)];
        place.get_or_init(|| {
            let own = [Some(blended())];
            let unseen = [Some(wgpu::ColorTargetState {
                write_mask: wgpu::ColorWrites::empty(),
                ..blended()
            })];
            let through = through::colour_targets();
            let (write, targets): (_, &[_]) = match for_use {
                Use::Opaque => (true, &own),
                Use::ContextDepth => (true, &unseen),
                Use::ContextColour => (false, &own),
                Use::Through => (false, &through),
            };
            let fragment = match (for_use, cut) {
                (Use::Through, false) => "fs_through",
                (Use::Through, true) => "fs_through_cut",
                (_, false) => "fs_ribbon",
                (_, true) => "fs_ribbon_cut",
            };
            let drawing = Drawing {
                primitive: wgpu::PrimitiveState {
                    topology: wgpu::PrimitiveTopology::TriangleStrip,
                    ..Default::default()
                },
                samples,
                depth_stencil: Some(depth_test(write)),
                targets,
            };
            let own = (&self.module, &self.layout);
            gpu.render_pipeline(own, ["vs_ribbon", fragment], drawing)
        })
    }

    /// Streamlines of the 3-D view; of `most_slots` points only, evenly spread.
    pub fn scene_strand(
        &self,
        gpu: &Gpu,
        (textures, store): (&Textures, &LineStore),
        lines: &Lines,
        key: LineKey,
        view: &SceneView,
        most_slots: usize,
    ) -> Strand {
        let mut style = StyleUniform {
            from_world: view.clip_from_world.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            light: view.light.as_vec3().extend(0.0).to_array(),
            depth_cue: view.depth_cue.as_vec4().to_array(),
            haze: view.haze,
            ..coloured(lines)
        };
        if style.kind[0] == BY_VALUE {
            style.haze[3] *= VALUE_HAZE;
        }
        let least = LEAST_HALF_WIDTH_PX * f64::from(view.pixel_scale);
        let (radius_mm, half_width) = match lines.style {
            LineStyle::Lines { width_px } => {
                let half = f64::from(width_px * view.pixel_scale) * 0.5;
                (0.0, half.max(LEAST_HALF_WIDTH_PX))
            }
            LineStyle::Tubes { radius_mm } => (f64::from(radius_mm).max(1e-6), 0.0),
        };
        let [width, height] = view.size_px.map(|n| n as f32);
        style.view = [width, height, view.px_per_mm as f32, half_width as f32];
        let mut strand = Strand::empty(lines);
        let fades = if strand.rank == Rank::Through {
            0.5
        } else {
            0.0
        };
        style.tube = [radius_mm as f32, least as f32, lines.opacity, fades];
        style.slab = view.slab.as_vec4().to_array();
        let Some(buffers) = store.get(key) else {
            return strand;
        };
        let uniform = gpu.uniform(&style);
        let name = values_of(lines);
        let mut left = most_slots;
        for (index, chunk) in buffers.chunks.iter().enumerate() {
            let slots = buffers.ready(index, name).min(left);
            left -= slots;
            // The last slot is a gap: nothing follows it.
            if slots >= 3 {
                let values = values_in(buffers, name, index);
                // Only slices look at blocks.
                let group = self.group(gpu, textures, &uniform, (chunk, values, &chunk.slots));
                strand.groups.push((group, slots as u32 - 1));
            }
        }
        strand
    }

    /// Streamlines near the plane of a slice view.
    pub fn slice_strand(
        &self,
        gpu: &Gpu,
        (textures, store): (&Textures, &LineStore),
        lines: &Lines,
        key: LineKey,
        pane: &SlicePane,
    ) -> Strand {
        let mm_per_px = (pane.right.length() + pane.down.length()) * 0.5;
        let half_width = match lines.style {
            LineStyle::Lines { width_px } => f64::from(width_px * pane.scale) * 0.5,
            LineStyle::Tubes { radius_mm } => f64::from(radius_mm) / mm_per_px,
        };
        // Below a logical pixel a cut streamline would be hard to find.
        let half_width = half_width.max(LEAST_HALF_WIDTH_PX * f64::from(pane.scale));
        let [width, height] = pane.size_px.map(|n| n as f32);
        let slab_from_world = slab_from_world(pane);
        let mut style = StyleUniform {
            from_world: slab_from_world.as_mat4().to_cols_array_2d(),
            view: [width, height, 0.0, half_width as f32],
            tube: [0.0, 0.0, lines.opacity, 0.0],
            ..coloured(lines)
        };
        let mut strand = Strand::empty(lines);
        let Some(buffers) = store.get(key) else {
            return strand;
        };
        let name = values_of(lines);
        let rim = RIM_PX * f64::from(pane.scale);
        let reach = half_width + rim + 1.0;
        let near = Near::new(&slab_from_world.as_mat4(), pane.size_px, reach as f32);
        for (index, chunk) in buffers.chunks.iter().enumerate() {
            let slots = buffers.ready(index, name);
            let whole = chunk.blocks.iter().take(slots.div_ceil(BLOCK));
            let blocks: Vec<u32> = (0..)
                .zip(whole)
                .filter(|(_, bounds)| near.touches(bounds))
                .map(|(block, _)| block)
                .collect();
            if blocks.is_empty() {
                continue;
            }
            let visible = gpu.storage(blocks.len() as u64 * 4);
            gpu.queue
                .write_buffer(&visible, 0, bytemuck::cast_slice(&blocks));
            style.kind[2] = slots as u32;
            let uniform = gpu.uniform(&style);
            let values = values_in(buffers, name, index);
            let group = self.group(gpu, textures, &uniform, (chunk, values, &visible));
            strand.groups.push((group, blocks.len() as u32));
            let dark = StyleUniform {
                view: [width, height, 0.0, (half_width + rim) as f32],
                tube: [0.0, 0.0, lines.opacity * RIM_OPACITY, 0.0],
                kind: [FIXED, 0, slots as u32, 0],
                colour: [0.0, 0.0, 0.0, 1.0],
                ..style
            };
            let group = self.group(
                gpu,
                textures,
                &gpu.uniform(&dark),
                (chunk, values, &visible),
            );
            strand.rims.push((group, blocks.len() as u32));
        }
        strand
    }

    fn group(
        &self,
        gpu: &Gpu,
        textures: &Textures,
        uniform: &wgpu::Buffer,
        (chunk, values, blocks): (&Chunk, Option<&wgpu::Buffer>, &wgpu::Buffer),
    ) -> wgpu::BindGroup {
        // Where there are no values the shader does not look at them.
        let values = values.unwrap_or(&chunk.slots);
        gpu.bind(
            &self.layout,
            &[
                uniform.as_entire_binding(),
                chunk.slots.as_entire_binding(),
                values.as_entire_binding(),
                wgpu::BindingResource::TextureView(&textures.colour_maps),
                blocks.as_entire_binding(),
            ],
        )
    }

    /// The strands of a rank; `cut`: to the view's slab.
    pub fn draw_scene(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::RenderPass,
        strands: &[Strand],
        (samples, cut): (u32, bool),
        rank: Rank,
    ) {
        let uses: &[_] = match rank {
            Rank::Context => &[Use::ContextDepth, Use::ContextColour],
            Rank::Opaque => &[Use::Opaque],
            Rank::Through => &[Use::Through],
        };
        for strand in strands.iter().filter(|s| s.rank == rank) {
            for &for_use in uses {
                pass.set_pipeline(self.ribbon(gpu, for_use, cut, samples));
                for (group, slots) in &strand.groups {
                    pass.set_bind_group(0, group, &[]);
                    pass.draw(0..slots * 2, 0..1);
                }
            }
        }
    }

    pub fn draw_slice(&self, pass: &mut wgpu::RenderPass, strands: &[Strand]) {
        pass.set_pipeline(&self.capsule);
        let rims = strands.iter().flat_map(|s| &s.rims);
        for (group, blocks) in rims.chain(strands.iter().flat_map(|s| &s.groups)) {
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..6 * BLOCK as u32, 0..*blocks);
        }
    }
}

impl Strand {
    fn empty(lines: &Lines) -> Self {
        Self {
            groups: Vec::new(),
            rims: Vec::new(),
            rank: match lines.opacity {
                _ if lines.context => Rank::Context,
                0.999.. => Rank::Opaque,
                _ => Rank::Through,
            },
        }
    }

    /// Whether something of it is drawn in this rank.
    pub fn is(&self, rank: Rank) -> bool {
        self.rank == rank && !self.groups.is_empty()
    }
}

fn values_in<'a>(
    buffers: &'a LineBuffers,
    name: Option<&str>,
    chunk: usize,
) -> Option<&'a wgpu::Buffer> {
    let values = name.and_then(|name| buffers.values.get(name))?;
    values.chunks.get(chunk)
}

/// The part of the world that a slice view shows: its slab, within its edges.
struct Near {
    /// Rows of (pixel x, pixel y, slab): a linear part and what is added.
    rows: [(Vec3, f32); 3],
    /// What they may be.
    ranges: [(f32, f32); 3],
}

impl Near {
    fn new(slab_from_world: &Mat4, size_px: [u32; 2], reach_px: f32) -> Self {
        let row = |i| {
            let row = slab_from_world.row(i);
            (row.truncate(), row.w)
        };
        let [width, height] = size_px.map(|n| n as f32);
        Self {
            rows: [0, 1, 2].map(row),
            ranges: [
                (-reach_px, width + reach_px),
                (-reach_px, height + reach_px),
                // A little more than the slab, for rounding.
                (-1.001, 1.001),
            ],
        }
    }

    /// Whether a box may reach into it.
    fn touches(&self, &(low, high): &(Vec3, Vec3)) -> bool {
        let (centre, half) = ((low + high) * 0.5, (high - low) * 0.5);
        // The slab first: it decides most often.
        [2, 0, 1].into_iter().all(|i| {
            let ((normal, offset), (from, to)) = (self.rows[i], self.ranges[i]);
            let middle = normal.dot(centre) + offset;
            let reach = normal.abs().dot(half);
            middle + reach >= from && middle - reach <= to
        })
    }
}

fn coloured(lines: &Lines) -> StyleUniform {
    let mut style = StyleUniform::default();
    let fixed = |colour: [u8; 3]| {
        let [r, g, b] = colour.map(|c| f32::from(c) / 255.0);
        [r, g, b, 1.0]
    };
    match &lines.colour {
        LineColour::Direction => style.kind[0] = BY_DIRECTION,
        LineColour::Fixed(colour) => {
            style.kind[0] = FIXED;
            style.colour = fixed(*colour);
        }
        LineColour::Scalar {
            range: (low, high),
            colour_map,
            ..
        } if values_of(lines).is_some() => {
            let width = high - low;
            let per_width = if width == 0.0 { 1e30 } else { 1.0 / width };
            style.kind = [BY_VALUE, colour_map_row(*colour_map), 0, 0];
            style.range = [*low, per_width, 0.0, 0.0];
        }
        // Values that are not there: grey, like single missing values.
        LineColour::Scalar { .. } => {
            style.kind[0] = FIXED;
            style.colour = fixed([128; 3]);
        }
    }
    style
}

/// Rows: pixel x, pixel y (both 0 at the centre of the first pixel), distance from the plane in
/// half slabs, 1.
pub(super) fn slab_from_world(pane: &SlicePane) -> DMat4 {
    let normal = pane.right.cross(pane.down).normalize_or_zero();
    // Pixel coordinates by the dual basis, so that right and down need not be at right angles.
    let dual = |a: DVec3, b: DVec3| {
        let along = b.cross(normal);
        along / a.dot(along)
    };
    let (x, y) = (dual(pane.right, pane.down), dual(pane.down, pane.right));
    let z = normal / (pane.slab_mm * 0.5).max(1e-6);
    let row = |v: DVec3| v.extend(-v.dot(pane.origin));
    DMat4::from_cols(row(x), row(y), row(z), DVec4::W).transpose()
}
