//! Draws many translucent streamlines of the 3-D view by compute shaders, with the sums that the rasteriser would blend.
//!
//! The sums of weighted blended transparency (transparency.rs; McGuire and Bavoil 2013, J Comput Graph Tech 2:122) do not
//! depend on the order of layers, so each segment adds its layer to the pixels that it covers by atomic additions, as
//! line_raster.rs finds the nearest one by atomic maxima. Red and green share an integer of 64 bits, as do blue and weight:
//! a pixel takes two additions per layer, one more until no light of the background is left, and one more for the depth
//! where volumes are shown.
//!
//! Parts of integers have 32 bits. The sums of a chunk are added to those of the picture in single precision before
//! another one is drawn. They last until the picture is complete, however many parts it is drawn in, and are then
//! scaled to half precision at once. The loss of light cannot overflow: a chunk has at most 2²⁰ segments, of less than
//! 2¹² each (two layers of 2¹¹ in a sharp bend). A weight of the nearest layers, 2¹⁸, can overflow after 16 384 of them
//! at one pixel in one chunk; layers half way to the far end count 64 times less. Sums in half precision, which the
//! rasteriser blends, overflow after 4096 in a picture.

use super::gpu::{Gpu, Slot, depth_test};
use super::line_raster::{
    self, ChunkSlots, LARGE_GROUPS, PassLines, PictureUniform, large_list, workgroups,
};
use super::pipelines::Drawing;
use super::transparency::colour_targets;

const SHADER: &str = include_str!("../../shaders/line_blend.wgsl");

/// Bytes per pixel of the largest buffer.
pub(super) const BYTES: u64 = 32;
/// Threads of a workgroup, with a segment each.
const SEGMENTS_PER_GROUP: u32 = 128;
/// The weight of a nearest layer at full opacity, in transparency.rs and as an integer.
const NEAREST: [f32; 2] = [16.0, 262_144.0];
/// Light that a layer at full opacity takes, as an integer.
const LOSS: f32 = 2047.0;
/// Bits of light after whose loss the background cannot be seen; see shaders/line_blend.wgsl.
const ALL_LOST: f32 = 24.0;
/// A larger number of parts would not differ from the mark of pixels without light, 2³² - 1.
const MOST_LOST: f32 = 4.29e9;

pub(super) fn shader() -> String {
    format!("{}\n{SHADER}", line_raster::shader())
}

/// The sums of a picture.
pub(super) struct Blended {
    size: [u32; 2],
    /// Integers, of one chunk.
    layers: wgpu::Buffer,
    /// In single precision, of all chunks.
    sums: wgpu::Buffer,
    large: wgpu::Buffer,
    /// The sums are those of the present picture, which all its parts continue.
    pub in_use: bool,
}

impl Blended {
    fn new(gpu: &Gpu, size: [u32; 2]) -> Self {
        let bytes = BYTES * u64::from(size[0]) * u64::from(size[1]);
        Self {
            size,
            layers: gpu.storage(bytes),
            sums: gpu.storage(bytes),
            large: large_list(gpu),
            in_use: false,
        }
    }
}

pub(super) struct Pipelines {
    /// Layout of the second group of resources for drawing; the first is that of the lines.
    draw_layout: wgpu::BindGroupLayout,
    fold_layout: wgpu::BindGroupLayout,
    write_layout: wgpu::BindGroupLayout,
    begin: wgpu::ComputePipeline,
    small: wgpu::ComputePipeline,
    large: wgpu::ComputePipeline,
    fold: wgpu::ComputePipeline,
    write: wgpu::RenderPipeline,
}

impl Pipelines {
    /// `lines`: layout of the streamlines' own group.
    pub fn new(gpu: &Gpu, lines: &wgpu::BindGroupLayout) -> Self {
        let stages = wgpu::ShaderStages::COMPUTE;
        let draw_layout = gpu.layout(stages, &[Slot::Uniform, Slot::Stored, Slot::Stored]);
        let depth = Slot::Depth { samples: 1 };
        let slots = [Slot::Uniform, Slot::Stored, Slot::Stored, depth];
        let fold_layout = gpu.layout(stages, &slots);
        let slots = [Slot::Uniform, Slot::Storage];
        let write_layout = gpu.layout(wgpu::ShaderStages::FRAGMENT, &slots);
        let module = gpu.shader("line blend", shader());
        let own = [lines, &draw_layout];
        let drawing = Drawing {
            primitive: wgpu::PrimitiveState::default(),
            samples: 1,
            // The layers were compared with the scene's depth.
            depth_stencil: Some(wgpu::DepthStencilState {
                depth_compare: Some(wgpu::CompareFunction::Always),
                ..depth_test(false)
            }),
            targets: &colour_targets(),
        };
        let entries = ["vs_written", "fs_blended"];
        Self {
            begin: gpu.compute_pipeline((&module, &fold_layout), "begin_blend"),
            small: gpu.compute_pipeline_of(&module, &own, "blend_small"),
            large: gpu.compute_pipeline_of(&module, &own, "blend_large"),
            fold: gpu.compute_pipeline((&module, &fold_layout), "fold_blend"),
            write: gpu.render_pipeline((&module, &write_layout), entries, drawing),
            draw_layout,
            fold_layout,
            write_layout,
        }
    }

    /// Adds the layers in front of the scene's `depth` to the sums, which begin with the first slot; `sums_depths`: also
    /// their weighted depths, for volumes.
    pub fn draw(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        own: PassLines,
        (depth, sums_depths): (&wgpu::TextureView, bool),
        blended: &mut Option<Blended>,
    ) {
        let fits = |b: &Blended| (0..2).all(|axis| b.size[axis] >= own.drawn[axis]);
        if !blended.as_ref().is_some_and(fits) {
            *blended = None;
        }
        let blended = blended.get_or_insert_with(|| Blended::new(gpu, own.drawn));
        blended.in_use = true;
        let blended = &*blended;
        let [width, height] = own.drawn.map(|n| n.div_ceil(8));
        let mut begins = own.slots.start == 0;
        for chunk in own.chunks() {
            let picture = gpu.uniform(&picture(own, &chunk, sums_depths));
            let [uniform, layers, sums, large] =
                [&picture, &blended.layers, &blended.sums, &blended.large]
                    .map(wgpu::Buffer::as_entire_binding);
            let depth = wgpu::BindingResource::TextureView(depth);
            let fold = gpu.bind(
                &self.fold_layout,
                &[uniform.clone(), layers.clone(), sums, depth],
            );
            let draw = gpu.bind(&self.draw_layout, &[uniform, layers, large]);
            encoder.clear_buffer(&blended.large, 0, Some(4));
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("layers of streamlines"),
                timestamp_writes: None,
            });
            if std::mem::take(&mut begins) {
                pass.set_pipeline(&self.begin);
                pass.set_bind_group(0, &fold, &[]);
                pass.dispatch_workgroups(width, height, 1);
            }
            pass.set_pipeline(&self.small);
            pass.set_bind_group(0, chunk.group, &[]);
            pass.set_bind_group(1, &draw, &[]);
            let [across, down] = workgroups(gpu, chunk.end - chunk.first, SEGMENTS_PER_GROUP);
            pass.dispatch_workgroups(across, down, 1);
            pass.set_pipeline(&self.large);
            pass.dispatch_workgroups(LARGE_GROUPS, 1, 1);
            pass.set_pipeline(&self.fold);
            pass.set_bind_group(0, &fold, &[]);
            pass.dispatch_workgroups(width, height, 1);
        }
    }

    /// Blends the sums into a pass with the textures of translucent lines.
    pub fn write(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::RenderPass,
        blended: &Blended,
        drawn: [u32; 2],
    ) {
        let size = gpu.uniform(&[drawn[0], drawn[1], 0, 0]);
        let resources = [&size, &blended.sums].map(wgpu::Buffer::as_entire_binding);
        let group = gpu.bind(&self.write_layout, &resources);
        pass.set_pipeline(&self.write);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Integers count parts of the largest weight and of the largest loss of light that these lines have.
fn picture(own: PassLines, chunk: &ChunkSlots, sums_depths: bool) -> PictureUniform {
    let mut picture = own.picture(chunk);
    let opacity = chunk.ready.opacity.clamp(1e-9, 0.999);
    let weight = NEAREST[1] / (NEAREST[0] * opacity);
    let loss = -LOSS * std::f32::consts::LN_2 / (-opacity).ln_1p();
    picture.slots[3] = u32::from(sums_depths);
    picture.blend = [weight, -loss, (ALL_LOST * loss).min(MOST_LOST), 0.0];
    picture
}
