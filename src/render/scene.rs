//! The 3-D view: opaque things, see-through things, then the outline's glass over both.

use super::draw_list::{ScenePane, SolidShape};
use super::gpu::{COLOUR, DEPTH, Gpu, Slot, depth_source};
use super::line_buffers::{LineKey, LineStore};
use super::lines::LinePipelines;
use super::outline::{GLASS, Outlines, linear_sampler};
use super::slice::Slices;
use super::solids::Solids;
use super::stopwatch::Stopwatch;
use super::textures::{Key, Textures};
use super::view::SceneView;
use bytemuck::{Pod, Zeroable};
use glam::{DMat4, DVec3};
use wgpu::TextureUsages as Usage;

pub(super) const SHADER: &str = include_str!("../../shaders/scene.wgsl");

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct TogetherUniform {
    scene: [f32; 4],
    pane: [f32; 4],
    depth: [f32; 4],
}

/// How much work one picture may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Quality {
    /// 1 or 4.
    pub samples: u32,
    /// Pixels drawn per pixel of the pane, along a side.
    pub scale: f64,
    /// Pixels drawn per pixel of the glass, along a side.
    pub glass: u32,
    /// Share of the streamlines.
    pub share: f64,
}

/// The textures that one pane is drawn in before it is put together.
pub(super) struct Targets {
    size: [u32; 2],
    samples: u32,
    /// What is drawn to: `base` itself, or its samples.
    colour: wgpu::TextureView,
    base: wgpu::TextureView,
    depth: wgpu::TextureView,
    glass: wgpu::TextureView,
}

impl Targets {
    fn new(gpu: &Gpu, size: [u32; 2], samples: u32) -> Self {
        let make = |format, samples, usage| {
            gpu.texture_2d(size, format, samples, usage)
                .create_view(&wgpu::TextureViewDescriptor::default())
        };
        let both = Usage::RENDER_ATTACHMENT | Usage::TEXTURE_BINDING;
        let base = make(COLOUR, 1, both);
        let colour = if samples > 1 {
            make(COLOUR, samples, Usage::RENDER_ATTACHMENT)
        } else {
            base.clone()
        };
        Self {
            size,
            samples,
            colour,
            base,
            depth: make(DEPTH, samples, both),
            glass: make(GLASS, 1, Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING),
        }
    }
}

pub(super) struct Scenes {
    solids: Solids,
    outlines: Outlines,
    /// For 1 and for 4 samples.
    together: [(wgpu::BindGroupLayout, wgpu::RenderPipeline); 2],
    sampler: wgpu::Sampler,
}

/// What drawing a scene borrows from the renderer.
pub(super) struct Tools<'a> {
    pub gpu: &'a Gpu,
    pub textures: &'a mut Textures,
    pub store: &'a LineStore,
    pub slices: &'a Slices,
    pub lines: &'a LinePipelines,
    pub stopwatch: &'a mut Stopwatch,
}

impl Scenes {
    pub fn new(gpu: &Gpu) -> Self {
        let make = |samples| {
            let layout = gpu.layout(
                wgpu::ShaderStages::FRAGMENT,
                &[
                    Slot::Uniform,
                    Slot::Depth { samples },
                    Slot::Filtered2,
                    Slot::Image2,
                    Slot::Sampler,
                ],
            );
            let module = gpu.shader("scene", depth_source(SHADER, samples));
            let pipeline = gpu
                .device
                .create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                    label: Some("scene"),
                    layout: Some(&gpu.pipeline_layout(&layout)),
                    vertex: wgpu::VertexState {
                        module: &module,
                        entry_point: Some("vs_together"),
                        compilation_options: Default::default(),
                        buffers: &[],
                    },
                    primitive: wgpu::PrimitiveState::default(),
                    depth_stencil: None,
                    multisample: wgpu::MultisampleState::default(),
                    fragment: Some(wgpu::FragmentState {
                        module: &module,
                        entry_point: Some("fs_together"),
                        compilation_options: Default::default(),
                        targets: &[Some(COLOUR.into())],
                    }),
                    multiview_mask: None,
                    cache: None,
                });
            (layout, pipeline)
        };
        Self {
            solids: Solids::new(gpu),
            outlines: Outlines::new(gpu),
            together: [1, 4].map(make),
            sampler: linear_sampler(gpu),
        }
    }

    /// Draws into `pane`, a texture of the list's size; `keys` are its lines' buffers. Returns the
    /// textures it used.
    pub fn draw(
        &self,
        tools: Tools,
        list: &ScenePane,
        keys: &[LineKey],
        quality: Quality,
        targets: &mut Option<Targets>,
        pane: &wgpu::TextureView,
    ) -> Vec<Key> {
        let Tools {
            gpu,
            textures,
            store,
            slices,
            lines,
            stopwatch,
        } = tools;
        let size = list.size_px;
        let samples = quality.samples;
        let fits = |t: &Targets| t.size == size && t.samples == samples;
        if !targets.as_ref().is_some_and(fits) {
            *targets = None;
        }
        let targets = targets.get_or_insert_with(|| Targets::new(gpu, size, samples));
        let drawn = size.map(|n| ((f64::from(n) * quality.scale) as u32).clamp(1, n));
        let view = SceneView::new(list, drawn, bounds(list, keys, store));
        let mut used = Vec::new();

        let mut layers = Vec::new();
        for quad in &list.slices {
            let m = &list.clip_from_world;
            layers.extend(slices.quad_layers(gpu, textures, quad, m, samples, &mut used));
        }
        let strands: Vec<_> = list
            .lines
            .iter()
            .zip(keys)
            .map(|(l, &key)| {
                lines.scene_strand(gpu, (textures, store), l, key, &view, quality.share)
            })
            .collect();
        let solids = self
            .solids
            .groups(gpu, textures, &list.solids, &view, &mut used);

        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let [r, g, b] = list.background.map(|c| f64::from(c) / 255.0);
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("scene"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &targets.colour,
                    depth_slice: None,
                    resolve_target: (samples > 1).then_some(&targets.base),
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }),
                        store: if samples > 1 {
                            wgpu::StoreOp::Discard
                        } else {
                            wgpu::StoreOp::Store
                        },
                    },
                })],
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: &targets.depth,
                    depth_ops: Some(wgpu::Operations {
                        load: wgpu::LoadOp::Clear(1.0),
                        store: wgpu::StoreOp::Store,
                    }),
                    stencil_ops: None,
                }),
                timestamp_writes: stopwatch.start(),
                occlusion_query_set: None,
                multiview_mask: None,
            });
            let [width, height] = drawn.map(|n| n as f32);
            pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
            pass.set_scissor_rect(0, 0, drawn[0], drawn[1]);
            slices.draw_quads(&mut pass, &layers, samples);
            lines.draw_scene(&mut pass, &strands, samples, true);
            // Solids hide what is behind them from the faint lines: little is lost, and faint lines
            // in front of a solid are right.
            self.solids.draw(&mut pass, &solids, samples);
            lines.draw_scene(&mut pass, &strands, samples, false);
        }
        if let Some(outline) = &list.outline {
            self.outlines.march(
                gpu,
                textures,
                &mut encoder,
                outline,
                &view,
                (&targets.depth, samples),
                (&targets.glass, quality.glass),
                &mut used,
            );
        }
        self.put_together(
            gpu,
            &mut encoder,
            list,
            drawn,
            quality,
            targets,
            pane,
            stopwatch,
        );
        stopwatch.stop(gpu, encoder);
        used
    }

    #[allow(clippy::too_many_arguments)]
    fn put_together(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        list: &ScenePane,
        drawn: [u32; 2],
        quality: Quality,
        targets: &Targets,
        pane: &wgpu::TextureView,
        stopwatch: &Stopwatch,
    ) {
        let glass = list.outline.as_ref().map_or(0, |_| quality.glass);
        let [w, h] = targets.size.map(|n| n as f32);
        let uniform = TogetherUniform {
            scene: [drawn[0] as f32, drawn[1] as f32, w, h],
            pane: [w, h, glass as f32, 0.0],
            depth: distance_from_depth(&list.clip_from_world),
        };
        let buffer = gpu.uniform(&uniform);
        let (layout, pipeline) = &self.together[usize::from(quality.samples > 1)];
        use wgpu::BindingResource::{Sampler, TextureView as View};
        let group = gpu.bind(
            layout,
            &[
                buffer.as_entire_binding(),
                View(&targets.depth),
                View(&targets.base),
                View(&targets.glass),
                Sampler(&self.sampler),
            ],
        );
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("together"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: pane,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                    store: wgpu::StoreOp::Store,
                },
            })],
            depth_stencil_attachment: None,
            timestamp_writes: stopwatch.end(),
            occlusion_query_set: None,
            multiview_mask: None,
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Numbers that turn a depth into a distance from the eye, as shaders/scene.wgsl wants them.
fn distance_from_depth(clip_from_world: &DMat4) -> [f32; 4] {
    let (z, w) = (clip_from_world.row(2), clip_from_world.row(3));
    if w.truncate().length() < 1e-9 {
        // Parallel: any scale will do, differences are compared with the whole.
        return [100.0, 500.0, 1.0, 0.0];
    }
    // depth = a + b / distance, since z = a * w + b.
    let a = z.truncate().dot(w.truncate()) / w.truncate().length_squared();
    let b = z.w - a * w.w;
    [a as f32, -b as f32, 0.0, 0.0]
}

/// World bounds of what a scene shows.
fn bounds(list: &ScenePane, keys: &[LineKey], store: &LineStore) -> (DVec3, DVec3) {
    let mut points: Vec<DVec3> = Vec::new();
    for q in &list.slices {
        let far = q.origin + q.edge_u + q.edge_v;
        points.extend([q.origin, q.origin + q.edge_u, q.origin + q.edge_v, far]);
    }
    if let Some(outline) = &list.outline {
        points.extend(outline.mask.0.grid.corners());
    }
    for key in keys {
        if let Some((low, high)) = store.get(*key).and_then(|l| l.bounds_mm()) {
            points.extend([low, high]);
        }
    }
    for solid in &list.solids {
        match &solid.shape {
            SolidShape::Sphere { centre, radius_mm } => {
                points.extend([*centre - *radius_mm, *centre + *radius_mm]);
            }
            SolidShape::Box { centre, half_mm } => {
                points.extend([*centre - *half_mm, *centre + *half_mm]);
            }
            SolidShape::Mask(mask) => points.extend(mask.0.grid.corners()),
        }
    }
    let start = points.first().copied().unwrap_or(DVec3::ZERO);
    points
        .iter()
        .fold((start, start), |(low, high), &p| (low.min(p), high.max(p)))
}
