//! The 3-D view: opaque things, see-through things, then the outline's glass over both.

use super::darkening::{Darkening, Hollows};
use super::draw_list::{Lines, ScenePane, SolidShape};
use super::gpu::{COLOUR, DEPTH, Gpu, Slot, cleared, depth_source};
use super::line_buffers::{LineKey, LineStore};
use super::lines::{LinePipelines, Rank, Strand, values_of};
use super::outline::{GLASS, Outlines, linear_sampler};
use super::pace::Drawn;
use super::slice::Slices;
use super::solids::Solids;
use super::stopwatch::Stopwatch;
use super::textures::{Key, Textures};
use super::through::{FirstDepth, Through};
use super::view::SceneView;
use bytemuck::{Pod, Zeroable};
use glam::{DMat4, DVec3};
use wgpu::TextureUsages as Usage;

pub(super) const SHADER: &str = include_str!("../../shaders/scene.wgsl");

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct TogetherUniform {
    scene: [f32; 4],
    glass: [f32; 4],
    depth: [f32; 4],
    hollows: [f32; 4],
}

/// How much of the light hollows lose, and how deep the darkest are, mm.
const HOLLOWS: [f32; 2] = [0.62, 14.0];
/// How much of it where colours stand for values.
const VALUE_HOLLOWS: f32 = 0.22;

/// How much work one picture may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Quality {
    /// 1 or 4.
    pub samples: u32,
    /// Pixels drawn per pixel of the pane, along a side.
    pub scale: f64,
    /// Pixels drawn per pixel of the glass, along a side.
    pub glass: u32,
    /// Points of streamlines, evenly spread over all.
    pub most_slots: usize,
    /// A better picture follows soon.
    pub rough: bool,
    /// Which of how many stripes, from the top; the picture shows with the last.
    pub piece: (u32, u32),
}

impl Quality {
    fn drawn(&self) -> Drawn {
        match (self.rough, self.piece) {
            (true, _) => Drawn::Rough,
            (false, (_, 1)) => Drawn::Whole,
            (false, (_, of)) => Drawn::Piece(of),
        }
    }

    pub fn best(software: bool) -> Self {
        Self {
            samples: 4,
            scale: 1.0,
            // The outline is soft: on a processor every fourth pixel of it will do.
            glass: if software { 2 } else { 1 },
            most_slots: usize::MAX,
            rough: false,
            piece: (0, 1),
        }
    }
}

/// The textures that one pane is drawn in before it is put together.
pub(super) struct Targets {
    size: [u32; 2],
    samples: u32,
    /// What is drawn to: `base` itself, or its samples.
    colour: wgpu::TextureView,
    base: wgpu::TextureView,
    depth: wgpu::TextureView,
    depth_texture: wgpu::Texture,
    /// Depths of the background's lines: what darkens hollows and ends the glass must not know them, or
    /// the background would turn dark where one is drawn over it.
    aside: Option<(wgpu::Texture, wgpu::TextureView)>,
    through: Option<Through>,
    glass: wgpu::TextureView,
    hollows: Hollows,
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
        let depth_texture = gpu.texture_2d(size, DEPTH, samples, both | Usage::COPY_SRC);
        Self {
            size,
            samples,
            colour,
            base,
            depth: depth_texture.create_view(&wgpu::TextureViewDescriptor::default()),
            depth_texture,
            aside: None,
            through: None,
            glass: make(GLASS, 1, Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING),
            hollows: Hollows::new(gpu, size),
        }
    }

    /// Where the background's lines test their depth: the scene's depths as they are now.
    fn set_aside(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        let (size, samples) = (self.size, self.samples);
        let (aside, _) = self.aside.get_or_insert_with(|| {
            let usage = Usage::RENDER_ATTACHMENT | Usage::COPY_DST;
            let texture = gpu.texture_2d(size, DEPTH, samples, usage);
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            (texture, view)
        });
        encoder.copy_texture_to_texture(
            self.depth_texture.as_image_copy(),
            aside.as_image_copy(),
            self.depth_texture.size(),
        );
    }
}

/// The passes that a scene is drawn in: lines of the background need depths of their own.
fn stages(strands: &[Strand]) -> &'static [Stage] {
    if strands.iter().any(|s| s.is(Rank::Context)) {
        &[Stage::Slices, Stage::Context, Stage::Rest]
    } else {
        &[Stage::All]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Slices,
    /// Lines of the background.
    Context,
    /// Opaque lines and solids.
    Rest,
    /// Slices and the rest.
    All,
}

pub(super) struct Scenes {
    solids: Solids,
    outlines: Outlines,
    darkening: Darkening,
    first_depth: FirstDepth,
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
                    Slot::Image2,
                    Slot::Filtered2,
                    Slot::Sampler,
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Image2,
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
            darkening: Darkening::new(gpu),
            first_depth: FirstDepth::new(gpu),
            together: [1, 4].map(make),
            sampler: linear_sampler(gpu),
        }
    }

    /// Draws into `pane`, a texture of the list's size; `keys` are its lines' buffers. Returns the
    /// textures it used, and the size of the pane's corner that a rough picture fills; `None` where
    /// more pieces have to follow: the pane is as it was.
    pub fn draw(
        &self,
        tools: Tools,
        list: &ScenePane,
        keys: &[LineKey],
        quality: Quality,
        targets: &mut Option<Targets>,
        pane: &wgpu::TextureView,
    ) -> (Vec<Key>, Option<[u32; 2]>) {
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
        let scene_bounds = bounds(list, keys, store);
        let view = SceneView::new(list, drawn, scene_bounds);
        let mut used = Vec::new();

        let mut layers = Vec::new();
        for quad in &list.slices {
            let (m, rough) = (&list.clip_from_world, quality.rough);
            let drawn = slices.quad_layers(gpu, textures, quad, m, (samples, rough), &mut used);
            layers.extend(drawn);
        }
        let strands: Vec<_> = list
            .lines
            .iter()
            .zip(keys)
            .map(|(l, &key)| {
                lines.scene_strand(gpu, (textures, store), l, key, &view, quality.most_slots)
            })
            .collect();
        let solids = self
            .solids
            .groups(gpu, textures, &list.solids, &view, &mut used);

        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let [r, g, b] = list.background.map(|c| f64::from(c) / 255.0);
        let stages = stages(&strands);
        let cut = list.slab.is_some();
        let through = strands.iter().any(|s| s.is(Rank::Through));
        let (piece, pieces) = quality.piece;
        let row = |piece: u32| (u64::from(drawn[1]) * u64::from(piece) / u64::from(pieces)) as u32;
        let rows = row(piece)..row(piece + 1);
        let complete = piece + 1 == pieces;
        stopwatch.start(quality.drawn());
        for (i, &stage) in stages.iter().enumerate() {
            let (begins, ends) = (i == 0, i + 1 == stages.len());
            let (first, last) = (begins && piece == 0, ends && complete);
            if stage == Stage::Context {
                targets.set_aside(gpu, &mut encoder);
            }
            let depth = match (stage, &targets.aside) {
                (Stage::Context, Some((_, aside))) => aside,
                _ => &targets.depth,
            };
            let clear = wgpu::Color { r, g, b, a: 1.0 };
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("scene"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &targets.colour,
                    depth_slice: None,
                    resolve_target: (samples > 1 && last).then_some(&targets.base),
                    ops: wgpu::Operations {
                        load: if first {
                            wgpu::LoadOp::Clear(clear)
                        } else {
                            wgpu::LoadOp::Load
                        },
                        store: if samples > 1 && last {
                            wgpu::StoreOp::Discard
                        } else {
                            wgpu::StoreOp::Store
                        },
                    },
                })],
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: depth,
                    depth_ops: Some(wgpu::Operations {
                        load: if first {
                            wgpu::LoadOp::Clear(1.0)
                        } else {
                            wgpu::LoadOp::Load
                        },
                        store: wgpu::StoreOp::Store,
                    }),
                    stencil_ops: None,
                }),
                timestamp_writes: stopwatch.writes(begins, ends && !complete && !through),
                occlusion_query_set: None,
                multiview_mask: None,
            });
            let [width, height] = drawn.map(|n| n as f32);
            pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
            pass.set_scissor_rect(0, rows.start, drawn[0], rows.end - rows.start);
            if matches!(stage, Stage::Slices | Stage::All) {
                slices.draw_quads(&mut pass, &layers, samples);
            }
            if matches!(stage, Stage::Rest | Stage::All) {
                lines.draw_scene(gpu, &mut pass, &strands, (samples, cut), Rank::Opaque);
                // Solids hide what is behind them from see-through lines: little is lost, and such
                // lines in front of a solid are right.
                self.solids.draw(&mut pass, &solids, samples);
            }
            if stage == Stage::Context {
                lines.draw_scene(gpu, &mut pass, &strands, (samples, cut), Rank::Context);
            }
        }
        if through {
            let make = || Through::new(gpu, targets.size);
            let textures = targets.through.get_or_insert_with(make);
            let depth = (&targets.depth, samples);
            let part = (&rows, piece == 0);
            let depth = self
                .first_depth
                .of(gpu, &mut encoder, depth, textures, part);
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("see-through lines"),
                color_attachments: &textures.attachments(piece == 0),
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: depth,
                    // Read only.
                    depth_ops: None,
                    stencil_ops: None,
                }),
                timestamp_writes: stopwatch.writes(false, !complete),
                ..Default::default()
            });
            let [width, height] = drawn.map(|n| n as f32);
            pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
            pass.set_scissor_rect(0, rows.start, drawn[0], rows.end - rows.start);
            lines.draw_scene(gpu, &mut pass, &strands, (1, cut), Rank::Through);
        }
        if !complete {
            stopwatch.stop(gpu, encoder);
            return (used, None);
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
        if !quality.rough {
            let numbers = distance_numbers(&list.clip_from_world);
            let farthest = farthest_mm(&list.clip_from_world, scene_bounds);
            self.darkening.blur(
                gpu,
                &mut encoder,
                (&targets.depth, samples),
                &targets.hollows,
                (&view, numbers, farthest),
            );
        }
        self.put_together(
            gpu,
            &mut encoder,
            list,
            drawn,
            (quality, through),
            targets,
            pane,
            stopwatch,
        );
        stopwatch.stop(gpu, encoder);
        (used, Some(drawn))
    }

    #[allow(clippy::too_many_arguments)]
    fn put_together(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        list: &ScenePane,
        drawn: [u32; 2],
        (quality, through): (Quality, bool),
        targets: &Targets,
        pane: &wgpu::TextureView,
        stopwatch: &Stopwatch,
    ) {
        let glass = list.outline.as_ref().map_or(0, |_| quality.glass);
        let [w, h] = targets.size.map(|n| n as f32);
        let uniform = TogetherUniform {
            scene: [drawn[0] as f32, drawn[1] as f32, w, h],
            glass: [
                glass as f32,
                f32::from(quality.rough),
                f32::from(through),
                0.0,
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
                [deep, HOLLOWS[1], 0.0, 0.0]
            },
        };
        let buffer = gpu.uniform(&uniform);
        let (layout, pipeline) = &self.together[usize::from(quality.samples > 1)];
        use wgpu::BindingResource::{Sampler, TextureView as View};
        // Without any, another picture takes their place, at which nobody looks.
        let unseen = [targets.base.clone(), targets.base.clone()];
        let [sum, left] = match &targets.through {
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
                View(targets.hollows.blurred()),
                View(sum),
                View(left),
            ],
        );
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("together"),
            color_attachments: &cleared(pane),
            timestamp_writes: stopwatch.writes(false, true),
            ..Default::default()
        });
        // What is coarse is stretched when it is shown, not before.
        pass.set_viewport(0.0, 0.0, drawn[0] as f32, drawn[1] as f32, 0.0, 1.0);
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Numbers that turn a depth into a distance from the eye, for `distance_from` of common.wgsl.
fn distance_numbers(clip_from_world: &DMat4) -> [f32; 4] {
    let (z, w) = (clip_from_world.row(2), clip_from_world.row(3));
    if w.truncate().length() < 1e-9 {
        // Parallel: millimetres along the view, from well before the near plane so that all count.
        let per_mm = z.truncate().length().max(1e-12);
        return [1e3, (1.0 / per_mm) as f32, 1.0, 0.0];
    }
    // depth = a + b / distance, since z = a * w + b.
    let a = z.truncate().dot(w.truncate()) / w.truncate().length_squared();
    let b = z.w - a * w.w;
    [a as f32, -b as f32, 0.0, 0.0]
}

/// Distance of the farthest corner of world bounds, as `distance_numbers` count it, mm.
fn farthest_mm(clip_from_world: &DMat4, (low, high): (DVec3, DVec3)) -> f32 {
    let [x, y, parallel, _] = distance_numbers(clip_from_world).map(f64::from);
    let distance = |corner: usize| {
        let pick = |a: usize| {
            if corner >> a & 1 == 1 {
                high[a]
            } else {
                low[a]
            }
        };
        let clip = *clip_from_world * DVec3::new(pick(0), pick(1), pick(2)).extend(1.0);
        if parallel > 0.5 {
            x + y * clip.z
        } else {
            clip.w
        }
    };
    (0..8).map(distance).fold(0.0, f64::max) as f32
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
