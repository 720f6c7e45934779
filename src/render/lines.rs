//! Drawing streamlines: lit ribbons in the 3-D view; slice_lines.rs draws them on slices.

use super::clips::{self, ClipTable};
use super::gpu::{Gpu, Slot, blended, depth_test, source};
use super::line_buffers::{Chunk, LineBuffers, LineKey, LineStore, Part};
use super::pipelines::Drawing;
use super::textures::{Textures, colour_map_row};
use super::transparency;
use super::view::SceneView;
use crate::data::line_blocks::{BLOCK, BLOCK_LEN, GAP};
use crate::scene::draw_list::{LineColour, LineStyle, Lines};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

const SHADER: &str = include_str!("../../shaders/lines.wgsl");

pub(super) fn shader() -> String {
    let constants = [
        ("BLOCK", BLOCK),
        ("BLOCK_LEN", BLOCK_LEN),
        ("GAP", usize::from(GAP)),
    ]
    .map(|(name, number)| format!("const {name}: u32 = {number}u;\n"))
    .concat();
    source(&format!("{constants}\n{}\n{SHADER}", clips::SHADER))
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
pub(super) struct StyleUniform {
    pub from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    depth_cue: [f32; 4],
    haze: [f32; 4],
    pub view: [f32; 4],
    pub tube: [f32; 4],
    pub colour: [f32; 4],
    range: [f32; 4],
    slab: [f32; 4],
    pub kind: [u32; 4],
}

// Must match shaders/lines.wgsl.
const BY_DIRECTION: u32 = 0;
pub(super) const FIXED: u32 = 1;
const BY_VALUE: u32 = 2;
const PACKED: u32 = 3;
const LOGARITHMIC: u32 = 1;
const LIMITED: u32 = 2;
/// Values that are not finite lie beyond this on the graphics device, and are within no limits.
const LARGEST_VALUE: f32 = 3.0e38;

/// Thinner lines break up into dots, px.
pub(super) const MINIMUM_HALF_WIDTH_PX: f64 = 0.5;

/// Haze of lines coloured by a value: these are compared with a scale, so distance shows less.
const VALUE_HAZE: f32 = 0.3;

#[derive(Clone)]
pub(super) struct LinePipelines {
    pub(super) layout: wgpu::BindGroupLayout,
    module: wgpu::ShaderModule,
    /// By use, whole or cut to a slab or by clips, 1 or 4 samples; each created when first needed.
    ribbons: Arc<[[[OnceLock<wgpu::RenderPipeline>; 2]; 2]; 4]>,
    pub(super) capsule: wgpu::RenderPipeline,
    /// Bound for slices, which have no clips.
    no_clips: wgpu::Buffer,
}

/// The passes of ribbons, in the order of a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePass {
    /// The background's lines take two passes: their depth, then the nearest of them in colour. All of them over each
    /// other would look like fog.
    ContextDepth,
    ContextColour,
    Opaque,
    Translucent,
}

impl LinePass {
    const ALL: [Self; 4] = [
        Self::ContextDepth,
        Self::ContextColour,
        Self::Opaque,
        Self::Translucent,
    ];

    fn rank(self) -> Rank {
        match self {
            Self::ContextDepth | Self::ContextColour => Rank::Context,
            Self::Opaque => Rank::Opaque,
            Self::Translucent => Rank::Translucent,
        }
    }
}

/// The chunks of some streamlines of the 3-D view, ready to draw.
pub(super) struct ReadyLines {
    /// With the number of slots.
    pub(super) groups: Vec<(wgpu::BindGroup, usize)>,
    rank: Rank,
    pub(super) opacity: f32,
    /// Parts of them are hidden by their values.
    pub(super) is_limited: bool,
}

/// The rank of streamlines in the 3-D view.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// First: translucent, and covered by everything else.
    Context,
    Opaque,
    /// Last: translucent, each over what is behind it.
    Translucent,
}

impl Rank {
    fn from_lines(lines: &Lines) -> Self {
        match lines.opacity {
            _ if lines.context => Self::Context,
            0.999.. => Self::Opaque,
            _ => Self::Translucent,
        }
    }

    /// The passes that draw it.
    fn passes(self) -> impl Iterator<Item = LinePass> {
        LinePass::ALL.into_iter().filter(move |u| u.rank() == self)
    }
}

/// The name of the values that colour these lines, if the tractogram has them.
pub(super) fn values_of(lines: &Lines) -> Option<&str> {
    let tractogram = &lines.tractogram.0;
    let name = lines.colour.values()?;
    let is_known =
        tractogram.per_point.contains_key(name) || tractogram.per_streamline.contains_key(name);
    is_known.then_some(name)
}

impl LinePipelines {
    pub fn new(gpu: &Gpu) -> Self {
        let layout = gpu.layout(
            wgpu::ShaderStages::VERTEX_FRAGMENT | wgpu::ShaderStages::COMPUTE,
            &[
                Slot::Uniform,
                Slot::Storage,
                Slot::Storage,
                Slot::Image2,
                Slot::Storage,
                Slot::Storage,
            ],
        );
        let module = gpu.shader("lines", shader());
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
            no_clips: gpu.storage_of(&[ClipTable::new(&[])]),
            layout,
            module,
        }
    }

    /// Creates the pipelines of whole lines when it is called, on a thread, before pictures need them.
    pub fn creation(&self, gpu: &Gpu) -> impl FnOnce() + Send + 'static {
        let (own, gpu) = (self.clone(), gpu.clone());
        move || {
            for (pass, samples) in [
                (LinePass::Opaque, 4),
                (LinePass::Translucent, 1),
                (LinePass::Opaque, 1),
            ] {
                own.ribbon(&gpu, pass, false, samples);
            }
        }
    }

    fn ribbon(
        &self,
        gpu: &Gpu,
        for_use: LinePass,
        cut: bool,
        samples: u32,
    ) -> &wgpu::RenderPipeline {
        let place = &self.ribbons[for_use as usize][usize::from(cut)][usize::from(samples > 1)];
        place.get_or_init(|| {
            let own = [Some(blended())];
            let unseen = [Some(wgpu::ColorTargetState {
                write_mask: wgpu::ColorWrites::empty(),
                ..blended()
            })];
            let through = transparency::colour_targets();
            let (write, targets): (_, &[_]) = match for_use {
                LinePass::Opaque => (true, &own),
                LinePass::ContextDepth => (true, &unseen),
                LinePass::ContextColour => (false, &own),
                LinePass::Translucent => (false, &through),
            };
            let fragment = match (for_use, cut) {
                (LinePass::Translucent, false) => "fs_transparent",
                (LinePass::Translucent, true) => "fs_transparent_cut",
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

    /// Streamlines of the 3-D view; if limited to `max_slots` points, evenly spread.
    pub fn ready_lines(
        &self,
        gpu: &Gpu,
        (textures, store): (&Textures, &LineStore),
        lines: &Lines,
        key: LineKey,
        view: &SceneView,
        max_slots: usize,
    ) -> ReadyLines {
        let mut style = StyleUniform {
            from_world: view.clip_from_world.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            light: view.light.as_vec3().extend(view.fade).to_array(),
            depth_cue: view.depth_cue.as_vec4().to_array(),
            haze: view.haze,
            ..style_uniform(lines)
        };
        if style.kind[0] == BY_VALUE {
            style.haze[3] *= VALUE_HAZE;
        }
        let min_half_width = MINIMUM_HALF_WIDTH_PX * f64::from(view.pixel_scale);
        let (radius_mm, half_width) = match lines.style {
            LineStyle::Lines { width_px } => {
                let half = f64::from(width_px * view.pixel_scale) * 0.5;
                (0.0, half.max(MINIMUM_HALF_WIDTH_PX))
            }
            LineStyle::Tubes { radius_mm } => (f64::from(radius_mm).max(1e-6), 0.0),
        };
        let [width, height] = view.size_px.map(|n| n as f32);
        style.view = [width, height, view.px_per_mm as f32, half_width as f32];
        let mut ready = ReadyLines::empty(lines);
        let fades = if ready.rank == Rank::Translucent {
            0.5
        } else {
            0.0
        };
        style.tube = [
            radius_mm as f32,
            min_half_width as f32,
            lines.opacity,
            fades,
        ];
        style.slab = view.slab.as_vec4().to_array();
        let Some(buffers) = store.get(key) else {
            return ready;
        };
        let uniform = gpu.uniform(&style);
        let [_, _, clips] = &view.clips;
        let clips = gpu.storage_of(std::slice::from_ref(clips));
        let name = values_of(lines);
        let chunks = slots_per_chunk(buffers, name, max_slots).enumerate();
        for (index, slots) in chunks.map(|(index, slots)| (index, ribbon_slots(slots))) {
            if slots > 0 {
                let (chunk, values) = (&buffers.chunks[index], chunk_values(buffers, name, index));
                // Only slices use blocks.
                let with = (&uniform, &clips);
                let group = self.group(gpu, textures, with, (chunk, values, None));
                ready.groups.push((group, slots));
            }
        }
        ready
    }

    pub(super) fn group(
        &self,
        gpu: &Gpu,
        textures: &Textures,
        (uniform, clips): (&wgpu::Buffer, &wgpu::Buffer),
        (chunk, values, blocks): (&Chunk, Option<&Part>, Option<&wgpu::Buffer>),
    ) -> wgpu::BindGroup {
        // The shader does not read a binding without values or without a list of blocks.
        let slots = chunk.slots.binding();
        let values = values.map_or(slots.clone(), Part::binding);
        let blocks = blocks.map_or(slots.clone(), wgpu::Buffer::as_entire_binding);
        gpu.bind(
            &self.layout,
            &[
                uniform.as_entire_binding(),
                slots,
                values,
                wgpu::BindingResource::TextureView(&textures.colour_maps),
                blocks,
                clips.as_entire_binding(),
            ],
        )
    }

    /// Clips that hide nothing.
    pub(super) fn no_clips(&self) -> &wgpu::Buffer {
        &self.no_clips
    }

    /// Draws some slots of a pass's streamlines; `cut`: clipped to the view's slab and by its clips, as those are whose values are limited.
    pub fn draw_scene(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::RenderPass,
        all: &[ReadyLines],
        (samples, cut): (u32, bool),
        (for_use, part): (LinePass, &Range<usize>),
    ) {
        let rank = for_use.rank();
        let mut before = 0;
        for ready in all.iter().filter(|s| s.rank == rank) {
            pass.set_pipeline(self.ribbon(gpu, for_use, cut || ready.is_limited, samples));
            for (group, slots) in &ready.groups {
                let own = overlap(part, before..before + slots);
                before += slots;
                if !own.is_empty() {
                    // From the previous point, or a segment would be missing.
                    let first = own.start.saturating_sub(1);
                    pass.set_bind_group(0, group, &[]);
                    pass.draw(first as u32 * 2..own.end as u32 * 2, 0..1);
                }
            }
        }
    }
}

/// The part of a range within another, counted from the other's start.
pub(super) fn overlap(part: &Range<usize>, whole: Range<usize>) -> Range<usize> {
    let at = |i: usize| i.clamp(whole.start, whole.end) - whole.start;
    at(part.start)..at(part.end)
}

/// The range of each pass among the slots of a picture.
pub(super) fn pass_ranges(all: &[ReadyLines]) -> [(LinePass, Range<usize>); 4] {
    let mut end = 0;
    LinePass::ALL.map(|for_use| {
        let own = all.iter().filter(|s| s.rank == for_use.rank());
        let start = end;
        end += own.flat_map(|s| &s.groups).map(|g| g.1).sum::<usize>();
        (for_use, start..end)
    })
}

/// Slots of each chunk that can be drawn, at most `max_slots` in total.
pub(super) fn slots_per_chunk<'a>(
    buffers: &'a LineBuffers,
    name: Option<&'a str>,
    max_slots: usize,
) -> impl Iterator<Item = usize> + 'a {
    let mut left = max_slots;
    (0..buffers.chunks.len()).map(move |index| {
        let slots = buffers.ready(index, name).min(left);
        left -= slots;
        slots
    })
}

/// Slots that form ribbons: the last one is a gap with no successor.
fn ribbon_slots(slots: usize) -> usize {
    if slots >= 3 { slots - 1 } else { 0 }
}

/// Slots that [`LinePipelines::draw_scene`] draws for a picture, with at most this many per tractogram.
pub(super) fn scene_slots(
    lines: &[Lines],
    keys: &[LineKey],
    store: &LineStore,
    max_slots: usize,
) -> usize {
    sum_of_slots((lines, keys), store, max_slots, |l, slots| {
        ribbon_slots(slots) * Rank::from_lines(l).passes().count()
    })
}

/// Sum over the chunks of streamlines of `count` applied to their slots, with at most this many slots per tractogram.
pub(super) fn sum_of_slots(
    (lines, keys): (&[Lines], &[LineKey]),
    store: &LineStore,
    max_slots: usize,
    count: impl Fn(&Lines, usize) -> usize,
) -> usize {
    let some = lines.iter().zip(keys);
    let some = some.filter_map(|(l, key)| Some((l, store.get(*key)?)));
    let chunks = |(l, buffers)| {
        let count = &count;
        slots_per_chunk(buffers, values_of(l), max_slots).map(move |slots| count(l, slots))
    };
    some.flat_map(chunks).sum()
}

impl ReadyLines {
    fn empty(lines: &Lines) -> Self {
        Self {
            groups: Vec::new(),
            rank: Rank::from_lines(lines),
            opacity: lines.opacity,
            is_limited: lines.colour.has_limits(),
        }
    }

    /// Whether this pass draws it.
    pub fn is_in_pass(&self, pass: LinePass) -> bool {
        self.rank == pass.rank()
    }

    /// Whether part of it is drawn in this rank.
    pub fn is_in_rank(&self, rank: Rank) -> bool {
        self.rank == rank && !self.groups.is_empty()
    }
}

pub(super) fn chunk_values<'a>(
    buffers: &'a LineBuffers,
    name: Option<&str>,
    chunk: usize,
) -> Option<&'a Part> {
    let values = name.and_then(|name| buffers.values.get(name))?;
    values.chunks.get(chunk)
}

pub(super) fn style_uniform(lines: &Lines) -> StyleUniform {
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
            range,
            colour_map,
            logarithmic,
            limits,
            ..
        } if values_of(lines).is_some() => {
            let scaled = |v: f32| if *logarithmic { v.ln() } else { v };
            let (low, high) = (scaled(range.0), scaled(range.1));
            let width = high - low;
            let per_width = if width == 0.0 { 1e30 } else { 1.0 / width };
            let (least, most) = limits.unwrap_or_default();
            let mut how = if *logarithmic { LOGARITHMIC } else { 0 };
            how |= if limits.is_some() { LIMITED } else { 0 };
            style.kind = [BY_VALUE, colour_map_row(*colour_map), 0, how];
            let [least, most] = [least, most].map(|v| v.clamp(-LARGEST_VALUE, LARGEST_VALUE));
            style.range = [low, per_width, least, most];
        }
        LineColour::Packed { .. } if values_of(lines).is_some() => style.kind[0] = PACKED,
        // Missing values: grey, like single missing values.
        LineColour::Scalar { .. } | LineColour::Packed { .. } => {
            style.kind[0] = FIXED;
            style.colour = fixed([128; 3]);
        }
    }
    style
}
