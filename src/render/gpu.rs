//! The device, with short methods for the resources that the renderer creates on it.

use crate::compute::parts::Threads;
use std::sync::Arc;
use wgpu::util::DeviceExt as _;

const COMMON: &str = include_str!("../../shaders/common.wgsl");

/// How a shader reads the depth of the opaque scene; chosen by the number of samples.
const DEPTH_1: &str = "
@group(0) @binding(1) var scene_depth: texture_depth_2d;
const SAMPLES: i32 = 1;
fn depth_at(pixel: vec2<i32>, sample: i32) -> f32 {
    return textureLoad(scene_depth, pixel, 0);
}
";
const DEPTH_4: &str = "
@group(0) @binding(1) var scene_depth: texture_depth_multisampled_2d;
const SAMPLES: i32 = 4;
fn depth_at(pixel: vec2<i32>, sample: i32) -> f32 {
    return textureLoad(scene_depth, pixel, sample);
}
";

/// The complete source of a shader for the device.
pub(super) fn source(own: &str) -> String {
    format!("{COMMON}\n{own}")
}

/// The complete source of a shader that reads the scene's depth.
pub(super) fn depth_source(own: &str, samples: u32) -> String {
    let depth = if samples > 1 { DEPTH_4 } else { DEPTH_1 };
    format!("{COMMON}\n{depth}\n{own}")
}

/// Every shader source that the renderer passes to a device, by name, for validation in tests.
pub fn shader_sources() -> Vec<(String, String)> {
    let plain = [
        ("blit", super::blit::SHADER),
        ("bricks", super::bricks::SHADER),
        ("glyphs", super::glyphs::SHADER),
        ("odf glyphs", super::odf_glyphs::SHADER),
        ("odf rays", super::odf_rays::SHADER),
    ];
    let reading_depth = [
        ("ambient occlusion", super::ambient_occlusion::SHADER),
        ("outline", super::outline::SHADER),
        ("composite", super::composite::SHADER),
        ("transparency", super::transparency::SHADER),
    ];
    let both = reading_depth.iter().flat_map(|&(name, own)| {
        [1, 4].map(|n| (format!("{name}, {n} samples"), depth_source(own, n)))
    });
    let volumes = [(1, true), (4, true), (1, false), (4, false)].map(|(n, filters)| {
        let reading = if filters { "" } else { ", by hand" };
        let name = format!("volume, {n} samples{reading}");
        (name, super::volume_image::shader(n, filters))
    });
    let slices = ("slice".to_owned(), super::slice::shader(None));
    let of_one_kind = super::slice::LayerKind::EXAMPLES.map(|kind| {
        let name = "slice, layers of one kind".to_owned();
        (name, super::slice::shader(Some(kind)))
    });
    let lines = ("lines".to_owned(), super::lines::shader());
    let line_raster = ("line raster".to_owned(), super::line_raster::shader());
    let line_blend = ("line blend".to_owned(), super::line_blend::shader());
    let empty_bricks = ("empty bricks".to_owned(), super::empty_bricks::shader());
    let solids = ("solids".to_owned(), super::solids::shader());
    let end_marks = ("end marks".to_owned(), super::end_marks::shader());
    let surfaces = [1, 4].map(|n| {
        let name = format!("surface in bricks, {n} samples");
        (name, super::volume_bricks::shader(n))
    });
    let volumes = volumes
        .into_iter()
        .chain(surfaces)
        .chain(of_one_kind)
        .chain([slices, lines, line_raster, line_blend])
        .chain([empty_bricks, solids, end_marks]);
    let plain = plain.map(|(name, own)| (name.to_owned(), source(own)));
    plain.into_iter().chain(both).chain(volumes).collect()
}

/// One colour target that starts black.
pub fn cleared_target(
    view: &wgpu::TextureView,
) -> [Option<wgpu::RenderPassColorAttachment<'_>>; 1] {
    target(view, wgpu::LoadOp::Clear(wgpu::Color::BLACK))
}

/// One colour target that keeps its content.
pub(super) fn kept_target(
    view: &wgpu::TextureView,
) -> [Option<wgpu::RenderPassColorAttachment<'_>>; 1] {
    target(view, wgpu::LoadOp::Load)
}

fn target(
    view: &wgpu::TextureView,
    load: wgpu::LoadOp<wgpu::Color>,
) -> [Option<wgpu::RenderPassColorAttachment<'_>>; 1] {
    [Some(wgpu::RenderPassColorAttachment {
        view,
        depth_slice: None,
        resolve_target: None,
        ops: wgpu::Operations {
            load,
            store: wgpu::StoreOp::Store,
        },
    })]
}

/// Idle items to drop (given last use, key, bytes), oldest first, until the rest fits the budget.
pub(super) fn keys_beyond_budget<K>(mut idle: Vec<(u64, K, u64)>, budget_bytes: u64) -> Vec<K> {
    idle.sort_unstable_by_key(|i| i.0);
    let mut bytes: u64 = idle.iter().map(|i| i.2).sum();
    let drops = |(_, key, size): (u64, K, u64)| {
        let over = bytes > budget_bytes;
        bytes = bytes.saturating_sub(size);
        over.then_some(key)
    };
    idle.into_iter().map_while(drops).collect()
}

/// NVIDIA's PCI vendor number.
const NVIDIA: u32 = 0x10de;

/// Clones share the device.
#[derive(Clone)]
pub(super) struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub limits: wgpu::Limits,
    /// Whether it is a discrete or an integrated card, or a CPU.
    pub kind: wgpu::DeviceType,
    /// Drawing is done by a CPU: coarser pictures during motion.
    pub software: bool,
    /// Samplers interpolate between single-precision texels.
    pub filters: bool,
    /// Compute shaders draw many streamlines faster than the rasteriser does; this was measured on NVIDIA's cards only.
    pub computes_lines: bool,
    /// Shaders can set which samples of a pixel they cover. The GLSL that naga 30 writes for it does not compile.
    pub sample_masks: bool,
    /// Threads that prepare what is uploaded; they do not wait for solvers.
    pub threads: Arc<Threads>,
}

/// One binding of a group, in order.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    Uniform,
    /// Read-only.
    Storage,
    /// Read and written.
    Stored,
    /// Read by `textureLoad` only.
    Image2,
    Image3,
    Filtered2,
    Filtered3,
    Sampler,
    Depth {
        samples: u32,
    },
    Written2(wgpu::TextureFormat),
    Written3(wgpu::TextureFormat),
}

impl Gpu {
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let limits = device.limits();
        let info = device.adapter_info();
        let software = info.device_type == wgpu::DeviceType::Cpu;
        let sample_masks = info.backend != wgpu::Backend::Gl;
        let computes_lines = info.vendor == NVIDIA && !software;
        let filters = device
            .features()
            .contains(wgpu::Features::FLOAT32_FILTERABLE);
        Self {
            device,
            queue,
            limits,
            kind: info.device_type,
            software,
            filters,
            computes_lines,
            sample_masks,
            threads: Arc::new(Threads::new("picture")),
        }
    }

    pub fn shader(&self, label: &str, source: String) -> wgpu::ShaderModule {
        self.device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(label),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            })
    }

    pub fn layout(&self, stages: wgpu::ShaderStages, slots: &[Slot]) -> wgpu::BindGroupLayout {
        use wgpu::{BindingType as B, TextureSampleType as S, TextureViewDimension as D};
        let texture = |sample_type, view_dimension, multisampled| B::Texture {
            sample_type,
            view_dimension,
            multisampled,
        };
        let buffer = |ty| B::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let written = |format, view_dimension| B::StorageTexture {
            access: wgpu::StorageTextureAccess::WriteOnly,
            format,
            view_dimension,
        };
        let (loaded, filtered) = (
            S::Float { filterable: false },
            S::Float { filterable: true },
        );
        let entry = |(binding, slot): (usize, &Slot)| wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: stages,
            ty: match *slot {
                Slot::Uniform => buffer(wgpu::BufferBindingType::Uniform),
                Slot::Storage => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
                Slot::Stored => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
                Slot::Image2 => texture(loaded, D::D2, false),
                Slot::Image3 => texture(loaded, D::D3, false),
                Slot::Filtered2 => texture(filtered, D::D2, false),
                Slot::Filtered3 => texture(filtered, D::D3, false),
                Slot::Sampler => B::Sampler(wgpu::SamplerBindingType::Filtering),
                Slot::Depth { samples } => texture(S::Depth, D::D2, samples > 1),
                Slot::Written2(format) => written(format, D::D2),
                Slot::Written3(format) => written(format, D::D3),
            },
            count: None,
        };
        let entries: Vec<_> = slots.iter().enumerate().map(entry).collect();
        self.device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            })
    }

    pub fn bind(
        &self,
        layout: &wgpu::BindGroupLayout,
        resources: &[wgpu::BindingResource],
    ) -> wgpu::BindGroup {
        let entries: Vec<_> = resources
            .iter()
            .enumerate()
            .map(|(binding, resource)| wgpu::BindGroupEntry {
                binding: binding as u32,
                resource: resource.clone(),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        })
    }

    pub fn uniform<T: bytemuck::NoUninit>(&self, value: &T) -> wgpu::Buffer {
        self.uniform_bytes(bytemuck::bytes_of(value))
    }

    pub fn uniform_bytes(&self, contents: &[u8]) -> wgpu::Buffer {
        self.device
            .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents,
                usage: wgpu::BufferUsages::UNIFORM,
            })
    }

    /// An empty buffer that shaders read and `queue.write_buffer` fills.
    pub fn storage(&self, bytes: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// A small buffer that shaders read and write.
    pub fn storage_of<T: bytemuck::NoUninit>(&self, values: &[T]) -> wgpu::Buffer {
        self.device
            .create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: bytemuck::cast_slice(values),
                usage: wgpu::BufferUsages::STORAGE,
            })
    }

    /// A 3-D texture with these texels (tightly packed, x fastest).
    pub fn texture_3d(
        &self,
        size: [u32; 3],
        format: wgpu::TextureFormat,
        texels: &[u8],
    ) -> wgpu::TextureView {
        let texture = self.new_3d(size, format, wgpu::TextureUsages::COPY_DST);
        let texel = format.block_copy_size(None).unwrap_or(4);
        self.queue.write_texture(
            texture.as_image_copy(),
            texels,
            wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(size[0] * texel),
                rows_per_image: Some(size[1]),
            },
            texture.size(),
        );
        texture.create_view(&wgpu::TextureViewDescriptor::default())
    }

    /// A 3-D texture that a compute shader writes and others read.
    pub fn written_3d(&self, size: [u32; 3], format: wgpu::TextureFormat) -> wgpu::TextureView {
        self.new_3d(size, format, wgpu::TextureUsages::STORAGE_BINDING)
            .create_view(&wgpu::TextureViewDescriptor::default())
    }

    /// Readable by shaders, with this additional use.
    fn new_3d(
        &self,
        [width, height, depth_or_array_layers]: [u32; 3],
        format: wgpu::TextureFormat,
        usage: wgpu::TextureUsages,
    ) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | usage,
            view_formats: &[],
        })
    }

    /// Interpolates between texels, and clamps to the outermost.
    pub fn linear_sampler(&self) -> wgpu::Sampler {
        self.device.create_sampler(&wgpu::SamplerDescriptor {
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            ..Default::default()
        })
    }

    pub fn texture_2d(
        &self,
        size: [u32; 2],
        format: wgpu::TextureFormat,
        samples: u32,
        usage: wgpu::TextureUsages,
    ) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d {
                width: size[0],
                height: size[1],
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: samples,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        })
    }
}

/// Format of every colour target: sRGB bytes, never converted.
pub(super) const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
pub(super) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// The texture of a pane.
pub(super) fn pane_texture(gpu: &Gpu, size: [u32; 2]) -> (wgpu::Texture, wgpu::TextureView) {
    use wgpu::TextureUsages as Usage;
    let usage = Usage::RENDER_ATTACHMENT | Usage::TEXTURE_BINDING | Usage::COPY_SRC;
    let texture = gpu.texture_2d(size, COLOUR, 1, usage);
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    (texture, view)
}

/// Straight alpha over the existing colour.
pub(super) fn blended() -> wgpu::ColorTargetState {
    wgpu::ColorTargetState {
        format: COLOUR,
        blend: Some(wgpu::BlendState::ALPHA_BLENDING),
        write_mask: wgpu::ColorWrites::ALL,
    }
}

pub(super) fn depth_test(write: bool) -> wgpu::DepthStencilState {
    wgpu::DepthStencilState {
        format: DEPTH,
        depth_write_enabled: Some(write),
        depth_compare: Some(wgpu::CompareFunction::LessEqual),
        stencil: wgpu::StencilState::default(),
        bias: wgpu::DepthBiasState::default(),
    }
}

/// IEEE 754 half precision, rounded to nearest; overflow becomes the largest finite value.
pub(super) fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = f32::from_bits(bits & 0x7FFF_FFFF).min(65504.0);
    // Below the smallest normal number the spacing is 2^-24.
    if magnitude < 6.103_515_6e-5 {
        return sign | (magnitude * 16_777_216.0).round() as u16;
    }
    let rounded = magnitude.to_bits() + 0x1000;
    sign | ((rounded >> 13) - ((127 - 15) << 10)) as u16
}
