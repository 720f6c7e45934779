//! Composites the 3-D view: opaque objects, translucent streamlines, volumes, the glass outline.

use super::gpu::{COLOUR, Gpu, Slot, cleared_target, depth_source};
use super::lines::values_of;
use super::pipelines::Drawing;
use super::scene::{Quality, Targets, distance_numbers};
use super::stopwatch::Stopwatch;
use crate::scene::draw_list::{Lines, ScenePane};
use bytemuck::{Pod, Zeroable};

pub(super) const SHADER: &str = include_str!("../../shaders/composite.wgsl");

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CompositeUniform {
    scene: [f32; 4],
    glass: [f32; 4],
    depth: [f32; 4],
    hollows: [f32; 4],
}

/// Fraction of light lost in hollows, and the depth of the darkest, mm.
const HOLLOWS: [f32; 2] = [0.62, 14.0];
/// The fraction of it where colours stand for values.
const VALUE_HOLLOWS: f32 = 0.22;

pub(super) struct Compositor {
    /// For 1 and for 4 samples.
    pipelines: [(wgpu::BindGroupLayout, wgpu::RenderPipeline); 2],
    sampler: wgpu::Sampler,
}

impl Compositor {
    pub fn new(gpu: &Gpu) -> Self {
        let make = |samples| {
            let layout = gpu.layout(
                wgpu::ShaderStages::FRAGMENT,
                &[
                    Slot::Uniform,
                    Slot::Depth { samples },
                    Slot::Image2,
                    Slot::Filtered2,
                    Slot::Sampler,
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Image2,
                ],
            );
            let module = gpu.shader("composite", depth_source(SHADER, samples));
            let drawing = Drawing {
                primitive: wgpu::PrimitiveState::default(),
                samples: 1,
                depth_stencil: None,
                targets: &[Some(COLOUR.into())],
            };
            let entries = ["vs_composite", "fs_composite"];
            let pipeline = gpu.render_pipeline((&module, &layout), entries, drawing);
            (layout, pipeline)
        };
        Self {
            pipelines: [1, 4].map(make),
            sampler: gpu.linear_sampler(),
        }
    }

    /// Fills the drawn corner of `pane`; `through`: there are translucent lines.
    #[allow(
        clippy::too_many_arguments,
        reason = "one each for the card, the pass, the scene and its targets"
    )]
    pub fn draw(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        list: &ScenePane,
        drawn: [u32; 2],
        (quality, through): (&Quality, bool),
        targets: &Targets,
        pane: &wgpu::TextureView,
        stopwatch: &Stopwatch,
    ) {
        let glass = list.outline.as_ref().map_or(0, |_| quality.glass);
        let fog = targets.fog.as_ref().filter(|_| list.ray_cast() > 0);
        let [w, h] = targets.size.map(|n| n as f32);
        let uniform = CompositeUniform {
            scene: [drawn[0] as f32, drawn[1] as f32, w, h],
            glass: [
                glass as f32,
                f32::from(quality.rough),
                // Volumes at full resolution already include them.
                f32::from(through && !(fog.is_some() && quality.fog.per_pixel == 1)),
                fog.map_or(0, |_| quality.fog.per_pixel) as f32,
            ],
            depth: distance_numbers(&list.clip_from_world),
            hollows: if quality.rough {
                [0.0; 4]
            } else {
                let of_values = |l: &Lines| !l.context && values_of(l).is_some();
                let deep = match list.lines.iter().any(of_values) {
                    true => VALUE_HOLLOWS,
                    false => HOLLOWS[0],
                };
                // Behind translucent slices lies the background, which does not count as a hollow.
                let slices = list.slices.iter().flat_map(|s| &s.images);
                let opaque = slices.map(|i| i.opacity).reduce(f32::max).unwrap_or(1.0);
                [deep * opaque, HOLLOWS[1], 0.0, 0.0]
            },
        };
        let buffer = gpu.uniform(&uniform);
        let (layout, pipeline) = &self.pipelines[usize::from(quality.samples > 1)];
        use wgpu::BindingResource::{Sampler, TextureView as View};
        // If there are none, another texture is bound in their place and never read.
        let unseen = [0, 1, 2].map(|_| targets.base.clone());
        let [sum, left, _] = match &targets.transparency {
            Some(textures) if through => textures.pictures(),
            _ => &unseen,
        };
        let group = gpu.bind(
            layout,
            &[
                buffer.as_entire_binding(),
                View(&targets.depth),
                View(&targets.base),
                View(&targets.glass),
                Sampler(&self.sampler),
                View(targets.occlusion.blurred()),
                View(sum),
                View(left),
                View(fog.map_or(&targets.base, |f| f.picture(list.ray_cast()))),
            ],
        );
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("composite"),
            color_attachments: &cleared_target(pane),
            timestamp_writes: stopwatch.writes(false, true),
            ..Default::default()
        });
        // A coarse picture is stretched when it is shown, not before.
        pass.set_viewport(0.0, 0.0, drawn[0] as f32, drawn[1] as f32, 0.0, 1.0);
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}
