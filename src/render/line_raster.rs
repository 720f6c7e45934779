//! Draws many opaque streamlines of the 3-D view by compute shaders, with the pixels that the rasteriser would draw.
//!
//! Cards for computing, such as the H200, draw triangles with few of their processors, but run compute shaders on all:
//! ten million segments take 20 ms as triangles and 11 ms here. Each segment writes its depth and number to the samples
//! that it covers, and the nearest remains (64-bit atomic maximum; Schütz, Kerbl and Wimmer 2021, Comput Graph Forum
//! 40:115, do this with points); then each sample is coloured once, and one triangle copies colours and depths into the
//! scene, where other objects are tested against them.

use super::gpu::{Gpu, Slot, blended, depth_test};
use super::line_blend::{self, Blended};
use super::lines::{self, LinePass, ReadyLines, overlap};
use super::pipelines::Drawing;
use crate::scene::draw_list::Lines;
use bytemuck::{Pod, Zeroable};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const SHADER: &str = include_str!("../../shaders/line_raster.wgsl");

/// Features that a device needs for this.
pub(super) const FEATURES: wgpu::Features =
    wgpu::Features::SHADER_INT64.union(wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS);

/// The rasteriser draws fewer slots at least as fast.
const MIN_SLOTS: usize = 200_000;
/// Every chunk takes a pass over all samples: at most this many chunks, or one for [`MIN_SLOTS`].
const MAX_CHUNKS: usize = 64;
/// Segments that one workgroup of the shader draws: one less than its threads.
const SEGMENTS_PER_GROUP: u32 = 255;
/// Capacity of the list of segments that cover many pixels; one thread each draws those that do not fit.
const LARGE: u64 = 1 << 20;
/// Workgroups that share the large segments.
pub(super) const LARGE_GROUPS: u32 = 2048;

/// When compute shaders draw the streamlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LineRaster {
    /// Where they are expected to be faster than the rasteriser.
    #[default]
    Automatic,
    /// Wherever the device supports it.
    Always,
    /// Never.
    Never,
}

/// Whether the streamlines have enough points for compute shaders to be worthwhile.
pub(super) fn are_many(lines: &[Lines]) -> bool {
    let points = |l: &Lines| {
        let all = l.tractogram.0.offsets.last().copied().unwrap_or(0);
        all as usize / l.every.max(1)
    };
    lines.iter().map(points).sum::<usize>() >= MIN_SLOTS
}

pub(super) fn shader() -> String {
    format!("{}\n{SHADER}", lines::shader())
}

/// The nearest streamline at each sample of a picture, and its colour.
pub(super) struct Nearest {
    size: [u32; 2],
    samples: u32,
    keys: wgpu::Buffer,
    colours: wgpu::Buffer,
    large: wgpu::Buffer,
    /// The present picture uses it.
    pub in_use: bool,
}

impl Nearest {
    fn new(gpu: &Gpu, size: [u32; 2], samples: u32) -> Self {
        let all = u64::from(size[0]) * u64::from(size[1]) * u64::from(samples);
        Self {
            size,
            samples,
            keys: gpu.storage(8 * all),
            colours: gpu.storage(4 * all),
            large: large_list(gpu),
            in_use: false,
        }
    }
}

/// An empty list of segments that cover many pixels, after their number.
pub(super) fn large_list(gpu: &Gpu) -> wgpu::Buffer {
    gpu.storage(4 * (1 + LARGE))
}

/// Must match `Picture` in shaders/line_raster.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct PictureUniform {
    pub size: [u32; 4],
    pub slots: [u32; 4],
    pub blend: [f32; 4],
}

struct Pipelines {
    /// Layouts of the second group of resources, for drawing and for colouring; the first is that of the lines.
    draw_layout: wgpu::BindGroupLayout,
    colour_layout: wgpu::BindGroupLayout,
    small: wgpu::ComputePipeline,
    large: wgpu::ComputePipeline,
    colour: wgpu::ComputePipeline,
    write_layout: wgpu::BindGroupLayout,
    /// For 1 and for 4 samples.
    write: [wgpu::RenderPipeline; 2],
}

#[derive(Default)]
pub(super) struct LineRasteriser {
    pub when: LineRaster,
    /// A picture waits for the pipelines; otherwise the rasteriser draws until a thread has created them.
    pub waits: bool,
    /// The system refused that thread.
    pub no_thread: bool,
    pipelines: Arc<OnceLock<Pipelines>>,
    /// Pipelines of translucent lines.
    blending: Arc<OnceLock<line_blend::Pipelines>>,
    /// Passes that compute shaders have drawn. Threads that draw share the renderer.
    passes: AtomicU64,
}

/// The streamlines of a pass: those of a picture, and the range of slots among them that is drawn.
#[derive(Clone, Copy)]
pub(super) struct PassLines<'a> {
    pub all: &'a [ReadyLines],
    /// [`LinePass::Opaque`] or [`LinePass::Translucent`].
    pub pass: LinePass,
    pub slots: &'a Range<usize>,
    /// Size of the part of the picture that is drawn, which begins at a corner, px.
    pub drawn: [u32; 2],
    pub samples: u32,
    /// Lines are cut by the view's slab or clips.
    pub cut: bool,
}

/// The slots of a pass in one chunk.
pub(super) struct ChunkSlots<'a> {
    pub group: &'a wgpu::BindGroup,
    pub ready: &'a ReadyLines,
    /// The previous point: otherwise, the segment between both would be missing.
    pub first: u32,
    pub end: u32,
    /// Number of the chunk's first slot among those of the pass, plus 1.
    pub number: u32,
}

impl LineRasteriser {
    /// Creates the pipelines when it is called, on a thread, before pictures need them.
    pub fn creation(
        &self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
    ) -> impl FnOnce() + Send + 'static {
        let (opaque, blending) = (self.pipelines.clone(), self.blending.clone());
        let (gpu, layout) = (gpu.clone(), layout.clone());
        move || {
            opaque.get_or_init(|| Pipelines::new(&gpu, &layout));
            blending.get_or_init(|| line_blend::Pipelines::new(&gpu, &layout));
        }
    }

    /// Passes of streamlines that compute shaders have drawn so far.
    pub fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    /// Whether compute shaders are to draw these streamlines.
    pub fn takes(&self, gpu: &Gpu, own: PassLines) -> bool {
        let (ready, bytes) = match own.pass {
            LinePass::Translucent => (self.blending.get().is_some(), line_blend::BYTES),
            _ => (self.pipelines.get().is_some(), 8),
        };
        let samples = own.drawn.map(u64::from).iter().product::<u64>() * u64::from(own.samples);
        let fits = bytes * samples <= gpu.limits.max_storage_buffer_binding_size
            && own.slots.end < u32::MAX as usize;
        let chosen = match self.when {
            LineRaster::Never => false,
            LineRaster::Always => !own.slots.is_empty(),
            LineRaster::Automatic => {
                let may_draw = ready || self.waits || self.no_thread;
                gpu.computes_lines && own.slots.len() >= MIN_SLOTS && may_draw
            }
        };
        chosen
            && fits
            && gpu.device.features().contains(FEATURES)
            && own.chunks().count() <= MAX_CHUNKS.max(own.slots.len() / MIN_SLOTS)
    }

    /// Finds and colours the nearest streamlines.
    pub fn draw(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (layout, own): (&wgpu::BindGroupLayout, PassLines),
        nearest: &mut Option<Nearest>,
        mut timestamps: Option<wgpu::ComputePassTimestampWrites>,
    ) {
        let pipelines = self.pipelines.get_or_init(|| Pipelines::new(gpu, layout));
        let fits = |n: &Nearest| {
            n.samples == own.samples && (0..2).all(|axis| n.size[axis] >= own.drawn[axis])
        };
        if !nearest.as_ref().is_some_and(fits) {
            *nearest = None;
        }
        self.passes.fetch_add(1, Ordering::Relaxed);
        let nearest = nearest.get_or_insert_with(|| Nearest::new(gpu, own.drawn, own.samples));
        nearest.in_use = true;
        let nearest = &*nearest;
        let [width, height] = own.drawn;
        let used = 8 * u64::from(width) * u64::from(height) * u64::from(own.samples);
        encoder.clear_buffer(&nearest.keys, 0, Some(used));
        let mut coloured = Vec::new();
        for chunk in own.chunks() {
            let picture = gpu.uniform(&own.picture(&chunk));
            encoder.clear_buffer(&nearest.large, 0, Some(4));
            let groups = pipelines.groups(gpu, &picture, nearest);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("nearest streamlines"),
                timestamp_writes: timestamps.take(),
            });
            pass.set_bind_group(0, chunk.group, &[]);
            pass.set_bind_group(1, &groups[0], &[]);
            pass.set_pipeline(&pipelines.small);
            let [across, down] = workgroups(gpu, chunk.end - chunk.first, SEGMENTS_PER_GROUP);
            pass.dispatch_workgroups(across, down, 1);
            pass.set_pipeline(&pipelines.large);
            pass.dispatch_workgroups(LARGE_GROUPS, 1, 1);
            coloured.push((chunk.group, groups));
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("colours of streamlines"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&pipelines.colour);
        for (group, [_, own_group]) in &coloured {
            pass.set_bind_group(0, *group, &[]);
            pass.set_bind_group(1, own_group, &[]);
            pass.dispatch_workgroups(width.div_ceil(8), height.div_ceil(8), 1);
        }
    }

    /// Adds the layers of translucent streamlines in front of the scene's `depth` to the sums of the picture, which begin
    /// with the first slot.
    pub fn blend(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (layout, own): (&wgpu::BindGroupLayout, PassLines),
        (depth, sums_depths): (&wgpu::TextureView, bool),
        blended: &mut Option<Blended>,
    ) {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let new = || line_blend::Pipelines::new(gpu, layout);
        let pipelines = self.blending.get_or_init(new);
        pipelines.draw(gpu, encoder, own, (depth, sums_depths), blended);
    }

    /// Blends the sums of [`LineRasteriser::blend`] into a pass with the textures of translucent lines.
    pub fn write_blended(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::RenderPass,
        blended: &Blended,
        drawn: [u32; 2],
    ) {
        if let Some(pipelines) = self.blending.get() {
            pipelines.write(gpu, pass, blended, drawn);
        }
    }

    /// Writes the colours and depths that [`LineRasteriser::draw`] found into a pass of the scene.
    pub fn write(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::RenderPass,
        nearest: &Nearest,
        drawn: [u32; 2],
    ) {
        let Some(pipelines) = self.pipelines.get() else {
            return;
        };
        let size = gpu.uniform(&[drawn[0], drawn[1], 0, 0]);
        let resources = [&size, &nearest.keys, &nearest.colours];
        let resources = resources.map(wgpu::Buffer::as_entire_binding);
        let group = gpu.bind(&pipelines.write_layout, &resources);
        pass.set_pipeline(&pipelines.write[usize::from(nearest.samples > 1)]);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

impl<'a> PassLines<'a> {
    /// The chunks that have some of the slots.
    pub fn chunks(self) -> impl Iterator<Item = ChunkSlots<'a>> {
        let mut before = 0;
        let own = self.all.iter().filter(move |r| r.is_in_pass(self.pass));
        let all = own.flat_map(|ready| ready.groups.iter().map(move |own| (ready, own)));
        all.filter_map(move |(ready, (group, slots))| {
            let part = overlap(self.slots, before..before + slots);
            let number = before as u32 + 1;
            before += slots;
            (!part.is_empty()).then(|| ChunkSlots {
                group,
                ready,
                first: part.start.saturating_sub(1) as u32,
                end: part.end as u32,
                number,
            })
        })
    }

    pub fn picture(self, chunk: &ChunkSlots) -> PictureUniform {
        let [width, height] = self.drawn;
        let cut = u32::from(self.cut || chunk.ready.is_limited);
        PictureUniform {
            size: [width, height, self.samples, cut],
            slots: [chunk.first, chunk.end, chunk.number, 0],
            blend: [0.0; 4],
        }
    }
}

/// Workgroups along two axes for this many slots, with the number of segments that each draws.
pub(super) fn workgroups(gpu: &Gpu, slots: u32, segments: u32) -> [u32; 2] {
    let all = slots.saturating_sub(1).div_ceil(segments).max(1);
    let across = all.min(gpu.limits.max_compute_workgroups_per_dimension);
    [across, all.div_ceil(across)]
}

impl Pipelines {
    /// `lines`: layout of the streamlines' own group.
    fn new(gpu: &Gpu, lines: &wgpu::BindGroupLayout) -> Self {
        let stages = wgpu::ShaderStages::COMPUTE;
        let draw_layout = gpu.layout(stages, &[Slot::Uniform, Slot::Stored, Slot::Stored]);
        let colour_layout = gpu.layout(stages, &[Slot::Uniform, Slot::Storage, Slot::Stored]);
        let module = gpu.shader("line raster", shader());
        let own = [lines, &draw_layout];
        let small = gpu.compute_pipeline_of(&module, &own, "draw_small");
        let large = gpu.compute_pipeline_of(&module, &own, "draw_large");
        let own = [lines, &colour_layout];
        let colour = gpu.compute_pipeline_of(&module, &own, "colour_lines");
        let slots = [Slot::Uniform, Slot::Storage, Slot::Storage];
        let write_layout = gpu.layout(wgpu::ShaderStages::FRAGMENT, &slots);
        let write = [(1, "fs_written"), (4, "fs_written_samples")].map(|(samples, fragment)| {
            let drawing = Drawing {
                primitive: wgpu::PrimitiveState::default(),
                samples,
                depth_stencil: Some(depth_test(true)),
                targets: &[Some(blended())],
            };
            gpu.render_pipeline((&module, &write_layout), ["vs_written", fragment], drawing)
        });
        Self {
            draw_layout,
            colour_layout,
            small,
            large,
            colour,
            write_layout,
            write,
        }
    }

    /// The groups for drawing and for colouring.
    fn groups(&self, gpu: &Gpu, picture: &wgpu::Buffer, nearest: &Nearest) -> [wgpu::BindGroup; 2] {
        let bind = |layout, third: &wgpu::Buffer| {
            let resources = [picture, &nearest.keys, third].map(wgpu::Buffer::as_entire_binding);
            gpu.bind(layout, &resources)
        };
        [
            bind(&self.draw_layout, &nearest.large),
            bind(&self.colour_layout, &nearest.colours),
        ]
    }
}
