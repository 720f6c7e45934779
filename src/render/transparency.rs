//! Translucent streamlines, correct in any order: weighted blended transparency (McGuire and Bavoil 2013, eq. 9).
//!
//! With opacity α and colour c of every layer i over a background b, the pixel is (Σ wᵢ αᵢ cᵢ / Σ wᵢ αᵢ) (1 − Π (1 −
//! αᵢ)) + b Π (1 − αᵢ): the remaining fraction of the background is exact, and the layers share the rest by their
//! weight w = 2^(4 − 12 z), z from 0 (nearest object of the view) to 1 (farthest). It halves over a twelfth of the
//! view's depth, as it does from a layer of opacity ½ to the next. Sums are in half precision, whose largest number is
//! reached by 4096 of the nearest layers together.
//!
//! There is one sample per pixel, and lines fade at their edges instead: blending four would take four times as long.

use super::gpu::{DEPTH, Gpu, Slot, depth_source, depth_test};
use super::pipelines::Drawing;
use wgpu::TextureUsages as Usage;

pub(super) const SHADER: &str = include_str!("../../shaders/transparency.wgsl");

/// Formats of the sums of weighted colours and weights, of the remaining fraction of the background, and of the sum of
/// weighted depths, at whose mean volumes treat the layers as one.
const FORMATS: [wgpu::TextureFormat; 3] = [
    wgpu::TextureFormat::Rgba16Float,
    wgpu::TextureFormat::R16Float,
    wgpu::TextureFormat::R16Float,
];

/// How layers are blended into them.
pub(super) fn colour_targets() -> [Option<wgpu::ColorTargetState>; 3] {
    use wgpu::BlendFactor::{One, OneMinusSrc, Zero};
    let blend = |src_factor, dst_factor| {
        let component = wgpu::BlendComponent {
            src_factor,
            dst_factor,
            operation: wgpu::BlendOperation::Add,
        };
        wgpu::BlendState {
            color: component,
            alpha: component,
        }
    };
    let state = |format, blend| {
        Some(wgpu::ColorTargetState {
            format,
            blend: Some(blend),
            write_mask: wgpu::ColorWrites::ALL,
        })
    };
    [
        state(FORMATS[0], blend(One, One)),
        state(FORMATS[1], blend(Zero, OneMinusSrc)),
        state(FORMATS[2], blend(One, One)),
    ]
}

/// The textures of one view.
pub(super) struct TransparencyTargets {
    pictures: [wgpu::TextureView; 3],
    depth: wgpu::TextureView,
}

impl TransparencyTargets {
    pub fn new(gpu: &Gpu, size: [u32; 2]) -> Self {
        let make = |format, usage| {
            gpu.texture_2d(size, format, 1, Usage::RENDER_ATTACHMENT | usage)
                .create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self {
            pictures: FORMATS.map(|format| make(format, Usage::TEXTURE_BINDING)),
            depth: make(DEPTH, Usage::TEXTURE_BINDING),
        }
    }

    /// The targets of a pass, which are cleared at the start of a picture.
    pub fn attachments(&self, begins: bool) -> [Option<wgpu::RenderPassColorAttachment<'_>>; 3] {
        use wgpu::Color;
        let start = [Color::TRANSPARENT, Color::WHITE, Color::TRANSPARENT];
        [0, 1, 2].map(|i| {
            Some(wgpu::RenderPassColorAttachment {
                view: &self.pictures[i],
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: if begins {
                        wgpu::LoadOp::Clear(start[i])
                    } else {
                        wgpu::LoadOp::Load
                    },
                    store: wgpu::StoreOp::Store,
                },
            })
        })
    }

    /// The sums, the remaining fraction, and the sum of depths.
    pub fn pictures(&self) -> &[wgpu::TextureView; 3] {
        &self.pictures
    }
}

/// Reduces a pixel's four depths to one.
pub(super) struct FirstDepth {
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::RenderPipeline,
}

impl FirstDepth {
    pub fn new(gpu: &Gpu) -> Self {
        // The depth is binding 1 of all shaders that read it; this one reads nothing else.
        let slots = [Slot::Uniform, Slot::Depth { samples: 4 }];
        let layout = gpu.layout(wgpu::ShaderStages::FRAGMENT, &slots);
        let module = gpu.shader("transparency", depth_source(SHADER, 4));
        let drawing = Drawing {
            primitive: wgpu::PrimitiveState::default(),
            samples: 1,
            depth_stencil: Some(wgpu::DepthStencilState {
                depth_compare: Some(wgpu::CompareFunction::Always),
                ..depth_test(true)
            }),
            targets: &[],
        };
        let entries = ["vs_depth", "fs_depth"];
        let pipeline = gpu.render_pipeline((&module, &layout), entries, drawing);
        Self { layout, pipeline }
    }

    /// The depth to test translucent lines with, for a scene of this many samples; computed when they begin.
    pub fn depth_for<'a>(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        (depth, samples): (&'a wgpu::TextureView, u32),
        to: &'a TransparencyTargets,
        begins: bool,
    ) -> &'a wgpu::TextureView {
        if samples == 1 {
            return depth;
        }
        if !begins {
            return &to.depth;
        }
        let unused = gpu.uniform(&[0f32; 4]);
        let resources = [
            unused.as_entire_binding(),
            wgpu::BindingResource::TextureView(depth),
        ];
        let group = gpu.bind(&self.layout, &resources);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("first depth"),
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &to.depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Store,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
        &to.depth
    }
}
